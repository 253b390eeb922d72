#!/usr/bin/env bash
# check-table.sh ARCH FILE.ptx...: checks all kernels of the files, for 15 seconds at most each, and prints how many
# have each verdict, the reasons, and the differences. PTXOPT names the program.
set -uo pipefail
arch="$1"
shift
verdicts="$(mktemp)"
trap 'rm -f "$verdicts"' EXIT
for file in "$@"; do
    timeout 15 "${PTXOPT:-./ptxopt}" check -inputs 6 -arch "$arch" "$file" 2>/dev/null
    [ $? -ne 124 ] || printf '%s:0: all (%s): not decided: 15 seconds are over\n' "$file" "$arch"
done >"$verdicts"
grep -E '^[^ ].*: different$' -A 5 "$verdicts"
# A reason without the place that it is about; instructions by their names.
sed -nE 's/^[^ ].*: (equal) for .*/\1/p; s/^[^ ].*: (different)$/\1/p; s/^[^ ].*: not decided: (.*)/\1/p' "$verdicts" |
    sed -E "s/^ptxas.*/for another architecture/; s/^(the emulator ran it on no input): [^ ]*: ([^:]*).*/\1: \2/
        s/(instruction|modifier|operand modifier) '\.?([A-Z0-9_]+).*/\1 \2/" | sort | uniq -c | sort -rn
