#!/usr/bin/env bash
# Known defects of ptxas (opt/defects/defects.def): whether the installed one still has them, as the table says, and
# whether it assembles what -fix-defects makes of the code. PTXOPT_PTXAS_VERSIONS lists more programs to ask.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

need_program PTXOPT_PTXAS ptxas
need_program PTXOPT_NVDISASM nvdisasm
unset PTXOPT_FLAGS
work="$TEST_TMP/work"
mkdir -p "$work"

# $1: the code, which leaves its result in %d or %r.
kernel() {
    cat <<END
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b64 %p, %x, %d, %e<4>;
.reg .b32 %a, %b, %c, %r, %s<4>;
ld.param.u64 %p, [p];
ld.global.u64 %x, [%p];
ld.global.u32 %a, [%p+8];
ld.global.u32 %b, [%p+12];
ld.global.u32 %c, [%p+16];
mov.u64 %d, 0;
mov.u32 %r, 0;
$1
st.global.u64 [%p+24], %d;
st.global.u32 [%p+32], %r;
ret;
}
END
}

# The instructions of the kernel. $1: ptxas; $2: architecture; $3: PTX.
code() {
    "$1" -arch="$2" "$3" -o "$work/k.cubin" 2>"$work/errors" || return 1
    "$nvdisasm" "$work/k.cubin" 2>/dev/null | sed -nE 's|^ +/\*[0-9a-f]{4}\*/ +(.*) ;.*|\1|p'
}

# True if the code on standard input is wrong: a bound without a negation, a sum of shifts without a sum.
is_wrong_bound() {
    ! grep -qE '(, |\()-R|LOP|VIADD'
}
is_wrong_sum() {
    ! grep -qE 'IADD|LEA|IMAD.X'
}
# A negative or an absolute value after which nothing brings the sign of 16 bits into the others.
is_wrong_negation() {
    awk '/[ (]-R|IABS/ { made = 1; extended = 0 } /PRMT|SGXT/ { extended = 1 } END { exit !made || extended }'
}
# A selection, of %a if it is right, that takes the other value.
is_wrong_selection() {
    ! grep -qF '+0x8]'
}
# A field of copies of the sign that is a constant.
is_wrong_field() {
    ! grep -qE 'SHF|SGXT|SEL|BFE'
}
# A byte that is the sign of a byte of zero.
is_wrong_sign() {
    grep -qE ', RZ, 0x[89ab],'
}

# One lop3 with a source of zero in the middle, for a product of two: any table that ptxas makes so is wrong.
is_wrong_merge() {
    grep -qE 'LOP3.LUT R[0-9]+, R[0-9]+, RZ, R[0-9]+, 0x80,'
}

# A product of which something is subtracted, with a carry.
is_wrong_borrow() {
    grep -qE 'IMAD.HI[.U32]* (RZ|R[0-9]+), P[0-9],'
}

# A conversion of a signed part of a register.
is_wrong_part() {
    grep -qE 'I2F[A-Z0-9.]*\.S(8|16)|I2FP[A-Z0-9.]*\.S(8|16)'
}

# $1: name; $2: the test of the code; $3: the code itself; $4: architectures.
try() {
    local name="$1" test="$2" program arch version says is
    kernel "$3" >"$work/$name.ptx"
    "$PTXOPT" -q -fix-defects -assembler none -o "$work/$name.fixed.ptx" "$work/$name.ptx"
    while read -r program; do
        version="$("$program" --version | sed -nE 's/.* V([0-9.]+)$/\1/p')"
        for arch in $4; do
            code "$program" "$arch" "$work/$name.ptx" >"$work/code" || continue
            is="$($test <"$work/code" && echo wrong || echo right)"
            PTXOPT_PTXAS="$program" "$PTXOPT" -assembler ptxas -arch "$arch" -target-regs auto -block 64 -o /dev/null \
                "$work/$name.ptx" 2>"$work/said"
            says="$(grep -q 'is known to assemble this wrongly' "$work/said" && echo wrong || echo right)"
            result "$name: $version on $arch is $is" "$([ "$is" = "$says" ] ||
                echo "the table says $says: $(tr '\n' ';' <"$work/code")")"
            code "$program" "$arch" "$work/$name.fixed.ptx" >"$work/code"
            result "$name: $version on $arch, rewritten" "$($test <"$work/code" && cat "$work/code")"
        done
    done < <(printf '%s\n' "$ptxas" ${PTXOPT_PTXAS_VERSIONS:-})
}

