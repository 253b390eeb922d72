#!/usr/bin/env bash
# Modules that the program writes, by the oldest, the default and the newest ptxas: the corpus, coarsened and lowered to
# the version of PTX that each one knows. tools/deps.sh fetches assemblers of other versions.
set -uo pipefail
. tests/suites/programs.bash
. tests/suites/result.bash

# $1: a ptxas; $2: its release; $3: the version of PTX that it knows.
assembles() {
    local file failed="" count=0
    for file in corpus/*/*.sm_90.ptx; do
        if ! "$PTXOPT" -q -assembler none -ptx-version "$3" -coarsen 2 -missing-ok -o "$TEST_TMP/k.ptx" "$file" \
            2>"$TEST_TMP/log" && [ ! -s "$TEST_TMP/k.ptx" ]; then
            # A module that needs a newer version says so.
            grep -q 'needs' "$TEST_TMP/log" || failed+="$file: $(head -n 1 "$TEST_TMP/log")"$'\n'
            continue
        fi
        count=$((count + 1))
        "$1" -arch sm_90 -o /dev/null "$TEST_TMP/k.ptx" >"$TEST_TMP/log" 2>&1 ||
            failed+="$file: $(grep -m 1 -E 'error|fatal' "$TEST_TMP/log")"$'\n'
        rm -f "$TEST_TMP/k.ptx"
    done
    [ "$count" -gt 0 ] || failed="no module"
    result "ptxas $2 takes $count modules of PTX $3" "$failed"
}

installed="$(nvidia_program PTXOPT_PTXAS ptxas)"
for pair in 12.0:8.0 13.0:9.0 13.5:9.5; do
    release="${pair%:*}"
    candidate="third_party/cuda-$release/bin/ptxas"
    if [ -n "$installed" ] && [ "$(assembler_release "$installed")" = "$release" ]; then
        candidate="$installed"
    fi
    if [ -x "$candidate" ]; then
        assembles "$candidate" "$release" "${pair#*:}"
    else
        echo "skip ptxas $release: not installed (CUDA=$release tools/deps.sh)"
    fi
done
exit "$failed"
