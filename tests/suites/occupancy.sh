#!/usr/bin/env bash
# target/ against the CUDA toolkit's cuda_occupancy.h, if installed: every architecture, block size and register count.
# Without it, the committed answers are still checked (tests/unit/test_target.c).
set -euo pipefail

compare="${BUILD:?}/tests/compare-occupancy"
if [ ! -x "$compare" ]; then
    echo "no CUDA toolkit here, so no cuda_occupancy.h to compare with"
    exit 77
fi
exec "$compare"
