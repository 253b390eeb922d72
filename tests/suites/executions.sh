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

# The arguments: those of machine-code list. Prints how far the counts disagree.
listed() {
    "$BUILD/tests/machine-code" list "$@" | sed -n 's/.*residual \([0-9.]*\),.*/\1/p'
}

# $1: kernel's folder in the corpus and launch, $2: how many threads are merged, $3...: options. Prints the disagreement
# of the counts for that form.
residual() {
    local folder="corpus/${1%/*}" launch="corpus/$1.launch.json" factor=$2 kernel
    shift 2
    kernel="$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["kernel"])' "$launch")"
    "$PTXOPT" -q -coarsen "x$factor" "$@" -entry "$kernel" -launch "$launch" "$folder/${folder##*/}.$ARCH.ptx" \
        -o "$TEST_TMP/form.ptx" 2>"$TEST_TMP/errors" || return
    python3 - "$launch" "$factor" >"$TEST_TMP/form.json" <<'PYTHON' || return
import json, sys
launch = json.load(open(sys.argv[1]))
launch["block"][0] //= int(sys.argv[2])
json.dump(launch, sys.stdout)
PYTHON
    listed "$TEST_TMP/form.ptx" $ARCH "$kernel" "$TEST_TMP/form.json"
}

# $1: what is compared; $2: the disagreement found; $3: the most that may be.
rated() {
    result "$1: the counts disagree by ${2:-?}" \
        "$(awk -v found="${2:-1}" -v most="$3" 'BEGIN { if (!(found < most)) print "more than " most }')"
}

# $1: the most that may be; $2...: as above
counts_agree() {
    local most=$1
    shift
    rated "$*" "$(residual "$@")" "$most"
}

for name in mriq scalarprod blockmatch softmax sobel; do
    counts_agree 0.02 $name/$name 2
done
# A slow path for large angles, in which one instruction becomes seven; and branches that hardly any thread takes, which
# the assembler has replaced by predicates, beside a loop's fast path.
counts_agree 0.02 mriq/mriq 4
counts_agree 0.02 reduce/reduce_sum 4 -stride unit
# ptxas leaves a loop of this form by a conditional call, to the middle of the kernel.
cat >"$TEST_TMP/call.json" <<'LAUNCH'
{"kernel": "leaves_by_call", "grid": [8, 8, 1], "block": [16, 8, 1],
 "args": [{"buffer": "in", "type": "f32", "count": 16384, "init": "uniform", "low": -1, "high": 1, "seed": 1},
          {"buffer": "out", "type": "f32", "count": 16384, "init": "zero"},
          {"scalar": "s32", "value": 128}, {"scalar": "s32", "value": 128},
          {"buffer": "filter", "type": "f32", "count": 25, "init": "uniform", "low": -1, "high": 1, "seed": 2},
          {"scalar": "s32", "value": 2}]}
LAUNCH
found="$(listed tests/machine/leaves-by-call.ptx sm_80 leaves_by_call "$TEST_TMP/call.json")"
rated "a call within the kernel" "$found" 0.02
exit "$failed"
