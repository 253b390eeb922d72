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

# The registers that every recomputation needs: the accumulators of an 8 by 8 tile, and none for a sum of two vectors.
least() {
    "$BUILD/tests/registers-needed" "corpus/$1/$1.sm_90.ptx" | awk -v kernel="$1" '$2 == kernel { print $3 }'
}
tile=$(least matmul_regtile) sum=$(least vectoradd)
if [ "$tile" -ge 64 ] && [ "$tile" -le 68 ] && [ "$sum" -eq 0 ]; then
    echo "ok needed: $tile and $sum"
else
    echo "not ok needed: $tile and $sum"
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

# Runs of ptxas. An input that fits is assembled once, besides the empty kernel and --version of its start; the
# default effort, the report and the check of the output together stay below 20 times.
cat >"$folder/counting" <<EOF
#!/bin/sh
echo >>"$folder/runs"
exec "$(command -v "${PTXOPT_PTXAS:-ptxas}")" "\$@"
EOF
chmod +x "$folder/counting"
core=$(taskset -cp $$ 2>/dev/null | sed 's/.*: *\([0-9]*\).*/\1/')
if command -v "${PTXOPT_PTXAS:-ptxas}" >/dev/null && [ -n "$core" ]; then
    for run in "saxpy 256 32 3" "fft16 64 32 20" "nlm 8,8 32 20" "nlm 8,8 auto 20" "nlm 8,8 fewest 20"; do
        read -r name block target most <<<"$run"
        : >"$folder/runs"
        problem=
        PTXOPT_CACHE=none PTXOPT_PTXAS="$folder/counting" taskset -c "$core" \
            "$program" -q -assembler ptxas -report "$folder/report" -spill -target-regs "$target" -block "$block" \
            -o "$folder/counted.ptx" "corpus/$name/$name.sm_90.ptx" 2>"$folder/errors" || problem="exit status $?"
        count=$(wc -l <"$folder/runs")
        [ "$count" -le "$most" ] || problem="${problem:+$problem, }$count runs"
        [ "$count" -gt 1 ] || problem="${problem:+$problem, }$count runs"
        result "runs of ptxas: $name, $target registers" "$problem"
    done
else
    echo "skip runs of ptxas: it or taskset is not on the search path"
fi

# The launch gives an SM one block of 16 threads at most, which leaves registers: the kernel is raised to them, and
# coarsening, which is slower than that, is not chosen beside it. Without the block size, which a launch does not fix,
# blocks of any size can still be launched.
launch=corpus/strsm/strsm.launch.json
strsm() {
    "$program" -q -assembler ptxas "$@" -launch "$launch" -verify "$launch" -report "$folder/report" \
        -o "$folder/strsm.ptx" corpus/strsm/strsm.sm_90.ptx 2>"$folder/errors"
}
problem=
strsm -target-regs auto -block 16 || problem="exit status $?"
grep -q '\.minnctapersm 8$' "$folder/strsm.ptx" || problem="${problem:+$problem, }not raised"
grep -q 'gets 1 block at launch, and could hold 8' "$folder/report" || problem="${problem:+$problem, }not explained"
result "free registers: strsm is told how many blocks there are" "$problem"
problem=
strsm -target-regs auto || problem="exit status $?"
grep -q '\.maxntid 1024$' "$folder/strsm.ptx" || problem="${problem:+$problem, }not raised for any block"
grep -q 'with 16 threads per block (in the launch)' "$folder/report" || problem="${problem:+$problem, }other blocks"
result "free registers: no block size, any block" "$problem"
problem=
strsm -coarsen 2 -target-regs auto || problem="exit status $?"
grep -q 'with 8 threads per block (in the launch)' "$folder/report" || problem="${problem:+$problem, }other blocks"
result "free registers: coarsened, half as many threads" "$problem"
problem=
strsm -coarsen auto -risk high || problem="exit status $?"
grep -q 'coarsening: auto: x2' "$folder/report" || problem="${problem:+$problem, }not coarsened"
result "factor and boundary: strsm alone is coarsened" "$problem"
problem=
strsm -coarsen auto -target-regs auto -block 16 || problem="exit status $?"
grep -q 'not coarsened: .*another number of registers' "$folder/report" || problem="${problem:+$problem, }coarsened"
grep -q '\.minnctapersm 8$' "$folder/strsm.ptx" || problem="${problem:+$problem, }not raised"
result "factor and boundary: strsm is raised instead" "$problem"

# The time limit ends a search too.
"$program" -assembler ptxas -O3 -search 0 -spill -target-regs 24 -o "$folder/limited.ptx" "$kernel" 2>"$folder/errors"
problem=
grep -q 'reached its time limit' "$folder/errors" || problem="no note"
grep -q '\.maxnreg 24' "$folder/limited.ptx" || problem="${problem:+$problem, }no form under the cap"
result "time limit: the input under its cap is written" "$problem"
exit "$failed"
