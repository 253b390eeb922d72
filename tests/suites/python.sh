#!/usr/bin/env bash
# The Python package as its users get it: make wheel, twice, to compare the bytes; pip install into an
# empty virtual environment; and use.
set -uo pipefail

# A virtual environment cannot be below a folder with a colon in its name.
tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
errors="${TEST_TMP:?}/errors"
. tests/suites/result.bash
. tests/suites/programs.bash
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
nvdisasm="$PWD/third_party/cuda/bin/nvdisasm"
[ -z "${PTXOPT_NVDISASM:-}" ] && [ -x "$nvdisasm" ] && export PTXOPT_NVDISASM="$nvdisasm"
"$tmp/venv/bin/python" tests/library/package.py || failed=1
mypy=""
# shellcheck disable=SC2086
for python in python3 ${PTXOPT_PYTHONS:-}; do
    [ -z "$mypy" ] && "$python" -m mypy --version >/dev/null 2>&1 && mypy="$python"
done
if [ -n "$mypy" ]; then
    result "mypy --strict" "$("$mypy" -m mypy --strict --no-error-summary --cache-dir "$tmp/mypy" python/ptxopt 2>&1 |
        head -n 3)"
else
    echo "skip mypy: not installed"
fi

# An assembler that only this Python finds: in the folder of the package, and elsewhere on sys.path.
site="$(echo "$tmp"/venv/lib/python3*/site-packages)"
mkdir -p "$tmp/more" "$tmp/real"
if ! without_toolkit true 2>"$errors" || ! copy_ptxas "$tmp/real/ptxas"; then
    echo "skip assemblers: no ptxas, or the toolkit cannot be hidden"
else
    for place in "$site/nvidia/cu13/bin" "$tmp/more/nvidia/cu13/bin" "$tmp/more/triton/backends/nvidia/bin"; do
        mkdir -p "$place"
        touch "${place%%/backends*}/__init__.py"
        ln -s "$tmp/real/ptxas" "$place/ptxas"
        without_toolkit env -i HOME="$tmp" PATH=/bin PYTHONPATH="$tmp/more" \
            "$tmp/venv/bin/python" - >"$tmp/out" 2>"$errors" <<'END'
import ptxopt
print(ptxopt.optimize(open("corpus/vectoradd/vectoradd.sm_90.ptx").read(), assembler="ptxas").report.assembler.path)
END
        result "an assembler in ${place#"$tmp/"}" "$([ "$(cat "$tmp/out")" = "$place/ptxas" ] || cat "$tmp/out")"
        rm -r "$place"
    done
    without_toolkit env -i HOME="$tmp" PATH=/bin "$tmp/venv/bin/python" - >"$tmp/out" 2>"$errors" <<'END'
import ptxopt
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    made = ptxopt.optimize(open("corpus/vectoradd/vectoradd.sm_90.ptx").read(), target_regs="auto")
print(made.refused, made.report.assembler, any("ptxopt setup" in str(d) for d in made.diagnostics), len(caught) > 1)
END
    result "no assembler" "$(grep -qx 'True None True True' "$tmp/out" || cat "$tmp/out")"
fi

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
# The driver is the emulator, so the kernel runs too.
example cuda_core cuda.core '^wrong: 0$' LD_LIBRARY_PATH="$emulated"
# CuPy contains NVIDIA's runtime, which works only with NVIDIA's driver.
example cupy_kernel cupy 'launch scale with \(64, 1, 1\) instead of 256'
example numba_kernel numba.cuda 'a block of \(64, 1, 1\) instead of 256'
example triton_kernel triton 'softmax needs [0-9]+ registers instead of [0-9]+' TRITON_CACHE_DIR="$tmp/triton"
exit "$failed"
