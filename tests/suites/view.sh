#!/usr/bin/env bash
# ptxopt view: its picture against nvdisasm's, what it says of occupancy, its page, and wrong input.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

PTXAS="$(nvidia_program PTXOPT_PTXAS ptxas)"
NVDISASM="$(nvidia_program PTXOPT_NVDISASM nvdisasm)"
export PTXAS NVDISASM
if [ -z "$PTXAS" ] || [ -z "$NVDISASM" ]; then
    echo "no ptxas or no nvdisasm"
    exit 77
fi
work="$TEST_TMP/work"
mkdir -p "$work"
kernel=corpus/matmul_naive/matmul_naive.sm_90.ptx

# $1: name; $2: text that the output must contain; the rest: arguments.
says() {
    local name="$1" wanted="$2"
    shift 2
    "$PTXOPT" view "$@" >"$work/out" 2>&1
    result "$name" "$(grep -qF -- "$wanted" "$work/out" || head -n 3 "$work/out")"
}

# $1: name; $2: exit status; $3: the message, without what comes before "error: "; the rest: arguments.
refuses() {
    local name="$1" wanted="$2" message="$3" status
    shift 3
    "$PTXOPT" view "$@" >"$work/out" 2>"$work/err"
    status=$?
    result "$name" "$([ "$status" -eq "$wanted" ] && [ ! -s "$work/out" ] && grep -qF -- "$message" "$work/err" ||
        echo "status $status: $(head -n 2 "$work/err")")"
}

# Each architecture with kernels of its own.
i=0
for arch in sm_75 sm_80 sm_86 sm_90 sm_120; do
    files=()
    j=0
    for file in corpus/*/*.sm_75.ptx; do
        [ $((j++ % 30)) -ne $((i * 5)) ] || files+=("$file")
    done
    i=$((i + 1))
    python3 tests/tools/compare-view.py "$arch" "$work" "${files[@]}" >"$work/errors" 2>&1
    status=$?
    result "$arch: $(head -n 1 "$work/errors")" "$([ "$status" -eq 0 ] || cat "$work/errors")"
done

# The paper's tables 3 and 4: five registers where the sums are built one after the other, and four where each is used
# at once.
for order in late early; do
    {
        printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {\n'
        printf '.reg .b64 %%a;\n.reg .b32 %%r<9>;\nld.param.u64 %%a, [out];\ncvta.to.global.u64 %%a, %%a;\n'
        for r in 1 2 3 4; do
            printf 'ld.volatile.global.u32 %%r%d, [%%a+%d];\n' $r $((4 * r))
            [ $order = late ] || printf 'st.volatile.global.u32 [%%a+%d], %%r%d;\n' $((64 + 4 * r)) $r
        done
        [ $order = early ] || for r in 1 2 3 4; do
            printf 'st.volatile.global.u32 [%%a+%d], %%r%d;\n' $((64 + 4 * r)) $r
        done
        printf 'ret;\n}\n'
    } >"$work/$order.ptx"
    "$PTXOPT" view -q "$work/$order.ptx" >"$work/$order.txt"
done
live() { sed -nE 's/^ +[0-9]+ registers = ([0-9]+) live.*/\1/p' "$work/$1.txt"; }
result "values that wait add to the peak" \
    "$([ "$(live late)" -eq $(($(live early) + 3)) ] || echo "$(live late) and $(live early) live")"

says "the block size decides about blocks" "(-block X,Y,Z)" "$kernel"
says "all warps are in use" "all in use" -block 16,16 "$kernel"
says "a boundary" "allow 1 more block (" -block 256 corpus/fft16/fft16.sm_90.ptx
says "a block that cannot be" "cannot be launched" -block 1024 -dynamic-shared 1048576 "$kernel"
"$PTXOPT" view -q -launch corpus/matmul_naive/matmul_naive.launch.json "$kernel" >"$work/out"
result "counts of a launch" "$(grep -qE '^ +0 .*LDC R1.*  [1-9][0-9]*x$' "$work/out" || sed -n 20p "$work/out")"
pattern='^ +([0-9]+) registers = ([0-9]+) live[^+]*\+ ([0-9]+) free[^+]*(\+ ([0-9]+) above.*)?$'
sum="$("$PTXOPT" view -q "$kernel" | sed -nE "s/$pattern/\1 \2 \3 \5/p")"
read -r allocated live free reserved <<<"$sum"
result "allocated is live, free and reserved" \
    "$([ "$allocated" -eq $((live + free + ${reserved:-0})) ] || echo "$sum")"

"$PTXAS" -arch=sm_90 -o "$work/k.cubin" "$kernel"
says "machine code" "matmul_naive for sm_90" "$work/k.cubin"
head -c 3000 "$work/k.cubin" >"$work/short.cubin"
refuses "a cubin that ends early" 1 "short.cubin" "$work/short.cubin"
refuses "a launch of machine code" 1 "the emulator does not run machine code" -launch x.json "$work/k.cubin"
refuses "another program's ELF" 1 "not a cubin" /bin/true
refuses "a kernel that is not there" 1 "there is no kernel 'nope'; it has matmul_naive" -entry nope "$kernel"
refuses "several kernels" 1 "name one of its kernels with -entry" corpus/boxfilter/boxfilter.sm_90.ptx
refuses "a launch of another kernel" 1 "launch" -launch corpus/mriq/mriq.launch.json "$kernel"
refuses "no file" 2 "expected one file"
refuses "two files" 2 "expected one file" "$kernel" "$kernel"
refuses "an odd block" 2 "-block 16x16" -block 16x16 "$kernel"
refuses "no assembler" 1 "no assembler" -assembler none "$kernel"
PTXOPT_NVDISASM=/nope refuses "no nvdisasm" 1 "/nope cannot be run" "$kernel"
refuses "a folder that is not there" 1 "nowhere" -o "$work/nowhere/page.html" "$kernel"

# The page stands alone, and names cannot end its data.
awk '/^\.visible/ { print ".file 1 \"a<b>.cu\"" }
    /ld.param.u64/ && !n++ { print ".loc 1 5 0"; $0 = $0 " // </script><b>" } { print }' "$kernel" >"$work/hostile.ptx"
"$PTXOPT" view -q -before "$kernel" -o "$work/page.html" "$work/hostile.ptx"
ends="$(grep -o '</script>' "$work/page.html" | wc -l)"
result "one page" "$([ "$ends" -eq 2 ] && grep -q 'u003c/script>' "$work/page.html" || echo "$ends scripts end")"
result "nothing from elsewhere" "$(grep -nE '(src|href)=|https?://|@import' "$work/page.html")"
result "two sides" "$(python3 - "$work/page.html" <<'END'
import json, re, sys
data = json.loads(re.search(r'id="data">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
sides = data["sides"]
if len(sides) != 2 or [r[:4] for r in sides[0]["rows"]] != [r[:4] for r in sides[1]["rows"]]:
    print("not the same rows twice")
END
)"
exit "$failed"
