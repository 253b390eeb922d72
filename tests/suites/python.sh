#!/usr/bin/env bash
# The Python package as its users get it: make wheel, twice, to see that it has the same bytes; pip install into an
# empty virtual environment; and use.
set -uo pipefail

# A virtual environment cannot be below a folder with a colon in its name.
tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
errors="${TEST_TMP:?}/errors"
. tests/suites/result.bash
if [ "$(basename "${BUILD:?}")" != build ]; then
    echo "the sanitizers cannot be loaded into Python"
    exit 77
fi
make --no-print-directory wheel >"$tmp/out" 2>"$errors"
wheel="$(tail -n 1 "$tmp/out")"
result "make wheel" "$([ -f "$wheel" ] || echo "no wheel")"
cp "$wheel" "$tmp/first.whl"
make --no-print-directory wheel >/dev/null 2>"$errors"
result "make wheel: the same bytes again" "$(cmp "$wheel" "$tmp/first.whl" 2>&1)"
if ! python3 -m venv --without-pip "$tmp/venv" >"$errors" 2>&1; then
    echo "skip the package: python3 -m venv does not work here"
    exit "$failed"
fi
python3 -m pip --python "$tmp/venv/bin/python" install --no-index --quiet "$wheel" >"$tmp/out" 2>"$errors"
result "pip install" "$([ $? -eq 0 ] || tail -n 1 "$errors")"
"$tmp/venv/bin/python" tests/library/package.py || failed=1
for python in "$tmp/venv/bin/python" python3; do
    nvrtc="$python"
    "$python" -c 'from cuda.bindings import nvrtc' 2>/dev/null && break
    nvrtc=""
done
if [ -n "$nvrtc" ]; then
    PYTHONPATH="$(echo "$tmp"/venv/lib/python3*/site-packages)" "$nvrtc" docs/examples/nvrtc.py >"$tmp/out" 2>"$errors"
    result "with NVRTC" "$(grep -q 'a block of (64, 1, 1)' "$tmp/out" || echo "another launch")"
else
    echo "skip with NVRTC: no cuda.bindings"
fi
exit "$failed"
