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
idle="$(grep -oE '(changed|compared|summed|reordered|several|apart|spread|vectors|rolled) 0\b' <<<"$said")"
result "every rule at work" "$idle"

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

# Launched by its contract: the emulated GPU compares the results. The sanitizers cannot be loaded into other programs.
case "$BUILD" in
*/asan)
    echo "skip launched: the sanitizers cannot be loaded into other programs"
    exit "$failed"
    ;;
esac
# $1: kernel; the rest: options.
launches() {
    local problem="" name="$1" file="corpus/$1/$1.sm_90.ptx"
    sed 's/{"kind": "exact"}/{"kind": "close", "relative": 1e-3, "absolute": 1e-3}/' "corpus/$1/$1.launch.json" \
        >"$TEST_TMP/launch.json"
    "$program" -q -assembler none -reassociate "${@:2}" -o "$TEST_TMP/out.ptx" "$file"
    PTXOPT_CUDA_DRIVER="$PWD/$BUILD/emulated/libcuda.so.1" "$BUILD/gpu-run" --repeat 1 --seconds 0 \
        "$TEST_TMP/launch.json" "$file" "$TEST_TMP/out.ptx" >"$TEST_TMP/table" 2>"$TEST_TMP/errors" ||
        problem="$(cat "$TEST_TMP/errors") $(grep -E '"(problem|difference)": "' "$TEST_TMP/table")"
    [ -n "$problem" ] || grep -q '"by_contract": true' "$TEST_TMP/table" || problem="not by a contract"
    result "launched: ${*}" "$problem"
}
for name in mv tmv; do
    launches "$name" -refine 4
    launches "$name" -refine 4,apart -block 64
done
exit "$failed"
