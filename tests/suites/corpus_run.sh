#!/usr/bin/env bash
# tools/corpus-run on a few kernels: its figures, that it distinguishes better from worse, and its path to a GPU, with a
# driver whose GPU is the emulator.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

BUILD="${BUILD:-build}"
tmp="${TEST_TMP:-$(mktemp -d)}"
out="$tmp/out"
# The emulated GPU contains a second copy of the library.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_odr_violation=0"
failed=0

# $1: what was tested; $2: 0 if it succeeded; the rest: what to show otherwise.
verdict() {
    if [ "$2" -eq 0 ]; then
        echo "ok $1"
    else
        echo "not ok $1"
        shift 2
        printf '%s\n' "$@" | head -n 40
        failed=1
    fi
}

# Runs corpus-run with the arguments; leaves $status, $text (standard output) and $errors.
run() {
    text="$(tools/corpus-run --out "$out" "$@" 2>"$tmp/errors")"
    status=$?
    errors="$(cat "$tmp/errors")"
}

# $1: what was tested; $2: the right exit status; the rest: what the output or the errors must contain.
expect() {
    local name="$1" wanted="$2" wrong="" part
    shift 2
    [ "$status" -eq "$wanted" ] || wrong="exit status $status instead of $wanted"
    for part in "$@"; do
        case "$text$errors" in
        *"$part"*) ;;
        *) wrong="$wrong; not said: $part" ;;
        esac
    done
    verdict "$name" "$([ -z "$wrong" ] && echo 0 || echo 1)" "$wrong" "$text" "$errors"
}

run nosuchkernel
expect "an unknown kernel" 2 "corpus-run: error: no kernel of the corpus is called 'nosuchkernel'"
run --arch sm_11
expect "an unknown architecture" 2 "no PTX of the corpus is for 'sm_11'" "sm_75"
run --options 'coarsen 99'
expect "an unknown option set" 2 "no option set is called 'coarsen 99'" "'-coarsen 2'"
run --assembler /nonexistent/ptxas vectoradd
expect "an assembler that is not there" 2 "--assembler /nonexistent/ptxas: neither"
run --accept --no-verify vectoradd
expect "accepting what was not verified" 2 "--accept takes what plain runs give"
printf 'kernel\tptx\n' >"$tmp/broken.tsv"
run --expected "$tmp/broken.tsv" vectoradd
expect "a broken file of accepted figures" 2 "broken.tsv:1: no column options"
PTXOPT=/nonexistent/ptxopt run vectoradd
expect "no program" 2 "no program /nonexistent/ptxopt"

few=(vectoradd_exact nlm --arch sm_90 --options none --options 'coarsen 2' --options 'target-regs 32')
mine="$tmp/expected.tsv"
printf '.version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n' >"$tmp/probe.ptx"
if "$PTXOPT" -assembler auto -cubin /dev/null "$tmp/probe.ptx" >/dev/null 2>&1; then
    run "${few[@]}" --accept --expected "$mine"
    expect "accepting" 0 "accepted: 6 rows, now 6 in"
    run "${few[@]}" --expected "$mine"
    expect "the same again" 0 "No figure differs from the accepted ones."
    wrong="$(python3 - "$out" <<'CHECK' 2>&1
import csv, json, sys
table = json.load(open(sys.argv[1] + "/corpus.json"))
rows = {(row["kernel"], row["options"]): row for row in table["rows"]}
assert len(rows) == 6, rows.keys()
plain, coarse = rows["vectoradd_exact", "none"], rows["vectoradd_exact", "-coarsen 2"]
assert coarse["outcome"] == "done" and coarse["factor"] == "x2" and coarse["verified"] == "equal", coarse
assert plain["registers"] > 0 and plain["instructions"] > 0 and plain["occupancy"] > 0, plain
assert plain["thread_instructions"] > coarse["thread_instructions"] > plain["thread_instructions"] // 2, coarse
assert coarse["seconds_ptxopt"] > 0 and coarse["seconds_assembler"] > 0 and coarse["assemblies"] > 0, coarse
lines = list(csv.DictReader(open(sys.argv[1] + "/corpus.tsv"), delimiter="\t"))
assert len(lines) == 6 and all(line["verified"] == "equal" for line in lines), lines
CHECK
)"
    verdict "the tables" $? "$wrong"
    page="$(BUILD="$BUILD" tools/corpus-report --from "$out" --options 'coarsen 2' 2>&1)"
    wrong="$(python3 - "$out/report.html" "$out/corpus.json" <<'CHECK' 2>&1
