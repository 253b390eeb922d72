#!/usr/bin/env bash
# ptxopt check: machine code against PTX. The known defects of ptxas are found, correct code is equal, everything that
# the interpreter lacks is named, and the exit status says which.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

need_program PTXOPT_PTXAS ptxas
need_program PTXOPT_NVDISASM nvdisasm
export PTXOPT_PTXAS="$ptxas" PTXOPT_NVDISASM="$nvdisasm"
unset PTXOPT_FLAGS
work="$TEST_TMP/work"
mkdir -p "$work"

# $1: the code, which may use %x and %y (64 bits), %a, %b and %c (32 bits), and leaves its result in %d or %r.
kernel() {
    cat <<END
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 .ptr p)
{
.reg .pred %q<4>;
.reg .b64 %p, %i, %x, %y, %d, %e<4>;
.reg .b32 %t, %n, %m, %a, %b, %c, %r, %s<4>;
.reg .f32 %f<4>;
.reg .b16 %h<4>;
ld.param.u64 %p, [p];
mov.u32 %t, %tid.x;
mov.u32 %n, %ctaid.x;
mov.u32 %m, %ntid.x;
mad.lo.u32 %t, %n, %m, %t;
mul.wide.u32 %i, %t, 64;
add.u64 %p, %p, %i;
ld.global.u64 %x, [%p];
ld.global.u64 %y, [%p+8];
ld.global.u32 %a, [%p+16];
ld.global.u32 %b, [%p+20];
ld.global.u32 %c, [%p+24];
mov.u64 %d, 0;
mov.u32 %r, 0;
$1
st.global.u64 [%p+32], %d;
st.global.u32 [%p+40], %r;
ret;
}
END
}

# $1: name; $2: exit status; $3: pattern of the output; $4...: options and file.
says() {
    local name="$1" wanted="$2" pattern="$3" status
    shift 3
    "$PTXOPT" check "$@" >"$work/out" 2>"$TEST_TMP/errors"
    status=$?
    if [ "$status" -ne "$wanted" ]; then
        result "$name" "exit status $status: $(head -n 3 "$work/out")"
    elif ! grep -qE -- "$pattern" "$work/out" "$TEST_TMP/errors"; then
        result "$name" "says $(head -n 3 "$work/out")"
    else
        result "$name" ""
    fi
}

version="$("$ptxas" --version | sed -nE 's/.* V([0-9]+)\.([0-9]+)\..*/\1\2/p')"
kernel 'neg.s32 %s1, %a; max.s32 %s2, %a, %s1; max.s32 %r, %s2, %b;' >"$work/bound.ptx"
kernel 'shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; sub.s64 %d, %e1, %e2;' >"$work/shifts.ptx"
if [ "$version" -ge 126 ] && [ "$version" -lt 134 ]; then
    says "a lost negation" 5 'the machine code 0x' -arch sm_90 "$work/bound.ptx"
    says "a lost negation, its line" 5 'PTX, line [0-9]+: st.global.u32 \[%p\+40\], %r;' -arch sm_90 "$work/bound.ptx"
    says "a lost negation, its instruction" 5 'machine code: /\*[0-9a-f]{4}\*/ STG' -arch sm_90 "$work/bound.ptx"
fi
if [ "$version" -ge 120 ] && [ "$version" -lt 133 ]; then
    for arch in sm_75 sm_90 sm_120; do
        says "a rotation, on $arch" 5 "\($arch, -O3\): different" -arch "$arch" "$work/shifts.ptx"
    done
    says "both levels, one of them right" 5 '-O0\): equal' -arch sm_75 -opt-level 0,3 "$work/shifts.ptx"
    says "quiet: only what is not equal" 5 '-O3\): different' -q -arch sm_75 -opt-level 0,3 "$work/shifts.ptx"
    result "quiet: nothing else" "$(grep -o -- '-O0.*' "$work/out")"
fi
kernel 'slct.s32.s32 %r, %a, %b, 2147483647;' >"$work/selection.ptx"
if [ "$version" -ge 120 ] && [ "$version" -lt 134 ]; then
    for arch in sm_75 sm_90 sm_120; do
        says "a constant selector, on $arch" 5 '-O3\): different' -arch "$arch" "$work/selection.ptx"
    done
    says "a constant selector, one level right" 5 '-O0\): equal' -arch sm_75 -opt-level 0,3 "$work/selection.ptx"
