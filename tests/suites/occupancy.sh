#!/usr/bin/env bash
# machine/ against the CUDA toolkit's cuda_occupancy.h, where there is one: every machine, block size, register count.
# Without it the committed answers still hold (tests/unit/test_machine.c).
set -euo pipefail
cd "$(dirname "$0")/../.."

for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
    if [ -f "$folder/cuda_occupancy.h" ]; then
        "${CC:-cc}" -std=gnu11 -O1 -I. -isystem "$folder" tests/machine/compare_occupancy.c machine/*.c \
            -o "$TEST_TMP/compare"
        exec "$TEST_TMP/compare"
    fi
done
echo "no CUDA toolkit here, so no cuda_occupancy.h to compare with"
exit 77
