#!/usr/bin/env bash
# Access patterns against the addresses that threads access in the emulator: random kernels, and those of the corpus.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
seeds=400 few='[0-9]{1,2}'
case "$BUILD" in
*/asan) seeds=40 few='[0-9]' ;;
esac
every='accesses|resolved|grouped|distances|sectors|shared|extents|of groups|overlaps'

said="$("$BUILD/tests/pattern-check" "1,$seeds" 2>&1)" || said="$said
failed"
result "random kernels" "$(grep -E 'WRONG|failed|internal error' <<<"$said" | head -n 20)"
result "every comparison at work" "$(grep -oE "($every) $few\b" <<<"$said")"

# All launches of a folder's kernels but those that only differ in their sizes.
folder() {
    local name launch
    name="$(basename "$1")"
    for launch in "$1"/*.launch.json; do
        case "$launch" in
        *.large.launch.json) continue ;;
        esac
        "$BUILD/tests/pattern-check" "$1/$name.sm_90.ptx" "$launch" 2>&1 || echo "$launch: failed"
    done
}

said="$(for one in corpus/*/; do folder "${one%/}"; done)"
result "corpus" "$(grep -E 'WRONG|failed|internal error' <<<"$said" | head -n 20)"
sums="$(awk '{ for (i = 2; i < NF; i++) if ($i ~ /^[a-z]+$/ && $(i + 1) + 0 > 0) sum[$i] += $(i + 1) }
    END { for (word in sum) print word, sum[word] }' <<<"$said")"
words="resolved grouped remainders distances sectors shared extents overlaps"
result "all of it at work there" "$(for word in $words; do
    grep -qE "^$word [0-9]{2,}$" <<<"$sums" || echo "few $word"
done)"
exit "$failed"
