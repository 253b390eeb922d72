#!/usr/bin/env bash
# Runs the program on tests/isa: it must accept and write what ptxas accepts, and reject what ptxas rejects with exit
# status 1, no output, and an error in the line that ptxas names (exceptions: tests/cases/parse/verdicts.tsv).
set -uo pipefail

if [ ! -x "${PTXOPT:?}" ]; then
    echo "no program $PTXOPT"
    exit 77
fi

# $1: file. Prints the line of the first error that it must have, or "accepted".
verdict() {
    local name line
    name="$(basename "$1" .ptx)"
    line="$(awk -F '\t' -v name="$name" '$1 == name { print $2 }' tests/cases/parse/verdicts.tsv)"
    [ -n "$line" ] || line="$(sed -n 's|.*ptxas 13\.[0-9]*: line \([0-9]*\):.*|\1|p' "$1" | head -n 1)"
    printf '%s\n' "$line"
}

# $1: file. Runs the program; leaves its status and its outputs.
run() {
    "$PTXOPT" -assembler none -O0 "$1" >"$TEST_TMP/out" 2>"$TEST_TMP/errors"
    status=$?
}

. tests/suites/result.bash
for file in tests/isa/examples/*.ptx; do
    run "$file"
    wrong=""
    [ "$status" -eq 0 ] || wrong="status $status"
    [ -s "$TEST_TMP/out" ] || wrong="$wrong, nothing written"
    result "accepts $(basename "$file" .ptx)" "$wrong"
done
for file in tests/isa/examples-invalid/*.ptx; do
    run "$file"
    wanted="$(verdict "$file")"
    if [ "$wanted" = accepted ]; then
        wrong=""
        [ "$status" -eq 0 ] || wrong="status $status"
        result "accepts $(basename "$file" .ptx)" "$wrong"
        continue
    fi
    line="$(grep -a ': error: ' "$TEST_TMP/errors" | head -n 1 | sed "s|^$file:\([0-9]*\):.*|\1|")"
    wrong=""
    [ "$status" -eq 1 ] || wrong="status $status"
    [ ! -s "$TEST_TMP/out" ] || wrong="$wrong, something written"
    [ "$line" = "$wanted" ] || wrong="$wrong, line '$line' where '$wanted' is wanted"
    result "refuses $(basename "$file" .ptx)" "${wrong#, }"
done
exit "$failed"
