#!/usr/bin/env bash
# The conformance set of tests/isa against ptxas itself, of the version that the set was made with.
set -uo pipefail
. tests/suites/programs.bash

assembler="$(nvidia_program PTXOPT_PTXAS ptxas)"
case "$([ -z "$assembler" ] || "$assembler" --version)" in
*"release 13.0"*) ;;
*)
    echo "no ptxas 13.0"
    exit 77
    ;;
esac
if PTXAS="$assembler" tests/isa/verify.sh >"$TEST_TMP/out"; then
    echo "ok ptxas agrees: $(tail -n 2 "$TEST_TMP/out" | paste -s -d ';')"
else
    echo "not ok ptxas disagrees"
    cat "$TEST_TMP/out"
    exit 1
fi