fi
kernel 'bfe.s32 %r, %a, 32, 31;' >"$work/extract.ptx"
if [ "$version" -ge 120 ] && [ "$version" -lt 135 ]; then
    says "a field after the end" 5 '-O3\): different' -arch sm_75 -opt-level 0,3 "$work/extract.ptx"
    says "a field after the end, one level right" 5 '-O0\): equal' -arch sm_90 -opt-level 0,3 "$work/extract.ptx"
fi
# docs/defects.md, "Found, but not in the table".
kernel 'cvt.u16.u32 %h1, %a; neg.s16 %h2, %h1; cvt.s32.s16 %r, %h2;' >"$work/negated.ptx"
kernel 'bfi.b32 %r, %a, %b, 13, 32;' >"$work/insert.ptx"
kernel 'neg.f32 %s1, %a; shr.u64 %d, %x, %s1;' >"$work/amount.ptx"
kernel 'neg.s32 %s1, %a; cvt.sat.s8.s32 %r, %s1;' >"$work/least-negated.ptx"
kernel 'neg.s32 %s1, %a; slct.s32.s32 %r, %b, %c, %s1;' >"$work/least-chooses.ptx"
kernel 'cvt.sat.u32.s64 %s1, %x; mov.b32 %f1, %s1; cvt.sat.f32.f32 %f2, %f1; mov.b32 %r, %f2;' >"$work/saturated.ptx"
kernel 'mov.b32 %f1, %a; cvt.rzi.s64.f32 %e1, %f1; cvt.sat.s32.s64 %r, %e1;' >"$work/no-number.ptx"
kernel 'cnot.b32 %s1, %a; cvt.sat.u16.u32 %r, %s1;' >"$work/no-value.ptx"
kernel 'set.gt.s32.s32 %s1, %a, -128; neg.f32 %r, %s1; not.b32 %s2, %s1; cvt.u64.u32 %d, %s2;' >"$work/nan-negated.ptx"
kernel 'ld.global.u16 %h1, [%p+44]; ld.global.u16 %h2, [%p+46]; cvt.u32.u16 %s1, %h1; mul.rn.f16x2 %r, %b, %s1;
st.global.u16 [%p+50], %h2;' >"$work/not-extended.ptx"
kernel 'mov.b32 %f1, %a; abs.f32 %f2, %f1; slct.s32.f32 %r, %b, %c, %f2;' >"$work/nan-chooses.ptx"
kernel 'cvt.u16.u32 %h1, %a; cvt.f32.f16 %s1, %h1; cvt.u16.u32 %h2, %s1; cvt.rzi.s32.f16 %r, %h2;' >"$work/low-half.ptx"
kernel 'lop3.b32 %s1, %a, %a, %b, 0xc0; and.b32 %r, %s1, %b;' >"$work/repeated.ptx"
kernel 'shfl.sync.bfly.b32 %s3, %a, %a, 7711, -1; shfl.sync.bfly.b32 %s3|%q1, %a, 1, 7199, -1; mov.u32 %s1, %laneid;
and.b32 %s1, %s1, 24; shl.b32 %s1, 255, %s1; redux.sync.min.u32 %s2, %a, %s1; match.any.sync.b32 %s0, %a, -1;
match.any.sync.b32 %s2, %a, -1; selp.b32 %r, %s0, %a, %q1;' | sed 's/sm_75/sm_80/' >"$work/parted.ptx"
kernel 'prmt.b32 %s1, %a, %b, 9; and.b32 %r, %s1, 255;' >"$work/sign-byte.ptx"
kernel 'bfe.s32 %s1, %a, 8, 8; cvt.rn.f32.u32 %f1, %s1; mov.b32 %r, %f1;' >"$work/signed-byte.ptx"
kernel 'and.b32 %c, %c, 1; mul.hi.u32 %s1, %a, %b; sub.cc.u32 %s2, %s1, %c; subc.u32 %r, %a, %b;' >"$work/borrow.ptx"
kernel 'mov.b32 %f1, %a; set.le.f32.f32 %s1, %f1, %f1; cvt.u64.u32 %d, %s1; cnot.b32 %r, %s1;' >"$work/one.ptx"
if [ "$version" -ge 120 ] && [ "$version" -lt 134 ]; then
    says "a source twice" 5 'different' -arch sm_75 -opt-level 0,3 "$work/repeated.ptx"
    says "a byte that is a sign" 5 'different' -arch sm_75 -opt-level 0,3 "$work/sign-byte.ptx"
    says "a byte that is a sign, -O0 is right" 5 'O0\): equal' -arch sm_90 -opt-level 0,3 "$work/sign-byte.ptx"
