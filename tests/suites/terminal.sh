#!/usr/bin/env bash
# Output that a terminal gets and a log does not: a line for each kernel, progress, and the effect of Ctrl-C.
set -uo pipefail

program="${PTXOPT:?}"
tmp="${TEST_TMP:?}"
kernel=corpus/vectoradd/vectoradd.sm_90.ptx
. tests/suites/result.bash
. tests/suites/programs.bash

# $@: the program's arguments, after words for terminal.py up to "--". Leaves status, and in $tmp/shown the lines that
# are shown.
show() {
    local words=()
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    timeout 120 tests/tools/terminal.py "${words[@]}" "$tmp/raw" "$program" "$@" </dev/null
    status=$?
    tr '\r' '\n' <"$tmp/raw" | sed 's/\x1b\[[0-9;]*[mK]//g' >"$tmp/shown"
}

# $1: what is missing if $tmp/shown has no line that matches $2.
shows() {
    grep -qE -- "$2" "$tmp/shown" || wrong="${wrong:+$wrong, }no $1"
}

cp /dev/null "$tmp/errors"
launch='launch it with blocks of 128 threads instead of 256'
show -- -assembler none -coarsen 2 -block 256 -o "$tmp/o.ptx" "$kernel"
wrong="$([ "$status" -eq 0 ] || echo "status $status")"
gain='predicted 1\.[0-9]*x \([0-9.]*x to [0-9.]*x\)'
shows "line for vectoradd" "^vectoradd: coarsened x2, $gain; $launch"
shows "line for vectoradd_exact" "^vectoradd_exact: coarsened x2, $gain; $launch"
[ "$(grep -c "$launch" "$tmp/shown")" -eq 2 ] || wrong="$wrong, says it twice"
result "a line for each kernel on a terminal" "$wrong"
for quiet in -q -Werror; do
    show -- -assembler none -coarsen 2 -block 256 $quiet -o "$tmp/o.ptx" "$kernel"
    result "no lines with $quiet" "$(grep '^vectoradd' "$tmp/shown")"
done
"$program" -assembler none -coarsen 2 -block 256 -o "$tmp/o.ptx" "$kernel" 2>"$tmp/errors"
wrong="$(grep '^vectoradd' "$tmp/errors")"
[ "$(grep -c "note: kernel 'vectoradd.*$launch" "$tmp/errors")" -eq 2 ] || wrong="no notes about launches"
result "notes in a log" "$wrong"
"$program" -q -summary -assembler none -coarsen 2 -o "$tmp/o.ptx" "$kernel" 2>"$tmp/shown"
wrong=""
shows "line" '^vectoradd: coarsened x2, gain unknown without a block size \(-block\); launch it with blocks that have'
[ "$(wc -l <"$tmp/shown")" -eq 2 ] || wrong="$wrong, more than these lines"
result "-summary prints them anywhere" "$wrong"
"$program" -summary -report -assembler none -coarsen 2 -o "$tmp/o.ptx" "$kernel" 2>"$tmp/shown"
wrong=""
shows "table" '^  vectoradd:       coarsened x2'
[ "$(grep -c 'gain unknown' "$tmp/shown")" -eq 2 ] || wrong="$wrong, the lines are there twice"
result "a report on several kernels begins with them" "$wrong"
"$program" -report -entry vectoradd -assembler none -coarsen 2 -o "$tmp/o.ptx" "$kernel" 2>"$tmp/errors"
result "a report on one kernel does not" "$(grep '^summary' "$tmp/errors")"
"$program" -q -summary -assembler none -coarsen spinlock:2 -o "$tmp/o.ptx" corpus/spinlock/spinlock.sm_90.ptx \
    2>"$tmp/shown"
wrong="$([ $? -eq 3 ] || echo "status")"
shows "reason" '^spinlock: not coarsened: the loop that ends on line'
result "a line for what is refused" "$wrong"
"$program" -q -summary -assembler none -block 256 -o "$tmp/o.ptx" "$kernel" 2>"$tmp/errors"
result "no line where nothing was asked for" "$(cat "$tmp/errors")"

ptxas="$(nvidia_program PTXOPT_PTXAS ptxas)"
if [ -z "$ptxas" ]; then
    echo "skip registers, progress and interrupts: no ptxas"
    exit "$failed"
fi
export PTXOPT_CACHE=none
show -- -assembler ptxas -target-regs auto -block 128 -entry mriq_fast -o "$tmp/o.ptx" corpus/mriq/mriq.sm_90.ptx
wrong="$([ "$status" -eq 0 ] || echo "status $status")"
shows "registers" '^mriq_fast: registers [0-9]+ -> [0-9]+, warps on an SM [0-9]+ -> [0-9]+, predicted 1\.[0-9]*x$'
result "a line for fewer registers" "$wrong"
"$program" -q -summary -assembler ptxas -target-regs 8 -o "$tmp/o.ptx" "$kernel" 2>"$tmp/shown"
wrong=""
shows "miss" '^vectoradd: registers [0-9]+( -> [0-9]+)? \(8 not reached\)'
result "a line for a count that is not reached" "$wrong"
for each in "-report 0 0" "-report=full 5 5" "-v 21 999"; do
    read -r every least most <<<"$each"
    "$program" -report "$every" -assembler ptxas -coarsen auto -risk high -block 256 -entry vectoradd_exact \
        -o "$tmp/o.ptx" "$kernel" 2>"$tmp/shown"
    wrong=""
    shows "count" '[0-9]+ forms tried, [0-9]+ of them assembled and compared'
    [ "$every" = -report ] || shows "choice" '^      chosen x'
    listed="$(grep -c '^      .*stride \(block\|unit\)' "$tmp/shown")"
    [ "$listed" -ge "$least" ] && [ "$listed" -le "$most" ] || wrong="$wrong, $listed are listed"
    result "forms in the report with $every" "$wrong"
done

# Progress, with an assembler that takes its time over anything but its first, trivial kernel.
cat >"$tmp/slow" <<END
#!/bin/sh
for word; do case "\$word" in *.ptx) ! grep -q vectoradd "\$word" || sleep "\${SLEEP:-2}" ;; esac; done
exec "$ptxas" "\$@"
END
chmod +x "$tmp/slow"
export PTXOPT_PTXAS="$tmp/slow"
show -i 'comparing forms, 0 of' -i 'was interrupted' -- -assembler ptxas -coarsen auto -block 128 \
    -o "$tmp/o.ptx" "$kernel"
