#!/usr/bin/env bash
# Forms that -tune makes, and that -tune-from makes again of the words in the store: their code and contracts are the
# same, to the byte. They have tiles of other depths, unrolled rounds, interleaved loops, divided threads.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

if [ -z "$(nvidia_program PTXOPT_PTXAS ptxas)" ]; then
    echo "no ptxas"
    exit 77
fi
said="$TEST_TMP/said"

# $1: name; $2: pattern of the words of one form; $3: PTX; $4: kernel; the rest: options.
returns() {
    local name="$1" pattern="$2" ptx="$3" kernel="$4"
    shift 4
    tests/tools/compile-forms.py "$PTXOPT" "$ptx" "$kernel" "$TEST_TMP/forms" "$@" -O1 -assembler ptxas >"$said" 2>&1 ||
        echo "exit status $?" >>"$said"
    result "$name" "$(grep -vE '^same: ' "$said" | head -n 5)"
    result "$name: $pattern" "$(grep -qE "^same: $pattern" "$said" || cat "$said")"
}
matmul=corpus/matmul_naive/matmul_naive
returns "tiles of another depth" "async[234] depth=64 block=16,16,1" $matmul.sm_90.ptx matmul_naive -tune=6 \
    -memory auto -launch $matmul.launch.json
returns "divided threads" "refine=[0-9]+ reassociate block=128,1,1" corpus/mv/mv.sm_90.ptx mv -tune=4 -refine auto \
    -reassociate -launch corpus/mv/mv.large.launch.json
returns "interleaved loops" ".*uj=.L__BB0_[0-9]:[248]" corpus/mv/mv.sm_90.ptx mv -tune=3 -uj auto \
    -launch corpus/mv/mv.large.launch.json
returns "the block of an option" "b?[xy][0-9]" $matmul.sm_90.ptx matmul_naive -tune=4 -block 16,16
returns "any block" "b?[xy][0-9]" tests/launching/step.ptx step -tune=6

# A form that adds in another order needs the option that allows it.
XDG_CACHE_HOME="$TEST_TMP/forms"
tests/tools/compile-forms.py "$PTXOPT" corpus/mv/mv.sm_90.ptx mv "$TEST_TMP/forms" -tune=2 -refine auto -reassociate \
    -launch corpus/mv/mv.large.launch.json -O1 >"$said" 2>&1
"$PTXOPT" -tune-from "$XDG_CACHE_HOME"/ptxopt/*.sqlite -O1 -o "$TEST_TMP/mv.ptx" corpus/mv/mv.sm_90.ptx 2>"$said"
wanted="form 'refine=.*' of kernel 'mv' adds floating-point numbers in another order, which needs -reassociate"
result "not without -reassociate" "$(grep -q "warning: -tune-from: the .*$wanted" "$said" || cat "$said")"
result "not without -reassociate: the original" "$(cmp corpus/mv/mv.sm_90.ptx "$TEST_TMP/mv.ptx" 2>&1)"
exit "$failed"
