#!/usr/bin/env bash
# Vectors of single threads: random kernels, and naive ones whose threads walk along rows, of all lengths and
# alignments, compared in the emulator with the originals.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
seeds=6000
lengths="0 1 2 3 4 5 6 7 8 9 12 15 16 17 31 32 33 64"
case "$BUILD" in
*/asan) seeds=400 lengths="0 3 4 9 17" ;;
esac

random_check "random" row-check "1,$seeds"
result "every rule at work" "$(grep -oE '(changed|twos|fours|words|aligned|apart|unrolled) 0\b' <<<"$said")"
random_check "rows that loops pass, or that are held" passed-check "1,$seeds"
result "rows are passed, and held" "$(grep -oE '\b[0-9] (changed|held|of them|of several|of shorter)' <<<"$said")"


# Prints a launch of 2 x 20 threads, of which the last two are idle in some kernels. $1: kernel; $2: length of a row;
# $3: bytes by which the rows are moved; $4: those by which the results are, or "same": they go where the rows are.
launch() {
    local type=f32 init='"init": "uniform", "low": -1, "high": 1, "seed": 1' n='{"scalar": "s32", "value": '$2'}'
    local input='{"pointer": "x", "offset": '$3'}' output='{"pointer": "z", "offset": '$4'}' rows arguments
    local count=$((40 * $2 + 100)) grid="[2, 1, 1]" block="[20, 1, 1]" other='{"pointer": "x", "offset": 16}'
    rows='{"scalar": "s32", "value": 38}'
    [ "$4" != same ] || output="$input"
    case "$1" in
    row_softmax) arguments="$input, $output, $rows, $n" ;;
    row_gain) # in place, the thread of a single row changes the factors, too
        [ "$4" != same ] || rows='{"scalar": "s32", "value": 1}' other='{"pointer": "x", "offset": '$(($3 + 8))'}'
        arguments="$input, $other, $output, $rows, $n"
        ;;
    row_norm) arguments="$input, $other, $output, $rows, $n" ;;
    row_dot | row_mv) arguments="$input, $other, {\"pointer\": \"z\"}, $n" ;;
    row_int8)
        arguments="$input, $other, {\"pointer\": \"z\"}, $rows, $rows, $n"
        grid="[2, 2, 1]" block="[20, 20, 1]" type=s8 init='"init": "uniform", "low": -128, "high": 127, "seed": 1'
        ;;
    row_distance) arguments="$input, $other, {\"pointer\": \"z\"}, $rows, $n" grid="[2, 3, 1]" ;;
    row_double) arguments="$input, {\"pointer\": \"z\"}, {\"scalar\": \"s64\", \"value\": $2}" type=f64 ;;
    row_scale)
        arguments="$input, $n" type=s16 init='"init": "uniform", "low": -9000, "high": 9000, "seed": 1'
        ;;
    pairs) arguments="$input, $output, {\"pointer\": \"z\", \"offset\": 1024}" count=200 ;;
    esac
    printf '{"kernel": "%s", "grid": %s, "block": %s, "dynamic_shared": 0, "args": [' "$1" "$grid" "$block"
    printf '{"buffer": "x", "type": "%s", "count": %s, %s}, ' "$type" "$count" "$init"
    printf '{"buffer": "z", "type": "f32", "count": %s, "init": "zero"}, ' $((40 * $2 + 1700))
    printf '%s], "check": ["x", "z"], "tolerance": {"kind": "exact"}}\n' "$arguments"
}

kernels="row_softmax row_norm row_gain row_dot row_mv row_int8 row_distance row_double row_scale pairs"
for form in unrolled rolled; do
    for kernel in $kernels; do
        problems=
        case "$kernel" in
        row_int8) moves="0:0 1:0 4:0 8:0" ;;
        row_scale) moves="0:0 2:0 8:0" ;;
        row_double) moves="0:0 8:0" ;;
        row_softmax | row_gain | pairs) moves="0:0 4:0 8:12 12:12 0:same 4:same" ;;
        *) moves="0:0 4:0 12:12" ;;
        esac
        for n in $lengths; do
            for move in $moves; do
                launch "$kernel" "$n" "${move%:*}" "${move#*:}" >"$TEST_TMP/launch.json"
                message="$("$program" -q -assembler none -entry "$kernel" -memory vectors \
                    -verify "$TEST_TMP/launch.json" -o "$TEST_TMP/out.ptx" "tests/rows/$form.sm_90.ptx" 2>&1)" ||
                    problems="$problems
