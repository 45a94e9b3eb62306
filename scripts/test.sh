#!/usr/bin/env bash
# Runs all tests; `make test` has installed what they need. Both parts run even if the first fails; the status is not 0 if
# either failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=()

# part NAME COMMAND... runs one part and says how it went and how long it took.
part() {
    local name=$1 start=$SECONDS
    shift
    printf '== %s: %s\n' "$name" "$*"
    if "$@"; then
        printf '== %s: passed in %d s\n' "$name" $((SECONDS - start))
    else
        printf '== %s: FAILED (status %d) after %d s\n' "$name" $? $((SECONDS - start))
        failed+=("$name")
    fi
}

export GORACE="${GORACE:-} atexit_sleep_ms=0" # the race detector has every program sleep for a second at its end
export COHORT_REQUIRE_MPI=1 # a missing MPI is a failure, not a reason to skip
part 'Go packages' go test -race -timeout 80m ./...
part 'VS Code extension' scripts/vscode.sh test

if [ ${#failed[@]} -gt 0 ]; then
    printf '== FAILED: %s\n' "${failed[@]}"
    exit 1
fi
echo '== all tests passed'
