#!/usr/bin/env bash
# Tests build/check-gpu without a GPU: through a CUDA driver whose GPU is the emulator, and with the recorded answers of
# GPUs (tests/gpu/*.answers).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

BUILD="${BUILD:-build}"
folder="${TEST_TMP:-$(mktemp -d)}"
fake="$PWD/$BUILD/emulated/libcuda.so.1"

status=0
# $1: name; $2: expected status; $3: extended regular expression for a line of the output; the rest: the command
expect() {
    local name="$1" code="$2" line="$3" got
    shift 3
    "$@" >"$folder/out" 2>&1
    got=$?
    if [ "$got" -eq "$code" ] && grep -Eq "$line" "$folder/out"; then
        echo "ok $name: $(tail -n 1 "$folder/out")"
    else
        echo "not ok $name: status $got, $(tail -n 1 "$folder/out")"
        status=1
    fi
}
check() {
    PTXOPT_CUDA_DRIVER="$fake" "$BUILD/check-gpu" "$@"
}
broken() {
    PTXOPT_EMULATED_FAILURE="$1" check "${@:2}"
}

expect "no driver" 77 "^no GPU: " env PTXOPT_CUDA_DRIVER=/nowhere/libcuda.so "$BUILD/check-gpu"
expect "no device" 77 "^no GPU: .*finds no device" broken no-device
expect "kernels through the driver" 0 "^[0-9]+ rows, [0-9]+ tuples, [0-9]+ left out, 0 rows wrong$" \
    check -s 131 -a "$folder/answers"
expect "answers kept" 0 " 0 rows wrong$" "$BUILD/check-gpu" -g "$folder/answers"
sed -E 's/[0-9a-f]{16}$/0000000000000001/' "$folder/answers" >"$folder/other"
expect "other answers" 1 "the emulator's [0-9]+ answers are not the GPU's" "$BUILD/check-gpu" -g "$folder/other"
expect "all kernels refused" 1 "^0 rows, 0 tuples" broken reject -s 500
expect "a file without answers" 2 "cannot be read" "$BUILD/check-gpu" -g /dev/null

for answers in tests/gpu/*.answers; do
    expect "$answers" 0 " 0 rows wrong$" "$BUILD/check-gpu" -g "$answers"
done
exit "$status"
