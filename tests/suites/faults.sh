#!/usr/bin/env bash
# Injects faults into the program's allocations and system calls (tests/tools/faults.c), one at a time: each run either
# succeeds or ends with one message, exit status 1 and no output.
set -uo pipefail

tmp="${TEST_TMP:?}"
program="${BUILD:?}/tests/ptxopt-faults"
step=1
case "$BUILD" in
*/asan) step=9 ;;
esac

. tests/suites/result.bash
input="$tmp/input.ptx"
cp corpus/vectoradd/vectoradd.sm_90.ptx "$input"
options=(-q -assembler none -coarsen 2 -report-format json)

# $1: fault, or nothing; the rest: more arguments. Sets status, $tmp/errors and $tmp/out.
run() {
    local fault="$1"
    shift
    rm -rf "$tmp/out"
    mkdir "$tmp/out"
    FAULT="$fault" FAULT_FILE="$tmp/victim" FAULT_COUNT="$tmp/count" timeout 60 "$program" "${options[@]}" \
        -o "$tmp/out/ptx" -launch-out "$tmp/out/launch" -report="$tmp/out/report" "$@" >"$tmp/standard" \
        2>"$tmp/errors" </dev/null
    status=$?
}

# Prints the error in a run that must fail; $1 is part of its message.
failure_wrong() {
    if [ "$status" -ne 1 ]; then
        echo "exit status $status"
    elif [ "$(wc -l <"$tmp/errors")" -ne 1 ]; then
        echo "$(wc -l <"$tmp/errors") lines of messages"
    elif ! grep -q "^ptxopt: error: .*$1" "$tmp/errors"; then
        echo "the message is: $(cat "$tmp/errors")"
    elif [ -n "$(ls -A "$tmp/out")" ]; then
        echo "left behind: $(ls -A "$tmp/out" | tr '\n' ' ')"
    fi
}

success_wrong() {
    if [ "$status" -ne 0 ]; then
        echo "exit status $status"
    elif [ -s "$tmp/errors" ]; then
        echo "the message is: $(head -n 1 "$tmp/errors")"
    elif ! diff -r "$tmp/out" "$tmp/right" >/dev/null; then
        echo "other output"
    fi
}

run "" "$input"
read -r allocations reads writes opens <"$tmp/count"
cp -r "$tmp/out" "$tmp/right"
result "no fault" "$(success_wrong)"
printf '# %s allocations, %s reads, %s writes, %s opens\n' "$allocations" "$reads" "$writes" "$opens"

# $1: name; $2: text of the message; $3: kind of fault; $4: number of faults; $5: step between them; $6: text after the
# number.
walk() {
    local wrong="" number
    for ((number = 1; number <= $4; number += $5)); do
        run "$3:$number${6:-}" "$input"
        wrong="$(failure_wrong "$2")"
        [ -z "$wrong" ] || break
    done
    result "$1" "${wrong:+$3:$number: $wrong}"
}

walk "each allocation fails" "out of memory" alloc "$allocations" "$step"
walk "from each allocation on all fail" "out of memory" alloc "$allocations" $((7 * step)) +
walk "each read fails" "cannot read '.*input.ptx': Input/output error" read:io "$reads" 1
walk "the disk is full at each write" "cannot write '.*': No space left on device" write:full "$writes" 1
walk "each open fails" "cannot .*: Too many open files" open "$opens" 1

for fault in read:short read:intr write:short write:intr; do
    run "$fault" "$input"
    result "$fault" "$(success_wrong)"
done
for fault in close:io rename:io; do
    run "$fault" "$input"
    result "$fault" "$(failure_wrong "cannot write '.*': Input/output error")"
done

# A file that changes while it is read may be read in part, but must not crash the program.
for fault in truncate:1 truncate:2 remove:1 remove:2; do
    cp corpus/nlm/nlm.sm_90.ptx "$tmp/victim"
    cp "$tmp/victim" "$tmp/other"
    cat "$tmp/other" "$tmp/other" | sed '/^\.version/!s/nlm/mln/' >>"$tmp/victim"
    run "$fault" "$tmp/victim"
    wrong=""
    [ "$status" -le 1 ] || wrong="exit status $status"
    [ "$status" -eq 0 ] || [ -z "$(ls -A "$tmp/out")" ] || wrong="left behind: $(ls -A "$tmp/out")"
    result "$fault" "$wrong"
done
exit "$failed"
