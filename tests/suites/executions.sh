#!/usr/bin/env bash
# Executed machine instructions of coarsened kernels: the machine code must have the same counts as the PTX. In these
# forms, the slow sides of fast paths come after everything else, in the PTX and in the machine code.
set -uo pipefail
. tests/suites/result.bash
. tests/suites/programs.bash

ARCH=sm_90
if [ -z "$(nvidia_program PTXOPT_PTXAS ptxas)" ]; then
    echo "no ptxas"
    exit 77
fi

# $1: kernel's folder in the corpus. Prints the disagreement of the counts for its form with two threads merged.
residual() {
    local folder="corpus/$1" kernel
    kernel="$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["kernel"])' "$folder/$1.launch.json")"
    "$PTXOPT" -q -coarsen x2 -entry "$kernel" -launch "$folder/$1.launch.json" "$folder/$1.$ARCH.ptx" \
        -o "$TEST_TMP/form.ptx" 2>"$TEST_TMP/errors" || return
    python3 - "$folder/$1.launch.json" >"$TEST_TMP/form.json" <<'PYTHON' || return
import json, sys
launch = json.load(open(sys.argv[1]))
launch["block"][0] //= 2
json.dump(launch, sys.stdout)
PYTHON
    "$BUILD/tests/machine-code" list "$TEST_TMP/form.ptx" $ARCH "$kernel" "$TEST_TMP/form.json" |
        sed -n 's/.*residual \([0-9.]*\),.*/\1/p'
}

# ptxas leaves a loop of this form by a conditional call, to the middle of the kernel.
cat >"$TEST_TMP/call.json" <<'LAUNCH'
{"kernel": "leaves_by_call", "grid": [8, 8, 1], "block": [16, 8, 1],
 "args": [{"buffer": "in", "type": "f32", "count": 16384, "init": "uniform", "low": -1, "high": 1, "seed": 1},
          {"buffer": "out", "type": "f32", "count": 16384, "init": "zero"},
          {"scalar": "s32", "value": 128}, {"scalar": "s32", "value": 128},
          {"buffer": "filter", "type": "f32", "count": 25, "init": "uniform", "low": -1, "high": 1, "seed": 2},
          {"scalar": "s32", "value": 2}]}
LAUNCH
"$BUILD/tests/machine-code" list tests/machine/leaves-by-call.ptx sm_80 leaves_by_call "$TEST_TMP/call.json" \
    >"$TEST_TMP/call.list"
found="$(sed -n 's/.*residual \([0-9.]*\),.*/\1/p' "$TEST_TMP/call.list")"
result "a call within the kernel is a branch: the counts disagree by ${found:-?}" \
    "$(awk -v found="${found:-1}" 'BEGIN { if (!(found < 0.02)) print "more than 0.02" }')"

for name in mriq scalarprod blockmatch softmax sobel; do
    found="$(residual $name)"
    result "$name: the counts disagree by ${found:-?}" \
        "$(awk -v found="${found:-1}" 'BEGIN { if (!(found < 0.02)) print "more than 0.02" }')"
done
exit "$failed"
