#!/usr/bin/env bash
# Unroll and jam. Loops of random kernels, some of them coarsened besides, and all loops of some kernels of the corpus,
# compared in the emulator with the originals.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/suites/result.bash

BUILD="${BUILD:-build}"
program="${PTXOPT:-./ptxopt}"
TEST_TMP="${TEST_TMP:-$(mktemp -d)}"
folder="$TEST_TMP"
seeds=6000
factors="2 3 8"
case "$BUILD" in
*/asan) seeds=500 factors=3 ;;
esac

random_check "random" jam-check "1,$seeds"
result "every rule at work" "$(grep -oE '(compared|whole|carried|fronts) [0-9]\b' <<<"$said")"

# name:kernel:launch, whose loops have others in them, sums, addresses that are compared, or one iteration at times
for one in conv:conv:conv convolution:convolution:convolution mv:mv:mv nlm:nlm:nlm softmax:softmax:softmax \
    strsm:strsm:strsm attention:attention:attention mriq:mriq:mriq; do
    IFS=: read -r name kernel launch <<<"$one"
    file="corpus/$name/$name.sm_90.ptx"
    done=0
    problems=
    for label in $(grep -oE '^[$]L__BB[0-9_]+' "$file"); do
        for factor in $factors; do
            message="$("$program" -q -assembler none -missing-ok -entry "$kernel" -uj "$label:$factor" \
                -verify "corpus/$name/$launch.launch.json" -o "$folder/out.ptx" "$file" 2>&1)"
            status=$?
            if [ $status = 0 ]; then
                done=$((done + 1))
            elif [ $status != 3 ]; then
                problems="$problems
$label x$factor: $message"
            else
                break
            fi
        done
    done
    result "$name, $done loops" "${problems#?}"
done
exit "$failed"
