#!/usr/bin/env bash
# tools/corpus-spread with several workers on this machine, one of which is killed: the table is that of one machine
# alone.
set -uo pipefail

# GNU parallel takes a colon for this machine.
tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
errors="${TEST_TMP:?}/errors"
. tests/suites/result.bash
if ! parallel --version 2>/dev/null | grep -q GNU; then
    echo "GNU parallel is not installed"
    exit 77
fi
PTXOPT="$(realpath "${PTXOPT:?}")"
some=(--arch sm_90 --options none --options 'coarsen 2' --options 'coarsen y2' --assembler none --expected "$tmp/none"
    'vectoradd*' 'matmul*' 'transpose*')
: >"$tmp/none"
# The columns that are not times.
table() {
    awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) keep[i] = $i !~ /^seconds_/ }
                 { for (i = 1; i <= NF; i++) if (keep[i]) printf "%s\t", $i; print "" }' "$1"
}
tools/corpus-run --out "$tmp/alone" "${some[@]}" >"$tmp/text" 2>"$errors"
result "alone" "$([ -s "$tmp/alone/corpus.tsv" ] || tail -n 1 "$errors")"
rows="$(($(wc -l <"$tmp/alone/corpus.tsv") - 1))"
result "there are rows" "$([ "$rows" -ge 10 ] || echo "$rows")"

# The second call of ptxopt kills the worker that made it, once.
cat >"$tmp/ptxopt" <<END
#!/bin/bash
if mkdir "$tmp/killed" 2>/dev/null; then
    kill -KILL \$PPID
    exit 1
fi
exec "$PTXOPT" "\$@"
END
chmod +x "$tmp/ptxopt"
PTXOPT="$tmp/ptxopt" tools/corpus-spread "$tmp/results" -S 1/:,2/: -j 2 -- --out "$tmp/spread" "${some[@]}" \
    >"$tmp/text" 2>"$errors"
result "a worker was killed" "$([ -d "$tmp/killed" ] || echo "none")"
result "the same table" "$(diff <(table "$tmp/alone/corpus.tsv") <(table "$tmp/spread/corpus.tsv") 2>&1 | head -n 4)"
result "all rows are kept" "$([ "$(find "$tmp/results" -name '*.json' | wc -l)" -eq "$rows" ] || echo "not all")"
result "nothing unfinished is left" "$(find "$tmp/results" -type f ! -name '*.json')"
result "no row is missing" "$(PTXOPT="$tmp/ptxopt" tools/corpus-run --results "$tmp/results" --missing "${some[@]}")"

# Again: nothing is computed. A row that is removed or damaged is, and no other.
find "$tmp/results" -name '*.json' | sort | head -n 2 >"$tmp/two"
rm "$(sed -n 1p "$tmp/two")"
result "what is missing" "$(PTXOPT="$tmp/ptxopt" tools/corpus-run --results "$tmp/results" --missing "${some[@]}" |
    wc -l | grep -v '^1$')"
echo '{"row' >"$(sed -n 2p "$tmp/two")"
PTXOPT="$tmp/ptxopt" tools/corpus-run --results "$tmp/results" --out "$tmp/again" "${some[@]}" >"$tmp/text" 2>"$errors"
result "again, the same table" "$(diff <(table "$tmp/alone/corpus.tsv") <(table "$tmp/again/corpus.tsv") | head -n 4)"
result "again, it is whole" "$(diff <(cut -f 1-3 "$tmp/again/corpus.tsv") <(cut -f 1-3 "$tmp/spread/corpus.tsv"))"
tools/corpus-run --rows 1 >"$tmp/text" 2>&1
result "--rows without --results" "$(grep -q 'go with --results' "$tmp/text" || cat "$tmp/text")"
tools/corpus-run --results "$tmp/results" --rows 99999 "${some[@]}" >"$tmp/text" 2>&1
result "--rows that are not there" "$(grep -q 'there are' "$tmp/text" || cat "$tmp/text")"
exit "$failed"
