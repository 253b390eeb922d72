#!/usr/bin/env bash
# ptxopt tune FILE.ptx: the options that it prints make a form as fast as it says, with the same results; tables that
# are continued; kernels that nothing helps, or whose results depend on the block; wrong input.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

if [ -z "$(nvidia_program PTXOPT_PTXAS ptxas)" ]; then
    echo "no ptxas"
    exit 77
fi
work="$TEST_TMP/work"
mkdir -p "$work"
export TMPDIR="$work/tmp"
mkdir -p "$TMPDIR"
add=corpus/vectoradd/vectoradd.sm_75.ptx
reduce=corpus/reduce/reduce.sm_75.ptx
options=(-arch sm_90 -machine corpus/two-sms.json)

# $1: launch file; $2: threads; the rest: expressions of sed. Prints the launch with that number.
launch() {
    local file="$1" threads="$2" expressions=()
    shift 2
    for expression in "$@"; do
        expressions+=(-e "$expression")
    done
    sed -e "s/\"grid\": \[[^]]*\]/\"threads\": [$threads]/" "${expressions[@]}" "$file"
}
launch corpus/vectoradd/vectoradd.launch.json 8192 's/2000/8192/' >"$work/add.json"
launch corpus/reduce/reduce_sum.launch.json 4096 's/1000/4096/' 's/"count": 8/"count": 128/' \
    's/"dynamic_shared": 512/"dynamic_shared_per_thread": 4/' >"$work/reduce.json"

# Runs the printed options, and sets 'block' to the block that they are for.
follow() {
    local words
    read -r -a words < <(grep '^  ptxopt ' "$work/out")
    block="$(grep -oE 'blocks of [0-9,]+' "$work/out" | cut -d ' ' -f 3 | sed 's/,$//')"
    "$PTXOPT" "${words[@]:1}" -q -o "$work/form.ptx"
}

ends "a form is found" 0 "results are equal" tune "$add" "$work/add.json" "${options[@]}" -o "$work/add.tsv"
cp "$work/out" "$work/first"
result "a quarter of the forms are measured" "$(grep -q 'of 41 forms, 11 are measured' "$work/err" || cat "$work/err")"
result "the options make it" "$(follow 2>&1)"
follow
# The same launch with the block that was found.
sed "s/\"block\": \[[^]]*\]/\"block\": [$block]/" "$work/add.json" >"$work/found.json"
"$PTXOPT" run -q -dump c "$add" "$work/add.json" >"$work/wanted"
"$PTXOPT" run -q -dump c "$work/form.ptx" "$work/found.json" >"$work/got"
result "its results are those of the original" "$([ -s "$work/wanted" ] && cmp "$work/wanted" "$work/got" 2>&1)"
# $1: PTX; $2: launch. Prints the predicted microseconds.
time_of() {
    "$PTXOPT" cost -q "${options[@]}" -report-format json "$1" "$2" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["cost"]["microseconds"])'
}
said="$(grep -oE '^[0-9.]+ times as fast' "$work/out" | cut -d ' ' -f 1)"
counted="$(awk -v a="$(time_of "$add" "$work/add.json")" -v b="$(time_of "$work/form.ptx" "$work/found.json")" \
    'BEGIN { printf "%.2f", a / b }')"
result "it is as fast as was said" "$([ "$said" = "$counted" ] || echo "said $said, counted $counted")"
best="$(awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["status"] == "ok" && $at["speedup"] > best { best = $at["speedup"] }
    $at["block"] == "256x1x1" && $at["factor"] == 1 && $at["basis"] == "machine" { own = $at["speedup"] }
    END { printf "%.2f", best / own - 0.02 }' "$work/add.tsv")"
result "and as the best row of the table" "$(awk -v a="$said" -v b="$best" 'BEGIN { exit !(a >= b) }' ||
    echo "said $said, table $best")"

ends "nothing is measured twice" 0 "0 of 0 rows" tune "$add" "$work/add.json" "${options[@]}" -o "$work/add.tsv"
result "with the same result" "$(diff "$work/first" "$work/out")"
"$PTXOPT" tune -q "$add" "$work/add.json" "${options[@]}" -jobs 1 >"$work/out" 2>"$work/err"
result "one process, no table" "$(diff "$work/first" "$work/out"; cat "$work/err")"

