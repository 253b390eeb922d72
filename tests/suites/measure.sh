#!/usr/bin/env bash
# bench/measure and bench/micro without a GPU: fakes take the places of ptxopt, whose forms are their options as text,
# and of gpu-run, whose times follow from the names of files. And the tables of docs/results are those of
# bench/measured/.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

tmp="$TEST_TMP" folder="$TEST_TMP/forms"
cat >"$tmp/ptxopt" <<'FAKE'
#!/bin/sh
for input; do :; done
options="$*"
while [ "$1" != -o ]; do shift; done
report=/dev/null
case "$options" in *"-report "*) report=${options#*-report } ;; esac
case "$options" in
*"-entry tmv"*) cat "$input" >"$2" ;; # left alone
*-auto*)
    echo "$options" >"$2"
    said="coarsened x2 and x4 blocks of the grid merged, 1 loop staged in shared memory, registers 30 -> 32"
    echo "  mv: $said (it is predicted 1.000x), predicted 7.40x (3.21x to 11.90x); launch it" >"${report%% *}"
    ;;
*"-coarsen 8"*) exit 1 ;;
*"-memory stage"*) sed 's/^\.visible \.entry/.maxntid 128\n&/' "$input" >"$2" ;; # the input's code
*-tune*)
    printf '.b8 __ptxopt_tune_mv[38] = {80,88,84,78,1,0,0,0,2,0,0,0,1,0,0,0,' >"$2"
    echo '65,66,67,68,69,70,71,72,0,0,0,0,0,0,0,0,120,50,0,121,52,0};' >>"$2"
    ;;
*) echo "$options" | sed 's/-o .*//' >"$2" ;;
esac
FAKE
cat >"$tmp/gpu-run" <<'FAKE'
#!/bin/sh
echo "ptxopt: kernel 'mv', grid 32,1,1, block 128,1,1: x2, in 0.50 of the original's time, 20 launches timed" >&2
printf '{"forms": ['
for file; do
    case "$file" in
    0.ptx) time=100 ;;
    1.ptx) time=50 ;;
    tuned.ptx) time=$([ "$PTXOPT_TUNE" = use ] && echo 60 || echo 0) ;;
    *.ptx) time=125 ;;
    *) continue ;;
    esac
    [ "$file" = 2.ptx ] && problem='"wrong"' || problem=null
    printf '%s{"file": "%s", "problem": %s, "difference": null, "registers": 32,' "$comma" "$file" "$problem"
    printf ' "cold_us": {"median": %s}, "warm_us": {"median": %s.5}}' "$time" "$time"
    comma=,
done
echo ']}'
FAKE
chmod +x "$tmp/ptxopt" "$tmp/gpu-run"
measure() { PTXOPT="$tmp/ptxopt" bench/measure "$@" 2>"$tmp/errors"; }

# $1: file; $2: name; $3: a line, with spaces for tabs.
has() { result "$2" "$(tr '\t' ' ' <"$1" | grep -qxF -- "$3" || printf 'no line "%s"' "$3")"; }

measure -w "$folder" mv naive/permute >"$tmp/said"
result "writing" "$([ $? = 0 ] || echo wrong)"
has "$folder/mv.mv/forms.tsv" "the input" "0.ptx mv/mv "
has "$folder/mv.mv/forms.tsv" "a form for any block" "1.ptx mv/mv -coarsen 2"
has "$folder/mv.mv/forms.tsv" "a form for the launch's block" "12.ptx mv/mv -block 128,1,1 -memory async"
has "$folder/naive.permute.by_hand/forms.tsv" "a form by hand" "0.ptx naive/permute by hand"
result "no refused form, and none with the input's code" \
    "$(grep -e '-coarsen 8' -e '-memory stage' "$folder/mv.mv/forms.tsv")"
measure -w "$folder.b" -b mv >"$tmp/said"
has "$folder.b/mv.mv/forms.tsv" "all for the launch's block" "1.ptx mv/mv -block 128,1,1 -coarsen 2"
measure -w "$folder" mv
result "a folder that is not empty" "$(grep -q 'is not empty' "$tmp/errors" || cat "$tmp/errors")"
measure -w "$folder.c" vm
result "an unknown launch" "$(grep -q 'no large launch vm' "$tmp/errors" || cat "$tmp/errors")"

cp "$tmp/gpu-run" "$folder/gpu-run"
sh "$folder/run" 2 >"$tmp/said" 2>"$tmp/errors"
printf 'launch\toptions\tregisters\tcold_us\twarm_us\na/a\t\t1\t1\t1\nmv/mv\t-old\t1\t1\t1\n' >"$tmp/times.tsv"
metrics=$(sed -n '/^COUNTERS = /,/}/p' bench/measure | grep -o '[a-z0-9]*__[a-z0-9_]*\.[a-z]*')
for metric in $metrics; do
    printf '"0","1","gpu-run","mv","%s","unit","1,234"\n' "$metric"