fi
if [ "$version" -ge 120 ] && [ "$version" -le 135 ]; then
    for name in least-negated least-chooses saturated no-number no-value nan-negated nan-chooses \
        not-extended low-half parted signed-byte borrow one; do
        says "$name" 5 'different' -arch sm_90 -inputs 40 "$work/$name.ptx"
        says "$name, -O0 is right" 0 'equal for 40' -arch sm_90 -opt-level 0 -inputs 40 "$work/$name.ptx"
    done
fi
kernel 'or.b32 %s1, %a, 0x7f800001; mov.b32 %f1, %s1; abs.f32 %f2, %f1; cvt.f64.f32 %d, %f2;' >"$work/nan.ptx"
says "bits of a NaN, converted" 0 'equal for 16' -arch sm_75,sm_90 "$work/nan.ptx"
# PTX leaves open which NaN neg and abs give: the sign alone may change, and integers see that.
kernel 'or.b32 %s1, %a, 0xff800001; setp.lt.s32 %q1, %b, %c; abs.f32 %s2, %s1; selp.f32 %s3, %s2, %s1, %q1;
add.s32 %r, %s3, 1;' >"$work/nan-positive.ptx"
kernel 'shl.b32 %s3, %a, 56; set.le.s32.s32 %s1, %a, %a; add.rn.ftz.f32 %s2, %s3, %s1; neg.f16x2 %s2, %s2;
bfe.s32 %r, %s2, %b, %b;' >"$work/nan-pair.ptx"
for name in nan-positive nan-pair; do
    says "bits of a NaN, $name" 0 'equal for 16' -arch sm_75,sm_90 "$work/$name.ptx"
done
if [ "$version" -ge 120 ] && [ "$version" -le 130 ]; then
    says "a negated short" 5 'different' -arch sm_90 -inputs 40 "$work/negated.ptx"
    says "an inserted field" 5 'different' -arch sm_90 -inputs 40 "$work/insert.ptx"
    says "a float as an amount" 5 'different' -arch sm_90 -inputs 40 "$work/amount.ptx"
fi
"$PTXOPT" -q -fix-defects -assembler none -o "$work/fixed.ptx" "$work/shifts.ptx"
says "rewritten by -fix-defects" 0 'equal for 16 inputs' -arch sm_90 "$work/fixed.ptx"
"$PTXOPT" -q -fix-defects -assembler none -o "$work/fixed.ptx" "$work/extract.ptx"
"$PTXOPT" -q -fix-defects -assembler none -o "$work/signs.ptx" "$work/sign-byte.ptx"
for name in signed-byte borrow; do
    "$PTXOPT" -q -fix-defects -assembler none -o "$work/$name.fixed.ptx" "$work/$name.ptx"
    says "$name, rewritten by -fix-defects" 0 'equal for 40 inputs' -arch sm_75,sm_90 -inputs 40 "$work/$name.fixed.ptx"
done
says "a byte rewritten by -fix-defects" 0 'equal for 16 inputs' -arch sm_75,sm_90 "$work/signs.ptx"
says "a field rewritten by -fix-defects" 0 'equal for 40 inputs' -arch sm_75,sm_90 -inputs 40 "$work/fixed.ptx"

kernel 'mul.lo.s32 %r, %a, %b; mad.lo.u64 %d, %x, %y, %x; shr.s32 %s1, %c, 3; xor.b32 %r, %r, %s1;' >"$work/int.ptx"
for arch in sm_75 sm_86 sm_90 sm_100 sm_120; do
    says "integers on $arch" 0 'equal for 16 inputs' -arch "$arch" -opt-level 0,3 "$work/int.ptx"
