#!/usr/bin/env bash
# bench/measure without a GPU: fakes take the places of ptxopt, whose forms are their options as text, and of gpu-run,
# whose times follow from the names of files. And the tables of docs/results are those of bench/measured/.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

tmp="$TEST_TMP" folder="$TEST_TMP/forms"
cat >"$tmp/ptxopt" <<'FAKE'
#!/bin/sh
for input; do :; done
options="$*"
while [ "$1" != -o ]; do shift; done
case "$options" in
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
measure -r "$folder" -o "$tmp/times.tsv" -n "$tmp/naive.tsv" -u "$tmp/tuned.tsv" >"$tmp/said"
result "reading" "$([ $? = 0 ] || echo wrong)"
has "$tmp/times.tsv" "the input's times" "mv/mv  32 100.00 100.50"
has "$tmp/times.tsv" "a form's times" "mv/mv -coarsen 2 32 50.00 50.50"
has "$tmp/times.tsv" "another launch's rows stay" "a/a  1 1 1"
result "old rows, choices and kernels of tests/naive are not there" "$(grep -e -old -e auto -e naive "$tmp/times.tsv")"
has "$tmp/said" "a form that is wrong" "mv/mv: -coarsen 4: wrong"
result "which is left out" "$(grep -P -- '-coarsen 4\t' "$tmp/times.tsv")"
has "$tmp/naive.tsv" "times by hand" "naive/permute by hand 32 100.00 100.50"
has "$tmp/tuned.tsv" "a tuned launch" "mv/mv x2; y4 x2 0.50 20 100.00 100.50 60.00 60.50"

for table in naive:naive paper:memory tuned:tune; do
    bench/measure -t "${table%:*}" >"$tmp/said" 2>"$tmp/errors"
    page="docs/results/${table#*:}.md"
    result "$page has the measured table" \
        "$(grep '^|' "$tmp/said" | grep -vxFf "$page" | head -n 3; [ -s "$tmp/said" ] || echo "no table")"
done
exit "$failed"