wrong="$([ "$status" -eq 130 ] || echo "status $status")"
# Typed characters appear within the line.
shows "kernel, phase and what is left" '^vectoradd \(1 of 2\): comparing forms, 0 of [0-9]+ done'
shows "time" '^vectoradd \(1 of 2\): comparing forms, at most [0-9]+ s left, [0-9]+ s$'
result "progress names kernel and phase; a second Ctrl-C ends the program" "$wrong"
rm -f "$tmp/o.ptx"
show -i 'assembling the output' -- -assembler ptxas -coarsen 2 -o "$tmp/o.ptx" "$kernel"
wrong="$([ "$status" -eq 130 ] || echo "status $status")"
[ ! -e "$tmp/o.ptx" ] || wrong="$wrong, there is a file"
result "Ctrl-C ends the program where nothing is searched" "$wrong"
rm -f "$tmp/o.ptx"
show -i 'assembling the output' -- -assembler ptxas -target-regs 200 -entry vectoradd -o "$tmp/o.ptx" "$kernel"
wrong="$([ "$status" -eq 130 ] || echo "status $status")"
[ ! -e "$tmp/o.ptx" ] || wrong="$wrong, there is a file"
result "and where a search is over" "$wrong"
SLEEP=4 "$program" -assembler ptxas -entry vectoradd -coarsen 2 -o "$tmp/o.ptx" "$kernel" 2>"$tmp/shown"
wrong=""
shows "line" '^ptxopt: (vectoradd: )?assembling[a-z ]*, ([0-9]+ assembled, )?1[0-9] s$'
result "a line every ten seconds without a terminal" "$wrong"
SLEEP=4 "$program" -q -assembler ptxas -entry vectoradd -coarsen 2 -o "$tmp/o.ptx" "$kernel" 2>"$tmp/errors"
result "and none with -q" "$(cat "$tmp/errors")"

# Ctrl-C while a form is chosen: the best form so far is written.
export SLEEP=0.3
show -i 'comparing forms, 4 of' -- -assembler ptxas -keep-original -coarsen auto -block 128 -o "$tmp/o.ptx" "$kernel"
wrong="$([ "$status" -eq 0 ] || echo "status $status")"
shows "note" "note: the search for a form of kernel 'vectoradd' was interrupted; the best form until then is used"
shows "note for the rest" 'note: after the interrupt, nothing was searched for 1 more kernel$'
shows "first kernel" '^vectoradd: (coarsened x|x[0-9]+ blocks of the grid merged|not coarsened: the best form)'
shows "second kernel" '^vectoradd_exact: not coarsened: the search ended before a form was compared$'
[ -s "$tmp/o.ptx" ] || wrong="$wrong, nothing is written"
result "Ctrl-C while a form is chosen keeps the best" "$wrong"
unset PTXOPT_PTXAS

