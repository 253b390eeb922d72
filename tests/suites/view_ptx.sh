#!/usr/bin/env bash
# ptxopt view -ptx: the picture of PTX values, which needs no assembler; and that it is shown where one is missing.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

work="$TEST_TMP/work"
mkdir -p "$work"
kernel=corpus/nbody/nbody.sm_90.ptx

python3 tests/tools/compare-pressure.py corpus/*/*.ptx >"$work/errors" 2>&1
status=$?
result "the curve is the pressure of reports: $(head -n 1 "$work/errors")" \
    "$([ "$status" -eq 0 ] || cat "$work/errors")"

# Values take over columns where others end, those of one register keep theirs, and addresses have two.
cat >"$work/k.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
.maxntid 256
{
    .reg .b64 %a, %b;
    .reg .b32 %i, %l, %s, %t, %u;
    .reg .pred %q;
    ld.param.u64 %a, [p];
    ld.param.u32 %u, [n];
    mov.u32 %i, %tid.x;
    mov.u32 %l, %laneid;
    mul.wide.u32 %b, %i, 4;
    add.s64 %b, %a, %b;
    ld.global.u32 %s, [%b];
LOOP:
    add.s32 %t, %s, %i;
    mul.lo.s32 %s, %t, %s;
    setp.lt.s32 %q, %s, %u;
    @%q bra LOOP;
    add.s32 %s, %s, %l;
    st.global.u32 [%b], %s;
    ret;
}
END
"$PTXOPT" view -q -ptx "$work/k.ptx" >"$work/out"
sed '1,/^\^ written/d' "$work/out" | cut -c 1-34 | sed "s/ *\$//" >"$work/rows"
cat >"$work/wanted" <<'END'
              012345  P
    10    0               ld.param
    11    0               ld.param
    12    1   ^           mov.u32
    13    2   :^          mov.u32
    14    2   ::          mul.wide
    15    4   v:^^xx      add.s64
    16    5   ::vv^       ld.globa
    18    6<  v:::v^     / add.s32
    19    5   ::::xv     | mul.lo.
    20    5   ::::v   ^  | setp.lt
    21    5   :::::   v  \ @%q bra
    22    4    v::x       add.s32
    23    0     vvv       st.globa
    24    0               ret;
END
result "columns" "$(diff "$work/rows" "$work/wanted")"
ends "a value that waits" 0 "%b (line 15)" view -q -ptx "$work/k.ptx"
result "a special register" "$(grep -qE '1  %l \(line 13\) +read again +written at 13, read at 22' "$work/out" ||
    sed -n 5,7p "$work/out")"
ends "an estimate" 0 "registers live at the peak; about " view -q -ptx "$kernel"
ends "blocks by the estimate" 0 "blocks of 512 threads" view -q -ptx -block 512 "$kernel"
ends "counts of a launch" 0 "x" view -q -ptx -launch corpus/nbody/nbody.launch.json "$kernel"
result "an instruction of the loop is counted" \
    "$(grep -qE 'rsqrt.approx.f32 .*  [1-9][0-9]{2,}x$' "$work/out" || grep -m 1 rsqrt "$work/out")"
ends "no assembler" 0 "  not its machine code: " view -assembler none "$kernel"
ends "it warns of a missing program" 0 "warning: $kernel: its PTX is shown instead of its machine code: " \
    view -assembler none "$kernel"
PTXOPT_NVDISASM=/no/nvdisasm ends "no disassembler" 0 "/no/nvdisasm" view "$kernel"
ends "a change of the PTX" 0 " instructions as before" view -q -ptx -before "$kernel" "$kernel"
ends "before and after" 0 " repeated" view -q -ptx -block 256 "$kernel" -- -assembler none -coarsen 2
printf '\177ELF' >"$work/elf"
ends "-ptx of something else" 1 "error" view -ptx "$work/elf"

# The page, with text that could end its data, and 50,000 instructions.
sed 's/ld.param.u64/\/* <\/script><b> *\/ &/' "$kernel" >"$work/hostile.ptx"
"$PTXOPT" view -q -ptx -o "$work/page.html" "$work/hostile.ptx"
ends="$(grep -o '</script>' "$work/page.html" | wc -l)"
result "one page" "$([ "$ends" -eq 2 ] || echo "$ends scripts end")"
python3 - "$work/long.ptx" <<'END'
import sys
with open(sys.argv[1], "w") as out:
    out.write(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n")
    out.write(".reg .b64 %a;\n.reg .b32 %r<50001>;\nld.param.u64 %a, [p];\nld.global.u32 %r0, [%a];\n")
    out.writelines(f"add.s32 %r{i + 1}, %r{i}, %r{max(0, i - 99)};\n" for i in range(50000))
    out.write("st.global.u32 [%a], %r50000;\nret;\n}\n")
END
ends "50,000 instructions" 0 "50004 PTX instructions" view -q -ptx "$work/long.ptx"
result "a hundred registers" \
    "$([ "$(grep -cE '^ *[0-9]+ +10[0-9][ <-]' "$work/out")" -gt 49000 ] || sed -n 2p "$work/out")"
exit "$failed"
