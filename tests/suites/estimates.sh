#!/usr/bin/env bash
# Estimates without a launch conserve work: what transformed kernels store, update and compute in all is what their
# originals do. Random kernels, and kernels with reductions, loops with the stride of the block, loops that threads
# leave at different times, and bounds checks.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
seeds=50 more=0
case "$BUILD" in
*/asan) seeds=8 more=3 ;; # one wrong case is a larger share of few
esac

# kind:percentage of the cases that may be wrong. Merged neighbours know the lowest bits of their indices, and so how
# often loops go round that end at those: their originals are taken to make 16 rounds.
for one in loop:0 jam:3 reuse:3 random:6 stage:3; do
    IFS=: read -r kind most <<<"$one"
    [ "$most" = 0 ] || most=$((most + more))
    said="$("$BUILD/tests/work-check" -k "$kind" -m "$most" "1,$seeds" 2>&1)"
    status=$?
    problems=
    [ $status = 0 ] || problems="$(head -n 20 <<<"$said")"
    grep -qE '^[1-9][0-9]* done' <<<"$(tail -n 1 <<<"$said")" || problems="nothing was checked: $said"
    result "$kind kernels" "$problems"
done

# file:kernel:block
for one in corpus/reduce/reduce.sm_90.ptx:reduce_sum:256,1,1 corpus/saxpy/saxpy.sm_90.ptx:saxpy:128,1,1 \
    corpus/mandelbrot/mandelbrot.sm_90.ptx:mandelbrot:16,16,1 corpus/sobel/sobel.sm_90.ptx:sobel:16,8,1 \
    corpus/vectoradd/vectoradd.sm_90.ptx:vectoradd:256,1,1 corpus/rd/rd.sm_90.ptx:rd:128,1,1 \
    corpus/rd/rd.sm_90.ptx:rd_complex:256,1,1 \
    corpus/dwthaar/dwthaar.sm_90.ptx:dwthaar:256,1,1 corpus/bitonic/bitonic.sm_90.ptx:bitonic:128,1,1 \
    corpus/stencil1d/stencil1d.sm_90.ptx:stencil1d:128,1,1 tests/cases/cost/joint-loop.ptx:blend:16,16,1 \
    tests/cases/cost/row-stride.ptx:rowmax:128,1,1 corpus/blackscholes/blackscholes.sm_90.ptx:blackscholes:128,1,1 \
    corpus/histogram64/histogram64.sm_90.ptx:histogram64:64,1,1; do
    IFS=: read -r file kernel block <<<"$one"
    said="$("$BUILD/tests/work-check" "$file" "$kernel" "$block" 2>&1)"
    status=$?
    problems=
    [ $status = 0 ] || problems="$said"
    grep -qE '^[1-9][0-9]* done' <<<"$said" || problems="nothing was checked: $said"
    result "$kernel" "$problems"
done

# Tiles of a loop take all its rounds that they can: with tiles, the estimate of a naive product has fewer global
# sectors, because it reads shared memory instead, and no more instructions.
# $1: file. Prints instructions, sectors loaded and accesses to shared memory, for each thread.
estimated() {
    "${PTXOPT:?}" cost -q -assembler none -estimate -report-format json "$1" "${naive%.sm_90.ptx}.launch.json" |
        python3 -c 'import json, sys
each = json.load(sys.stdin)["cost"]["per_original_thread"]
print(each["instructions"], each["sectors_loaded"], each["shared_accesses"])'
}
naive=corpus/matmul_naive/matmul_naive.sm_90.ptx
"$PTXOPT" -q -assembler none -memory stage -block 16,16 "$naive" -o "$TEST_TMP/tiles.ptx"
problems="$(awk -v before="$(estimated "$naive")" -v after="$(estimated "$TEST_TMP/tiles.ptx")" 'BEGIN {
    split(before, x)
    split(after, y)
    if (!(y[1] > 0.8 * x[1] && y[1] < x[1] && y[2] < 0.85 * x[2] && y[3] > 30))
        printf "%s became %s", before, after
}')"
result "tiles take the rounds" "$problems"

