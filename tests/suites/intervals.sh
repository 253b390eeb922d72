#!/usr/bin/env bash
# The ranges of predicted speedups (cost/intervals.def) are those that bench/intervals learns from the measured forms,
# and nine in ten of the forms of a kernel that nothing was learned from are within them.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

said="$(bench/intervals -d "$TEST_TMP/intervals.def" -o "$TEST_TMP/intervals.md" 2>"$TEST_TMP/errors")" ||
    result "bench/intervals" "exit status $?"
result "cost/intervals.def is what is learned" "$(diff "$TEST_TMP/intervals.def" cost/intervals.def | head -n 5)"
result "docs/results/intervals.md says so" "$(diff "$TEST_TMP/intervals.md" docs/results/intervals.md | head -n 5)"
within="$(awk '$3 == "all" { print $5 }' <<<"$said")"
problem="$(awk '$1 < 0.85 || $1 > 0.95' <<<"$within")"
[ "$(wc -l <<<"$within")" = 4 ] || problem="$problem, not four shares: $within"
result "85 to 95% of speedups are within their range" "$problem"
lost="$(awk '$1 == "simulator" && $2 == "counted" && $3 == "normal" { print $7 }' <<<"$said")"
result "no choice by counts loses in the simulator" "$([ "$lost" = 0 ] || echo "$lost do")"
exit "$failed"
