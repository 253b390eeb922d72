#!/usr/bin/env bash
# ptxopt sweep, tune and explain by times on a GPU, which is the emulated one: tables, choices, forms whose results
# differ there, and what goes wrong.
set -uo pipefail
. tests/suites/emulated.bash

if [ -z "$(nvidia_program PTXOPT_PTXAS ptxas)" ]; then
    echo "no ptxas"
    exit 77
fi
export PTXOPT_CUDA_DRIVER="$emulated/libcuda.so.1" PTXOPT_EMULATED_NOISE=0.001
add=corpus/vectoradd/vectoradd.sm_75.ptx
sed -e 's/"grid": \[[^]]*\]/"threads": [2048]/' -e 's/2000/2048/' corpus/vectoradd/vectoradd.launch.json \
    >"$tmp/add.json"
space=(-measure -assembler ptxas -factors 2 -dims x,bx -strides unit -block-sizes 128)

# $1: a table; $2: an expression of Python about the rows, a list of dicts named "rows". Prints it.
table() {
    python3 - "$1" "$2" <<'END'
import csv
import sys
rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8"), delimiter="\t"))
print(eval(sys.argv[2]))
END
}

runs "a table" 0 "measuring [0-9]+%" "$PTXOPT" sweep "$add" "$tmp/add.json" "${space[@]}" -o "$tmp/add.tsv"
result "a table: forms have times" "$(table "$tmp/add.tsv" \
    '[r for r in rows if (r["status"] == "ok") != (r["measured"] != "-" and r["measured_warm"] != "-")]' |
    grep -vx '\[\]')"
result "a table: the architecture is that of the GPU" "$(table "$tmp/add.tsv" '{r["arch"] for r in rows}' |
    grep -vx "{'sm_90'}")"
result "a table: speedups are over the best original" "$(table "$tmp/add.tsv" '[
    r for r in rows if r["status"] == "ok" and abs(min(float(o["measured"]) for o in rows if o["factor"] == "1")
    / float(r["measured"]) - float(r["speedup_measured"])) > 1e-2]' | grep -vx '\[\]')"
runs "a table is continued" 0 "0 of 0 rows" "$PTXOPT" sweep "$add" "$tmp/add.json" "${space[@]}" -o "$tmp/add.tsv"
runs "predictions alone are other rows" 0 "6 of 6 rows" env -u PTXOPT_CUDA_DRIVER "$PTXOPT" sweep "$add" \
    "$tmp/add.json" "${space[@]:1}" -arch sm_90 -o "$tmp/add.tsv"
runs "another architecture is only predicted" 0 "measuring" "$PTXOPT" sweep "$add" "$tmp/add.json" \
    "${space[@]}" -arch sm_80,sm_90 -dims x -block-sizes 256 -o "$tmp/two.tsv"
result "another architecture is only predicted: rows" "$(table "$tmp/two.tsv" \
    'sorted({(r["arch"], r["measured"] != "-") for r in rows})' | grep -vxF "[('sm_80', False), ('sm_90', True)]")"
runs "an architecture that the GPU does not have" 1 "Emulated GPU is an sm_90, for which nothing is made; see -arch" \
    "$PTXOPT" sweep "$add" "$tmp/add.json" "${space[@]}" -arch sm_80
runs "no driver" 1 "measure: no CUDA driver here" env PTXOPT_CUDA_DRIVER=/missing/libcuda.so "$PTXOPT" sweep "$add" \
    "$tmp/add.json" "${space[@]}"
runs "no GPU" 1 "measure: the CUDA driver is here, but no GPU" env PTXOPT_EMULATED_FAILURE=no-device "$PTXOPT" sweep \
    "$add" "$tmp/add.json" "${space[@]}"

