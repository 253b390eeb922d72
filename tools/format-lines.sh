#!/usr/bin/env bash
# tools/format-lines.sh FILE...: runs clang-format only on lines wider than 120 columns, so that layout by hand (tables,
# aligned columns) stays.
set -euo pipefail
export LC_ALL=C.UTF-8
for file in "$@"; do
    # Wrapping a line can make its neighbours too long.
    for _ in 1 2 3; do
        mapfile -t lines < <(awk 'length > 120 { printf "--lines=%d:%d\n", FNR, FNR }' "$file")
        [ "${#lines[@]}" -gt 0 ] || break
        clang-format -i --style=file "${lines[@]}" "$file"
    done
done
