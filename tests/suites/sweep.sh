#!/usr/bin/env bash
# ptxopt sweep: rows against what ptxopt and ptxopt cost say, tables that are continued, interrupts, lost processes, and
# wrong input.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

if [ -z "$(nvidia_program PTXOPT_PTXAS ptxas)" ]; then
    echo "no ptxas"
    exit 77
fi
work="$TEST_TMP/work"
mkdir -p "$work"
kernel=corpus/matmul_naive/matmul_naive.sm_75.ptx
fixed=corpus/matmul_naive/matmul_naive.launch.json
free="$work/free.launch.json"
sed 's/"grid": \[3, 3, 1\]/"threads": [48, 48]/' "$fixed" >"$free"
machine=corpus/two-sms.json

# $1: a table; the rest: columns. Prints them without the heading.
columns() {
    local table="$1"
    shift
    awk -F'\t' -v wanted="$*" 'NR == 1 { count = split(wanted, name, " "); for (i = 1; i <= NF; i++) at[$i] = i; next }
        { line = ""; for (i = 1; i <= count; i++) line = line (i > 1 ? " " : "") $at[name[i]]; print line }' "$table"
}

# $1: name; $2: exit status; $3: text that standard error must contain; the rest: arguments.
says() {
    local name="$1" wanted="$2" text="$3" status
    shift 3
    "$PTXOPT" sweep "$@" >"$work/out" 2>"$work/err"
    status=$?
    result "$name" "$([ "$status" -eq "$wanted" ] && grep -qF -- "$text" "$work/err" ||
        echo "status $status: $(head -n 2 "$work/err")")"
}

# A block that cannot change, a form that is refused, and one whose contract the grid does not meet.
says "a launch's own block" 0 "note: $fixed does not say how many \"threads\" it needs" "$kernel" "$fixed" \
    -machine "$machine" -factors 1,2,3 -strides block,8 -dims x,by -block-sizes 128 -o "$work/fixed.tsv"
columns "$work/fixed.tsv" block level dimension factor stride status >"$work/found"
cat >"$work/wanted" <<'END'
16x16x1 - - 1 - ok
16x16x1 - - 1 - ok
16x16x1 thread x 2 block ok
16x16x1 thread x 2 8 ok
16x16x1 thread x 3 block ok
16x16x1 thread x 3 8 refused
16x16x1 block y 2 - unmet
16x16x1 block y 3 - ok
END
result "rows and their status" "$(diff "$work/wanted" "$work/found")"
result "reasons" "$(columns "$work/fixed.tsv" status reason | awk '$1 != "ok" && $2 == "-" || $1 == "ok" && $2 != "-"')"

# The same time as that of the output, launched by its contract.
wrong=""
while read -r level factor stride registers time _; do
    case "$level" in
    thread) options=(-coarsen "x$factor" -stride "$stride") ;;
    block) options=(-coarsen "by$factor" -coarsen-grid shrink) ;;
    *) options=() ;;
    esac
    "$PTXOPT" -q "$kernel" -block 16,16 "${options[@]}" -o "$work/form.ptx" &&
        "$PTXOPT" cost -q -machine "$machine" -report-format json "$work/form.ptx" "$fixed" >"$work/cost.json" ||
        wrong="$wrong, $level $factor $stride: no cost"
    said="$(python3 -c 'import json, sys
cost = json.load(open(sys.argv[1]))["cost"]
print(cost["registers"], "%.3f" % cost["microseconds"])' "$work/cost.json")"
    [ "$said" = "$registers $time" ] || wrong="$wrong, $level $factor $stride: $registers $time, but cost says $said"
done < <(columns "$work/fixed.tsv" level factor stride registers time basis | grep ' machine$')
result "the original's time is also by PTX" "$(columns "$work/fixed.tsv" level basis speedup | grep -v '^- .* 1.0000$' |
    grep '^-'; columns "$work/fixed.tsv" level basis | grep -qx -- '- ptx' || echo "no such row")"
result "times and registers are those of the output" "${wrong#, }"

# Blocks, architectures, processes.
space=(-machine "$machine" -arch sm_80,sm_90 -factors 2,4 -dims x,bx -strides unit -block-sizes 16x8,24x4)
"$PTXOPT" sweep -q "$kernel" "$free" "${space[@]}" -jobs 1 >"$work/one.tsv" 2>"$work/err"
"$PTXOPT" sweep -q "$kernel" "$free" "${space[@]}" -jobs 3 -o "$work/three.tsv" 2>>"$work/err"
result "several processes find the same, and say nothing" "$(cat "$work/err"
    cmp "$work/one.tsv" "$work/three.tsv" 2>&1)"
result "a row for each configuration and architecture" "$(
    [ "$(columns "$work/one.tsv" arch block level factor stride | sort -u | wc -l)" -eq 30 ] || cat "$work/one.tsv")"
result "the best original is the baseline" "$(columns "$work/one.tsv" arch factor speedup status |
    awk '$2 == 1 && $3 > most[$1] { most[$1] = $3 } END { print most["sm_80"] + most["sm_90"] }' | grep -vx 2)"

"$PTXOPT" sweep -q "$kernel" "$free" -machine "$machine" -factors 1 -o "$work/blocks.tsv"
result "usual blocks divide the threads" "$(diff <(columns "$work/blocks.tsv" block | sort -u | paste -sd ' ') - \
    <<<"16x16x1 16x4x1 16x8x1 4x16x1 4x8x1 8x16x1 8x4x1 8x8x1")"

