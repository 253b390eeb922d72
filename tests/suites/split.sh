#!/usr/bin/env bash
# Modules that are assembled in parts (split/): the cubin has what that of the whole module has, for all modules of
# tests/ptx and several large ones; time limits for kernels; errors name lines of the module; nothing is half written.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

need_program PTXOPT_PTXAS ptxas
export PTXOPT_PTXAS="$ptxas"
unset PTXOPT_FLAGS
work="$TEST_TMP/work"
mkdir -p "$work"

# The last messages are in $work/err. $1: PTX; $2: cubin; the rest: options.
assemble() {
    local input="$1" cubin="$2" arch=()
    shift 2
    # The oldest target that this ptxas knows.
    if grep -qE '^\.target[[:space:]]+sm_[1-6][0-9]\b' "$input"; then
        arch=(-arch sm_75)
    fi
    "$PTXOPT" "${arch[@]}" -assembler ptxas "$@" -o /dev/null -cubin "$cubin" "$input" >"$work/out" 2>"$work/err"
}

# Counts modules in 'split' and 'whole', and appends those that differ to 'wrong'. $1: PTX.
check_module() {
    local name
    name="$(basename "$1")"
    if ! assemble "$1" "$work/whole" -q; then
        wrong+=" $name does not assemble;"
    elif ! assemble "$1" "$work/split" -split-assemble=4096; then
        wrong+=" $name does not assemble in parts: $(head -n 1 "$work/err");"
    elif ! tests/compare-cubins "$work/whole" "$work/split" >"$work/differences"; then
        wrong+=" $name: $(head -n 1 "$work/differences");"
    fi
    if grep -q 'assembled whole' "$work/err"; then
        whole=$((whole + 1))
    elif [ "$(grep -cE '^[^/]*\.entry' "$1")" -gt 1 ]; then
        split=$((split + 1))
    fi
}

wrong="" split=0 whole=0
for module in tests/ptx/*.ptx; do
    check_module "$module"
done
echo "$split modules in parts, $whole whole for a reason"
result "each module of tests/ptx is the same in parts" "$wrong"
result "most modules can be assembled in parts" "$([ "$split" -gt "$whole" ] || echo "$split of $((split + whole))")"

# Large modules: the kernels of the corpus several times, under other names, and as nvcc compiles CUB and Thrust.
tests/tools/join-modules.py 3 corpus/*/*.sm_90.ptx >"$work/corpus.ptx"
large=("$work/corpus.ptx")
nvcc="$(nvidia_program PTXOPT_REAL_NVCC nvcc)"
for source in cub thrust tensor; do
    if [ -n "$nvcc" ] && "$nvcc" -std=c++17 -arch=compute_90 -ptx "bench/modules/$source.cu" -o "$work/$source.ptx" \
        >"$work/out" 2>&1; then
        large+=("$work/$source.ptx")
    fi
done
wrong="" split=0 whole=0
for module in "${large[@]}"; do
    check_module "$module"
done
result "large modules are the same in parts" "$wrong$([ "$whole" -eq 0 ] || echo " $whole assembled whole")"

# The newest ptxas writes other attributes and sections.
newest=third_party/cuda-13.5/bin/ptxas
if [ -x "$newest" ]; then
    wrong="" split=0 whole=0
    for module in printing.sm_100 templates.sm_120 warp.sm_90 atomics.sm_80 memory.sm_75 corpus; do
        [ "$module" = corpus ] && path="${large[0]}" || path="tests/ptx/$module.ptx"
        PTXOPT_PTXAS="$newest" check_module "$path"
    done
    result "the newest ptxas: the same in parts" "$wrong$([ "$whole" -eq 0 ] || echo " $whole assembled whole")"
else
    echo "skip the newest ptxas: not installed (CUDA=13.5 tools/deps.sh)"
fi

# The comparison itself sees one byte of code, of attributes and of a symbol.
wrong=""
assemble tests/ptx/warp.sm_90.ptx "$work/whole" -q
for place in $(python3 - "$work/whole" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
offset, = struct.unpack_from("<Q", data, 40)
count, names = struct.unpack_from("<HH", data, 60)
headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + 64 * i) for i in range(count)]
for wanted in (b".text.votes", b".nv.info.votes", b".symtab", b".rela.debug_frame", b".nv.constant0.votes"):
    for header in headers:
        if data[headers[names][4] + header[0]:].startswith(wanted + b"\0"):
            print(header[4] + header[5] - 3)