done
kernel 'mov.b32 %f1, %a; mov.b32 %f2, %b; div.rn.f32 %f3, %f1, %f2; mov.b32 %r, %f3;' >"$work/div.ptx"
says "a division" 0 'equal for 40 inputs' -arch sm_90 -inputs 40 "$work/div.ptx"
kernel 'mov.b32 %f1, %a; sin.approx.f32 %f1, %f1; mov.b32 %r, %f1;' >"$work/sin.ptx"
says "an approximation" 6 'results differ, and an approximate instruction was executed' -arch sm_75 "$work/sin.ptx"
says "an approximation, its instruction" 6 'machine code: .*MUFU.SIN' -arch sm_75 "$work/sin.ptx"
kernel 'mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r, %s1}, {%a}, {%b}, {%c, %c};' >"$work/tensor.ptx"
says "an instruction that is not executed" 6 "not decided: the instruction 'IMMA" -arch sm_75 "$work/tensor.ptx"

# Threads of a warp exchange values: all, those of a mask of eight, and those for which a predicate holds.
kernel 'shfl.sync.bfly.b32 %r|%q1, %a, 5, 0x181f, -1; vote.sync.ballot.b32 %s1, %q1, -1; add.s32 %r, %r, %s1;' \
    >"$work/shuffle.ptx"
kernel 'mov.u32 %s1, %laneid; and.b32 %s1, %s1, 24; shl.b32 %s1, 255, %s1; and.b32 %s2, %a, 3;
match.any.sync.b32 %r, %s2, %s1; shfl.sync.idx.b32 %s3, %b, 3, 0x181f, %s1; add.s32 %r, %r, %s3;' >"$work/eights.ptx"
kernel 'setp.lt.s32 %q1, %a, %b; vote.sync.ballot.b32 %s1, %q1, -1; @!%q1 bra OTHER;
match.any.sync.b32 %r, %c, %s1; bra.uni DONE; OTHER: not.b32 %s1, %s1; setp.gt.s32 %q2, %c, 0;
vote.sync.ballot.b32 %r, %q2, %s1; DONE: shfl.sync.bfly.b32 %s2, %c, 1, 31, -1; xor.b32 %r, %r, %s2;' >"$work/parts.ptx"
kernel 'setp.lt.s32 %q1, %a, %b; bar.red.popc.u32 %r, 1, %q1; bar.red.or.pred %q2, 0, %q1; selp.b32 %r, %r, 77, %q2;' \
    >"$work/counted.ptx"
for arch in sm_75 sm_86 sm_90 sm_100 sm_120; do
    for name in shuffle eights parts counted; do
        says "$name on $arch" 0 'equal for 9 inputs' -arch "$arch" -opt-level 0,3 -inputs 9 "$work/$name.ptx"
    done
done
kernel 'activemask.b32 %r; setp.lt.s32 %q1, %a, %b; @!%q1 bra DONE; activemask.b32 %r; DONE:' >"$work/active.ptx"
says "which threads are together" 0 'equal' -arch sm_90 "$work/active.ptx"
kernel 'cvt.rz.f16.f32 %h1, %s1; mov.b32 %r, {%h1, %h1};' | sed 's/%s1;/%a;/' >"$work/half.ptx"
says "rounded to f16" 0 'equal for 40 inputs' -arch sm_75,sm_90 -inputs 40 "$work/half.ptx"

# Above 255, PTX leaves positions and lengths of 64-bit fields open; ptxas does not take them modulo 256.
kernel 'bfe.s64 %d, %x, %a, %b;' >"$work/field.ptx"
says "an open field" 6 'results differ, and PTX leaves open what fields of 64 bits' -arch sm_90 "$work/field.ptx"
says "an open field, its line" 6 'PTX, line [0-9]+: bfe.s64' -arch sm_90 "$work/field.ptx"
kernel 'and.b32 %a, %a, 255; and.b32 %b, %b, 255; bfe.s64 %d, %x, %a, %b;' >"$work/field.ptx"
says "a field within 255" 0 'equal for 16 inputs' -arch sm_90 "$work/field.ptx"

kernel 'abs.s32 %s1, %a; setp.lt.s32 %q1, %s1, 0; selp.b32 %r, 1, 2, %q1;' >"$work/least.ptx"
says "the least integer" 6 'PTX leaves open what .x. of the least integer' -arch sm_90 -inputs 40 "$work/least.ptx"
kernel 'max.s32 %a, %a, -5; abs.s32 %s1, %a; setp.lt.s32 %q1, %s1, 0; selp.b32 %r, %s1, 2, %q1;' >"$work/least.ptx"
says "other integers" 0 'equal for 40 inputs' -arch sm_90 -inputs 40 "$work/least.ptx"

