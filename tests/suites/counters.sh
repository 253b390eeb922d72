#!/usr/bin/env bash
# Private counters and dead buffers. Random kernels, some of them coarsened besides, a naive histogram, and a tree of
# sums in global memory, compared in the emulator with the originals.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
folder="$TEST_TMP"
seeds=6000
case "$BUILD" in
*/asan) seeds=600 ;;
esac

random_check "random" count-check "1,$seeds"
rules='tested|sized|copies|watched|apart|summed|merged|coarse|jammed'
result "every rule at work" "$(grep -oE "($rules) [0-9]\b" <<<"$said")"

random_check "dead buffers equal to the originals" dead-check "1,$seeds"
result "dead buffers at work" "$(grep -oE '\b[0-9]{1,2} with fewer' <<<"$said")"

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

# An index of which nothing is known but that it is signed: the first elements of the array have counters.
cat >"$folder/signed.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 keys, .param .u64 bins, .param .u32 n)
{
	.reg .pred %p<4>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [keys];
	ld.param.u64 %rd2, [bins];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mul.wide.u32 %rd3, %r2, 4;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.nc.u32 %r3, [%rd4];
	setp.lt.s32 %p1, %r3, 0;
	setp.ge.s32 %p2, %r3, %r1;
	or.pred %p3, %p1, %p2;
	@%p3 bra DONE;
	mul.wide.s32 %rd5, %r3, 4;
	add.s64 %rd6, %rd2, %rd5;
	red.global.add.u32 [%rd6], 1;
DONE:
	ret;
}
END
cat >"$folder/signed.json" <<'END'
{"kernel": "k", "grid": [1, 1, 1], "block": [256, 1, 1], "dynamic_shared": 0, "args": [
    {"buffer": "keys", "type": "s32", "count": 256, "init": "uniform", "low": -9, "high": 3, "seed": 1},
    {"buffer": "bins", "type": "u32", "count": 40, "init": "zero"}, {"scalar": "s32", "value": 40}],
    "check": ["bins"], "tolerance": {"kind": "exact"}}
END
wrong="$("$program" -q -assembler none -block 256 -memory counters -verify "$folder/signed.json" -o "$folder/out.ptx" \
    "$folder/signed.ptx" 2>&1 || printf 'status %s\n' $?)"
"$program" run -q "$folder/out.ptx" "$folder/signed.json" >"$folder/run.txt"
for atomics in 'shared: .* [1-9][0-9]*' 'global: .* 1'; do
    grep -qE "^$atomics atomics" "$folder/run.txt" || wrong+="no '$atomics atomics'"
done
result "a guarded signed index" "$wrong"

# The tree leaves its sums in shared memory, also where threads and blocks are merged, and the search makes it faster.
sed 's/"grid": \[[^]]*\]/"grid": [16, 1, 1]/' corpus/rd/rd.large.launch.json >"$folder/rd.json"
for form in off x4 bx4 x4,bx2; do
    options=(-coarsen "$form" -coarsen-grid shrink)
    [ "$form" != off ] || options=()
    wrong="$("$program" -q -assembler none -entry rd -block 1024 "${options[@]}" -dead-on-return rd_param_0 \
        -verify "$folder/rd.json" -o "$folder/out.ptx" corpus/rd/rd.sm_90.ptx 2>&1 || printf 'status %s\n' $?)"
    grep -q st.shared "$folder/out.ptx" || wrong+="nothing is kept"
    result "tree of sums, coarsened $form" "$wrong"
done
exit "$failed"
