#!/usr/bin/env bash
# ctrl-c.sh N TEXT COMMAND...: runs a command, and presses Ctrl-C when N lines with TEXT have been printed.
set -u
n=$1 text=$2
shift 2
exec 3< <(exec "$@")
command=$!
while IFS= read -r line <&3; do
    printf '%s\n' "$line"
    if [[ $line == *"$text"* ]] && ((--n == 0)); then
        kill -INT "$command"
    fi
done
wait "$command"
