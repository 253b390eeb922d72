#!/usr/bin/env bash
# The fuzzers of tests/fuzz: all inputs that once broke a property, then new ones for half a minute, or a minute if CI
# is set; FUZZ_TIME overrides this.
set -uo pipefail

seconds=30
[ -z "${CI:-}" ] || seconds=60
# The harnesses always have sanitizers.
case "${BUILD:?}" in */asan) seconds=7 ;; esac

out="${TEST_TMP:?}/out"
WORK="$TEST_TMP/work" TIME="${FUZZ_TIME:-$seconds}" tests/fuzz/run >"$out" 2>&1
status=$?
while IFS= read -r line; do
    case "$line" in
    *" 0 findings") printf 'ok %s\n' "$line" ;;
    *" findings") printf 'not ok %s\n' "$line" ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$out"
exit "$status"
