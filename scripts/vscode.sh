#!/usr/bin/env bash
# The VS Code extension: scripts/vscode.sh test|adapter|vsix
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../vscode"

# Only when the lock file is newer than what was installed from it.
if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
    npm ci --no-audit --no-fund </dev/null
fi

# at_least VERSION COMMAND...: with the Node.js that is there, or, where that is older, with one that npm fetches for this command
# (Debian 12 and Ubuntu 24.04 have Node.js 18).
at_least() {
    local wanted=$1 found
    shift
    found=$(node --version | tr -d v)
    if [ "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ]; then
        "$@" </dev/null
    else
        echo "vscode: Node.js $found is older than $wanted, so npm fetches Node.js 20 for this" >&2
        npm exec --yes --package=node@20 -- "$@" </dev/null
    fi
}

case ${1:-} in
test) at_least 18.19 npm test ;; # its test runner knows --test-concurrency
adapter) # only the test through VS Code's protocol client
    npx --no-install tsc -p tsconfig.test.json </dev/null
    at_least 18.19 node --test --test-concurrency=1 out/test/adapter.test.js
    ;;
vsix)
    at_least 20.18.1 npm run package # as vsce wants
    ls -l "$PWD"/*.vsix
    ;;
*)
    echo "usage: scripts/vscode.sh test|adapter|vsix" >&2
    exit 2
    ;;
esac
