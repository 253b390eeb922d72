#!/usr/bin/env bash
# Threads beyond the edge of the data: products of sizes that neither blocks nor tiles nor merged blocks divide, in the
# emulator, compared with the original; and what that spares the blocks there. tests/suites/stage.sh has random kernels.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
folder="$TEST_TMP"

# $1: kernel; $2: rows; $3: columns; $4: terms; $5, $6: blocks along x and y. Buffers end where the last thread reads.
launch() {
    printf '{"kernel": "%s", "grid": [%s, %s], "block": [16, 16], "dynamic_shared": 0, "args": [
        {"buffer": "a", "type": "f32", "count": %s, "init": "uniform", "low": -1, "high": 1, "seed": 1},
        {"buffer": "b", "type": "f32", "count": %s, "init": "uniform", "low": -1, "high": 1, "seed": 2},
        {"buffer": "c", "type": "f32", "count": %s, "init": "poison"}, {"scalar": "s32", "value": %s},
        {"scalar": "s32", "value": %s}, {"scalar": "s32", "value": %s}], "check": ["c"],
        "tolerance": {"kind": "exact"}}\n' "$1" "$5" "$6" $(($2 * $4)) $(($3 * $4)) $(($2 * $3)) "$2" "$3" "$4" \
        >"$folder/launch.json"
}

# The rest: options. Prints what is wrong.
check() {
    "$program" -q -assembler none -memory edges,stage -block 16,16 -entry "$1" "${@:2}" -verify "$folder/launch.json" \
        -o "$folder/out.ptx" tests/naive/naive.sm_90.ptx 2>&1 || echo "status $?"
}

for kernel in product_nt product_tn; do
    for size in "1 1 1 1 1" "17 33 40 3 2" "40 40 67 3 3" "70 50 36 5 6"; do
        read -ra words <<<"$size"
        launch "$kernel" "${words[@]}"
        for form in "" "-coarsen bx2,by2" "-coarsen bx4,by4" "-coarsen y4,bx3 -stride unit" "-coarsen x2,y2" \
            "-coarsen y8,bx2 -stride unit" "-coarsen by3 -coarsen-guards sequential"; do
            read -ra options <<<"$form"
            result "$kernel, $size${form:+, }$form" "$(check "$kernel" "${options[@]}")"
        done
    done
done

# The sectors that are loaded for each thread, of 40 x 40 results in 3 x 3 blocks, and as a whole of 48 x 48.
sectors() {
    "$program" cost -q -assembler none -registers 32 "$folder/out.ptx" "$folder/launch.json" |
        awk '/sectors loaded/ { print $NF }'
}
launch product_nt 48 48 64 3 3
result "full blocks" "$(check product_nt)"
full="$(sectors)"
launch product_nt 40 40 64 3 3
result "blocks at the edge" "$(check product_nt)"
edge="$(sectors)"
result "the edge loads what full blocks load" \
    "$(awk -v full="$full" -v edge="$edge" 'BEGIN { if (!(edge > 0 && edge < 1.1 * full)) print full, edge }')"
# In the grid of three more rows of blocks, these do not go through the loop.
launch product_nt 40 40 64 3 6
result "blocks beyond the edge" "$(check product_nt)"
more="$(sectors)"
result "blocks beyond the edge load nothing" \
    "$(awk -v edge="$edge" -v more="$more" 'BEGIN { if (!(more > 0 && more < 0.6 * edge)) print edge, more }')"
exit "$failed"