import json, re, sys
page = json.loads(re.search(r'id="data">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
rows = {row["kernel"]: row for row in json.load(open(sys.argv[2]))["rows"] if row["options"] == "-coarsen 2"}
assert page["title"].startswith("The corpus with -coarsen 2, sm_90, "), page["title"]
assert {kernel["name"] for kernel in page["kernels"]} == set(rows), page["kernels"]
for kernel in page["kernels"]:
    assert kernel["registers"][1] == rows[kernel["name"]]["registers"], kernel["registers"]
    assert kernel["page"], kernel["name"]
CHECK
)"
    verdict "the page" $? "$page" "$wrong"
    tools/corpus-report --from "$out" --options nope >"$tmp/said" 2>&1
    verdict "a page about another option set" "$(grep -q "no option set 'nope'; it has: " "$tmp/said"; echo $?)" \
        "$(cat "$tmp/said")"
    printf '# A page\n' >"$tmp/page.md"
    tools/corpus-report --from "$out" --markdown "$tmp/page.md" >/dev/null 2>&1
    cp "$tmp/page.md" "$tmp/once.md"
    tools/corpus-report --from "$out" --markdown "$tmp/page.md" >/dev/null 2>&1
    if cmp -s "$tmp/once.md" "$tmp/page.md" && grep -q '^| `vectoradd_exact` | ' "$tmp/page.md"; then
        echo "ok the table of measured figures"
    else
        verdict "the table of measured figures" 1 "$(cat "$tmp/page.md")"
    fi
    # The accepted figures with one register less in one row.
    python3 - "$mine" "$tmp/stricter.tsv" <<'EDIT'
import sys
lines = open(sys.argv[1]).read().splitlines()
names = next(line for line in lines if not line.startswith("#")).split("\t")
with open(sys.argv[2], "w") as file:
    for line in lines:
        cells = line.split("\t")
        if cells[0] == "vectoradd_exact" and cells[2] == "-coarsen 2":
            place = names.index("registers")
            cells[place] = str(int(cells[place]) - 1)
        print("\t".join(cells), file=file)
EDIT
    run "${few[@]}" --expected "$tmp/stricter.tsv"
    expect "one register more than accepted" 1 "WORSE: 1 row" "vectoradd_exact sm_90 -coarsen 2: registers " \
        "Where this is meant, tools/corpus-run --accept takes the new figures."
    run "${few[@]}" --expected "$mine" --with='-p -cleanup'
    expect "a pass switched off" 1 "WORSE: 2 rows" "vectoradd_exact sm_90 -coarsen 2: "
    sed 's/^\(nlm.*none\t-\t-\t\)/\1/; s/^\(nlm\tsm_90\t-coarsen 2\t\)done/\1refused/' "$mine" >"$tmp/refusing.tsv"
    run "${few[@]}" --expected "$tmp/refusing.tsv"
    expect "a refusal that is gone" 0 "better: 1 row" "coarsening refused -> done"
    sed 's/^# assembler: .*/# assembler: ptxas 1.2.3/; s/\t0\t0\t/\t5\t5\t/' "$mine" >"$tmp/other.tsv"
    run "${few[@]}" --expected "$tmp/other.tsv"
    expect "figures of another assembler" 0 "OTHER ASSEMBLER: the accepted figures are those of ptxas 1.2.3"
    run "${few[@]}" --accept --expected "$tmp/other.tsv"
    expect "accepting a part with another assembler" 2 "come from ptxas 1.2.3, these from"
    run vectoradd_exact --arch sm_90 --options 'coarsen 2' --against ptxas
    case "$errors" in
    *"--against ptxas:"*) echo "skip two assemblers side by side: there is no ptxas" ;;
    *) expect "two assemblers side by side" 0 "against ptxas " "geometric means of the second's figures" ;;
    esac
    run "${few[@]}"
    expect "the accepted figures of the corpus" 0
else
    if [ -n "${CI:-}" ]; then
        verdict "an assembler" 1 "none was found"
    fi
    echo "skip figures: no assembler"
    run vectoradd_exact --arch sm_90 --options 'coarsen 2' --assembler none
    expect "without an assembler" 0 "no assembler"
fi

fake="$PWD/$BUILD/emulated/libcuda.so.1"
gpu() {
    PTXOPT_CUDA_DRIVER="$fake" run --gpu --small --assembler none --repeat 2 "$@"
}
gpu vectoradd_exact transpose_tiled --options 'coarsen 2*'
expect "a GPU: checked and timed" 0 "Emulated GPU, sm_90" "vectoradd_exact  vectoradd_exact" "Geometric means" \
    "Predicted against cold times" "mean rho"
