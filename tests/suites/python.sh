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

# The examples, each with a Python that has what it needs: python3, or one of those that $PTXOPT_PYTHONS lists.
packages="$(echo "$tmp"/venv/lib/python3*/site-packages)"
emulated="$(realpath "$BUILD/emulated")"
# $1: the example; $2: the module that it needs; $3: what it prints, a pattern; $4...: environment.
example() {
    local name="$1" module="$2" pattern="$3" python found=""
    shift 3
    # shellcheck disable=SC2086
    for python in python3 ${PTXOPT_PYTHONS:-}; do
        [ -z "$found" ] && "$python" -c "import $module" 2>/dev/null && found="$python"
    done
    if [ -z "$found" ]; then
        echo "skip docs/examples/$name.py: no $module"
        return
    fi
    env "$@" PYTHONPATH="$packages" "$found" "docs/examples/$name.py" >"$tmp/out" 2>"$errors"
    result "docs/examples/$name.py" "$(grep -qE "$pattern" "$tmp/out" || echo "'$pattern' is not printed")"
}
example nvrtc cuda.bindings.nvrtc 'a block of \(64, 1, 1\)'
# The driver is the emulator, and so the kernel runs, too.
example cuda_core cuda.core '^wrong: 0$' LD_LIBRARY_PATH="$emulated"
# CuPy has NVIDIA's runtime inside, which works on NVIDIA's driver only.
example cupy_kernel cupy 'launch scale with \(64, 1, 1\) instead of 256'
example numba_kernel numba.cuda 'a block of \(64, 1, 1\) instead of 256'
example triton_kernel triton 'softmax needs [0-9]+ registers instead of [0-9]+' TRITON_CACHE_DIR="$tmp/triton"
exit "$failed"