# Ctrl-C while the emulator counts a launch, here one of a few hours, or of a form whose count takes seconds.
cat >"$tmp/slow.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry slow(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p;
    .reg .b32 %value, %round, %rounds, %thread;
    .reg .b64 %base, %offset;
    ld.param.u64 %base, [out];
    ld.param.u32 %rounds, [rounds];
    mov.u32 %thread, %tid.x;
    mov.u32 %value, %thread;
    mov.u32 %round, 0;
    mul.wide.u32 %offset, %thread, 4;
    add.s64 %base, %base, %offset;
$again:
    mad.lo.u32 %value, %value, 3, %round;
    st.global.u32 [%base], %value;
    add.u32 %round, %round, 1;
    setp.lt.u32 %p, %round, %rounds;
    @%p bra $again;
    ret;
}
END
# $1: rounds of the loop.
slow_launch() {
    printf '{"kernel": "slow", "grid": [2], "block": [128], "args": [{"buffer": "out", "type": "u32", "count": 128,
             "init": "zero"}, {"scalar": "u32", "value": %s}]}\n' "$1" >"$tmp/slow.json"
}
slow_launch 4000000000
rm -f "$tmp/o.ptx"
show -i 'comparing forms, counted' -- -assembler ptxas -coarsen auto -launch "$tmp/slow.json" -o "$tmp/o.ptx" \
    "$tmp/slow.ptx"
wrong="$([ "$status" -eq 0 ] || echo "status $status")"
shows "note" "note: the search for a form of kernel 'slow' was interrupted; the best form until then is used"
[ -s "$tmp/o.ptx" ] || wrong="$wrong, nothing is written"
result "Ctrl-C while the input is counted" "$wrong"
case "${BUILD:-build}" in
*/asan) slow_launch 300000 ;;
*) slow_launch 3000000 ;;
esac
show -i 'stride block, counted' -- -v -report -assembler ptxas -coarsen auto -launch "$tmp/slow.json" -o "$tmp/o.ptx" \
    "$tmp/slow.ptx"
wrong="$([ "$status" -eq 0 ] || echo "status $status")"
shows "note" "note: the search for a form of kernel 'slow' was interrupted; the best form until then is used"
shows "form that is left" 'not assembled: the search had ended \(estimated [0-9.]*x'
shows "progress of the input" '^slow: comparing forms, counted [0-9]+%, 1 assembled, at most [0-9]+ s left, [0-9]+ s$'
shows "progress of a form" '^slow: comparing forms, 0 of [0-9]+ done, [a-z0-9 ]+ with stride block, counted [0-9]+%, '
[ -s "$tmp/o.ptx" ] || wrong="$wrong, nothing is written"
result "Ctrl-C while a form is counted" "$wrong"

# A time limit holds while the emulator counts.
slow_launch 4000000000
before="$(date +%s)"
"$program" -assembler ptxas -search 3 -auto -launch "$tmp/slow.json" -o "$tmp/o.ptx" "$tmp/slow.ptx" 2>"$tmp/shown"
wrong="$([ $? -eq 0 ] || echo "status")"
shows "note" "note: the search for a form of kernel 'slow' reached its time limit of 3 s \(-search\)"
[ $(($(date +%s) - before)) -le 12 ] || wrong="$wrong, takes $(($(date +%s) - before)) seconds"
result "-search limits the count of a launch" "$wrong"

# A factor that would make more than an assembler can handle is refused before anything is cloned.
before="$(date +%s)"
"$program" -coarsen 1024 -o "$tmp/o.ptx" corpus/mriq/mriq.sm_90.ptx 2>"$tmp/shown"
wrong="$([ $? -eq 0 ] || echo "status")"
shows "reason" "kernel 'mriq' is not coarsened: it would have [0-9]+ instructions instead of [0-9]+"
[ $(($(date +%s) - before)) -le 10 ] || wrong="$wrong, takes $(($(date +%s) - before)) seconds"
result "too large a factor" "$wrong"
exit "$failed"
