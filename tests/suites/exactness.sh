#!/usr/bin/env bash
# No transformation may change these: untouched modules are written byte for byte; in coarsened ones every literal keeps
# its spelling, everything outside the functions (initializers, .file, debug sections) its bytes, and .loc its place.
set -uo pipefail

if [ ! -x "${PTXOPT:?}" ]; then
    echo "no program $PTXOPT"
    exit 77
fi
. tests/suites/result.bash

# Copies the text outside the functions from $1 to $2. A function begins in the first column and ends with its braces
# or, if it is only declared, with a semicolon.
outside() {
    awk '/^(\.visible |\.weak |\.extern )?\.(entry|func)/ { inside = 1 }
         !inside && NF && !/__ptxopt_launch/ { print }
         inside {
             opened = gsub(/{/, "{")
             depth += opened - gsub(/}/, "}")
             if (depth == 0 && (/}/ || /;[ \t]*$/)) inside = 0
         }' "$1" >"$2"
}

# Writes the spelling of every number in the functions of $1 that is not small to $2.
literals() {
    sed 's|//.*||' "$1" | grep -v '^[[:space:]]*\.\(loc\|reg\|file\|b8\|b64\|b32\|global\|visible\)' |
        grep -oE '0[fFdD][0-9A-Fa-f]+|0[xX][0-9A-Fa-f]+U?|-?[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?|-?[0-9]{4,}' |
        sort -u >"$2"
}

# Writes the memory accesses and barriers of $1, each after its .loc, to $2.
places() {
    awk '/^[ \t]*\.loc/ { $1 = $1; place = $0 }
         /^[ \t]*(@!?%[a-zA-Z_0-9]+ )?(ld|st|bar|barrier|atom|red)\./ {
             for (i = 1; i <= NF; i++) if ($i ~ /^(ld|st|bar|barrier|atom|red)\./) { print place, $i; break }
         }' "$1" | sort -u >"$2"
}

for file in tests/cases/exactness/*.ptx tests/ptx/*.debug.ptx tests/ptx/*.lineinfo.ptx; do
    wrong=""
    "$PTXOPT" -assembler none -O0 "$file" >"$TEST_TMP/out" 2>"$TEST_TMP/errors" || wrong="status $?"
    cmp -s "$file" "$TEST_TMP/out" || wrong="$wrong other bytes"
    result "untouched $(basename "$file" .ptx)" "$wrong"
    "$PTXOPT" -assembler none -canonical "$file" >"$TEST_TMP/out" 2>"$TEST_TMP/errors" || wrong="status $?"
    literals "$file" "$TEST_TMP/before"
    literals "$TEST_TMP/out" "$TEST_TMP/after"
    cmp -s "$TEST_TMP/before" "$TEST_TMP/after" ||
        wrong="$(diff "$TEST_TMP/before" "$TEST_TMP/after" | sed -n '2,4p' | tr '\n' ' ')"
    result "literals of $(basename "$file" .ptx), printed anew" "$wrong"
done

for file in tests/cases/exactness/*.ptx tests/ptx/*.sm_90.lineinfo.ptx; do
    wrong=""
    "$PTXOPT" -assembler none -coarsen 2 "$file" >"$TEST_TMP/out" 2>"$TEST_TMP/errors" || wrong="status $?"
    grep -q 'coarsened by' "$TEST_TMP/errors" || wrong="$wrong; nothing is coarsened"
    for part in outside literals places; do
        $part "$file" "$TEST_TMP/before"
        $part "$TEST_TMP/out" "$TEST_TMP/after"
        [ -s "$TEST_TMP/before" ] || wrong="$wrong; no $part to compare"
        if ! cmp -s "$TEST_TMP/before" "$TEST_TMP/after"; then
            wrong="$wrong; $part: $(diff "$TEST_TMP/before" "$TEST_TMP/after" | sed -n '2,4p' | tr '\n' ' ')"
        fi
    done
    result "coarsened $(basename "$file" .ptx)" "${wrong#; }"
done
exit "$failed"
