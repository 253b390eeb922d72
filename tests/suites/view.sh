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

# The registers are those of the kernel, whatever others its module has.
for name in mriq mriq_fast; do
    used="$("$PTXAS" -arch=sm_90 -v -o "$work/mriq.cubin" corpus/mriq/mriq.sm_90.ptx 2>&1 |
        sed -nE "/Compiling entry function '$name'/,/Used/s/.*Used ([0-9]+) registers.*/\1/p")"
    says "the registers of $name" "  $used registers = " -entry $name corpus/mriq/mriq.sm_90.ptx
done

"$PTXAS" -arch=sm_90 -o "$work/k.cubin" "$kernel"
says "machine code" "matmul_naive for sm_90" "$work/k.cubin"
head -c 3000 "$work/k.cubin" >"$work/short.cubin"
refuses "a cubin that ends early" 1 "short.cubin" "$work/short.cubin"
refuses "a launch of machine code" 1 "the emulator does not run machine code" -launch x.json "$work/k.cubin"
refuses "another program's ELF" 1 "no device code" /bin/true
refuses "a kernel that is not there" 1 "there is no kernel 'nope'; it has 'matmul_naive'" -entry nope "$kernel"
refuses "several kernels" 1 "-entry KERNEL picks one" corpus/boxfilter/boxfilter.sm_90.ptx
refuses "a launch file that is not there" 1 "ptxopt: error: nope.json: No such file" -launch nope.json "$kernel"
refuses "a launch of another kernel" 1 "launch" -launch corpus/mriq/mriq.launch.json "$kernel"
refuses "no file" 2 "expected one file"
refuses "two files" 2 "expected one file" "$kernel" "$kernel"
refuses "an odd block" 2 "-block 16x16" -block 16x16 "$kernel"
PTXOPT_NVDISASM=/nope refuses "no nvdisasm" 1 "/nope cannot be run" "$work/k.cubin"
# An empty library in the place of libdw's, which is loaded only when a line table is read. Its path must have no colon.
libraries="$(mktemp -d)"
trap 'rm -rf "$libraries"' EXIT
${CC:-cc} -shared -o "$libraries/libdw.so.1" -x c /dev/null
LD_LIBRARY_PATH="$libraries" says "no libdw" "the line table cannot be read: libdw.so.1" "$kernel"

refuses "a folder that is not there" 1 "nowhere" -o "$work/nowhere/page.html" "$kernel"

# Before and after: two files, or a file and a run.
"$PTXOPT" -q -block 16,16 -coarsen 2 -o "$work/x2.ptx" "$kernel"
"$PTXOPT" view -q -before "$kernel" -block 16,16 "$work/x2.ptx" >"$work/two.txt"
"$PTXOPT" view -q -block 16,16 "$kernel" -- -coarsen 2 >"$work/run.txt"
result "a run is the file that it writes" "$(diff "$work/two.txt" "$work/run.txt" | head -n 3)"
result "each side has its own block" "$(grep -q ' blocks of 128 threads' "$work/two.txt" &&
    grep -q ' blocks of 256 threads' "$work/two.txt" || grep 'blocks of' "$work/two.txt")"
# Every row is counted: those after, and those that are gone.
pattern='^  ([0-9]+) instructions as before, ([0-9]+) moved, ([0-9]+) repeated, ([0-9]+) new, ([0-9]+) merged, '
pattern+='([0-9]+) removed$'
sum="$(sed -nE "s/$pattern/\1 \2 \3 \4 \5 \6/p" "$work/two.txt")"
marks="$(for mark in ' ' m '[+]' '[*]' '&' -; do
    grep -cE "^$mark +[0-9a-f]+ +[0-9]+[ <-] " "$work/two.txt"
done | xargs)"
result "each change is marked" "$([ -n "$sum" ] && [ "$sum" = "$marks" ] || echo "$sum, but the rows have $marks")"
"$PTXOPT" view -q -before "$kernel" "$kernel" >"$work/out"
result "nothing changes" "$(grep -q '^  200 instructions as before$' "$work/out" || sed -n 4,6p "$work/out")"
refuses "an unknown option of the run" 2 "unknown option '-foo'" "$kernel" -- -foo
refuses "a run that writes" 2 "-o after '--'" "$kernel" -- -o x.ptx
refuses "a run and a file" 2 "exclude one another" -before "$kernel" "$kernel" -- -coarsen 2
refuses "help after the options" 2 "go before '--'" "$kernel" -- -help

