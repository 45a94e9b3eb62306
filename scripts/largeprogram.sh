#!/usr/bin/env bash
# Records and replays a large program that knows nothing of Cohort: the HPC Challenge benchmark (hpcc 1.5.0: HPL, PTRANS, RandomAccess in all
# its variants, STREAM, DGEMM, FFT, latency and bandwidth; 50,000 lines of C), on Open MPI and on MPICH. docs/large-programs.md has what came out.
#
#   scripts/largeprogram.sh [-n RANKS] [-N SIZE] [-r REPLAYS] [-d DIRECTORY] [mpich|openmpi]...
#
# For Open MPI it is Debian's binary as it is; for MPICH, of which Debian has no such package, the same upstream source (apt-get source), compiled. It
# downloads nothing but Debian's packages, and does so itself when it is root and they are missing. Everything is left in DIRECTORY
# (default: a new one under $TMPDIR), and removed only where it was made by this script.
#
# It fails (status 1) if anything diverges, or if the program's output file of a replay is not that of the recorded run, byte by byte: the benchmark prints
# times and rates, so that only a replay in which every clock gave the recorded time has the same file.
set -euo pipefail

ranks=4 size=500 replays=2 directory=
while getopts n:N:r:d: option; do
    case $option in
    n) ranks=$OPTARG ;;
    N) size=$OPTARG ;;
    r) replays=$OPTARG ;;
    d) directory=$OPTARG ;;
    *) sed -n '5p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- openmpi mpich

say() { printf '%s\n' "$*"; }
die() { printf 'largeprogram: %s\n' "$*" >&2; exit 1; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -z "$directory" ]; then
    directory=$(mktemp -d "${TMPDIR:-/tmp}/largeprogram.XXXXXX")
fi
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
cohort=$directory/cohort
(cd "$here" && go build -o "$cohort" ./cmd/cohort)

if [ "$(id -u)" = 0 ]; then # Open MPI wants to be told
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

# need PACKAGE... installs what is missing, or says so.
need() {
    local missing=()
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || die "needs the packages ${missing[*]}: apt-get install ${missing[*]}"
    apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}"
}

