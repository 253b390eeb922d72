#!/usr/bin/env bash
# Refinement: random kernels whose loops several threads share, compared in the emulator with the originals, which
# watches for races; and the kernels of the corpus.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
seeds=3000
case "$BUILD" in
*/asan) seeds=300 ;;
esac

random_check "random" refine-check "1,$seeds"
result "every rule at work" "$(grep -oE '(changed|compared|summed|reordered|several|apart|vectors) 0\b' <<<"$said")"

# $1: kernel; the rest: options. It must be refined, and its results be those of the original.
refines() {
    local problem="" name="$1" file="corpus/$1/$1.sm_90.ptx" launch="corpus/$1/$1.launch.json"
    "$program" -q -assembler none -reassociate "${@:2}" -verify "$launch" -report "$TEST_TMP/report" \
        -o "$TEST_TMP/out.ptx" "$file" 2>"$TEST_TMP/errors" || problem="$(head -1 "$TEST_TMP/errors")"
    [ -n "$problem" ] || grep -q 'threads in the place of one' "$TEST_TMP/report" || problem="not refined"
    result "${*}" "$problem"
}
for name in mv tmv matvec_int8 strsm layernorm nbody conv; do
    refines "$name" -refine 2
    refines "$name" -refine 4 -memory vectors
done
refines tmv -refine 4,apart -block 64