# ptxas 13.5 makes sums with carries of IADD for sm_120, and rounds in uniform registers.
kernel 'add.cc.u32 %s1, %a, %b; addc.u32 %r, %c, %a; sub.cc.u32 %s1, %b, %c; subc.u32 %s2, %a, %b; add.u32 %r, %r, %s2;
add.cc.u64 %e1, %x, %y; addc.cc.u64 %e2, %x, %x; addc.u32 %s3, %r, 0; sub.cc.u64 %e3, %e1, %y; subc.u32 %r, %s3, 5;
xor.b64 %d, %e2, %e3;' >"$work/carries.ptx"
kernel 'ld.param.u32 %s1, [p]; mov.b32 %f3, %s1; cvt.rzi.f32.f32 %f1, %f3; cvt.rmi.f32.f32 %f2, %f3;
add.rn.f32 %f3, %f1, %f2; mov.b32 %r, %f3;' >"$work/round.ptx"
for program in "$ptxas" third_party/cuda-13.5/bin/ptxas; do
    [ -x "$program" ] || echo "skip carries, by another ptxas: no $program (CUDA=13.5 tools/deps.sh)"
    for name in carries round; do
        [ ! -x "$program" ] || PTXOPT_PTXAS="$program" says "$name, by $program" 0 'equal for 16 inputs' \
            -arch sm_90,sm_120 "$work/$name.ptx"
    done
done

# Video instructions, sums that saturate, comparisons of halves, and what kind of address a generic one is.
kernel 'add.sat.s32 %s1, %a, %b; sub.sat.s32 %s2, %b, %c; vabsdiff4.u32.u32.u32 %r, %s1, %s2, %c;
dp2a.lo.s32.u32 %s1, %a, %b, %c; dp2a.hi.u32.s32 %s2, %b, %c, %a; xor.b32 %r, %r, %s1; xor.b32 %r, %r, %s2;' \
    >"$work/video.ptx"
kernel 'set.ltu.u32.f16x2 %s1, %a, %b; set.ge.f16x2.f16x2 %s2, %a, %c; xor.b32 %r, %s1, %s2;' >"$work/sets.ptx"
kernel '.shared .b64 %z; st.shared.u64 [%z], %x; bar.sync 0; setp.lt.s32 %q1, %a, %b; mov.u64 %e1, %z;
cvta.shared.u64 %e1, %e1; add.u64 %e2, %p, 48; selp.b64 %e1, %e1, %e2, %q1; isspacep.shared %q2, %e1;
atom.or.b64 %d, [%e1], %y; bar.sync 0; ld.shared.u64 %d, [%z]; selp.b32 %r, 1, 2, %q2;' >"$work/generic.ptx"
for arch in sm_75 sm_90 sm_100 sm_120; do
    for name in video sets generic; do
        says "$name on $arch" 0 'equal for 9 inputs' -arch "$arch" -opt-level 0,3 -inputs 9 "$work/$name.ptx"
    done
done

# Calls by addresses in a variable, of functions elsewhere, and of those that the driver has; constants at generic ones.
cat >"$work/calls.ptx" <<'END'
.version 7.8
.target sm_75
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.extern .func free (.param .b64 p);
.func (.param .b32 r) twice (.param .b32 a);
.func (.param .b32 r) square (.param .b32 a);
.global .align 8 .u64 functions[2] = {twice, square};
.const .align 4 .u32 numbers[4] = {3, 5, 7, 11};
.global .align 1 .b8 text[4] = {37, 100, 10, 0};
.func (.param .b32 r) twice (.param .b32 a)
{
    .reg .b32 %a;
    ld.param.u32 %a, [a];
    add.u32 %a, %a, %a;
    st.param.b32 [r], %a;
    ret;
}
.func (.param .b32 r) square (.param .b32 a)
{
    .reg .b32 %a;
    ld.param.u32 %a, [a];
    mul.lo.u32 %a, %a, %a;
    st.param.b32 [r], %a;
    ret;
}
END
# $1: the kernel's name; $2: its code.
entry() {
    cat <<END
.visible .entry $1(.param .u64 .ptr p)
{
    .reg .b64 %p, %f, %m, %z;
    .reg .b32 %t, %a, %b, %r;
    .reg .pred %q;
    ld.param.u64 %p, [p];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %p, %t, 16, %p;
    ld.global.u32 %a, [%p];
    and.b32 %b, %a, 1;
    mov.u32 %r, %a;
    $2
    st.global.u32 [%p+4], %r;
    ret;
}
END
}
entry pointers 'mov.u64 %m, functions; mad.wide.u32 %f, %b, 8, %m; ld.global.u64 %f, [%f];
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %a; types: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (y), %f, (x), types; ld.param.b32 %r, [y]; }' >>"$work/calls.ptx"
entry addresses 'mov.u64 %m, functions; mad.wide.u32 %f, %b, 8, %m; ld.global.u64 %f, [%f];
    cvt.u32.u64 %r, %f;' >>"$work/calls.ptx"
