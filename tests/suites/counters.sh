#!/usr/bin/env bash
# Private counters. Random kernels, some of them coarsened besides, and a naive histogram, compared in the emulator with
# the originals.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
folder="$TEST_TMP"
seeds=4000
case "$BUILD" in
*/asan) seeds=300 ;;
esac

random_check "random" count-check "1,$seeds"
result "every rule at work" "$(grep -oE '(tested|copies|watched|coarse) [0-9]\b' <<<"$said")"

cat >"$folder/histogram.json" <<'END'
{"kernel": "histogram", "grid": [64, 1, 1], "block": [256, 1, 1], "dynamic_shared": 0, "args": [
    {"buffer": "in", "type": "u8", "count": 16384, "init": "uniform", "low": 0, "high": 255, "seed": 1},
    {"buffer": "bins", "type": "u32", "count": 256, "init": "uniform", "low": 0, "high": 9, "seed": 2},
    {"scalar": "s32", "value": 16300}], "check": ["bins"], "tolerance": {"kind": "exact"}}
END
# $1: coarsening, or "off"; $2: what is done to memory.
check() {
    local options=(-coarsen "$1" -stride unit)
    [ "$1" != off ] || options=()
    "$program" -q -assembler none -entry histogram -block 256 "${options[@]}" -memory "$2" \
        -verify "$folder/histogram.json" -o "$folder/out.ptx" tests/naive/naive.sm_90.ptx 2>&1 ||
        printf 'status %s\n' $?
    grep -q red.shared.add.u32 "$folder/out.ptx" || echo "nothing is counted"
    ! grep -q atom.global "$folder/out.ptx" || echo "something is left"
}
for form in off x4 bx4 x4,bx2; do
    for memory in counters counters,vectors; do
        result "histogram, coarsened $form, $memory" "$(check "$form" "$memory")"
    done
done
exit "$failed"