END
); do
    cp "$work/whole" "$work/changed"
    printf '\x5a' | dd of="$work/changed" bs=1 seek="$place" conv=notrunc 2>"$work/out"
    ! tests/compare-cubins "$work/whole" "$work/changed" >"$work/out" 2>&1 || wrong+=" a byte at $place is not seen;"
done
result "the comparison sees single bytes" "$wrong"

# A kernel that ptxas rejects, for a reason that ptxopt does not know, is named by its line in the module.
kernel() {
    printf '.visible .entry %s(.param .u64 p)\n{\n.reg .b32 %%r<4>;\n.reg .b64 %%p;\n' "$1"
    printf 'ld.param.u64 %%p, [p];\n%s\nret;\n}\n' "$2"
}
{
    printf '.version 8.0\n.target sm_90\n.address_size 64\n'
    kernel a 'st.global.u32 [%p], 1;'
    kernel b "$(for _ in 1 2 3 4 5 6; do echo 'st.global.u32 [%p], 2;'; done)"
    kernel c 'frobnicate.b32 %r1, %r2;'
    kernel d 'st.global.u32 [%p], 4;'
} >"$work/rejected.ptx"
rm -f "$work/none"
assemble "$work/rejected.ptx" "$work/none" -split-assemble=8
status=$?
line="$(grep -n frobnicate "$work/rejected.ptx" | cut -d: -f1)"
result "a rejected kernel ends the run" "$([ "$status" -eq 4 ] && [ ! -e "$work/none" ] || echo "status $status")"
result "by its line in the module" "$(grep -q "line $line; error *: .*frobnicate" "$work/err" || cat "$work/err")"

# A stand-in for ptxas that is slow for kernels whose text asks for it, unless the level is 1.
cat >"$work/slow" <<END
#!/bin/sh
case " \$* " in
*" -O1 "*) ;;
*) ! grep -q 'entry slow' input.ptx 2>/dev/null || sleep 30 ;;
esac
exec "$ptxas" "\$@"
END
chmod +x "$work/slow"
{
    printf '.version 8.0\n.target sm_90\n.address_size 64\n'
    kernel quick1 'st.global.u32 [%p], 1;'
    kernel slow 'st.global.u32 [%p], 2;'
    kernel quick2 'st.global.u32 [%p], 3;'
} >"$work/slow.ptx"
PTXOPT_PTXAS="$work/slow" assemble "$work/slow.ptx" "$work/limited" -split-assemble=3 -assemble-limit 2:-O1
status=$?
result "a kernel that takes too long is assembled at the lower level" \
    "$([ "$status" -eq 0 ] && grep -q "kernel 'slow' was not assembled within 2 s; at -O1" "$work/err" ||
        echo "status $status: $(head -n 1 "$work/err")")"
result "and only that" "$([ "$(grep -c 'was not assembled' "$work/err")" -eq 1 ] || cat "$work/err")"
PTXOPT_PTXAS="$work/slow" assemble "$work/slow.ptx" "$work/limited2" -split-assemble=2 -assemble-limit 2:-O1
result "also if it shares a part with others" \
    "$([ "$(grep -c "kernel 'slow' was not assembled" "$work/err")" -eq 1 ] || head -n 2 "$work/err")"
result "with the same cubin" "$(tests/compare-cubins "$work/limited" "$work/limited2" | head -n 1)"
PTXOPT_PTXAS="$work/slow" assemble "$work/slow.ptx" "$work/limited3" -assemble-limit 2:-O1
result "a whole module has a limit, too" \
    "$(grep -q 'the module was not assembled within 2 s; at -O1' "$work/err" || head -n 1 "$work/err")"

# An interrupt leaves neither a cubin nor a process.
rm -f "$work/interrupted"
(PTXOPT_PTXAS="$work/slow" exec timeout -s INT 3 "$PTXOPT" -assembler ptxas -split-assemble=3 -o /dev/null \
    -cubin "$work/interrupted" "$work/slow.ptx") >"$work/out" 2>"$work/err"
