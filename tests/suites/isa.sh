#!/usr/bin/env bash
# The conformance set of tests/isa against ptxas itself: the installed one, and those of other versions of CUDA that
# tools/deps.sh has fetched.
set -uo pipefail
. tests/suites/programs.bash
. tests/suites/result.bash

# $1: a ptxas.
conforms() {
    PTXAS="$1" tests/isa/verify.sh >"$TEST_TMP/out" 2>&1
    local status=$? problems=""
    [ "$status" -eq 0 ] || problems="$(cat "$TEST_TMP/out")"
    result "ptxas agrees: $(tail -n 3 "$TEST_TMP/out" | paste -s -d ';')" "$problems"
}

assembler="$(nvidia_program PTXOPT_PTXAS ptxas)"
installed="$([ -z "$assembler" ] || assembler_release "$assembler")"
[ -z "$assembler" ] || conforms "$assembler"
for release in 12.0 13.0 13.5; do
    other="third_party/cuda-$release/bin/ptxas"
    if [ "$release" = "$installed" ]; then
        continue
    elif [ -x "$other" ]; then
        conforms "$other"
    else
        echo "skip ptxas $release: not installed (CUDA=$release tools/deps.sh)"
    fi
done
exit "$failed"