# $1: name; $2: file and kernel; $3: what is expected; $4: Python code that prints that of the list 'forms'.
check_forms() {
    local said found
    said="$("$PTXOPT" -q -coarsen auto -keep-original -search 240 -report -report-format json -entry "${2#*/}" \
        "corpus/${2%/*}/${2%/*}.sm_90.ptx" -o "$TEST_TMP/forms.ptx" 2>&1)"
    if grep -qE '"assembler_missing"|no assembler' <<<"$said"; then
        echo "skip $1: no assembler"
        return
    fi
    found="$(python3 -c "import json, math, re, sys
forms = json.load(sys.stdin)['kernels'][0]['coarsening'].get('forms', [])
$4" <<<"$said" 2>&1)"
    result "$1" "$([ "$found" = "$3" ] || echo "$found, not $3")"
}

# In launches of few blocks of two warps, loops of two merged threads get the registers for loads ahead: such a form is
# kept for them, as far as the parameter that sets the lengths of loops tells that it pays; if bounds checks that part
# the last warp would make it slower, for multiples of the block's threads.
# file and kernel:what is expected of the first form: its words, the most threads for each SM, shortest loops in which
# it does, multiples
for one in "mv/mv:x2 block=64,1,1 64 128 1" "strsm/strsm:x2 stride=unit block=64,1,1 any 1024 1" \
    "mvcoal/mvuncoal:x2 block=64,1,1 64 32 64"; do
    IFS=: read -r file wanted <<<"$one"
    check_forms "$file in few blocks" "$file" "$wanted" '
form = forms[0]
multiple = form.get("pays_for_multiples", {"of": 1})["of"]
pays = [value for value, threads in form["pays_by_parameter"]["points"] if threads == 0]
print(form["words"], form.get("pays_to_threads_per_sm", "any"), pays[0], multiple)'
done

# Vectors need rows whose width is a multiple of four words. Launches decide by the width, and have another form for
# other widths.
check_forms "rows of other widths" conv/conv "2 4 4; 2 4 4; 2 4 4; 1 0 0; " '
for form in forms:
    multiple = form.get("pays_for_multiples", {"parameter": 0, "of": 0})
    print(form["factor"][0], multiple["parameter"], multiple["of"], end="; ")'

# Blocks that are too small for the best form, or that it does not divide, have one that merges two threads.
check_forms "two threads for small blocks" nlm/nlm "[8, 2]" 'print([math.prod(form["factor"]) for form in forms])'

# If eight merged blocks gain more than four, launches of large grids have eight, and others four.
check_forms "more merged blocks first" rd/rd True '
merged = [int(re.match(r"bx(\d+) ", form["words"])[1]) for form in forms if form["words"][0] == "b"]
print(len(merged) == 2 and merged[0] > merged[1])'

# A form for larger blocks that gains more than merged blocks there comes before these, and does not drop them.
check_forms "larger blocks first" vectoradd/vectoradd "['x', 'b']" '
print([form["words"][0] for form in forms if "least_block_threads" in form or forms.index(form) + 1 == len(forms)])'

# Small images consist of edges, where merged threads take turns, and merged blocks of a small grid leave SMs idle:
# their large gains elsewhere are not taken without a launch.
for one in sobel/sobel rd/rd_complex transpose/transpose_naive; do
    file="corpus/${one%/*}/${one%/*}.sm_90.ptx"
    said="$("$PTXOPT" -q -coarsen auto -report -entry "${one#*/}" "$file" -o /dev/null 2>&1)"
    if grep -q 'figures by' <<<"$said"; then
        problems="$(grep -q 'not coarsened: .* a launch file (-launch) would decide' <<<"$said" || echo "$said")"
        result "$one in small grids" "$problems"
    else
        echo "skip $one in small grids: no assembler"
    fi
done
exit "$failed"