result "an interrupt leaves no cubin" "$([ ! -e "$work/interrupted" ] || echo there is one)"

# In place of ptxas: the same cubin, messages, limit and exit status.
shim="$(dirname "$PTXOPT")/ptxopt-ptxas"
export PTXOPT_REAL_PTXAS="$ptxas" PTXOPT_FLAGS='-split-assemble=3 -assemble-limit 2:-O1'
"$ptxas" -arch=sm_90 -v tests/ptx/warp.sm_90.ptx -o "$work/whole" >"$work/real" 2>&1
"$shim" -arch=sm_90 -v tests/ptx/warp.sm_90.ptx -o "$work/split" >"$work/out" 2>"$work/err"
result "the wrapper makes the same cubin" "$(tests/compare-cubins "$work/whole" "$work/split" | head -n 1)"
result "and prints the same" "$(diff <(grep -v 'Compile time' "$work/real") <(grep -v 'Compile time' "$work/err"))"
"$shim" -arch=sm_90 tests/ptx/warp.sm_90.ptx -o "$work/split" >"$work/out" 2>"$work/err"
result "nothing without -v" "$(cat "$work/out" "$work/err")"
rm -f "$work/none"
"$shim" -arch=sm_90 "$work/rejected.ptx" -o "$work/none" >"$work/out" 2>"$work/err"
status=$?
result "a rejected kernel has the exit status of ptxas" \
    "$([ "$status" -eq 255 ] && [ ! -e "$work/none" ] || echo "$status")"
result "and its file and line" \
    "$(grep -q "^ptxas $work/rejected.ptx, line $line; error *: .*frobnicate" "$work/err" || cat "$work/err")"
PTXOPT_REAL_PTXAS="$work/slow" "$shim" -arch=sm_90 "$work/slow.ptx" -o "$work/limited4" >"$work/out" 2>"$work/err"
result "the wrapper has a limit" \
    "$(grep -q "^ptxopt-ptxas: note: kernel 'slow' was not assembled within 2 s" "$work/err" || cat "$work/err")"
result "with the same cubin as ptxopt" "$(tests/compare-cubins "$work/limited" "$work/limited4" | head -n 1)"
for option in -c -lineinfo; do
    "$shim" -arch=sm_90 "$option" tests/ptx/warp.sm_90.ptx -o "$work/split" >"$work/out" 2>"$work/err"
    result "$option is for whole modules" "$(grep -q 'the module is assembled whole' "$work/err" || cat "$work/err")"
done
PTXOPT_STATS="$work/stats.tsv" "$shim" -arch=sm_90 tests/ptx/warp.sm_90.ptx -o "$work/split" >"$work/out" 2>"$work/err"
result "a build's table has the kernels" \
    "$([ "$(grep -c warp.sm_90 "$work/stats.tsv")" -eq 3 ] || cat "$work/stats.tsv")"
export PTXOPT_REAL_PTXAS="$work/no-ptxas"
"$shim" -arch=sm_90 tests/ptx/warp.sm_90.ptx -o "$work/none" >"$work/out" 2>"$work/err"
status=$?
result "a ptxas that is not there is an error" "$([ "$status" -eq 127 ] || echo "status $status")"
unset PTXOPT_FLAGS PTXOPT_REAL_PTXAS

# The report.
assemble tests/ptx/warp.sm_90.ptx "$work/split" -split-assemble=3 -report="$work/report.json" -report-format json
result "the report has parts and times" "$(python3 - "$work/report.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
output = report["assembler"]["output"]
if output != {"parts": 3, "whole_because": None, "late": []}:
    print(output)
if not all(kernel["after"]["assembly_ms"] > 0 for kernel in report["kernels"]):
    print("no times")
END
)"
assemble tests/ptx/warp.sm_90.ptx "$work/split" -split-assemble=3 -report="$work/report"
result "also as text" \
    "$([ "$(grep -cE '^  assembled in [0-9]+ ms' "$work/report")" -eq 3 ] || head -n 20 "$work/report")"

ends "a wrong limit is explained" 2 "expected SECONDS:-O0" -assemble-limit 60 "$work/slow.ptx"
ends "a wrong number of parts is explained" 2 "-split-assemble" -split-assemble=0 "$work/slow.ptx"
exit "$failed"