# The upstream source, as Debian has it, without a change to the machine's list of sources.
fetch_source() {
    [ -e "$directory/source" ] && return
    mkdir -p "$directory/apt/lists/partial" "$directory/unpack"
    # Where this machine has its packages from, it has their source from too.
    local from
    from=$(. /etc/os-release && apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' | grep " $VERSION_CODENAME main\$" | head -1)
    [ -n "$from" ] || die "apt knows no archive of this Debian from which to fetch the source of hpcc"
    say "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from" >"$directory/apt/source.list"
    local apt=(apt-get -q -o "Dir::Etc::sourcelist=$directory/apt/source.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$directory/apt/lists" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$directory/unpack" && "${apt[@]}" source --tar-only hpcc)
    tar -xzf "$directory"/unpack/hpcc_*.orig.tar.gz -C "$directory/unpack"
    mv "$directory"/unpack/hpcc-*/ "$directory/source"
}

# build MPI compiles the source; hpl/Make.ARCH is where its authors let users say how.
build() {
    local mpi=$1
    fetch_source
    cp -r "$directory/source" "$directory/build.$mpi"
    cat >"$directory/build.$mpi/hpl/Make.cohort" <<MAKE
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir
RM = /bin/rm -f
TOUCH = touch
ARCH = cohort
TOPdir = ../../..
INCdir = \$(TOPdir)/include
BINdir = \$(TOPdir)/bin/\$(ARCH)
LIBdir = \$(TOPdir)/lib/\$(ARCH)
HPLlib = \$(LIBdir)/libhpl.a
LAlib = -lblas
F2CDEFS = -DAdd_ -DF77_INTEGER=int -DStringSunStyle
HPL_INCLUDES = -I\$(INCdir) -I\$(INCdir)/\$(ARCH)
HPL_LIBS = \$(HPLlib) \$(LAlib) -lm
HPL_OPTS =
HPL_DEFS = \$(F2CDEFS) \$(HPL_OPTS) \$(HPL_INCLUDES)
CC = mpicc.$mpi
CCNOOPT = \$(HPL_DEFS) -g
CCFLAGS = \$(HPL_DEFS) -g -O2 -w
LINKER = mpicc.$mpi
LINKFLAGS = \$(CCFLAGS)
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
MAKE
    make -C "$directory/build.$mpi" arch=cohort >"$directory/build.$mpi.log" 2>&1 || die "the build failed: $directory/build.$mpi.log"
}

# timed FILE COMMAND... runs a command in the run's directory and notes the seconds it took.
timed() {
    local file=$1 start end
    shift
    start=$(date +%s.%N)
    "$@" >"$file.out" 2>&1 || { tail -n 30 "$file.out"; die "failed: $*"; }
    end=$(date +%s.%N)
    awk -v a="$start" -v b="$end" 'BEGIN { printf "%.1f\n", b - a }' >>"$file.seconds"
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

run() {
    local mpi=$1 program mode i launcher=()
    case $mpi in
    openmpi)
        need hpcc openmpi-bin
        program=$(command -v hpcc)
        ;;
    mpich)
        need mpich libmpich-dev libblas-dev make dpkg-dev
        [ -x "$directory/build.mpich/hpcc" ] || build mpich
        program=$directory/build.mpich/hpcc
        ;;
    *) die "there is no MPI $mpi; there are openmpi and mpich" ;;
    esac
    local work=$directory/run.$mpi
    rm -rf "$work"
    mkdir "$work"
    cd "$work"
    sed -e "s/^1000         Ns/$size         Ns/" "$([ -e /usr/share/doc/hpcc/examples/_hpccinf.txt ] && echo /usr/share/doc/hpcc/examples/_hpccinf.txt || echo "$directory/source/_hpccinf.txt")" >hpccinf.txt
    say "== $program, $mpi, $ranks ranks, N=$size, in $work"
    launcher=("mpiexec.$mpi" -n "$ranks")
    for i in 1 2 3; do # interleaved, so that what else the machine does is in all of them
        rm -f hpccoutf.txt
        timed plain "${launcher[@]}" "$program"
        for mode in order racing full; do
            rm -f hpccoutf.txt
            timed "$mode" "$cohort" record --record-time --mode "$mode" --force -n "$ranks" -o "$mode.cohort" -- "$program"
            mv hpccoutf.txt "$mode.txt"
        done
    done
    for mode in order racing full; do
        for i in $(seq "$replays"); do
            rm -f hpccoutf.txt # it appends
            timed "replay.$mode" "$cohort" replay --stall-timeout 120s "$mode.cohort"
            cmp hpccoutf.txt "$mode.txt" || die "the output file of replay $i of mode $mode is not that of the recorded run"
        done
        timed "verify.$mode" "$cohort" trace verify "$mode.cohort"
    done
    timed cut "$cohort" cut order.cohort --at 1:5000
    timed races "$cohort" races order.cohort
    timed debug "$cohort" debug --batch order.cohort -x 'runto 1:5000' -x ranks
    grep -q 'All ranks are at the causal cut' debug.out || die "the debugger did not come to a causal cut: $work/debug.out"
    say "-- recorded in order mode:"
    sed -n '/recorded/,/traces:/p' order.out
    say "-- seconds, median of 3, whole jobs: plain $(median plain.seconds), order $(median order.seconds), racing $(median racing.seconds), full $(median full.seconds);" \
        "replay of order $(median replay.order.seconds), of racing $(median replay.racing.seconds), of full $(median replay.full.seconds)"
    for mode in order racing full; do
        say "-- $mode: $(cat "$mode".cohort/rank-* | wc -c) bytes of traces; $replays replays, the output file the same in each; $(tail -n 1 "verify.$mode.out")"
    done
    say "-- races: $(head -n 3 races.out | tr '\n' ' ')"
    say "-- debugger: $(grep -m 1 'All ranks are at' debug.out)"
}

for mpi in "$@"; do
    run "$mpi"
done
say "== all replays were exact; what was made is in $directory"
