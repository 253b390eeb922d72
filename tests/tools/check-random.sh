#!/usr/bin/env bash
# check-random.sh FIRST COUNT ARCH,... PTXAS...: checks random programs (random-ptx.py) with the seeds from FIRST on, a
# hundred at a time, each hundred for another architecture and ptxas by turns; threads exchange values in one of four.
# Prints every kernel that is not equal, after a line that names the ptxas, and then a line of sums for each hundred. A
# hundred for which a program did not end in time, on a busy machine, is checked again.
#
# The sums of many runs: sed -n 's/^sums: //p' FILE... | awk '{e += $4; d += $5; u += $6} END {print e, d, u}'
# PTXOPT names the program.
set -uo pipefail
first="$1" count="$2"
IFS=, read -r -a architectures <<<"$3"
shift 3
assemblers=("$@")
program="${PTXOPT:-./ptxopt}"
tools="$(dirname "$0")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

for ((hundred = 0; hundred * 100 < count; hundred++)); do
    seed=$((first + hundred * 100))
    arch="${architectures[hundred % ${#architectures[@]}]}"
    PTXOPT_PTXAS="${assemblers[hundred / ${#architectures[@]} % ${#assemblers[@]}]}"
    export PTXOPT_PTXAS
    groups=()
    # sm_75 has no reductions of a warp.
    [ $((hundred % 4)) -ne 3 ] || groups=(warp integer logic select)
    [ $((hundred % 4)) -ne 3 ] || [ "$arch" = sm_75 ] || groups+=(redux)
    "$tools/random-ptx.py" "$seed" 100 ${groups[@]+"${groups[@]}"} >"$work/random.ptx"
    "$program" -q -fix-defects -assembler none -o "$work/fixed.ptx" "$work/random.ptx"
    for _ in 1 2 3 4 5; do
        "$program" check -inputs "${INPUTS:-4}" -arch "$arch" "$work/fixed.ptx" >"$work/verdicts" 2>&1
        grep -q 'did not end within' "$work/verdicts" || break
    done
    if grep -qvE '^[^ ].*: equal for ' "$work/verdicts"; then
        printf 'by %s\n' "$PTXOPT_PTXAS"
        grep -vE '^[^ ].*: equal for ' "$work/verdicts"
    fi
    printf 'sums: %s %s %s %s %s %s\n' "$seed" "$arch" "${PTXOPT_PTXAS##*/}" \
        "$(grep -cE '^[^ ].*: equal for ' "$work/verdicts")" "$(grep -cE '^[^ ].*: different$' "$work/verdicts")" \
        "$(grep -cE '^[^ ].*: not decided: ' "$work/verdicts")"
done