bound='neg.s32 %s1, %a; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;'
all="sm_75 sm_90 sm_100 sm_103 sm_120"
try bound is_wrong_bound "$bound" "$all"
try bound-min is_wrong_bound "${bound//max/min}" sm_90
try bound-swapped is_wrong_bound 'neg.s32 %s1, %a; max.s32 %s2, %b, %s1; max.s32 %r, %c, %s2;' sm_90
try bound-product is_wrong_bound 'mul.lo.s32 %s1, %a, -1; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;' sm_90
try shifts is_wrong_sum 'shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; sub.s64 %d, %e1, %e2;' "$all"
try shifts-reversed is_wrong_sum 'shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; sub.s64 %d, %e2, %e1;' sm_90
try shifts-signed is_wrong_sum 'shl.b64 %e1, %x, 8; shr.s64 %e2, %x, 56; sub.s64 %d, %e1, %e2;' sm_90
try shifts-added is_wrong_sum 'shl.b64 %e1, %x, 8; shr.s64 %e2, %x, 56; add.s64 %d, %e1, %e2;' sm_90
try shifts-negated is_wrong_sum 'shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; neg.s64 %e2, %e2; add.s64 %d, %e1, %e2;' sm_90
negated='.reg .b16 %h<3>; ld.global.s16 %h1, [%p+8]; neg.s16 %h2, %h1; cvt.s32.s16 %r, %h2;'
try negation is_wrong_negation "$negated" "$all"
try negation-absolute is_wrong_negation "${negated/neg/abs}" "sm_75 sm_90"
try negation-wide is_wrong_negation "${negated/cvt.s32.s16 %r, %h2/cvt.s64.s16 %d, %h2}" sm_90
selection='slct.s32.s32 %r, %a, %b, 2147483647;'
try selection is_wrong_selection "$selection" "$all"
try selection-nan is_wrong_selection "${selection/2147483647/0x7f800001}" sm_90
try selection-least is_wrong_selection 'slct.s32.s32 %r, %b, %a, -2147483648;' "sm_75 sm_90"
try selection-moved is_wrong_selection "mov.b32 %s1, 2147483647; ${selection/2147483647/%s1}" sm_90
try selection-computed is_wrong_selection "mov.b32 %s1, -1; shr.u32 %s1, %s1, 1; ${selection/2147483647/%s1}" sm_90
field='bfe.s32 %r, %a, 40, 5;'
try field is_wrong_field "$field" "$all"
try field-long is_wrong_field "${field/40, 5/255, 255}" "sm_75 sm_90"
try field-moved is_wrong_field "mov.b32 %s1, 296; mov.b32 %s2, 257; ${field/40, 5/%s1, %s2}" sm_90
try field-computed is_wrong_field "mov.b32 %s1, 5; shl.b32 %s1, %s1, 3; ${field/40/%s1}" sm_90
# These are right.
try field-last is_wrong_field "${field/40/31}" sm_90
try field-open is_wrong_field "${field/5/%b}" sm_90

sign='prmt.b32 %s1, %a, %b, 9; and.b32 %r, %s1, 255;'
try sign is_wrong_sign "$sign" "$all"
try sign-extended is_wrong_sign "${sign/and.b32 %r, %s1, 255/cvt.u32.u8 %r, %s1}" "sm_75 sm_90"
try sign-wide is_wrong_sign "${sign/and.b32 %r, %s1, 255/cvt.u64.u8 %d, %s1}" sm_90
# The sign of the other source.
try sign-second is_wrong_sign "${sign/9/13}" sm_90