# A race: several threads store to one word, and which one comes last changes as they are merged.
cat >"$tmp/race.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry race(.param .u64 out)
{
    .reg .b32 %r<9>; .reg .b64 %d<5>;
    ld.param.u64 %d1, [out]; cvta.to.global.u64 %d1, %d1; mov.u32 %r1, %tid.x;
    rem.u32 %r2, %r1, 3; mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; st.global.u32 [%d3], %r1; ret;
}
END
cat >"$tmp/race.json" <<'END'
{"kernel": "race", "grid": [1], "block": [32], "check": ["c"],
 "args": [{"buffer": "c", "type": "u32", "count": 3}]}
END
runs "results that differ" 0 "rows in" "$PTXOPT" sweep "$tmp/race.ptx" "$tmp/race.json" -measure -assembler ptxas \
    -factors 2 -dims x -strides unit -o "$tmp/race.tsv"
result "results that differ: status" "$(table "$tmp/race.tsv" \
    '[(r["factor"], r["status"], r["measured"]) for r in rows]' |
    grep -vF "('2', 'different', '-')")"

cat >"$tmp/fill.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry fill(.param .u64 out)
{
    .reg .b32 %r<9>; .reg .b64 %d<5>;
    ld.param.u64 %d1, [out]; cvta.to.global.u64 %d1, %d1;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %d2, %r4, 4; add.s64 %d3, %d1, %d2; st.global.u32 [%d3], %r4; ret;
}
END
cat >"$tmp/fill.json" <<'END'
{"kernel": "fill", "grid": [64], "block": [64], "check": ["c"],
 "args": [{"buffer": "c", "type": "u32", "count": 4096}]}
END
fill=("$tmp/fill.ptx" "$tmp/fill.json" -measure -assembler ptxas)
runs "forms that are wrong there" 0 "rows in" env PTXOPT_EMULATED_FAILURE=wrong "$PTXOPT" sweep "${fill[@]}" \
    -factors 2 -dims x,bx -strides unit -o "$tmp/wrong.tsv"
result "forms that are wrong there: status" "$(table "$tmp/wrong.tsv" '[r["status"] for r in rows]' |
    grep -vxF "['ok', 'ok', 'different', 'different']")"
runs "launches that fail" 0 "rows in" env PTXOPT_EMULATED_FAILURE=fault "$PTXOPT" sweep "${fill[@]}" -factors 2 \
    -dims x -strides unit -o "$tmp/fault.tsv"
result "launches that fail: status" "$(table "$tmp/fault.tsv" '{(r["status"], r["reason"]) for r in rows}' |
    grep -vxF "{('fault', 'on the GPU: launching it: CUDA_ERROR_LAUNCH_FAILED (719)')}")"
runs "PTX that the driver refuses" 1 "Emulated GPU: a kernel that fills L2 with other data: CUDA_ERROR_INVALID_PTX" \
    env PTXOPT_EMULATED_FAILURE=reject "$PTXOPT" sweep "${fill[@]}" -factors 2
runs "tuning where launches fail" 1 "the original cannot be measured with its own block" env \
    PTXOPT_EMULATED_FAILURE=fault "$PTXOPT" tune "${fill[@]}"
runs "a form is chosen" 0 "measured on Emulated GPU: blocks of" "$PTXOPT" tune "${fill[@]}"
cp "$tmp/out" "$tmp/first"
result "a form is chosen: it is faster" "$(grep -E '^([2-9]|1\.[1-9])[0-9.]* times as fast' "$tmp/first" >/dev/null ||
    cat "$tmp/first")"
result "a form is chosen: its options make it" "$(read -r -a words < <(grep '^  ptxopt ' "$tmp/first")
    "$PTXOPT" "${words[@]:1}" -q -assembler ptxas -o "$tmp/form.ptx" 2>&1)"
runs "tuning without a driver" 1 "measure: no CUDA driver here" env PTXOPT_CUDA_DRIVER=/missing/libcuda.so \
    "$PTXOPT" tune "$add" "$tmp/add.json" -measure

runs "a table that was not measured is not explained" 1 "no configuration in it has a measured speedup" "$PTXOPT" \
    explain -measured "$tmp/add.tsv"
exit "$failed"
