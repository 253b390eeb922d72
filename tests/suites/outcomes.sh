#!/usr/bin/env bash
# Every case once more: everything that a run reports about a kernel agrees with the PTX that it writes.
exec tests/compare-outcomes
