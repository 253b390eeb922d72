#!/usr/bin/env bash
# Random kernels, changed by the moves of the register search without a judge, against themselves in the emulator.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

BUILD="${BUILD:-build}"
folder="${TEST_TMP:-$(mktemp -d)}"
tool="$folder/registers-check"
sanitize=""
seeds=2000
case "$BUILD" in
*/asan)
    sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
    seeds=300
    ;;
esac
# shellcheck disable=SC2086
"${CC:-cc}" -std=gnu11 -Wall -Wextra -Werror -O1 -g $sanitize -D_GNU_SOURCE= -I. -Ibuild -Itests/tools -o "$tool" \
    tests/tools/registers-check.c tests/tools/random_kernel.c "$BUILD/libptxopt.a" \
    -ljansson -ldl -lm -lpthread || exit 1
if "$tool" 1 "$seeds" >"$folder/random.out" 2>"$folder/random.errors"; then
    echo "ok random: $(tail -n 1 "$folder/random.out")"
else
    echo "not ok random: $(tail -n 1 "$folder/random.out")"
    head -n 20 "$folder/random.out"
    head -n 5 "$folder/random.errors"
    exit 1
fi
