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
# Examples of versions that this ptxas does not know are converted without it.
newer=()
if [ -n "$assembler" ]; then
    for file in tests/isa/examples/gen-*-v9.[1-9].ptx; do
        sed -n '/^\.version/,/^\.address_size/p' "$file" >"$TEST_TMP/empty.ptx"
        "$assembler" -arch "$(sed -n 's/^\.target //p' "$file")" -o /dev/null "$TEST_TMP/empty.ptx" >/dev/null 2>&1 ||
            newer+=("$file")
    done
fi
mapfile -t files < <(printf '%s\n' corpus/*/*.ptx tests/ptx/*.ptx tests/isa/examples/*.ptx |
    grep -vxFf <(printf '%s\n' "${newer[@]:-none}"))
status=0
if [ "${#newer[@]}" -gt 0 ]; then
    echo "skip machine code of ${#newer[@]} examples: this ptxas does not know their version"
    "$tool" -t "$TEST_TMP" -j "${TEST_JOBS:-2}" "${newer[@]}" || status=1
fi
"$tool" "${options[@]}" "${files[@]}" || status=1
exit "$status"