# Tables are continued.
cp "$work/one.tsv" "$work/kept.tsv"
says "nothing is measured twice" 0 "0 of 0 rows" "$kernel" "$free" "${space[@]}" -o "$work/kept.tsv"
result "the table stays as it is" "$(cmp "$work/one.tsv" "$work/kept.tsv" 2>&1)"
head -n 20 "$work/one.tsv" >"$work/kept.tsv"
printf 'matmul_naive\tcut' >>"$work/kept.tsv"
says "a table that ends early is completed" 0 " rows in " "$kernel" "$free" "${space[@]}" -o "$work/kept.tsv"
result "completed to the same" "$(cmp "$work/one.tsv" "$work/kept.tsv" 2>&1)"
says "another launch is added" 0 "" "$kernel" "$fixed" "${space[@]}" -o "$work/kept.tsv"
result "both are in the table" "$([ "$(columns "$work/kept.tsv" launch | sort -u | wc -l)" -eq 2 ] || echo no)"
sed 's/"high": 1/"high": 2/' "$free" >"$work/changed" && mv "$work/changed" "$free"
says "a launch that has changed is measured again" 0 "30 of 30 rows" "$kernel" "$free" "${space[@]}" -o "$work/kept.tsv"
rows="$(columns "$work/kept.tsv" launch | wc -l)"
result "in place of the old rows" "$([ "$rows" -eq $((36 + 12)) ] || echo "$rows rows")"

# An interrupt, and processes that are killed.
many=(-machine "$machine" -arch sm_80,sm_90 -factors 2,4,8 -block-sizes 16x8 -jobs 2)
"$PTXOPT" sweep -q "$kernel" "$free" "${many[@]}" -o "$work/whole.tsv"
# $1: signal; $2: what gets it: "sweep", or "worker".
disturb() {
    rm -f "$work/part.tsv"
    # Interrupts are ignored by programs that a script starts beside itself.
    env --default-signal=INT "$PTXOPT" sweep "$kernel" "$free" "${many[@]}" -o "$work/part.tsv" 2>"$work/err" &
    local sweep=$! target
    until [ -s "$work/part.tsv" ] && [ "$(wc -l <"$work/part.tsv")" -gt 1 ] || ! kill -0 "$sweep" 2>/dev/null; do
        sleep 0.02
    done
    target="$sweep"
    [ "$2" = sweep ] || target="$(pgrep -P "$sweep" | head -n 1)"
    kill -s "$1" "$target"
    wait "$sweep"
}
disturb KILL worker
status=$?
result "a lost process is reported" "$([ $status -eq 1 ] &&
    grep -q 'was ended by signal 9; its form is left out' "$work/err" &&
    grep -q 'error: 1 form could not be measured' "$work/err" || echo "status $status: $(cat "$work/err")")"
lines="$(wc -l <"$work/part.tsv")"
result "and costs one form" "$([ $(($(wc -l <"$work/whole.tsv") - lines)) -eq 4 ] || echo "$lines rows")"
"$PTXOPT" sweep -q "$kernel" "$free" "${many[@]}" -o "$work/part.tsv"
result "which is measured the next time" "$(cmp "$work/whole.tsv" "$work/part.tsv" 2>&1)"

disturb INT sweep
status=$?
result "an interrupt ends a sweep" "$([ $status -eq 0 ] && ! grep -q error "$work/err" &&
    [ "$(wc -l <"$work/part.tsv")" -lt "$(wc -l <"$work/whole.tsv")" ] || echo "status $status: $(cat "$work/err")")"
"$PTXOPT" sweep -q "$kernel" "$free" "${many[@]}" -o "$work/part.tsv"
result "and it can be continued" "$(cmp "$work/whole.tsv" "$work/part.tsv" 2>&1)"

# Several machines, here two workers on this one.
if parallel --version 2>/dev/null | grep -q GNU; then
    reduce=(corpus/reduce/reduce.sm_75.ptx "$PWD/corpus/reduce/reduce_sum.launch.json"
        "$PWD/corpus/reduce/reduce_minmaxsum.launch.json")
    few=(-machine "$PWD/$machine" -arch sm_90 -factors 2 -dims bx)
    "$PTXOPT" sweep -q "$(realpath "${reduce[0]}")" "${reduce[@]:1}" "${few[@]}" -o "$work/alone.tsv" 2>"$work/err"
    for again in "" " once more"; do
        tools/sweep-spread "$work/spread" -S : -j 2 "${reduce[@]}" -- "${few[@]}" >"$work/out" 2>"$work/err"
        result "several machines$again" "$(diff <(sort "$work/alone.tsv") <(sort "$work/spread/table.tsv"))"
    done
    result "several machines: usage" "$(tools/sweep-spread "$work/spread" 2>&1 | grep -v '^tools/sweep-spread RESULTS')"
else
    echo "skip several machines: GNU parallel is not installed"
fi

says "no launch" 2 "sweep: expected FILE.ptx and LAUNCH.json" "$kernel"
says "a file that is no table" 1 ":1: this is not a table of 'ptxopt sweep'" "$kernel" "$free" -o Makefile
says "a missing launch file" 1 "missing.json" "$kernel" missing.json
says "a launch of another kernel" 1 "has no kernel 'vectoradd'" "$kernel" corpus/vectoradd/vectoradd.launch.json
says "an architecture that is too old" 1 "-arch sm_70: assemblers generate code for sm_75 and newer only" \
    "$kernel" "$free" -arch sm_80,sm_70
says "a missing machine file" 1 "missing.json" "$kernel" "$free" -machine missing.json
exit "$failed"