# Files with device code in them: a fat binary, an object and an archive with kernels of two architectures and PTX, as
# fatbinary lays them out; its entries are tested by tests/unit/test_images.c.
"$PTXAS" -arch=sm_75 -o "$work/k75.cubin" corpus/matmul_naive/matmul_naive.sm_75.ptx
"$PTXAS" -arch=sm_90 -o "$work/other.cubin" corpus/boxfilter/boxfilter.sm_90.ptx
python3 - "$work" <<'END'
import struct, sys
work = sys.argv[1]

def entry(kind, arch, file):
    data = open(file, "rb").read()
    data += bytes(-len(data) % 8)
    return struct.pack("<HHIQIIIIIIQQQ", kind, 0x101, 64, len(data), 0, 0, 0, arch, 0, 0, 0x11, 0, 0) + data

def container(name, *entries):
    entries = b"".join(entries)
    with open(f"{work}/{name}", "wb") as out:
        out.write(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries)

ptx = "corpus/matmul_naive/matmul_naive.sm_90.ptx"
container("one.fatbin", entry(2, 75, f"{work}/k75.cubin"), entry(2, 90, f"{work}/k.cubin"), entry(1, 90, ptx))
container("other.fatbin", entry(2, 90, f"{work}/other.cubin"))
container("ptx.fatbin", entry(8, 90, ptx), entry(1, 90, ptx))
END
cat "$work/one.fatbin" "$work/other.fatbin" >"$work/all"
echo 'int nothing;' >"$work/object.c"
${CC:-cc} -c -o "$work/empty.o" "$work/object.c"
objcopy --add-section ".nv_fatbin=$work/all" "$work/empty.o" "$work/object.o"
objcopy --add-section "__nv_relfatbin=$work/ptx.fatbin" "$work/empty.o" "$work/unlinked.o"
(cd "$work" && rm -f lib.a && ar rc lib.a empty.o object.o k75.cubin)

# $1: name; the rest: arguments. The picture of the machine code is that of the cubin.
same() {
    local name="$1"
    shift
    "$PTXOPT" view -entry matmul_naive "$@" >"$work/out" 2>&1
    result "$name" "$(diff "$work/out" "$work/cubin.txt" | head -n 3)"
}
"$PTXOPT" view "$work/k.cubin" >"$work/cubin.txt"
same "a fat binary" -arch sm_90 "$work/one.fatbin"
same "an object" -arch sm_90 "$work/object.o"
same "an archive" -arch sm_90 "$work/lib.a"
"$PTXOPT" view "$work/k75.cubin" >"$work/cubin.txt"
same "another architecture" -arch sm_75 "$work/object.o"
sed 's/ld.param.u64/.loc 1 5 0\n&/; s/^\.visible/.file 1 "folder\/k.cu"\n&/' "$kernel" >"$work/lines.ptx"
"$PTXAS" -arch=sm_90 -lineinfo -o "$work/lines.cubin" "$work/lines.ptx"
says "lines of the source" "  k.cu:5" "$work/lines.cubin"
says "PTX where there is no machine code" "matmul_naive for sm_90" "$work/unlinked.o"
says "PTX for another architecture" "matmul_naive for sm_120" -arch sm_120 -entry matmul_naive "$work/object.o"
refuses "several architectures" 1 "-arch sm_XX picks one; it has 'sm_75', 'sm_90'" -entry matmul_naive "$work/lib.a"
refuses "several kernels in an object" 1 "-entry KERNEL picks one; it has" "$work/object.o"
refuses "a similar name" 1 "did you mean 'matmul_naive'?" -entry matmul_naiv "$work/object.o"
refuses "a run of machine code" 1 "machine code cannot be changed" "$work/k.cubin" -- -coarsen 2
refuses "no device code" 1 "there is no device code in it" "$work/empty.o"
head -c 2000 "$work/one.fatbin" >"$work/short.fatbin"
refuses "a fat binary that ends early" 1 "the fat binary in it is damaged" "$work/short.fatbin"
head -c 5000 "$work/object.o" >"$work/short.o"
refuses "an object that ends early" 1 "its ELF sections are damaged" "$work/short.o"

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
if any(s["changes"].strip() or s["partners"] != list(range(len(s["rows"]))) for s in sides):
    print("the same rows are not partners")
END
)"

# A page about a run: its numbers are those of the report, its pictures those of the kernels.
"$PTXOPT" view -q -report -o "$work/report.html" "$work/hostile.ptx" corpus/saxpy/saxpy.sm_90.ptx -- -coarsen 2 \
    -missing-ok -launch corpus/saxpy/saxpy.launch.json
