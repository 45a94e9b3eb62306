#!/usr/bin/env bash
# Runs all tests; `make test` has installed what they need. Both parts run even if the first fails; the status is not 0 if
# either failed, and the last lines say which tests did.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=()

# part NAME COMMAND... runs one part and says how it went and how long it took.
part() {
    local name=$1 start=$SECONDS status tee
    shift
    printf '== %s: %s\n' "$name" "$*"
    exec 3> >(exec tee "$log")
    tee=$!
    "$@" >&3 2>&1 3>&-
    status=$?
    exec 3>&-
    timeout 20 tail --pid="$tee" -f /dev/null || true # tee; not for ever, should something that was left behind hold its input
    if [ "$status" = 0 ]; then
        printf '== %s: passed in %d s\n' "$name" $((SECONDS - start))
        return
    fi
    printf '== %s: FAILED (status %d) after %d s\n' "$name" "$status" $((SECONDS - start))
    failed+=("$name")
    while IFS= read -r line; do
        failed+=("  $line")
    done < <(grep -E '^ *--- FAIL|^FAIL[[:space:]]|^panic: |^ *not ok ' "$log" | head -n 100)
}

ulimit -S -c 0 2>/dev/null || true # programs that crash on purpose leave no core files, wherever they run
export GORACE="${GORACE:-} atexit_sleep_ms=0" # the race detector has every program sleep for a second at its end
export COHORT_REQUIRE_MPI=1 # a missing MPI is a failure, not a reason to skip

# Each of the several hundred gdbs would spend two thirds of its time on what no test looks at: the debug information of
# the C library, where that is installed, and the symbols of what hwloc's plugins load (OpenCL, X11, XML). Written once:
# results of tests that have read PATH are cached as long as what is there is as it was.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/cohort-test/tools
if gdb=$(command -v gdb); then
    text=$(printf '#!/bin/sh\nexec %q -iex "set debug-file-directory" "$@"' "$gdb")
    if [ "$text" != "$(cat "$tools/gdb" 2>/dev/null)" ]; then
        mkdir -p "$tools" && printf '%s\n' "$text" >"$tools/gdb" && chmod +x "$tools/gdb"
    fi
    export PATH="$tools:$PATH"
fi
export HWLOC_PLUGINS_PATH="$tools/no-plugins"

# What hangs is ended by its test within minutes, and shown; the limit is for tests that hang themselves.
# The race detector makes what no two goroutines share several times slower, and finds nothing in it. Scripts are run by
# the cohort that users have; that of testkit/endtoend/debug and faults has the race detector.
# The packages that take longest come first, lest one of them run alone at the end.
first=$(go list ./testkit/endtoend/debug ./testkit/endtoend/faults)
alone=$(go list ./testkit/endtoend/scripts ./testkit/exactreplay ./pmpi ./testkit/mpitest ./causal/... ./plaingdb \
    ./prettyprint/... ./scripts/typewatch)
part 'Go packages' go test -race -timeout 45m $first $(go list ./... | grep -vxF -e "$first" -e "$alone")
part 'Go packages without the race detector' go test -timeout 45m $alone
part 'VS Code extension' scripts/vscode.sh test

if [ ${#failed[@]} -gt 0 ]; then
    printf '== FAILED: %s\n' "${failed[@]}"
    exit 1
fi
echo '== all tests passed'
