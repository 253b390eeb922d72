#!/usr/bin/env bash
# Access patterns against the addresses that threads access in the emulator: random kernels, and those of the corpus.
# Then the words for them.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
seeds=400 few='[0-9]{1,2}'
case "$BUILD" in
*/asan) seeds=40 few='[0-9]' ;;
esac
every='accesses|resolved|grouped|distances|sectors|shared|extents|of groups|overlaps'

random_check "random kernels" pattern-check "1,$seeds"
result "every comparison at work" "$(grep -oE "($every) $few\b" <<<"$said")"

# All launches of a folder's kernels but those that only differ in their sizes.
folder() {
    local name launch
    name="$(basename "$1")"
    for launch in "$1"/*.launch.json; do
        case "$launch" in
        *.large.launch.json) continue ;;
        esac
        "$BUILD/tests/pattern-check" "$1/$name.sm_90.ptx" "$launch" 2>&1 || echo "$launch: failed"
    done
}

said="$(for one in corpus/*/; do folder "${one%/}"; done)"
result "corpus" "$(wrong)"
sums="$(awk '{ for (i = 2; i < NF; i++) if ($i ~ /^[a-z]+$/ && $(i + 1) + 0 > 0) sum[$i] += $(i + 1) }
    END { for (word in sum) print word, sum[word] }' <<<"$said")"
words="resolved grouped remainders distances sectors shared extents overlaps"
result "all of it at work there" "$(for word in $words; do
    grep -qE "^$word [0-9]{2,}$" <<<"$sums" || echo "few $word"
done)"
# $@: the program's arguments.
run() {
    "$program" "$@" >"$TEST_TMP/out" 2>"$TEST_TMP/errors" </dev/null
}

# $1: the kernel; $2: the number that it is given.
shape() {
    printf '%s' '{"kernel": "'"$1"'", "grid": [3, 2, 1], "block": [16, 3, 1], "args": [' \
        '{"buffer": "in", "type": "u32", "count": 4096, "init": "zero"},' \
        '{"buffer": "out", "type": "u32", "count": 4096, "init": "zero"}, {"scalar": "s32", "value": '"$2"'}]}' \
        >"$TEST_TMP/shape.json"
    "$BUILD/tests/pattern-check" tests/patterns/kernels.ptx "$TEST_TMP/shape.json" 2>&1 || echo "$1: failed"
}

for one in products:3 rounds:3 counted:3 shared_index:3 joins:3 narrow:3 left:3 cycle:2 cycle:5 ends:3 backwards:-2 \
    straddling:3 halo:3 thirds:3; do
    said="$(shape "${one%:*}" "${one#*:}")"
    grep -q '^1 kernels' <<<"$said" || said="failed: $said"
    result "${one%:*}" "$(wrong)"
done

# The last launch was of the kernel whose loop does three rounds at a time.
run cost -accesses -assembler none tests/patterns/kernels.ptx "$TEST_TMP/shape.json"
wanted=', 3 rounds unrolled: the same for all threads of the block; 1 sector a warp, coalesced; 64 bytes a block'
result "rounds that are no multiple" "$(grep -qF "$wanted in 16 rounds; the same in all blocks" "$TEST_TMP/out" ||
    tail -n 3 "$TEST_TMP/out")"
