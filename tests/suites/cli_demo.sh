#!/usr/bin/env bash
# The demonstration succeeds and keeps its promises: kernels that get faster, fewer registers without spills,
# one kernel that is left alone, and one that is refused with a reason.
set -uo pipefail

demo="$TEST_TMP/demo.txt"
BUILD="${TEST_TMP:?}" tools/demo.sh >"$demo" 2>&1
status=$?
if grep -q 'no assembler was found' "$demo"; then
    echo "skip demo: no assembler"
    exit 0
fi
problems=
[ "$status" -eq 0 ] || problems="exit status $status"
for kernel in vectoradd_exact matmul_naive stencil1d; do
    grep -qE "^ +$kernel: .*predicted [1-9]\.[0-9]+x" "$demo" || problems="$problems, no gain for $kernel"
done
grep -qE '^mriq_fast .* 35 -> 32 +0 +48 -> 64 ' "$demo" || problems="$problems, no registers saved"
grep -qE '^ +mandelbrot: not coarsened: the best form' "$demo" || problems="$problems, mandelbrot is not left alone"
grep -qE '^ +spinlock: not coarsened: the loop' "$demo" || problems="$problems, no refusal"
if [ -z "$problems" ]; then
    echo "ok demo"
else
    echo "not ok demo: ${problems#, }"
    cat "$demo"
fi
