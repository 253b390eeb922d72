#!/usr/bin/env bash
# Random kernels through the passes that reuse values between replicas, compared in the emulator with the originals; the
# passes must have done something. A pass that does nothing there is not tested.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
seeds=300
loops=6000
flat=1000
minima=600
case "$BUILD" in
*/asan)
    seeds=100
    loops=600
    flat=200
    minima=100
    ;;
esac

random_check "loops equal to the originals" reuse-check -l "1,$loops"
random_check "flattened grids equal to the originals" reuse-check -f "1,$flat"
result "rows and columns shared" "$(grep -oE 'delinearize 0\b' <<<"$said")"
random_check "equal to the originals" reuse-check "1,$seeds"
random_check "minima equal to the originals" minima-check "1,$minima"
result "minima shared" "$(grep -oE '\b0 with fewer' <<<"$said")"
idle='(decide|load_reuse|addresses|forward|induction|accumulator|vectorize|bases|pointers|group|stored) 0\b'
result "every pass at work" "$(grep -oE "$idle" <<<"$said")"
exit "$failed"