wrong="$(python3 - "$out/gpu.json" <<'CHECK' 2>&1
import json, sys
table = json.load(open(sys.argv[1]))
rows = [row for row in table["rows"] if row["kernel"] == "vectoradd_exact" and row["options"] == "-coarsen 2"]
assert len(rows) == 1, rows
row = rows[0]
assert row["state"] == "right" and row["reference"] == "plain C", row
assert row["result"]["by_contract"] and row["result"]["block"] == [128, 1, 1], row
# The emulated GPU takes a nanosecond for each warp instruction, and two threads' work shares its addresses.
assert row["speedup_cold"] > 1.1, row
assert all(row["predicted"] > 0 for row in table["rows"] if row["state"] == "right"), table["rows"]
CHECK
)"
verdict "a GPU: the launch follows the contract" $? "$wrong"
printf '%s\n' .version\ 8.0 .target\ sm_75 .address_size\ 64 \
    '.visible .entry image(.param .u64 t, .param .u64 s, .param .u64 out)' '{' \
    '.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;' \
    'ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [s]; ld.param.u64 %rd3, [out];' \
    'mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;' 'tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];' \
    'shl.b32 %r3, %r1, 2;' 'sust.b.2d.b32.trap [%rd2, {%r3, %r2}], %f1;' 'mad.lo.s32 %r4, %r2, 16, %r1;' \
    'mul.wide.u32 %rd4, %r4, 4; add.s64 %rd5, %rd3, %rd4;' 'st.global.f32 [%rd5], %f1; ret;' '}' >"$tmp/image.ptx"
printf '%s\n' '{"kernel": "image", "grid": [1, 1, 1], "block": [16, 8, 1], "args": [' \
    '{"texture": "t", "type": "f32", "width": 16, "height": 8, "init": "uniform", "seed": 1},' \
    '{"surface": "s", "type": "f32", "width": 16, "height": 8, "init": "poison"},' \
    '{"buffer": "out", "type": "f32", "count": 128, "init": "poison"}]}' >"$tmp/image.launch.json"
"$PTXOPT" -q -assembler none -coarsen 2 -block 16,8 -o "$tmp/image2.ptx" "$tmp/image.ptx"
text="$(PTXOPT_CUDA_DRIVER="$fake" "$BUILD/gpu-run" --repeat 1 "$tmp/image.launch.json" "$tmp/image.ptx" \
    "$tmp/image2.ptx" 2>&1)"
status=$?
errors=""
expect "a GPU: textures and surfaces" 0 '"by_contract": true' '"difference": null'
text="$(PTXOPT_EMULATED_FAILURE=wrong PTXOPT_CUDA_DRIVER="$fake" "$BUILD/gpu-run" --repeat 1 "$tmp/image.launch.json" \
    "$tmp/image.ptx" "$tmp/image2.ptx" 2>&1)"
status=$?
expect "a GPU: a wrong buffer beside images" 5 '"difference": "out[0] is'
text="$("$BUILD/gpu-run" --repeat 0 a b 2>&1)"
status=$?
expect "gpu-run: a wrong option" 2 "gpu-run: --repeat: a number from 1"
text="$(PTXOPT_CUDA_DRIVER="$fake" "$BUILD/gpu-run" "$tmp/nothing.json" "$tmp/image.ptx" 2>&1)"
status=$?
expect "gpu-run: no launch file" 1 "nothing.json"
PTXOPT_EMULATED_FAILURE=wrong gpu vectoradd_exact --options 'coarsen 2'
expect "a GPU: wrong results" 1 "failed: c[0] is" "FAILED: 1 of 2"
PTXOPT_EMULATED_FAILURE=reject gpu vectoradd_exact --options 'coarsen 2'
expect "a GPU: PTX that its driver rejects" 1 "CUDA_ERROR_INVALID_PTX" "No such thing"
PTXOPT_EMULATED_FAILURE=fault gpu vectoradd_exact --options 'coarsen 2'
expect "a GPU: launches that fail" 1 "launching it: CUDA_ERROR_LAUNCH_FAILED"
PTXOPT_EMULATED_FAILURE=no-device gpu vectoradd_exact
expect "a driver without a GPU" 3 "corpus-run: --gpu: the CUDA driver is here, but no GPU"
PTXOPT_EMULATED_FAILURE=no-init gpu vectoradd_exact
expect "a driver that does not start" 3 "the CUDA driver does not start: CUDA_ERROR_NO_DEVICE"
PTXOPT_CUDA_DRIVER=/nonexistent/libcuda.so run --gpu vectoradd
expect "no driver" 3 "corpus-run: --gpu: no CUDA driver here"
exit "$failed"
