#!/usr/bin/env bash
# Every case once more: all that a run says of a kernel agrees with the PTX that it writes.
exec tests/compare-outcomes
