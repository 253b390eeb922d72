#!/usr/bin/env bash
# Compares coarsened kernels with the originals in the emulator, byte by byte: the corpus, compiled by several compilers
# and with several options, shapes of control flow, random kernels. The refusals and their reasons are compared with
# tests/cases/coarsen/refusals.txt, which `tests/suites/coarsen.sh -u` rewrites.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/programs.bash

BUILD="${BUILD:-build}"
folder="${TEST_TMP:-$(mktemp -d)}"
tool="$BUILD/tests/coarsen-check"
seeds=1000
case "$BUILD" in
*/asan) seeds=200 ;;
esac

status=0
# $1: name; the rest: arguments. Leaves $folder/NAME.out.
check() {
    local name="$1"
    shift
    if "$tool" -t "$folder" "$@" >"$folder/$name.out" 2>"$folder/$name.errors"; then
        echo "ok $name: $(tail -n 1 "$folder/$name.out")"
    else
        echo "not ok $name: $(tail -n 1 "$folder/$name.out")"
        grep -h WRONG "$folder/$name.out" | head -n 20
        head -n 5 "$folder/$name.errors"
        status=1
    fi
}

# $1: target. Fills 'pairs' with the corpus's files and launches.
corpus() {
    pairs=()
    for launch in corpus/*/*.launch.json; do
        name="$(basename "$(dirname "$launch")")"
        case "$launch" in *.large.launch.json) continue ;; esac
        # Not every folder has PTX of another compiler.
        case "$1" in clang.*) [ -f "corpus/$name/$name.$1.ptx" ] || continue ;; esac
        pairs+=("corpus/$name/$name.$1.ptx" "$launch")
    done
}

assembler="$(nvidia_program PTXOPT_PTXAS ptxas)"

shapes=tests/cases/coarsen
for target in sm_75 sm_90; do
    corpus "$target"
    check "corpus.$target" "${pairs[@]}"
    check "shapes.$target" -e "$shapes/shapes.$target.ptx" "$shapes/shapes.launch.json"
done
corpus clang.sm_75
check corpus.clang "${pairs[@]}"
check shapes.unoptimized -e "$shapes/shapes.unoptimized.ptx" "$shapes/shapes.launch.json"
others=()
for file in "$shapes"/hand/*.ptx; do
    launch="${file%.ptx}.launch.json"
    [ -f "$launch" ] || launch="$shapes/hand/hand.launch.json"
    others+=("$file" "$launch")
done
check hand -e "${others[@]}"
pairs=()
for file in tests/ptx/corpus.*.ptx; do
    name="${file#tests/ptx/corpus.}"
    for launch in "corpus/${name%%.*}"/*.launch.json; do
        case "$launch" in *.large.launch.json) continue ;; esac
        pairs+=("$file" "$launch")
    done
done
check corpus.others -c x2,x4:unit "${pairs[@]}"
others=()
for file in tests/ptx/*.ptx; do
    others+=("$file" -)
done
check compilers -c x2,x2y2:unit "${others[@]}"
check random -r "1,$seeds"

if [ -n "$assembler" ]; then
    corpus sm_90
    check assembled.corpus -a "$assembler" -c x4,y2:unit "${pairs[@]}"
    check assembled.shapes -a "$assembler" -c x2y2 -e "$shapes/shapes.sm_75.ptx" "$shapes/shapes.launch.json"
    check assembled.random -a "$assembler" -r 900001,12
elif [ "${CI:-}" = true ]; then
    echo "not ok assembled: no ptxas, and CI asks for it"
    status=1
else
    echo "skip assembled: no ptxas (set PTXOPT_PTXAS)"
fi

# Reasons are compared without line numbers, which change when files are made again. No form of
# guards refuses more.
grep -h ': refused: ' "$folder"/{corpus.sm_90,shapes.sm_75,shapes.unoptimized,hand,compilers}.out |
    grep -v '+[a-z]*: refused: ' |
    sed -e 's/ (line [0-9]*)//g' -e 's/ on line [0-9]*//g' -e 's/_INTERNAL_[0-9a-f]*_/_INTERNAL_/' \
        >"$folder/refusals.txt"
if [ "${1:-}" = -u ]; then
    cp "$folder/refusals.txt" "$shapes/refusals.txt"
elif diff -u "$shapes/refusals.txt" "$folder/refusals.txt" >"$folder/refusals.diff"; then
    echo "ok refusals"
else
    echo "not ok refusals: they have changed"
    head -n 40 "$folder/refusals.diff"
    status=1
fi
exit "$status"
