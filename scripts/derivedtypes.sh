#!/usr/bin/env bash
# Decodes every datatype that real programs make: ScaLAPACK's and BLACS's test programs, as Debian has them for Open MPI and for MPICH, and HPC Challenge.
# docs/derived-types.md has what came out.
#
#   scripts/derivedtypes.sh [-n RANKS] [-s SECONDS] [-d DIRECTORY] [-p "PROGRAM..."] [mpich|openmpi]...
#
# Each program runs under the interposer, and a watcher (scripts/typewatch) stops its ranks whenever a type is freed, and before MPI_Finalize, decodes it from the
# rank's memory, and compares its figures with those that MPI reports (which the interposer asks for 4096 types of a rank, and one in 64 of the rest). The programs check their own results. Debian's packages are installed if they are missing and
# this runs as root; nothing else is downloaded. A program that takes longer than SECONDS (default 300) is ended and said to be.
#
# It fails (status 1) if a type was not decoded, if a figure differs, or if a program failed.
set -euo pipefail

ranks=4 seconds=300 directory=
# One of each computation, in one or more of the four types of numbers, and the libraries below them.
chosen="xslu xdlu xclu xzlu xdllt xzqr xdls xsinv xcbrd xzhrd xdtrd xddblu xcpbllt xdnep xssep PBLAS/dpb2tst PBLAS/zpb3tst BLACS/xFbtest BLACS/xCbtest hpcc"
while getopts n:s:d:p: option; do
    case $option in
    n) ranks=$OPTARG ;;
    s) seconds=$OPTARG ;;
    d) directory=$OPTARG ;;
    p) chosen=$OPTARG ;;
    *) sed -n '5p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- openmpi mpich

die() { printf 'derivedtypes: %s\n' "$*" >&2; exit 1; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
made=
if [ -z "$directory" ]; then
    directory=$(mktemp -d "${TMPDIR:-/tmp}/derivedtypes.XXXXXX")
    made=$directory
fi
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
(cd "$here" && go build -o "$directory/typewatch" ./scripts/typewatch)

if [ "$(id -u)" = 0 ]; then # Open MPI wants to be told
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

missing=()
for package in scalapack-mpi-test hpcc; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    [ "$(id -u)" = 0 ] || die "needs the packages ${missing[*]}: apt-get install ${missing[*]}"
    { apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}"; } >&2
fi

read -ra programs <<<"$chosen"

failed=0
# watched MPI PROGRAM FILE runs one program and prints a line of the table.
watched() {
    local mpi=$1 name=$2 file=$3 work status=0 began ended
    work=$directory/$mpi/${name//\//-}
    rm -rf "$work"
    mkdir -p "$work/types"
    cp "$(dirname "$file")"/*.dat "$work" 2>/dev/null || true
    if [ -d /usr/share/scalapack/PBLAS ]; then
        cp -r /usr/share/scalapack/{PBLAS,BLACS}/*.dat "$work"
    fi
    if [ -e "$work/bt.dat" ]; then # the last of BLACS's auxiliary tests is that it can kill all processes
        sed -i -e "s/^'T'\( *Run AUX?\)/'F'\1/" "$work/bt.dat"
    fi
    if [ "$name" = hpcc ]; then
        sed -e 's/^1000         Ns/300         Ns/' /usr/share/doc/hpcc/examples/_hpccinf.txt >"$work/hpccinf.txt"
    fi
    began=$(date +%s.%N)
    (cd "$work" && timeout -k 10 "$seconds" "mpiexec.$mpi" -n "$ranks" "$directory/typewatch" -lib "$lib" -report "$work/types" "$file") >"$work/output" 2>"$work/errors" || status=$?
    ended=$(date +%s.%N)
    local said="status $status" how
    how=$(find "$work/types" -name '*.types' | wc -l)
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        said="cut off after $seconds s: nothing is known"
        failed=1
    elif [ "$status" != 0 ] || [ "$how" != "$ranks" ]; then
        said="FAILED: status $status, $how of $ranks ranks reported; see $work"
        failed=1
    elif grep -qh '^PROBLEM' "$work"/types/*.types; then
        said="PROBLEMS: $(grep -h '^PROBLEM' "$work"/types/*.types | wc -l); see $work/types"
        failed=1
    else
        said="all decoded"
    fi
    { cat "$work"/types/*.types 2>/dev/null || true; } | awk -v mpi="$mpi" -v name="$name" -v said="$said" -v took="$(awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.0f", b - a }')" '
        /^types/ { types += $2; if ($4 + 0 > depth) depth = $4 + 0; if ($6 + 0 > elements) elements = $6 + 0 }
        /^left/ { types += $2 }
        /^compared/ { compared += $2 }
        /^kind/ { kinds[$2] += $3 }
        END {
            for (k in kinds) list = list (list == "" ? "" : ", ") k " " kinds[k]
            printf "| %s | %s | %d | %d | %s | %d | %d | %s | %s |\n", mpi, name, types, compared, list == "" ? "none" : list, depth, elements, took, said
        }'
}

printf '| MPI | program | types, all ranks | figures compared | constructors, with their parts | depth at most | elements at most | s | |\n|---|---|--:|--:|---|--:|--:|--:|---|\n'
for mpi in "$@"; do
    lib=$("$directory/typewatch" -build "mpicc.$mpi") || die "the interposer for $mpi was not built"
    for name in "${programs[@]}"; do
        if [ "$name" = hpcc ]; then
            [ "$mpi" = openmpi ] || continue # Debian has none for MPICH
            watched "$mpi" "$name" "$(command -v hpcc)"
        else
            watched "$mpi" "$name" "/usr/lib/$(gcc -print-multiarch)/scalapack/$mpi-tests/$name"
        fi
    done
done
if [ "$failed" = 0 ] && [ -n "$made" ]; then
    rm -rf "$made"
fi
exit "$failed"
