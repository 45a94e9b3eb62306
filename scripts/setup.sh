#!/usr/bin/env bash
# Installs what is missing for building, testing and showing Cohort.
#
#     scripts/setup.sh go|mpi|node ...
#
#   go    only checks that Go is there and new enough for go.mod
#   mpi   a C compiler, gdb, MPICH and Open MPI with their compilers for C and Fortran, Python with mpi4py
#   node  Node.js and npm, for the VS Code extension
#
# On Debian and its kin, as root or with a sudo that asks for no password, it installs through apt in one transaction. Otherwise
# it says exactly what to install and ends with status 1. It changes nothing if nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

NPM_LEAST=7 # the first that can fetch a newer Node.js for one command (scripts/vscode.sh)

missing=()  # what to install, for people
packages=() # the same, as Debian's packages

say() { printf 'setup: %s\n' "$*" >&2; }

# need WHAT PACKAGE... notes that something is not there.
need() {
    missing+=("$1 (on Debian and Ubuntu: ${*:2})")
    local package
    for package in "${@:2}"; do
        [[ " ${packages[*]} " == *" $package "* ]] || packages+=("$package")
    done
}

# has_command NAME [DIR...]: on PATH, or in one of the directories that other systems keep an MPI in.
has_command() {
    command -v "$1" >/dev/null 2>&1 && return
    local plain=${1%%.*} dir
    for dir in "${@:2}"; do
        [ -x "$dir/$plain" ] && return
    done
    return 1
}

# has_c_compiler compiles: gcc without libc's headers is no use.
has_c_compiler() {
    local program='#include <stdio.h>
int main(void) { return puts("") < 0; }'
    command -v cc >/dev/null 2>&1 && cc -x c - -o /dev/null <<<"$program" >/dev/null 2>&1
}

# has_mpi_compiler MPI DIR...: its mpicc finds mpi.h, which Debian keeps in another package than mpicc.
has_mpi_compiler() {
    local name=$1 candidate
    shift
    for candidate in "mpicc.$name" "${@/%//mpicc}"; do
        if command -v "$candidate" >/dev/null 2>&1; then
            "$candidate" -x c -fsyntax-only - <<<'#include <mpi.h>' >/dev/null 2>&1
            return
        fi
    done
    return 1
}

# has_mpi4py: in one of the Pythons on PATH; the first is often not the system's.
has_mpi4py() {
    local python
    while read -r python; do
        if "$python" -c 'import mpi4py' >/dev/null 2>&1; then return; fi
    done < <(type -ap python3)
    return 1
}

check_go() {
    local wanted found
    wanted=$(awk '$1 == "go" { print $2 }' go.mod)
    if ! command -v go >/dev/null 2>&1; then
        say "Go is not installed (looked on PATH and in /usr/local/go/bin). Install Go $wanted or newer, then run this again."
        exit 1
    fi
    # In this directory, go reads go.mod, and fetches a newer toolchain where it may.
    if ! found=$(go version 2>&1); then
        say "this Go cannot build Cohort, which needs Go $wanted or newer. It says:"
        printf '%s\n' "$found" >&2
        say "Install Go $wanted or newer, or let this one fetch it (GOTOOLCHAIN=auto, with a network), then run this again."
        exit 1
    fi
}

check_mpi() {
    local mpich=(/usr/lib64/mpich/bin /usr/lib/mpich/bin /opt/mpich/bin)
    local openmpi=(/usr/lib64/openmpi/bin /usr/lib/openmpi/bin /opt/openmpi/bin)
    has_c_compiler || need 'a C compiler with the C library'"'"'s headers' gcc libc6-dev
    has_command gdb || need 'gdb' gdb
    has_command gfortran || need 'a Fortran compiler' gfortran
    has_command mpiexec.mpich "${mpich[@]}" || need "MPICH's mpiexec" mpich
    has_mpi_compiler mpich "${mpich[@]}" || need "MPICH's mpicc with its headers" mpich libmpich-dev
    has_command mpifort.mpich "${mpich[@]}" || need "MPICH's mpifort" mpich libmpich-dev
    has_command mpiexec.openmpi "${openmpi[@]}" || need "Open MPI's mpiexec" openmpi-bin
    has_mpi_compiler openmpi "${openmpi[@]}" || need "Open MPI's mpicc with its headers" openmpi-bin libopenmpi-dev
    has_command mpifort.openmpi "${openmpi[@]}" || need "Open MPI's mpifort" openmpi-bin libopenmpi-dev
    has_mpi4py || need 'Python with mpi4py' python3-mpi4py
}

check_node() {
    local found
    has_command node || need 'Node.js' nodejs
    has_command npm || need 'npm' npm
    if found=$(npm --version 2>/dev/null) && [ "${found%%.*}" -lt "$NPM_LEAST" ]; then
        say "npm $found is too old for the VS Code extension: install npm $NPM_LEAST or newer (with the Node.js it comes with), then run this again."
        exit 1
    fi
}

# The words that run a command as root, or nothing and status 1.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        printf 'env'
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        printf 'sudo -n env'
    else
        return 1
    fi
}

name_and_stop() {
    say "$1 Please install, then run this again:"
    printf '  - %s\n' "${missing[@]}" >&2
    if command -v apt-get >/dev/null 2>&1; then
        say "that is: sudo apt-get install --no-install-recommends ${packages[*]}"
    fi
    exit 1
}

# Shows that apt moves, without its hundreds of lines.
progress() {
    local line total='' unpacked=0 ready=0
    while IFS= read -r line; do
        case $line in
        *' newly installed,'*)
            total=${line%% newly installed,*}
            total=${total##* }
            say "apt installs $total packages"
            ;;
        'Need to get '* | 'After this operation, '*) say "${line%.}" ;;
        'Unpacking '*) if ((++unpacked % 25 == 0)); then say "$unpacked of $total packages unpacked"; fi ;;
        'Setting up '*) if ((++ready % 25 == 0)); then say "$ready of $total packages ready"; fi ;;
        esac
    done
}

install_packages() {
    local root log
    command -v apt-get >/dev/null 2>&1 || name_and_stop 'This is neither Debian nor one of its kin, so nothing is installed by itself.'
    root=$(as_root) || name_and_stop 'Installing needs root, or a sudo that asks for no password.'
    log=$(mktemp)
    # shellcheck disable=SC2064 # the name is known now
    trap "rm -f '$log'" EXIT
    say "missing: ${packages[*]}; reading the package lists"
    # An unreachable source does no harm if the others have the packages.
    if ! $root apt-get -q -o DPkg::Lock::Timeout=300 update </dev/null >"$log" 2>&1; then
        say 'apt-get update failed; trying with the package lists that are there. It said:'
        tail -n 5 "$log" >&2
    fi
    if ! $root DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends "${packages[@]}" </dev/null 2>&1 | tee "$log" | progress; then
        say 'apt-get install failed. The end of what it said:'
        tail -n 20 "$log" >&2
        exit 1
    fi
}

check() {
    local part
    missing=() packages=()
    for part in "$@"; do
        case $part in
        go) check_go ;;
        mpi) check_mpi ;;
        node) check_node ;;
        *)
            say "there is no part called $part; the parts are go, mpi and node."
            exit 2
            ;;
        esac
    done
}

check "$@"
if [ ${#missing[@]} -gt 0 ]; then
    install_packages
    hash -r
    check "$@"
    [ ${#missing[@]} -eq 0 ] || name_and_stop 'apt-get succeeded, but some of it is still not there.'
    say 'done'
fi