merge='lop3.b32 %s1, %a, %a, %b, 0xc0; and.b32 %r, %s1, %b;'
try merge is_wrong_merge "$merge" "$all"
try merge-moved is_wrong_merge "mov.b32 %s2, %a; ${merge/%a, %a/%s2, %a}" sm_90

borrow='mul.hi.u32 %s1, %a, %b; sub.cc.u32 %r, %s1, %c; subc.u32 %s2, 0, 0; cvt.u64.u32 %d, %s2;'
try borrow is_wrong_borrow "$borrow" "$all"
try borrow-signed is_wrong_borrow "${borrow/hi.u32/hi.s32}" "sm_75 sm_90"
# The other way around, and low products, are right.
try borrow-from is_wrong_borrow "${borrow/%s1, %c/%c, %s1}" sm_90
try borrow-low is_wrong_borrow "${borrow/hi.u32/lo.u32}" sm_90

part='bfe.s32 %s1, %a, 8, 8; cvt.rn.f32.u32 %r, %s1;'
try part is_wrong_part "$part" "$all"
try part-half is_wrong_part "${part/8, 8/16, 16}" "sm_75 sm_90"
try part-double is_wrong_part "${part/f32.u32 %r/f64.u32 %d}" "sm_75 sm_90"
# Other fields, and shifts, are right.
try part-field is_wrong_part "${part/8, 8/4, 8}" sm_90
try part-shifted is_wrong_part 'shl.b32 %s2, %a, 16; shr.s32 %s1, %s2, 24; cvt.rn.f32.u32 %r, %s1;' sm_90

# In functions, too. Those without such code stay as they are.
cat >"$work/functions.ptx" <<'END'
.version 7.8
.target sm_75
.address_size 64
.func (.param .b32 r) plain (.param .b32 a) { .reg .b32 %a; ld.param.u32 %a, [a]; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) chosen (.param .b32 a, .param .b32 b)
{
.reg .b32 %a, %b;
ld.param.u32 %a, [a];
ld.param.u32 %b, [b];
slct.s32.s32 %a, %a, %b, 2147483647;
st.param.b32 [r], %a;
ret;
}
.visible .entry k(.param .u64 .ptr p)
{
.reg .b64 %p;
.reg .b32 %a, %b;
ld.param.u64 %p, [p];
ld.global.u32 %a, [%p];
ld.global.u32 %b, [%p+4];
{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %a; st.param.b32 [y], %b;
call (z), chosen, (x, y); ld.param.b32 %a, [z]; }
st.global.u32 [%p+8], %a;
ret;
}
END
"$PTXOPT" -q -fix-defects -assembler none -o "$work/functions.fixed.ptx" "$work/functions.ptx"
result "a function is rewritten" "$(grep -n 2147483647 "$work/functions.fixed.ptx")"
result "the other function is not" \
    "$(diff <(grep plain "$work/functions.ptx") <(grep plain "$work/functions.fixed.ptx"))"
PTXOPT_PTXAS="$ptxas" "$PTXOPT" check -arch sm_90 "$work/functions.fixed.ptx" >"$work/said" 2>&1
result "a function is right then" "$(grep -q 'equal for 16 inputs' "$work/said" || cat "$work/said")"

# One warning for all replicas of an instruction.
own='.reg .b32 %t; .reg .b64 %w; mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 64; add.s64 %p, %p, %w;'
sed "s/^ld.global.u64 %x/$own\n&/" "$work/shifts.ptx" >"$work/replicas.ptx"
"$PTXOPT" -arch sm_90 -coarsen 4 -block 64 -o "$work/x4.ptx" "$work/replicas.ptx" 2>"$work/said"
result "one warning for all replicas" "$([ "$(grep -c 'is known to assemble this wrongly' "$work/said")" -eq 1 ] ||
    head -n 5 "$work/said")"
result "there are replicas" "$([ "$(grep -c 'shl.b64' "$work/x4.ptx")" -eq 4 ] || grep shl "$work/x4.ptx")"
exit $failed