n $n, moved by $move: $message"
            done
        done
        joined="$(grep -cE '\.v[24]\.|%word' "$TEST_TMP/out.ptx")"
        [ "$joined" -gt 0 ] || problems="$problems
nothing is joined"
        result "$form $kernel" "${problems#?}"
    done
done
# Loops of vectors are staged, too: words of four rounds' bytes each.
launch row_int8 256 0 0 >"$TEST_TMP/launch.json"
for form in vectors,stage "vectors,stage -coarsen bx2,by2"; do
    # shellcheck disable=SC2086 # the form is several words
    message="$("$program" -q -assembler none -entry row_int8 -block 20,20 -memory $form \
        -verify "$TEST_TMP/launch.json" -o "$TEST_TMP/out.ptx" tests/rows/unrolled.sm_90.ptx 2>&1)"
    grep -q 'ld\.shared\.v4\.b32' "$TEST_TMP/out.ptx" || message="$message, not staged"
    result "row_int8 $form" "$message"
done
# Rows that loops keep in memory for later ones; of 40 threads, the last two are idle.
for kernel in softmax_in_place softmax_stored norm_stored; do
    problems=
    for n in $lengths; do
        buffer='"type": "f32", "count": '$((38 * n + 1)) check=x
        input='{"buffer": "x", '$buffer', "init": "uniform", "low": -1, "high": 1, "seed": 1}'
        case "$kernel" in
        *_stored) check=z input="$input"', {"buffer": "z", '$buffer', "init": "poison"}' ;;
        esac
        cat >"$TEST_TMP/launch.json" <<END
{"kernel": "$kernel", "grid": [2, 1, 1], "block": [20, 1, 1], "dynamic_shared": 0, "args": [$input,
    {"scalar": "s32", "value": 38}, {"scalar": "s32", "value": $n}], "check": ["$check"],
    "tolerance": {"kind": "exact"}}
END
        for form in vectors vectors,stage; do
            message="$("$program" -q -assembler none -entry "$kernel" -block 20 -memory "$form" \
                -verify "$TEST_TMP/launch.json" -o "$TEST_TMP/out.ptx" tests/naive/more.sm_90.ptx 2>&1)" ||
                problems="$problems
n $n, $form: $message"
            grep -q '%holds' "$TEST_TMP/out.ptx" || problems="$problems
n $n, $form: nothing is passed"
        done
    done
    result "$kernel" "${problems#?}"
done

# Rows that stay in shared memory, in place and stored elsewhere, whose length fits or does not; the last block is not
# full.
# $1: kernel; $2: length; the rest: options.
held() {
    local count=$((250 * $2)) check=out type=f32 buffers kernel="$1" length="$2"
    shift 2
    [[ "$kernel" != *_half ]] || type=f16 count=$((count + 8))
    buffers='{"buffer": "in", "type": "'$type'", "count": '$count', "init": "uniform", "low": -1, "high": 1, "seed": 1}'
    [[ "$kernel" != *in_place ]] || check=in
    [[ "$kernel" == *in_place ]] ||
        buffers+=', {"buffer": "out", "type": "'$type'", "count": '$count', "init": "zero"}'
    printf '{"kernel": "%s", "grid": [2, 1, 1], "block": [128, 1, 1], "dynamic_shared": 0, "args": [%s,
        {"scalar": "s32", "value": 250}, {"scalar": "s32", "value": %s}], "check": ["%s"],
        "tolerance": {"kind": "exact"}}\n' "$kernel" "$buffers${pointers:-}" "$length" "$check" >"$TEST_TMP/held.json"
    "$program" -q -assembler none -block 128 -entry "$kernel" -verify "$TEST_TMP/held.json" "$@" \
        -o "$TEST_TMP/held.ptx" "$code" 2>&1 || echo "$kernel, $length, ${pointers:-}, $*: status $?"
    grep -q cp.async.ca "$TEST_TMP/held.ptx" || echo "$kernel, $*: nothing is held"
}

code=tests/naive/more.sm_90.ptx
for kernel in softmax_in_place softmax_stored norm_stored; do
    problems=
    for length in 1 2 3 5 64 250 1100 1200; do
        problems+="$(held "$kernel" "$length" -memory rows)"
        problems+="$(held "$kernel" "$length" -memory vectors,rows)"
    done
    result "$kernel with its rows in shared memory" "$problems"
