#!/usr/bin/env bash
# Makes the pictures in docs/pictures anew, from real sessions: scripts/pictures.sh [NAME...]
#
#     vscode-handles vscode-fortran   Variables in VS Code, in a program in C (MPICH) and one in Fortran (Open MPI)
#     tui                             the terminal interface, with answers of mpipp
#     layout                          mpipp's picture of memory: in the terminal, and as SVG
#
# It needs what `make setup` installs, and Debian's chromium, tmux, ripgrep and g++. VS Code is code-server, which npm fetches, and which is built, in ~/.cache/cohort-pictures the first time: 320 MB, about
# a minute. Look at what comes out before you commit it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(vscode-handles vscode-fortran tui layout)
for command in chromium tmux rg npm mpicc.mpich mpifort.openmpi; do
    command -v $command >/dev/null || {
        echo "pictures: $command is not installed" >&2
        exit 2
    }
done
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

cache=${XDG_CACHE_HOME:-$HOME/.cache}/cohort-pictures
server=$cache/node_modules/code-server
# The npm package of code-server compiles its parts while it is installed, and downloads others: here step by step, without downloads.
install_code_server() {
    local vscode=$server/lib/vscode gyp module
    gyp=$(npm root -g)/npm/node_modules/node-gyp/bin/node-gyp.js
    mkdir -p "$cache"
    (cd "$cache" && npm install --ignore-scripts --no-audit --no-fund code-server@4.100.3 playwright-core@1.52.0)
    (cd "$server/node_modules/argon2" 2>/dev/null || cd "$cache/node_modules/argon2"
        PATH=$cache/node_modules/.bin:$PATH npm_config_nodedir=/usr node "$cache/node_modules/.bin/node-pre-gyp" install --build-from-source)
    (cd "$vscode" && npm ci --legacy-peer-deps --omit=dev --ignore-scripts --no-audit --no-fund)
    (cd "$vscode/extensions" && npm ci --omit=dev --ignore-scripts --no-audit --no-fund)
    for module in @vscode/spdlog native-watchdog node-pty; do
        (cd "$vscode/node_modules/$module" && node "$gyp" rebuild -j 2 --nodedir=/usr)
    done
    mkdir -p "$vscode/node_modules/@vscode/ripgrep/bin"
    ln -sf "$(command -v rg)" "$vscode/node_modules/@vscode/ripgrep/bin/rg"
    ln -sfn node_modules "$vscode/node_modules.asar"
    touch "$cache/installed"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/pictures.XXXXXX")
started=
trap '[ -z "$started" ] || kill $started 2>/dev/null || true; wait; rm -rf "$work"' EXIT
mkdir -p "$work/workspace/.vscode" "$work/data/User" "$work/extensions"
cp testprograms/particles.c testprograms/fparticles.f90 "$work/workspace"
(cd "$work/workspace" && mpicc.mpich -g -O0 -o particles particles.c && mpifort.openmpi -g -O0 -o fparticles fparticles.f90)
export PATH=$root/bin:$PATH

# Starts code-server with a fresh profile and the extension; sets $url.
start_vscode() {
    [ -e "$cache/installed" ] || install_code_server >"$work/install.log" 2>&1 || {
        tail -n 30 "$work/install.log" >&2
        exit 1
    }
    [ -e vscode/cohort-debug.vsix ] || make vsix
    cat >"$work/data/User/settings.json" <<'JSON'
{"debug.allowBreakpointsEverywhere": true, "security.workspace.trust.enabled": false, "workbench.startupEditor": "none", "telemetry.telemetryLevel": "off", "extensions.autoUpdate": false, "extensions.autoCheckUpdates": false,
 "extensions.ignoreRecommendations": true, "update.mode": "none", "workbench.tips.enabled": false, "git.enabled": false, "remote.autoForwardPorts": false, "debug.toolBarLocation": "docked",
 "debug.internalConsoleOptions": "neverOpen", "debug.openDebug": "openOnDebugBreak", "chat.disableAIFeatures": true, "workbench.secondarySideBar.defaultVisibility": "hidden",
 "editor.minimap.enabled": false, "editor.stickyScroll.enabled": false, "workbench.colorTheme": "Default Light Modern", "files.associations": {"*.f90": "plaintext"}}
JSON
    cat >"$work/workspace/.vscode/launch.json" <<JSON
{"version": "0.2.0", "configurations": [
 {"type": "cohort", "request": "launch", "name": "particles", "cohortPath": "$root/bin/cohort", "program": "\${workspaceFolder}/particles", "ranks": 2},
 {"type": "cohort", "request": "launch", "name": "fparticles", "cohortPath": "$root/bin/cohort", "program": "\${workspaceFolder}/fparticles", "ranks": 2}]}
JSON
    export EXTENSIONS_GALLERY='{"serviceUrl":"http://127.0.0.1:9/none","itemUrl":"","resourceUrlTemplate":""}'
    local run=(node "$server/out/node/entry.js" --config /dev/null --user-data-dir "$work/data" --extensions-dir "$work/extensions") port
    "${run[@]}" --install-extension vscode/cohort-debug.vsix >"$work/extension.log" 2>&1 || {
        cat "$work/extension.log" >&2
        exit 1
    }
    port=$(node -e 's=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
    "${run[@]}" --auth none --bind-addr "127.0.0.1:$port" --disable-telemetry --disable-update-check --disable-getting-started-override --disable-workspace-trust >"$work/server.log" 2>&1 &
    started=$!
    url=http://127.0.0.1:$port
    for _ in $(seq 1200); do curl -sf -o /dev/null "$url/healthz" && return; sleep 0.1; done
    tail -n 30 "$work/server.log" >&2
    exit 1
}

make build
url=
for name in "${names[@]}"; do
    case $name in vscode-*) [ -n "$url" ] || start_vscode ;; esac
done
[ -d "$cache/node_modules/playwright-core" ] || install_code_server
for name in "${names[@]}"; do
    NODE_PATH=$cache/node_modules CHROMIUM=$(command -v chromium) URL=$url WORK=$work timeout 500 node scripts/pictures.js "$name" "docs/pictures/$name.png"
    ls -l "docs/pictures/$name.png"
done
