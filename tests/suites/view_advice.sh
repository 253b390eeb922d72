#!/usr/bin/env bash
# The advice of ptxopt view is true: carried out by hand, it frees registers until as many blocks fit as it promises,
# without spills, and the kernel computes the same (docs/results/view.md has the table).
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

PTXAS="$(nvidia_program PTXOPT_PTXAS ptxas)"
if [ -z "$PTXAS" ] || [ -z "$(nvidia_program PTXOPT_NVDISASM nvdisasm)" ]; then
    echo "no ptxas or no nvdisasm"
    exit 77
fi
case "$("$PTXAS" --version)" in
*"release 13.0"*) ;;
*)
    echo "the figures are those of ptxas 13.0"
    exit 77
    ;;
esac
export PTXOPT_PTXAS="$PTXAS"
work="$TEST_TMP/work"
mkdir -p "$work"

# The buffers after the launch, as the emulator computes them. $1: PTX.
buffers() {
    "$PTXOPT" run -q -no-sectors "$1" "$launch" | grep -E "^buffer "
}

# $1: PTX; $2: kernel; $3: architecture; $4: threads of a block; $5: launch file; $6: sed commands that do without
# values of the kernel, or nothing; $7: a part of the advice.
frees() {
    local file="$1" kernel="$2" arch="$3" block="$4" launch="$5" edit="$6" wanted="$7"
    local advice cap blocks before after
    "$PTXOPT" view -q -assembler ptxas -entry "$kernel" -arch "$arch" -block "$block" "$file" >"$work/before" 2>&1
    advice="$(head -n 1 "$work/before")"
    cap="$(sed -nE '1s/.*under \.maxnreg ([0-9]+) .*/\1/p' "$work/before")"
    blocks="$(sed -nE '1s/.*\(([0-9]+) instead of.*/\1/p' "$work/before")"
    awk -v kernel="$kernel" -v cap="$cap" '
        index($0, ".entry " kernel "(") { inside = 1 }
        inside && /^{/ { print ".maxnreg " cap; inside = 0 }
        { print }' "$file" | sed -E "/entry $kernel\(/,/^}/ { $edit
        }" >"$work/after.ptx"
    "$PTXOPT" view -q -assembler ptxas -entry "$kernel" -arch "$arch" -block "$block" "$work/after.ptx" \
        >"$work/after" 2>&1
    before="$(sed -nE 's/^  ([0-9]+) registers = .*/\1/p' "$work/before")"
    after="$(sed -nE 's/^  ([0-9]+) registers = .*/\1/p' "$work/after")"
    result "$kernel for $arch: $before registers become $after" "$({
        grep -qF "$wanted" <<<"$advice" || echo "$advice"
        [ -n "$cap" ] && [ "${after:-256}" -le "$cap" ] || echo "$after registers after it, not $cap"
        grep -q "^  $blocks blocks of $block threads" "$work/after" || grep "blocks of" "$work/after"
        grep -E "(LDL|STL)" "$work/after"
        [ "$(buffers "$file")" = "$(buffers "$work/after.ptx")" ] || echo "it computes something else"
        [ -n "$(buffers "$file")" ] || echo "it computes nothing"
    } 2>&1 | head -n 5)"
}

# The assembler does without some registers if a cap says so.
frees corpus/fft16/fft16.sm_75.ptx fft16 sm_90 64 corpus/fft16/fft16.launch.json "" \
    "(20 instead of 18); under .maxnreg 48 the assembler does without them and spills nothing"
frees corpus/matvec_int8/matvec_int8.sm_75.ptx matvec_int8 sm_90 64 corpus/matvec_int8/matvec_int8.launch.json "" \
    "(32 instead of 24); under .maxnreg 32 the assembler does without them and spills nothing"
frees corpus/mriq/mriq.sm_75.ptx mriq_fast sm_86 128 corpus/mriq/mriq_fast.launch.json "" \
    "(12 instead of 10); under .maxnreg 40 the assembler does without them and spills nothing"
frees corpus/mriq/mriq.sm_75.ptx mriq_fast sm_75 64 corpus/mriq/mriq_fast.launch.json "" \
    "(16 instead of 14); under .maxnreg 64 the assembler does without them and spills nothing"

# It does not here: the values that the picture names first are computed again where they are used. Their operands come
# from prmt, or else the assembler joins both computations again.
frees corpus/mriq/mriq.sm_75.ptx mriq_fast sm_90 64 corpus/mriq/mriq_fast.launch.json '
    /cvt.s64.s32 \t%rd2, %r1;/d
    s/^\tshl.b64 \t%rd23, %rd2, 2;/prmt.b32 %r1, %r1, %r1, 0x3210; mul.wide.s32 %rd23, %r1, 4;/
    s/^\$L__BB1_5:/& prmt.b32 %r22, %r11, %r11, 0x3210; and.b32 %r22, %r22, 3;/' \
    "under .maxnreg 32 the assembler spills 24 bytes; first do without %rd2 (line 390) by computing it again"
exit "$failed"