done >"$folder/mv.mv/1.ptx.csv"
tail -n 1 "$folder/mv.mv/1.ptx.csv" >"$folder/mv.mv/12.ptx.csv"
measure -r "$folder" -o "$tmp/times.tsv" -p "$tmp/codes.tsv" -n "$tmp/naive.tsv" -u "$tmp/tuned.tsv" \
    -c "$tmp/chosen.tsv" -k "$tmp/counters.tsv" >"$tmp/said"
result "reading" "$([ $? = 0 ] || echo wrong)"
has "$tmp/times.tsv" "the input's times" "mv/mv  32 100.00 100.50"
has "$tmp/times.tsv" "a form's times" "mv/mv -coarsen 2 32 50.00 50.50"
sed "s|^// .*||" "$folder/mv.mv/1.ptx" >"$tmp/form.ptx" && echo "// a comment" >>"$tmp/form.ptx"
code=$(cd bench && python3 -B -c "import speedup_forms as s; print(s.code_name('$tmp/form.ptx'))")
has "$tmp/codes.tsv" "the code that was timed" "mv/mv -coarsen 2 $code"
has "$tmp/times.tsv" "another launch's rows stay" "a/a  1 1 1"
result "old rows, choices and kernels of tests/naive are not there" "$(grep -e -old -e auto -e naive "$tmp/times.tsv")"
has "$tmp/said" "a form that is wrong" "mv/mv: -coarsen 4: wrong"
result "which is left out" "$(grep -P -- '-coarsen 4\t' "$tmp/times.tsv")"
has "$tmp/naive.tsv" "times by hand" "naive/permute by hand 32 100.00 100.50"
has "$tmp/tuned.tsv" "a tuned launch" "mv/mv x2; y4 x2 0.50 20 100.00 100.50 60.00 60.50"
has "$tmp/chosen.tsv" "a choice" \
    "mv/mv x2 and x4 blocks, 1 loop staged 7.40 3.21 11.90 32 100.00 100.50 32 125.00 125.50"
result "no choice where none was asked for" "$(grep permute "$tmp/chosen.tsv")"
has "$tmp/counters.tsv" "counters" "mv/mv -coarsen 2$(printf ' 1234%.0s' $metrics)"
has "$tmp/said" "counters that are not there" "mv/mv: -block 128,1,1 -memory async: not counted"
measure -w "$folder.d" -f ^-auto mv tmv >"$tmp/said"
result "only choices" "$(grep -hv -e '^0.ptx' -e '^file' -e '-auto' "$folder.d"/*/forms.tsv)"
cp "$tmp/gpu-run" "$folder.d/gpu-run"
sh "$folder.d/run" 2 >"$tmp/said" 2>"$tmp/errors"
measure -r "$folder.d" -c "$tmp/chosen.tsv" >"$tmp/said"
has "$tmp/chosen.tsv" "a kernel that is left alone" "tmv/tmv     32 100.00 100.50 32 100.00 100.50"
has "$tmp/chosen.tsv" "a form with another number" \
    "mv/mv x2 and x4 blocks, 1 loop staged 7.40 3.21 11.90 32 100.00 100.50 32 50.00 50.50"
measure -w "$folder.e" big/matmul_tiled_4096 >"$tmp/said"
result "a larger product" "$(grep -q '"grid": \[256, 256, 1\].*"count": 16777216.*"value": 4096' \
    "$folder.e/big.matmul_tiled_4096/launch.json" || cat "$folder.e/big.matmul_tiled_4096/launch.json")"
measure -t forms vm
result "a table of an unknown launch" "$(grep -q 'nothing of vm' "$tmp/errors" || cat "$tmp/errors")"

bench/micro -w "$folder.f" >"$tmp/said" 2>"$tmp/errors"
cp "$tmp/gpu-run" "$folder.f/gpu-run"
sh "$folder.f/run" 2 >"$tmp/said" 2>"$tmp/errors"
bench/micro -r "$folder.f" -o "$tmp/micro.tsv"
has "$tmp/micro.tsv" "a microkernel" "start 32 threads 262144 100.00 100.50 0.370"
has "$tmp/micro.tsv" "one with several cases" "barrier 8 blocks, waits 1000 50.00 50.50 47.100"

# $1: page; $2: name of the table; the rest: what prints it
page_has() {
    local page=$1 name=$2
    shift 2
    "$@" >"$tmp/said" 2>"$tmp/errors"
    result "$page has $name" "$(grep '^|' "$tmp/said" | grep -vxFf "$page" | head -n 3
        [ -s "$tmp/said" ] || { echo "no table" && cat "$tmp/errors"; })"
}
for table in naive:naive paper:memory tuned:tune; do
    page_has "docs/results/${table#*:}.md" "the measured table" bench/measure -t "${table%:*}"
done
count=0
while IFS=: read -r page command; do
    page_has "$page" "what '${command#"    "}' prints" bash -c "$command"
    count=$((count + 1))
done < <(grep '^    bench/measure -t ' docs/*.md docs/results/*.md)
result "pages name commands" "$([ $count -ge 1 ] || echo "only $count")"
exit "$failed"