ends "results that depend on the block keep it" 0 "-block reduce_sum:128,1,1 -dynamic-shared reduce_sum:512 " tune \
    "$reduce" "$work/reduce.json" "${options[@]}"
result "several kernels in a file" "$(follow 2>&1)"
rows="$TEST_TMP/rows"
cat >"$rows.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry rows(.param .u64 pa, .param .u64 pc, .param .u32 pm)
{
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;
    ld.param.u64 %d1, [pa]; ld.param.u64 %d2, [pc]; ld.param.u32 %r1, [pm];
    cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r2, %r2, %r3, %r4;
    mul.lo.s32 %r5, %r2, %r1; mul.wide.s32 %d3, %r5, 4; add.s64 %d3, %d1, %d3; mov.u32 %r6, 0; mov.u32 %r7, 0;
    setp.lt.s32 %p, %r1, 1; @%p bra $end;
$loop:
    ld.global.u32 %r8, [%d3]; add.s32 %r7, %r7, %r8; add.s64 %d3, %d3, 4; add.s32 %r6, %r6, 1;
    setp.lt.s32 %p, %r6, %r1; @%p bra $loop;
$end:
    mul.wide.s32 %d4, %r2, 4; add.s64 %d4, %d2, %d4; st.global.u32 [%d4], %r7; ret;
}
END
cat >"$rows.json" <<'END'
{"kernel": "rows", "threads": [256], "block": [64], "check": ["c"], "args": [
    {"buffer": "a", "type": "s32", "count": 65536, "init": "iota"}, {"buffer": "c", "type": "s32", "count": 256},
    {"scalar": "s32", "value": 256}]}
END
sed 's/add.s32 %r7, %r7, %r8/add.f32 %r7, %r7, %r8/' "$rows.ptx" >"$rows.f32.ptx"
sed 's/"s32", "count"/"f32", "count"/' "$rows.json" >"$rows.f32.json"
few=(-machine corpus/two-sms.json)
ends "threads are divided" 0 "-refine rows:" tune "$rows.ptx" "$rows.json" "${few[@]}"
result "threads are divided: results" "$(grep -q 'results are equal$' "$work/out" && follow 2>&1 || cat "$work/out")"
ends "sums stay in order" 0 "results are equal" tune "$rows.f32.ptx" "$rows.f32.json" "${few[@]}"
result "sums stay in order: threads are not divided" "$(grep -e -refine "$work/out")"
ends "sums in another order" 0 " -reassociate " tune "$rows.f32.ptx" "$rows.f32.json" \
    -reassociate "${few[@]}"
result "sums in another order: results" "$(grep -q 'equal within a tolerance$' "$work/out" && follow 2>&1 ||
    cat "$work/out")"
ends "nothing helps" 0 "nothing is predicted to be faster than the original" tune corpus/spinlock/spinlock.sm_75.ptx \
    corpus/spinlock/spinlock.launch.json "${options[@]}"
sed 's/"count": 8192/"count": 8000/' "$work/add.json" >"$work/small.json"
ends "a launch with a fault" 1 "the original cannot be measured with its own block" tune "$add" "$work/small.json" \
    "${options[@]}"
ends "no launch" 2 "tune: expected FILE.ptx and LAUNCH.json" tune "$add"
ends "two architectures" 2 "-arch: one architecture at a time is tuned for" tune "$add" "$work/add.json" -arch sm_80 \
    -arch sm_90
ends "a table that cannot be written" 1 "error: cannot write '/dev/null/table.tsv'" tune "$add" "$work/add.json" \
    -o /dev/null/table.tsv
result "a table that cannot be written: nothing is measured" "$(grep -v 'error: ' "$work/err"; cat "$work/out")"
# In the foreground, timeout sends the signal once: the second one ends the process.
timeout --foreground -s INT 0.3 "$PTXOPT" tune "$reduce" "$work/reduce.json" "${options[@]}" \
    -o "$work/part.tsv" >"$work/out" 2>"$work/err"
result "an interrupt" "$(grep -q 'interrupted, so there may be faster forms; the same command goes on' "$work/err" ||
    cat "$work/err")"
ends "a launch of another kernel" 1 "has no kernel 'vectoradd'; it has" tune "$reduce" "$work/add.json"
ends "a missing launch file" 1 "missing.json" tune "$add" missing.json
result "no temporary file is left" "$(ls "$TMPDIR")"
exit "$failed"
