#!/usr/bin/env bash
# Compares random kernels, changed by the moves of the register search without a judge, with the originals in the
# emulator.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

BUILD="${BUILD:-build}"
folder="${TEST_TMP:-$(mktemp -d)}"
tool="$BUILD/tests/registers-check"
seeds=2000
case "$BUILD" in
*/asan) seeds=300 ;;
esac
if "$tool" 1 "$seeds" >"$folder/random.out" 2>"$folder/random.errors"; then
    echo "ok random: $(tail -n 1 "$folder/random.out")"
else
    echo "not ok random: $(tail -n 1 "$folder/random.out")"
    head -n 20 "$folder/random.out"
    head -n 5 "$folder/random.errors"
    exit 1
fi
