#!/usr/bin/env bash
# Code that threads inside of the data go without guards, and short loops of known length: random kernels, and a filter
# with zeros around an image, of all sizes and radii, compared in the emulator with the originals.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
seeds=1500 few='[0-9]?[0-9]'
case "$BUILD" in
*/asan) seeds=150 few='[0-9]' ;;
esac

random_check "random" interior-check "1,$seeds"
result "the versions are executed" "$(grep -oE "(changed|executed) $few\b" <<<"$said")"

# $1: width; $2: height; $3: radius. The image ends where its last pixel does.
launch() {
    local taps=$((2 * $3 + 1))
    printf '{"kernel": "filter_guarded", "grid": [4, 4], "block": [16, 16], "dynamic_shared": 0, "args": [
        {"buffer": "in", "type": "f32", "count": %s, "init": "uniform", "low": -1, "high": 1, "seed": 1},
        {"buffer": "out", "type": "f32", "count": %s, "init": "zero"}, {"scalar": "s32", "value": %s},
        {"scalar": "s32", "value": %s},
        {"buffer": "filter", "type": "f32", "count": %s, "init": "uniform", "low": -1, "high": 1, "seed": 2},
        {"scalar": "s32", "value": %s}], "check": ["out"], "tolerance": {"kind": "exact"}}\n' \
        $(($1 * $2)) $(($1 * $2)) "$1" "$2" $((taps * taps)) "$3" >"$TEST_TMP/launch.json"
}

for size in "64 64 2" "64 64 1" "64 64 3" "61 33 2" "5 40 4" "64 64 0" "3 3 5" "64 64 31"; do
    read -ra words <<<"$size"
    launch "${words[@]}"
    for form in "-coarsen y4 -stride unit" "-coarsen bx2,by2 -coarsen-grid shrink" \
        "-coarsen gx2,y4 -coarsen-grid shrink" "-coarsen x2,y2 -memory edges"; do
        read -ra options <<<"$form"
        result "filter_guarded, $size, $form" "$("$program" -q -assembler none -block 16,16 -entry filter_guarded \
            "${options[@]}" -coarsen-guards interior -verify "$TEST_TMP/launch.json" -o "$TEST_TMP/out.ptx" \
            tests/naive/more.sm_90.ptx 2>&1 || echo "status $?")"
    done
done
# Versions for the radius of one launch, in launches with others.
launch 64 64 2
mv "$TEST_TMP/launch.json" "$TEST_TMP/known.json"
for size in "64 64 2" "64 64 1" "61 33 2" "64 64 3" "3 3 2" "64 64 0"; do
    read -ra words <<<"$size"
    launch "${words[@]}"
    for form in "-coarsen y4 -stride unit" "-coarsen gx2,y4 -stride unit -coarsen-grid shrink" "-coarsen x2"; do
        read -ra options <<<"$form"
        result "filter_guarded for a radius of 2, $size, $form" "$("$program" -q -assembler none -block 16,16 \
            -entry filter_guarded "${options[@]}" -coarsen-guards interior -launch "$TEST_TMP/known.json" \
            -verify "$TEST_TMP/launch.json" -o "$TEST_TMP/out.ptx" tests/naive/more.sm_90.ptx 2>&1 || echo "status $?")"
    done
done
said="$("$program" -assembler none -block 16,16 -entry filter_guarded -coarsen y4 -coarsen-guards interior -report \
    -launch "$TEST_TMP/known.json" -o "$TEST_TMP/out.ptx" tests/naive/more.sm_90.ptx 2>&1)"
result "the report names the parameter" "$(grep -q 'where filter_guarded_param_5 is 2, as in the launch' <<<"$said" ||
    echo "$said")"
result "there is a version without guards" "$(grep -q '%inner' "$TEST_TMP/out.ptx" || echo "%inner is missing")"
# Each of two merged neighbours has two of the four taps of a transposed convolution: once where they go together, and
# once where they part.
"$program" -q -assembler none -block 32 -coarsen x2 -stride unit -coarsen-guards interior -o "$TEST_TMP/out.ptx" \
    tests/cases/coarsen/transposed.ptx
result "taps of neighbours" "$(grep -c fma "$TEST_TMP/out.ptx" | grep -vx 8)"
exit "$failed"
