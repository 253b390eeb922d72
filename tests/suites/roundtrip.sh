#!/usr/bin/env bash
# Converts every PTX file of the repository to the program's forms and back (tests/tools/roundtrip.c); ptxas judges
# the results.
set -uo pipefail
. tests/suites/programs.bash

tool="${BUILD:?}/tests/roundtrip"

assembler="$(nvidia_program PTXOPT_PTXAS ptxas)"
options=(-t "$TEST_TMP" -j "${TEST_JOBS:-2}")
if [ -n "$assembler" ]; then
    options+=(-a "$assembler")
elif [ "${CI:-}" = true ]; then
    echo "not ok ptxas: not found, and CI asks for it"
    exit 1
else
    echo "skip machine code: no ptxas (set PTXOPT_PTXAS)"
fi
exec "$tool" "${options[@]}" corpus/*/*.ptx tests/ptx/*.ptx tests/isa/examples/*.ptx
