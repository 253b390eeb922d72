#!/usr/bin/env bash
# The reader of machine code against nvdisasm, over the corpus, for each architecture that the cost model covers; and
# choosing without libdw, which it needs.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

PTXAS="$(nvidia_program PTXOPT_PTXAS ptxas)"
NVDISASM="$(nvidia_program PTXOPT_NVDISASM nvdisasm)"
MACHINE_CODE="$BUILD/tests/machine-code"
export PTXAS NVDISASM MACHINE_CODE
if [ -z "$PTXAS" ] || [ -z "$NVDISASM" ]; then
    echo "no ptxas or no nvdisasm"
    exit 77
fi
mkdir -p "$TEST_TMP/work"
for arch in sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120; do
    python3 tests/tools/compare-machine-code.py "$arch" "$TEST_TMP/work" corpus/*/*.sm_75.ptx >"$TEST_TMP/errors" 2>&1
    status=$?
    result "$arch: $(head -n 1 "$TEST_TMP/errors")" "$([ "$status" -eq 0 ] || echo "nvdisasm disagrees")"
done

# An empty library in the place of libdw's. Its path must have no colon.
libraries="$(mktemp -d)"
trap 'rm -rf "$libraries"' EXIT
${CC:-cc} -shared -o "$libraries/libdw.so.1" -x c /dev/null
for option in "-coarsen auto" "-memory auto" "-uj auto" -auto -tune; do
    # shellcheck disable=SC2086
    LD_LIBRARY_PATH="$libraries" "$PTXOPT" -q $option -assembler ptxas -o "$TEST_TMP/k.ptx" corpus/tmv/tmv.sm_90.ptx \
        >"$TEST_TMP/errors" 2>&1
    status=$?
    result "$option without libdw" "$([ "$status" -eq 1 ] && grep -q 'error: libdw.so.1' "$TEST_TMP/errors" &&
        [ ! -e "$TEST_TMP/k.ptx" ] || echo "status $status")"
done
for command in sweep tune; do
    LD_LIBRARY_PATH="$libraries" "$PTXOPT" $command -q -assembler ptxas -o "$TEST_TMP/table.tsv" \
        corpus/tmv/tmv.sm_90.ptx corpus/tmv/tmv.launch.json >"$TEST_TMP/errors" 2>&1
    status=$?
    result "$command without libdw" "$([ "$status" -eq 1 ] && grep -q 'error: libdw.so.1' "$TEST_TMP/errors" &&
        [ ! -e "$TEST_TMP/table.tsv" ] || echo "status $status")"
done
LD_LIBRARY_PATH="$libraries" "$PTXOPT" -q -coarsen 2 -o "$TEST_TMP/k.ptx" corpus/tmv/tmv.sm_90.ptx \
    >"$TEST_TMP/errors" 2>&1
result "-coarsen 2 without libdw" "$([ -s "$TEST_TMP/k.ptx" ] || echo "no output")"
exit "$failed"
