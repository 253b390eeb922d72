#!/usr/bin/env bash
# The counts of samples of launches are those of whole launches, and reports say what was counted.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
kernels=(dwthaar fft2 lintext blockmatch imregionmax)

# Instructions, sectors, sectors from or to DRAM, and the predicted time: to two percent.
said="$(PTXOPT="$program" bench/samples -f "" -f "-coarsen x2" -f "-coarsen bx2 -stride unit" "${kernels[@]}" 2>&1)"
wrong="$(awk -F '\t' 'NF == 10 {
        rows++
        for (i = 5; i <= 8; i++)
            if ($i > 2 || $i < -2)
                print $1, $2, "figure", i, "differs by", $i
        if ($3 == "all")
            print $1, $2, "is not sampled"
    }
    END { if (rows < 12) print "only", rows, "rows" }' <<<"$said")"
result "samples count what whole launches do" "$wrong"

report() {
    "$program" -q -coarsen fft2:auto -launch corpus/fft/fft2.large.launch.json "$@" -o "$TEST_TMP/out.ptx" \
        corpus/fft/fft.sm_90.ptx 2>"$TEST_TMP/errors" >"$TEST_TMP/out"
    cat "$TEST_TMP/errors" "$TEST_TMP/out"
}
part="$(report -report -report-format json | python3 -c 'import json, sys
counted = json.load(sys.stdin)["kernels"][0]["coarsening"]["counted"]
print(counted["ran"], counted["blocks"], counted["error"] < 0.01)' 2>&1)"
expected='258 8192 True'
result "the report has the blocks that ran" "$([ "$part" = "$expected" ] || echo "$part")"
result "the report says so" "$(report -report | grep -q '(counted in 258 of 8192 blocks)' || echo "it does not")"
result "-count-all" "$(report -report -count-all | grep -q 'predicted (counted) to be' || echo "it does not say so")"
exit "$failed"
