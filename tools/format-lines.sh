#!/usr/bin/env bash
# tools/format-lines.sh FILE...: runs clang-format over the lines that are wider than 120 columns and over nothing else,
# so that what was laid out by hand (tables, aligned columns) stays as it is.
set -euo pipefail
export LC_ALL=C.UTF-8
for file in "$@"; do
    # Wrapping one line can make its neighbours too long: the second pass sees to them.
    for _ in 1 2 3; do
        mapfile -t lines < <(awk 'length > 120 { printf "--lines=%d:%d\n", FNR, FNR }' "$file")
        [ "${#lines[@]}" -gt 0 ] || break
        clang-format -i --style=file "${lines[@]}" "$file"
    done
done
