#!/usr/bin/env bash
# The VS Code extension: scripts/vscode.sh test|vsix
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../vscode"

# Only when the lock file is newer than what was installed from it.
if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
    npm ci --no-audit --no-fund </dev/null
fi
case ${1:-} in
test) npm test </dev/null ;;
vsix)
    npm run package </dev/null
    ls -l "$PWD"/*.vsix
    ;;
*)
    echo "usage: scripts/vscode.sh test|vsix" >&2
    exit 2
    ;;
esac
