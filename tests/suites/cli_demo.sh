#!/usr/bin/env bash
# The demonstration succeeds and shows every kernel before and after.
set -uo pipefail

BUILD="${TEST_TMP:?}" tools/demo.sh >"$TEST_TMP/demo.txt" 2>&1
status=$?
if grep -q 'no assembler was found' "$TEST_TMP/demo.txt"; then
    echo "skip demo: no assembler"
    exit 0
fi
rows="$(grep -cE '^ *(x2|[a-z0-9_]+ +original)' "$TEST_TMP/demo.txt")"
if [ "$status" -eq 0 ] && [ "$rows" -eq 27 ]; then
    echo "ok demo"
else
    echo "not ok demo: exit status $status, $rows rows"
    cat "$TEST_TMP/demo.txt"
fi
