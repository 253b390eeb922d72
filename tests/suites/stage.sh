#!/usr/bin/env bash
# Staging in shared memory. Loops of random kernels, some of them coarsened besides, and of the corpus, compared in the
# emulator with the originals, at sizes and blocks other than those that tiles are for, too.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
folder="$TEST_TMP"
seeds=2500 few='[0-9]'
case "$BUILD" in
*/asan) seeds=400 few='[0-1]' ;;
esac

random_check "random" stage-check "1,$seeds"
rules="votes|vectors|lines|partial|loaded|unrolled|nests|edges|both|ahead|async|stores|alike|grow|counted|rows"
rules="$rules|sometimes|any"
result "every rule at work" "$(grep -oE "($rules) $few\b" <<<"$said")"

# $1: NAME:KERNEL:LAUNCH; $2: block; the rest: options. Prints what is wrong.
check() {
    local name kernel launch block="$2"
    IFS=: read -r name kernel launch <<<"$1"
    shift 2
    "$program" -q -assembler none -memory stage -entry "$kernel" -block "$block" "$@" \
        -verify "corpus/$name/$launch.launch.json" -report=/dev/null -report-format json -o "$folder/out.ptx" \
        "corpus/$name/$name.sm_90.ptx" 2>&1 || printf '%s, block %s: status %s\n' "$name" "$block" $?
    grep -q ptxopt_tile "$folder/out.ptx" || echo "$name, block $block: nothing is staged"
}

for one in matmul_naive:matmul_naive:matmul_naive=16,16 mv:mv:mv=64 tmv:tmv:tmv=64 strsm:strsm:strsm=16 \
    conv:conv:conv=16,8 layernorm:layernorm_naive:layernorm_naive=64 vecmatmul:vecmatmul:vecmatmul=64 \
    matvec_int8:matvec_int8_naive:matvec_int8_naive=64 mriq:mriq_fast:mriq_fast=64; do
    result "${one%%:*}" "$(check "${one%=*}" "${one#*=}")"
done
result "other blocks than expected" "$(check matmul_naive:matmul_naive:matmul_naive 32,8)"
for form in bx2,by2 bx4,by4 x2 x2,by2; do
    result "coarsened $form" "$(check matmul_naive:matmul_naive:matmul_naive 16,16 -coarsen "$form")"
done
# Masks of 37 x 37 elements: a tile, and a round that is left.
cat >"$folder/conv.json" <<'END'
{"kernel": "conv", "grid": [2, 2, 1], "block": [16, 8, 1], "dynamic_shared": 0, "args": [
    {"buffer": "image", "type": "f32", "count": 3638, "init": "uniform", "low": -1, "high": 1, "seed": 1},
    {"buffer": "mask", "type": "f32", "count": 1369, "init": "uniform", "low": -1, "high": 1, "seed": 2},
    {"buffer": "out", "type": "f32", "count": 512, "init": "poison"},
    {"scalar": "s32", "value": 32}, {"scalar": "s32", "value": 70}, {"scalar": "s32", "value": 37}],
    "check": ["out"], "tolerance": {"kind": "exact"}}
END
# $1: name; $2: words that the output must contain; $3: coarsening, or "off"; $4: launch file; the rest: arguments.
lines() {
    local name="$1" words="$2" form="$3" launch="$4" said
    local options=(-coarsen "$form" -stride unit)
    [ "$form" != off ] || options=()
    shift 4
    said="$("$program" -q -assembler none -memory stage -p -vectorize "${options[@]}" -verify "$launch" \
        -o "$folder/out.ptx" "$@" 2>&1)" || said="$said failed"
    grep -qF "$words" "$folder/out.ptx" || said="$said no $words"
    result "$name, coarsened $form" "$said"
}
for form in off x2 x4,by2 x2,y2; do
    lines lines %lines "$form" "$folder/conv.json" -block 16,8 corpus/conv/conv.sm_90.ptx
done
# Masks of 32 x 32 elements: a tile for all of it. The image ends where the last thread reads.
sed 's/3638/3283/; s/1369/1024/; s/"value": 37/"value": 32/' "$folder/conv.json" >"$folder/nest.json"
for form in off x2 x4,by2 x2,y2 x8 y4; do
    lines nests %columns "$form" "$folder/nest.json" -block 16,8 corpus/conv/conv.sm_90.ptx
done
# Rows that end where the buffer does, in lines with a pad that only some of the threads load the end of.
cat >"$folder/rows.json" <<'END'
{"kernel": "separable_rows", "grid": [2, 2, 1], "block": [20, 3, 1], "dynamic_shared": 0, "args": [
    {"buffer": "image", "type": "f32", "count": 432, "init": "uniform", "low": -1, "high": 1, "seed": 1},
    {"buffer": "filter", "type": "f32", "count": 33, "init": "uniform", "low": -1, "high": 1, "seed": 2},
    {"buffer": "out", "type": "f32", "count": 240, "init": "poison"},
    {"scalar": "s32", "value": 40}, {"scalar": "s32", "value": 6}, {"scalar": "s32", "value": 33}],
    "check": ["out"], "tolerance": {"kind": "exact"}}
END
for form in x2 x4; do
    lines "padded lines" "and.pred %inside" "$form" "$folder/rows.json" -block 20,3 -entry separable_rows \
        tests/naive/naive.sm_90.ptx
done
# A grid of one row is not made of larger blocks along y, whatever these would gain.
launch=corpus/tmv/tmv.launch.json
said="$("$program" -q -coarsen auto -memory auto -coarsen-grid shrink -entry tmv -launch $launch \
    -machine corpus/two-sms.json -o "$folder/flat.ptx" corpus/tmv/tmv.sm_90.ptx 2>&1 &&
    "$program" cost -q -machine corpus/two-sms.json "$folder/flat.ptx" $launch 2>&1)"
result "a grid of one row" "$(grep -q "predicted microseconds" <<<"$said" || echo "$said")"
# Indices that stay in their range get vectors, with a quarter of the sectors; others do not.
"$program" -q -assembler none -memory vectors -block 32 -o "$folder/range.ptx" tests/cases/memory/range.ptx
for launch in unsigned-high:6 unsigned-zero:24 signed-low:6 signed-middle:24; do
    said="$("$program" cost "$folder/range.ptx" "tests/cases/memory/range-${launch%:*}.launch.json" 2>&1)"
    result "indices, ${launch%:*}" "$(grep -qE "sectors loaded .* ${launch#*:}[.]000" <<<"$said" || echo "$said")"
done
exit "$failed"