entry driver '{ .param .b64 x; .param .b64 y; st.param.b64 [x], 16; call.uni (y), malloc, (x); ld.param.b64 %m, [y]; }
    st.u32 [%m], %a; mov.u64 %f, text; cvta.global.u64 %f, %f; mov.u64 %z, 0;
    { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %f; st.param.b64 [y], %m;
    call.uni (z), vprintf, (x, y); }
    ld.u32 %r, [%m]; { .param .b64 x; st.param.b64 [x], %m; call.uni free, (x); }' >>"$work/calls.ptx"
entry constants 'mov.u64 %f, numbers; cvta.const.u64 %f, %f; mad.wide.u32 %f, %b, 8, %f; setp.eq.u32 %q, %t, 3;
    @%q mov.u64 %f, %p; ld.u32 %r, [%f];' >>"$work/calls.ptx"
for arch in sm_75 sm_86 sm_90 sm_100 sm_120; do
    for name in pointers driver constants; do
        says "$name on $arch" 0 'equal for 5 inputs' -arch "$arch" -opt-level 0,3 -inputs 5 -entry "$name" \
            "$work/calls.ptx"
    done
done
says "debugging code" 0 'equal for 3 inputs' -arch sm_90 -inputs 3 tests/ptx/templates.sm_90.debug.ptx
says "an address of a function that is stored" 6 'addresses of functions may be a part' -arch sm_90 -entry addresses \
    "$work/calls.ptx"

kernel 'mov.u64 %p, 8; ld.global.u32 %r, [%p];' >"$work/wild.ptx"
says "no input that runs" 6 'not decided: the emulator ran it on no input: .*out of bounds' -arch sm_75 "$work/wild.ptx"

says "a launch file" 0 'matmul_tiled .*: equal for 1 input' -launch corpus/matmul_tiled/matmul_tiled.launch.json \
    corpus/matmul_tiled/matmul_tiled.sm_75.ptx
# A launch file describes the launch before coarsening, whose contract is followed as by "ptxopt run".
matmul=corpus/matmul_tiled/matmul_tiled
for form in x2 y2 bx2 x2,by2; do
    "$PTXOPT" -q -assembler none -coarsen "$form" -coarsen-grid shrink -launch "$matmul.launch.json" \
        -o "$work/coarsened.ptx" "$matmul.sm_75.ptx"
    says "a coarsened kernel, $form" 0 'equal for 1 input' -launch "$matmul.launch.json" "$work/coarsened.ptx"
done
"$PTXOPT" -q -assembler none -coarsen x2 -o "$work/coarsened.ptx" corpus/saxpy/saxpy.sm_75.ptx
sed 's/"block": *\[[0-9]*/"block": [33/' corpus/saxpy/saxpy.launch.json >"$work/odd.json"
says "a launch that the contract forbids" 1 'saxpy.*33' -launch "$work/odd.json" "$work/coarsened.ptx"
says "no such kernel" 1 'the module has no such kernel' -entry nosuch "$work/int.ptx"
says "a level that there is not" 2 "expected levels from 0 to 3" -opt-level 4 "$work/int.ptx"
says "no file" 2 'expected a PTX file'
"$PTXOPT" check -arch sm_75 -o "$work/verdicts" "$work/int.ptx"
result "a file for the verdicts" "$(grep -q 'equal for 16' "$work/verdicts" || echo "it is empty")"
exit $failed