done
# Elements of two bytes: rows that are whole words, that end in one, or that begin in one, on either side.
problems=
sed 's/\.entry softmax_half(/&.param .u64 all_in, .param .u64 all_out,/' "$code" >"$TEST_TMP/half.ptx"
code="$TEST_TMP/half.ptx"
for length in 1 2 7 64 250 1100 2200; do
    for bytes in "0 0" "2 2" "0 2" "2 0" "4 8"; do
        pointers=', {"pointer": "in", "offset": '${bytes% *}'}, {"pointer": "out", "offset": '${bytes#* }'}'
        problems+="$(held softmax_half "$length" -memory rows)"
    done
    problems+="$(held softmax_half "$length" -memory vectors,rows)"
done
result "softmax_half with its rows in shared memory" "$problems"

# Two rows of a thread, and the one that it stores, apart from each other or not; 'pitch' leaves room for all.
# $1: kernel; $2: length; $3, $4: elements from the first row to the others.
beside() {
    local type=f32 bytes=4
    [ "$1" != added_norm ] || type=f16 bytes=2
    cat >"$TEST_TMP/beside.json" <<END
{"kernel": "$1", "grid": [1, 1, 1], "block": [64, 1, 1], "dynamic_shared": 0, "args": [
    {"buffer": "x", "type": "$type", "count": $((64 * 4 * $2)), "init": "uniform", "low": -1, "high": 1, "seed": 1},
    {"pointer": "x"}, {"pointer": "x", "offset": $(($3 * bytes))}, {"pointer": "x", "offset": $(($4 * bytes))},
    {"scalar": "s32", "value": 64}, {"scalar": "s32", "value": $2}, {"scalar": "s32", "value": $((4 * $2))}],
    "check": ["x"], "tolerance": {"kind": "exact"}}
END
    "$program" -q -assembler none -block 64 -entry "$1" -verify "$TEST_TMP/beside.json" -memory rows \
        -report-format json -report "$TEST_TMP/beside.report" -o "$TEST_TMP/beside.ptx" tests/rows/beside.sm_90.ptx \
        2>&1 || echo "$1, $2, $3, $4: status $?"
    grep -qE '"rows": 2' "$TEST_TMP/beside.report" || echo "$1: two rows are not held"
}
for kernel in added_norm added_in_place added_kept softmax_gradient; do
    problems=
    for length in 12 13; do
        for second in 0 3 "$length"; do
            for stored in 0 4 "$length" $((length + 2)) $((2 * length)) $((2 * length + 3)); do
                problems+="$(beside "$kernel" "$length" "$second" "$stored")"
            done
        done
    done
    problems+="$(beside "$kernel" 300 300 600)"
    result "$kernel with two rows in shared memory" "$problems"
done
# Rows that end at the diagonal, the last of them at the end of its buffer. $1: kernel; $2: length; $3: how many
# elements are loaded beyond that.
causal() {
    cat >"$TEST_TMP/causal.json" <<END
{"kernel": "$1", "grid": [1, 1, 1], "block": [64, 1, 1], "dynamic_shared": 0, "args": [
    {"buffer": "x", "type": "f32", "count": $((63 * $2 + 63 % $2 + 1 + $3)), "init": "uniform", "low": -1, "high": 1,
     "seed": 1}, {"buffer": "y", "type": "f32", "count": $((64 * $2 + 64)), "init": "zero"},
    {"scalar": "s32", "value": 64}, {"scalar": "s32", "value": $2}, {"scalar": "s32", "value": $3}],
    "check": ["y"], "tolerance": {"kind": "exact"}}
END
    "$program" -q -assembler none -block 64 -entry "$1" -verify "$TEST_TMP/causal.json" -memory rows \
        -o "$TEST_TMP/causal.ptx" tests/rows/beside.sm_90.ptx 2>&1 || echo "$1, $2, $3: status $?"
    [ "$1" = causal_late ] || grep -q cp.async.ca "$TEST_TMP/causal.ptx" || echo "nothing is held"
}
for kernel in causal causal_late; do
    problems=
    for length in 1 2 3 5 13 40 90 500; do
        for more in 0 1 5; do
            problems+="$(causal "$kernel" "$length" "$more")"
        done
    done
    result "$kernel with its rows in shared memory" "$problems"
done
exit "$failed"
