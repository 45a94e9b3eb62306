#!/usr/bin/env bash
# The main job, step by step, on each MPI. Every claim that it makes is checked: the first that does not hold ends it with status 1.
#
#     scripts/demo.sh [mpich|openmpi ...]
#
# It works in a directory of its own, which it removes at the end unless KEEP_DEMO=1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
cohort=$root/bin/cohort
mpis=("$@")
[ ${#mpis[@]} -gt 0 ] || mpis=(mpich openmpi)

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' off=$'\e[0m'; else bold='' dim='' red='' off=''; fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$off"; }
note() { printf '   %s\n' "$*"; }
fail() {
    printf '%sThe demo failed: %s%s\n' "$red" "$*" "$off" >&2
    exit 1
}

# show COMMAND...: prints the command and its output, and keeps the latter in $work/out.
show() {
    printf '%s$ %s%s\n' "$dim" "$*" "$off"
    local status=0
    "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    sed 's/^/   /' "$work/out" "$work/err"
    [ $status -eq 0 ] || fail "\"$*\" ended with status $status"
}

# hashes FILE: the order hashes that the ranks printed.
hashes() { grep -o 'tsp: rank [0-9]* order.*' "$1" | sort; }

# Open MPI refuses to run as root unless it is told that this is meant. It is, here: the programs are our own.
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
export OMPI_MCA_rmaps_base_oversubscribe=1 # for the plain runs; cohort sees to it by itself

work=$(mktemp -d "${TMPDIR:-/tmp}/cohort-demo.XXXXXX")
trap '[ "${KEEP_DEMO:-}" = 1 ] || rm -rf "$work"' EXIT
export COHORT_DEMO_MARK=$work
PATH=$root/bin:$PATH
started=$SECONDS

command_of() { # command_of mpiexec mpich
    command -v "$1.$2" || command -v "/usr/lib64/$2/bin/$1" || fail "$1 of $2 is not installed (make setup)"
}

demo() {
    local mpi=$1 mpicc mpiexec dir=$work/$1
    mpicc=$(command_of mpicc "$mpi")
    mpiexec=$(command_of mpiexec "$mpi")
    mkdir "$dir"
    cd "$dir"
    cp "$root/testprograms/cities12.txt" "$root/testprograms/cities18.txt" .
    "$mpicc" -g -O0 -o tsp "$root/testprograms/tsp.c" -lm
    # Ubuntu 24.04's MPICH is built for PMIx, which its own mpiexec does not speak; Open MPI's does.
    if ldd tsp | grep -q libpmix; then mpiexec=$(command_of mpiexec openmpi); fi
    "$mpicc" -g -O0 -o heat "$root/testprograms/heat.c" -lm
    local task halo
    task=$(grep -n 'breakpoint: task received' "$root/testprograms/tsp.c" | cut -d: -f1)
    halo=$(grep -n 'breakpoint: halo exchange' "$root/testprograms/heat.c" | cut -d: -f1)

    say "── $mpi ── 1. A racy program: tsp takes its messages in another order each time"
    local i
    for i in 1 2 3; do
        "$mpiexec" -n 4 ./tsp cities12.txt >"$work/plain" 2>"$work/err" || fail "tsp itself ended with an error: $(cat "$work/err")"
        hashes "$work/plain" >"plain.$i"
        note "run $i: $(sed -n 's/.*rank \([0-9]\) order \([0-9a-f]\{6\}\).*/\1:\2…/p' "plain.$i" | tr '\n' ' ')"
    done
    if cmp -s plain.1 plain.2 && cmp -s plain.2 plain.3; then fail "three plain runs took their messages in the same order"; fi
    note "The order hashes differ. The tour is the same: $(grep -o 'tour length [0-9]*' "$work/plain")."

    say "── $mpi ── 2. Record it once"
    show cohort record -n 4 -o tsp.cohort -- ./tsp cities18.txt
    hashes "$work/out" >recorded

    say "── $mpi ── 3. Replay it three times: the hashes are the recording's"
    for i in 1 2 3; do
        cohort replay tsp.cohort >"$work/out" 2>"$work/err" </dev/null || fail "replay $i ended with an error: $(cat "$work/err")"
        hashes "$work/out" >replayed
        cmp -s recorded replayed || fail "replay $i took its messages in another order"
        note "replay $i: $(sed -n 's/.*rank \([0-9]\) order \([0-9a-f]\{6\}\).*/\1:\2…/p' replayed | tr '\n' ' ') equal"
    done

    say "── $mpi ── 4. A causal breakpoint: rank 2 at its third task, every other rank at the earliest position that holds all that happened before"
    show cohort debug --batch tsp.cohort -x "break $root/testprograms/tsp.c:$task ranks 2 mode causal if tasks_received == 3" -x continue -x 'rank 2' -x bt -x 'p tasks_received'
    grep -q '^3$' "$work/out" || fail "tasks_received is not 3 at the breakpoint"
    local at cut
    at=$(sed -n 's/.*causal cut of \([0-9]*:[0-9]*\).*/\1/p' "$work/out" | head -1)
    cut=$(sed -n 's/.*causal cut of [0-9]*:[0-9]*: \([0-9: ]*\).*/\1/p' "$work/out" | head -1)
    [ -n "$at" ] || fail "no cut was reported"
    show cohort cut tsp.cohort --at "$at"
    grep -q 'The cut is consistent' "$work/out" || fail "the cut is not consistent"
    local position
    for position in $cut; do
        grep -q " $position " "$work/out" || fail "the ranks stood at $cut, and the recording says otherwise"
    done
    note "The ranks stood exactly there: $cut"

    say "── $mpi ── 5. A buffer as MPI sees it: the column that a vector datatype selects"
    show cohort debug --batch -n 4 -x "break $root/testprograms/heat.c:$halo mode all" -x continue -x wait -x 'rank 0' \
        -x 'mpipp column_type' -x 'mpipp column_type first_column' -x 'p first_column[0]' -x 'p first_column[stride]' -x 'p first_column[2*stride]' -x 'p first_column[3*stride]' -- ./heat 8
    local decoded direct
    decoded=$(awk '$1 ~ /\(VECTOR\)/ && NF == 3 { print $3 }' "$work/out")
    direct=$(awk 'NF == 1 && $1 ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ { print $1 }' "$work/out")
    [ -n "$decoded" ] || fail "mpipp printed no column"
    paste <(printf '%s\n' "$decoded") <(printf '%s\n' "$direct") | awk '{ d = $1 - $2; if (d < 0) d = -d; if (NF != 2 || d > 1e-9) exit 1 }' ||
        fail "the column's values are not the array's: $decoded / $direct"
    note "mpipp's values are the array's."
    cd "$root"
}

for mpi in "${mpis[@]}"; do demo "$mpi"; done

say "── 6. The same through VS Code's protocol client, on each MPI"
scripts/vscode.sh adapter >"$work/out" 2>&1 || {
    cat "$work/out"
    fail "the test through VS Code's protocol client ended with an error"
}
grep -E '^ *(ok|not ok) ' "$work/out" | sed 's/^/   /'
grep -q '^# pass 6$' "$work/out" || fail "not all tests through VS Code's protocol client were run: $(grep '^# ' "$work/out" | tr '\n' ' ')"

# Whatever the demo started has its mark in the environment. What was just told to end gets five seconds.
left() { env -u COHORT_DEMO_MARK grep -lsaF "COHORT_DEMO_MARK=$work" /proc/[0-9]*/environ || true; }
for _ in {1..50}; do
    [ -n "$(left)" ] || break
    sleep 0.1
done
for process in $(left); do
    fail "a process was left behind: ${process%/environ} $(tr '\0' ' ' <"${process%environ}cmdline")"
done
say "All of it held, in $((SECONDS - started)) s; nothing was left running."
