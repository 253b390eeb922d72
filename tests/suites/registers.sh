#!/usr/bin/env bash
# Compares random kernels, changed by the moves of the register search without a judge, with the originals in the
# emulator.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

BUILD="${BUILD:-build}"
folder="${TEST_TMP:-$(mktemp -d)}"
tool="$BUILD/tests/registers-check"
seeds=2000
case "$BUILD" in
*/asan) seeds=300 ;;
esac
if "$tool" 1 "$seeds" >"$folder/random.out" 2>"$folder/random.errors"; then
    echo "ok random: $(tail -n 1 "$folder/random.out")"
else
    echo "not ok random: $(tail -n 1 "$folder/random.out")"
    head -n 20 "$folder/random.out"
    head -n 5 "$folder/random.errors"
    exit 1
fi

# Interrupts. A long search is interrupted once: the best form so far is written, with a note.
. tests/suites/result.bash
program="${PTXOPT:-./ptxopt}"
kernel=corpus/nlm/nlm.sm_90.ptx
if ! "$program" -assembler ptxas -cubin "$folder/probe.cubin" corpus/vectoradd/vectoradd.sm_90.ptx 2>/dev/null; then
    echo "skip interrupt: no ptxas"
    exit "$failed"
fi
rm -f "$folder/interrupted.ptx"
set -m
"$program" -assembler ptxas -O3 -search 1000 -spill -target-regs 24 -o "$folder/interrupted.ptx" "$kernel" \
    2>"$folder/errors" &
process=$!
sleep 2
kill -INT "$process"
wait "$process"
status=$?
problem=
[ "$status" -eq 0 ] || problem="exit status $status"
grep -q 'was interrupted; the best form' "$folder/errors" || problem="${problem:+$problem, }no note"
grep -q '\.maxnreg 24' "$folder/interrupted.ptx" 2>/dev/null || problem="${problem:+$problem, }no form under the cap"
result "interrupt: the best form is written" "$problem"

# The time limit ends a search, too.
"$program" -assembler ptxas -O3 -search 0 -spill -target-regs 24 -o "$folder/limited.ptx" "$kernel" 2>"$folder/errors"
problem=
grep -q 'reached its time limit' "$folder/errors" || problem="no note"
grep -q '\.maxnreg 24' "$folder/limited.ptx" || problem="${problem:+$problem, }no form under the cap"
result "time limit: the input under its cap is written" "$problem"
exit "$failed"