matmul="corpus/matmul_naive/matmul_naive"
run cost -accesses -assembler none "$matmul.sm_90.ptx" "$matmul.launch.json"
wrong=""
# $1: line of the PTX; $2: the words that must be in what is said of it.
says() { grep -E "^  line $1: " "$TEST_TMP/out" | grep -qF "$2" || wrong="$wrong, line $1 does not say: $2"; }
grep -qx 'access patterns, in blocks of 16 x 16 x 1 threads:' "$TEST_TMP/out" || wrong=", no heading"
says 66 '[matmul_naive_param_0 + 3072*ctaid.y + 192*tid.y + 16*round(line 64)], 4 rounds unrolled:'
says 66 'the same for 16 threads along x; 2 sectors a warp; 16 rows of 64 bytes a block in 16 rounds;'
says 66 'the same in all blocks along x; can be staged in 2304 bytes, where 512 sectors become 64'
says 65 'the same for 16 threads along y; 2 sectors a warp, coalesced; 16 rows of 64 bytes a block in 16 rounds;'
says 102 ', in the remainder of the loop on line 64: the same for 16 threads along x;'
says 102 'cannot be staged: the loop has too few rounds'
says 115 ': 4 sectors a warp, coalesced; 16 rows of 64 bytes a block'
grep -qE '^  line (70|74|79):' "$TEST_TMP/out" && wrong="$wrong, accesses of an unrolled loop are not one"
result "access patterns" "${wrong#, }"
spmv=corpus/spmv/spmv
run cost -accesses -assembler none "$spmv.sm_90.ptx" "${spmv}_csr.launch.json"
wrong=""
says 76 'unresolved: by %r19, of ld.global.u32 on line 73; cannot be staged: whether a thread gets to the loop cannot'
result "unresolved access patterns" "${wrong#, }"
run cost -accesses -assembler none corpus/conv/conv.sm_90.ptx corpus/conv/conv.launch.json
wrong=""
says 75 '8 rows of 124 bytes a block in 16 rounds of the loop on line 73;'
says 75 '23 rows of 64 bytes a block in 16 rounds of the loop on line 58;'
says 75 '480 bytes also in the next block along x in these rounds of the loop on line 73;'
says 75 '960 bytes also in the next block along y in these rounds of the loop on line 58; can be staged in'
says 105 ': about 5 sectors a warp; 23 rows of 64 bytes a block in 16 rounds; 960 bytes also in the next block along y'
result "access patterns of a nest" "${wrong#, }"
run cost -accesses -assembler none -report-format json "$matmul.sm_90.ptx" "$matmul.launch.json"
result "access patterns as JSON" "$(python3 -c 'import json, sys
found = {one["line"]: one for one in json.load(open(sys.argv[1]))["accesses"]}
assert found[101]["executions"] == 0 and found[101]["pattern"]["rest_of_line"] == 64, found[101]
first, fourth = found[66]["pattern"], found[79]["pattern"]
assert first["class"] == "loop" and first["unrolled"] == fourth["unrolled"] == 4, first
assert fourth["first_line"] == 66 and first["loop_line"] == 64 and first["rest_of_line"] is None, fourth
assert [first["same_along_" + axis] for axis in "xyz"] == [16, 1, 1] and first["coalesced"] is False, first
assert first["touched"] == [{"loop_line": 64, "rounds": 16, "bytes": 1024, "sectors": 32, "pieces": 16,
                             "piece_bytes": 64}], first
assert first["next_block_x_bytes"] == 1024 and first["next_block_y_bytes"] == 0, first
assert first["staging"] == {"possible": True, "reason": None, "bytes": 2304, "sectors_before": 512,
                            "sectors_after": 64}, first
assert found[65]["pattern"]["coalesced"] is True and found[115]["pattern"]["class"] == "thread", found' \
    "$TEST_TMP/out" 2>&1)"
run -report=full -assembler none -block 64 -coarsen 2 -o /dev/null corpus/vv/vv.sm_90.ptx
wrong=""
grep -qF 'line 43: st.global.f32 [vv_param_2 + 256*ctaid.x + 4*tid.x]: 4 sectors a warp, coalesced; 256 bytes a block' \
    "$TEST_TMP/errors" || wrong="no line for the store"
result "access patterns in a full report" "$wrong"
run -report=full -assembler none -coarsen 2 -o /dev/null corpus/vv/vv.sm_90.ptx
wrong=""
grep -qx '  access patterns, in blocks of 256 x 1 x 1 threads, which is assumed:' "$TEST_TMP/errors" ||
    wrong="no heading"
result "access patterns in blocks that are assumed" "$wrong"
exit "$failed"
