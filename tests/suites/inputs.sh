#!/usr/bin/env bash
# `make inputs` reproduces the files in tests/: with the compiler that made them, a few are made again and compared.
set -uo pipefail

. tests/suites/result.bash
nvcc="$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc)"
if ! "${nvcc:-false}" --version 2>/dev/null | grep -q 'V13\.0\.88'; then
    echo "skip inputs: nvcc 13.0.88, which made them, is not installed"
    exit 0
fi
export NVCC="$nvcc"
for name in bounds.sm_90 control.sm_75; do
    wrong="$(tests/ptx/build.sh -n "${name%.*}" "${name##*.}" "${TEST_TMP:?}" 2>&1)"
    result "tests/ptx/$name.ptx is what nvcc makes" \
        "${wrong:-$(cmp "$TEST_TMP/$name.ptx" "tests/ptx/$name.ptx" 2>&1)}"
done
wrong="$(tests/cases/coarsen/build.sh "$TEST_TMP" 2>&1)"
for name in shapes.sm_75 shapes.sm_90 shapes.unoptimized hand/loops; do
    result "$name.ptx is what nvcc makes" \
        "${wrong:-$(cmp "$TEST_TMP/$name.ptx" "tests/cases/coarsen/$name.ptx" 2>&1)}"
done
if [ -x "${BUILD:?}/tests/compare-occupancy" ]; then
    "$BUILD/tests/compare-occupancy" --golden >"$TEST_TMP/occupancy.tsv"
    result "occupancy.tsv is what the toolkit says" "$(cmp "$TEST_TMP/occupancy.tsv" tests/machine/occupancy.tsv 2>&1)"
fi
exit "$failed"