"$PTXOPT" -q -coarsen 2 -launch corpus/saxpy/saxpy.launch.json -report-format json -report "$work/saxpy.json" \
    corpus/saxpy/saxpy.sm_90.ptx -o "$work/x2.ptx"
printf '{"format": "ptxopt-runs", "version": 1, "title": "saxpy", "runs": [%s]}' "$(printf \
    '{"input": "%s", "output": "%s", "report": "%s", "launch": "%s"}' corpus/saxpy/saxpy.sm_90.ptx "$work/x2.ptx" \
    "$work/saxpy.json" corpus/saxpy/saxpy.launch.json)" >"$work/runs.json"
"$PTXOPT" view -q -report -runs "$work/runs.json" -o "$work/listed.html"
result "a page about a run of before" "$(python3 - "$work/report.html" "$work/listed.html" <<'END'
import json, re, sys
first, second = (json.loads(re.search(r'id="data">(.*?)</script>', open(path).read(), re.S).group(1))
                 for path in sys.argv[1:])
if second["title"] != "saxpy" or second["kernels"] != first["kernels"][1:]:
    print("not what the page of the run itself says")
END
)"
refuses "a list that is not there" 1 "nope.json: No such file" -report -runs nope.json -o "$work/none.html"
refuses "a list of something else" 1 "it is not a list of runs" -report -runs "$work/saxpy.json" -o "$work/none.html"
refuses "a list and a file" 2 "-runs names all files" -report -runs "$work/runs.json" -o "$work/none.html" "$kernel"
refuses "a list without a page" 2 "-runs goes with -report" -runs "$work/runs.json" "$kernel"
sed 's/"report": "[^"]*"/"report": "corpus\/two-sms.json"/' "$work/runs.json" >"$work/wrong.json"
refuses "a list with a wrong report" 1 "it is not a report" -report -runs "$work/wrong.json" -o "$work/none.html"
sed 's/"input": "[^"]*", //' "$work/runs.json" >"$work/wrong.json"
refuses "a list without inputs" 1 'run 1 has no "input"' -report -runs "$work/wrong.json" -o "$work/none.html"
result "no page about a wrong list" "$([ ! -e "$work/none.html" ] || echo "there is one")"
ends="$(grep -o '</script>' "$work/report.html" | wc -l)"
result "one page about a run" "$([ "$ends" -eq 2 ] || echo "$ends scripts end")"
result "a run's page needs nothing else" "$(sed 's/<script type="application.json".*//' "$work/report.html" |
    grep -nE '(src|href)="[^#]|https?://|@import')"
result "a page about a run" "$(python3 - "$work/report.html" "$work/saxpy.json" <<'END'
import json, re, sys
text = open(sys.argv[1]).read()
data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
first, second = data["kernels"]
wanted = json.load(open(sys.argv[2]))["kernels"][0]
if [first["name"], second["name"]] != ["matmul_naive", "saxpy"] or not first["changed"] or "cost" in first:
    print("not the two kernels")
if any(abs(second["cost"][form]["microseconds"] - wanted["cost"][form]["microseconds"]) > 1e-9
       for form in ("before", "after")) or second["speedup"] != wanted["cost"]["speedup"]:
    print("not the report's times")
if second["registers"] != [wanted[form]["figures"]["registers"] for form in ("before", "after")]:
    print("not the report's registers")
for kernel in data["kernels"]:
    sides = kernel["page"]["sides"]
    if [side["gap"]["allocated"] for side in sides] != kernel["registers"]:
        print("not the registers of the pictures")
if [side["threads"] for side in second["page"]["sides"]] != [128, 64]:
    print("not the blocks of the launch", [side["threads"] for side in second["page"]["sides"]])
if "@DATA@" not in data["template"] or "sm_90" not in data["limits"]:
    print("no page for a kernel")
END
)"
refuses "a report without a run" 2 "its options follow '--'" -report -o x.html "$kernel"
refuses "a report without a page" 2 "-report makes a page" -report "$kernel" -- -auto
refuses "a report about one kernel" 2 "takes -entry, -launch" -report -entry k -o x.html "$kernel" -- -auto
refuses "a report about nothing" 2 "expected a file" -report -o x.html
refuses "a report about a missing file" 1 "no.ptx" -report -o "$work/no.html" "$kernel" "$work/no.ptx" -- -coarsen 2
result "no page of half a run" "$([ ! -e "$work/no.html" ] || echo "there is one")"
exit "$failed"
