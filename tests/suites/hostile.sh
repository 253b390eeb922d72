#!/usr/bin/env bash
# Hostile inputs (tests/tools/hostile.py): fifty thousand of each thing that a PTX file can contain, nested, listed or
# long, sizes that overflow, bytes that are not text, and files that are not files. The program gets a stack of 256 KiB,
# which reveals recursion controlled by the input, and ten seconds of processor time.
#
# HOSTILE_COUNT changes the number; HOSTILE_LARGE=1 adds inputs of several GiB through a pipe.
set -uo pipefail

program="${PTXOPT:?}"
tmp="${TEST_TMP:?}"
count="${HOSTILE_COUNT:-50000}"
stack=256
limit=10
case "${BUILD:?}" in
*/asan) # its frames and its run time are several times larger
    count="${HOSTILE_COUNT:-10000}"
    stack=1024
    limit=60
    ;;
esac
[ -z "${HOSTILE_COUNT:-}" ] || limit=$((limit + count / 20000))
. tests/suites/result.bash

# $1: seconds of processor time; the rest: the program's arguments. Leaves status, $tmp/out and $tmp/errors.
run() {
    local seconds="$1"
    shift
    rm -f "$tmp/out"
    (
        ulimit -s "$stack"
        ulimit -t "$seconds"
        exec timeout $((12 * seconds)) "$program" -assembler none "$@" -o "$tmp/out"
    ) >"$tmp/standard" 2>"$tmp/errors" </dev/null
    status=$?
}

# Prints the error of the last run, if any: $1 the status wanted, $2 text of its first message.
run_wrong() {
    local errors
    errors="$(grep -c ': error: ' "$tmp/errors")"
    if [ "$status" -ge 124 ]; then
        echo "no end within the time: status $status"
    elif [ "$status" -ne "$1" ]; then
        echo "exit status $status"
    elif [ -n "$2" ] && ! grep -E ': (error|warning): ' "$tmp/errors" | head -n 1 | grep -qF -- "$2"; then
        echo "the first message is not '$2'"
    elif [ -z "$2" ] && [ -s "$tmp/errors" ]; then
        echo "it speaks"
    elif [ "$1" -eq 1 ] && { [ "$errors" -eq 0 ] || [ "$errors" -gt 20 ]; }; then
        echo "$errors errors"
    elif [ "$1" -eq 1 ] && [ -e "$tmp/out" ]; then
        echo "there is an output"
    elif [ "$1" -eq 0 ] && [ ! -s "$tmp/out" ]; then
        echo "there is no output"
    fi
}

mkdir "$tmp/inputs"
declare -A file_of
while IFS=$'\t' read -r number wanted name message; do
    file_of[$name]="$tmp/inputs/$number.ptx"
    run "$limit" "$tmp/inputs/$number.ptx"
    result "$name" "$(run_wrong "$wanted" "$message")"
    if [ "$wanted" -eq 0 ]; then
        cp "$tmp/out" "$tmp/first"
        run "$limit" "$tmp/first"
        result "$name, printed twice" "$(run_wrong 0 "$message")$(cmp "$tmp/first" "$tmp/out" 2>&1)"
    fi
done < <(python3 tests/tools/hostile.py "$tmp/inputs" "$count")

# The same through the passes.

for name in "nested scopes with registers" "labels" "branches out" "nested branches" "nested loops" "branch targets" \
    "ways through a switch on the thread's index" "conditions on the thread's index" "ways out of a loop" \
    "instructions in one line" "inlined places" "a chain of calls" "the last of 2^32-1 registers"; do
    run $((2 * limit)) -q -coarsen 2 "${file_of[$name]}"
    result "$name, coarsened" "$(run_wrong 0 "")"
done
rm -rf "$tmp/inputs"

# Files.

kernel=corpus/vectoradd/vectoradd.sm_90.ptx
run "$limit" "$kernel"
cp "$tmp/out" "$tmp/right"

run "$limit" "$tmp"
result "a directory" "$(run_wrong 1 "cannot read '$tmp': Is a directory")"
run "$limit" "$tmp/nosuch"
result "no file" "$(run_wrong 1 "cannot read '$tmp/nosuch': No such file or directory")"
run "$limit" "$kernel/x"
result "a file as a directory" "$(run_wrong 1 "Not a directory")"
ln -sf loop "$tmp/loop"
run "$limit" "$tmp/loop"
result "a link to itself" "$(run_wrong 1 "Too many levels of symbolic links")"
long="$(printf 'x%.0s' $(seq 5000))"
run "$limit" "$tmp/$long"
result "a name too long" "$(run_wrong 1 "File name too long")"
mkfifo "$tmp/fifo"
{ head -c 1000 "$kernel" && sleep 0.1 && tail -c +1001 "$kernel"; } >"$tmp/fifo" &
run "$limit" "$tmp/fifo"
wait
result "a pipe with a name" "$(run_wrong 0 "")$(cmp "$tmp/out" "$tmp/right" 2>&1)"
: >"$tmp/fifo.writer"
cat "$tmp/fifo.writer" >"$tmp/fifo" &
run "$limit" "$tmp/fifo"
wait
result "a pipe that ends at once" "$(run_wrong 1 "not with end of file")"
cp "$kernel" "$tmp/unreadable.ptx"
chmod 000 "$tmp/unreadable.ptx"
if [ -r "$tmp/unreadable.ptx" ]; then
    echo "# an unreadable file: root reads all"
else
    run "$limit" "$tmp/unreadable.ptx"
    result "an unreadable file" "$(run_wrong 1 "Permission denied")"
fi
mkdir "$tmp/closed"
chmod 500 "$tmp/closed"
if [ ! -w "$tmp/closed" ]; then
    "$program" -assembler none -o "$tmp/closed/out" "$kernel" >"$tmp/standard" 2>"$tmp/errors"
    status=$?
    result "a directory that is closed" "$([ "$status" -eq 1 ] || echo "status $status")"
fi
if [ -e /proc/self/mem ]; then
    run "$limit" /proc/self/mem
    result "a file whose reading fails" "$(run_wrong 1 "cannot read '/proc/self/mem': Input/output error")"
fi
truncate -s 5G "$tmp/sparse"
run "$limit" "$tmp/sparse"
result "5 GiB" "$(run_wrong 1 "the file is larger than 2 GiB")"
rm -f "$tmp/sparse"
run "$limit" /dev/zero
result "/dev/zero" "$(run_wrong 1 "more than 256 MiB came from what is not a regular file")"

if [ -n "${HOSTILE_LARGE:-}" ]; then
    for start in '// ' '.file 1 "' 'x' '0x' '.'; do
        (
            ulimit -v 6000000
            { printf '.version 8.0\n.target sm_90\n%s' "$start" && yes 1234567890 | tr -d '\n' | head -c 4300000000; } |
                timeout 300 "$program" -assembler none -o "$tmp/out" - >"$tmp/standard" 2>"$tmp/errors"
        )
        status=$?
        result "4 GB after '$start'" "$(run_wrong 1 "more than 256 MiB came from what is not a regular file")"
    done
fi
exit "$failed"
