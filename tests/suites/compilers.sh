#!/usr/bin/env bash
# The installed programs as other tools use them: CMake, clang, Triton and XLA, each if it is installed. Programs
# run on the emulated GPU.
#
# $CUDA_OF_CLANG is a toolkit that clang++ ($CLANG) can use, if it is not nvcc's. $PTXOPT_PYTHONS lists
# Pythons besides python3, for Triton, and for JAX with its CUDA plugin.
set -uo pipefail

tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
errors="${TEST_TMP:?}/errors"
. tests/suites/result.bash
. tests/suites/programs.bash
if [ "$(basename "${BUILD:?}")" != build ]; then
    echo "the sanitizers cannot be linked into other programs"
    exit 77
fi
unset PTXOPT_FLAGS PTXOPT_STRICT PTXOPT_REAL_PTXAS PTXOPT_REAL_NVCC PTXOPT_LAUNCH_REPORT XLA_FLAGS
root="$PWD"
own="$tmp/usr"
emulated="$own/lib/ptxopt/emulated"
if ! make --no-print-directory install PREFIX="$own" >"$tmp/out" 2>"$errors"; then
    result "make install" "failed"
    exit 1
fi
nvcc="$(nvidia_program PTXOPT_REAL_NVCC nvcc)"
ptxas="$(nvidia_program PTXOPT_PTXAS ptxas)"
python_with() {
    local python
    # shellcheck disable=SC2086
    for python in python3 ${PTXOPT_PYTHONS:-}; do
        if "$python" -c "import $1" 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}
# $1: name; $2: pattern; $3...: the command.
prints() {
    local name="$1" pattern="$2"
    shift 2
    "$@" >"$tmp/out" 2>"$errors"
    local status=$?
    result "$name" "$([ $status -eq 0 ] || echo "exit status $status: $(tail -n 2 "$tmp/out")"
        [ -z "$pattern" ] || grep -qE "$pattern" "$tmp/out" || echo "'$pattern' is not printed")"
}

# CMake, with the wrapper as its compiler.
if [ -z "$nvcc" ] || ! command -v cmake >/dev/null; then
    echo "skip CMake: no $(command -v cmake >/dev/null && echo nvcc || echo cmake)"
else
    export PTXOPT_REAL_NVCC="$nvcc"
    prints "CMake: configured" "Generating done" cmake -S tests/compilers -B "$tmp/a build" -DCMAKE_PREFIX_PATH="$own" \
        -DLAUNCHING="$root/tests/launching" -DCMAKE_CUDA_COMPILER="$own/bin/ptxopt-nvcc"
    prints "CMake: built, in parallel" "Built target units" cmake --build "$tmp/a build" -j 2
    for block in 128 127; do
        prints "CMake: a program, $block" "^0 wrong" env LD_LIBRARY_PATH="$emulated" PTXOPT_LAUNCH_REPORT=1 \
            "$tmp/a build/app" $block
        result "CMake: a program, $block: counted" "$(grep -c "^ptxopt: kernel" "$errors" | grep -v '^3$')"
        prints "CMake: linked units, $block" "^0 wrong, 0 different, all counted" env LD_LIBRARY_PATH="$emulated" \
            PTXOPT_LAUNCH_REPORT=1 "$tmp/a build/units" $block
        result "CMake: linked units, $block: counted" "$(grep -c "^ptxopt: kernel" "$errors" | grep -v '^3$')"
    done
    prints "CMake: without options" "^0 wrong" env LD_LIBRARY_PATH="$emulated" PTXOPT_LAUNCH_REPORT=1 \
        "$tmp/a build/plain"
    result "CMake: without options: nothing is adapted" "$(grep "^ptxopt" "$errors")"
    # $1: name; $2...: options for CMake. A project that does not know about ptxopt.
    natural() {
        local name="$1" build="$tmp/natural" program block
        shift
        rm -rf "$build"
        prints "CMake, $name: configured" "Generating done" cmake -S tests/compilers/natural -B "$build" \
            -DLAUNCHING="$root/tests/launching" -DCMAKE_CUDA_COMPILER="$own/bin/ptxopt-nvcc" "$@"
        prints "CMake, $name: built" "" cmake --build "$build" -j 2
        for program in app units with_archive with_shared; do
            for block in 128 127; do
                prints "CMake, $name: $program, $block" "^0 wrong" env LD_LIBRARY_PATH="$emulated" \
                    PTXOPT_LAUNCH_REPORT=1 "$build/$program" $block
                result "CMake, $name: $program, $block: counted" \
                    "$(grep -c "^ptxopt: kernel" "$errors" | grep -v '^3$')"
            done
        done
        prints "CMake, $name: mixed" "^0 wrong" env LD_LIBRARY_PATH="$emulated" PTXOPT_LAUNCH_REPORT=1 "$build/mixed"
        result "CMake, $name: mixed: counted" "$(grep -q "reverse.*: [12] adapted" "$errors" || echo no)"
    }
    natural "flags of all" -DCMAKE_CUDA_FLAGS="-Xptxas=-coarsen=2"
    ! command -v ninja >/dev/null || natural "flags of targets, Ninja" -DPER_TARGET=ON -G Ninja
    unset PTXOPT_REAL_NVCC
fi

# A ptxas that notes which inputs are files of ptxopt's, between ptxopt-ptxas and the real one.
if [ -z "$ptxas" ]; then
    echo "skip clang, Triton and XLA: no ptxas"
    exit "$failed"
fi
cat >"$tmp/ptxas" <<END
#!/bin/sh
for word; do
    case "\$word" in */ptxopt-[A-Za-z0-9]*/*) echo "\$word" >>"$tmp/seen" ;; esac
done
exec "\$KEPT_PTXAS" "\$@"
END
chmod +x "$tmp/ptxas"
export PTXOPT_REAL_PTXAS="$tmp/ptxas" KEPT_PTXAS="$ptxas"
# $1: name. ptxas was given ptxopt's output, at least this often ($2).
seen() {
    result "$1" "$([ "$(sort -u "$tmp/seen" 2>/dev/null | wc -l)" -ge "$2" ] || echo "it was not")"
    rm -f "$tmp/seen"
}

# clang: a kernel alone, which needs no toolkit but ptxas, and a whole program.
clang="${CLANG:-clang++}"
shim=(--ptxas-path="$own/bin/ptxopt-ptxas")
if ! "$clang" --print-targets 2>/dev/null | grep -q nvptx64; then
    echo "skip clang: no $clang for NVIDIA's GPUs"
else
    export PTXOPT_STRICT=1
    PTXOPT_FLAGS="-coarsen 2 -block 128 -launches-adapted" prints "clang: a kernel" "" \
        "$clang" -x cuda -nocudainc -nocudalib \
        --cuda-device-only --cuda-gpu-arch=sm_75 -O2 "${shim[@]}" -c tests/compilers/device.cu -o "$tmp/device.cubin"
    seen "clang: a kernel: it is ptxopt's" 1
    result "clang: a kernel: its contract" "$(grep -q __ptxopt_launch_ "$tmp/device.cubin" || echo "none")"
    cuda="${CUDA_OF_CLANG:-$(dirname "$(dirname "$(realpath "$ptxas")")")}"
    program=(-x cuda --cuda-path="$cuda" -isystem "$cuda/include" --cuda-gpu-arch=sm_75 --cuda-include-ptx=all -O2
        -Wno-unknown-cuda-version)
    if ! "$clang" "${program[@]}" -c tests/launching/program.cu -o "$tmp/app.o" >"$tmp/out" 2>"$errors" ||
        ! [ -d "$cuda/lib64" ]; then
        echo "skip clang, a whole program: it cannot use $cuda: $(grep -m 1 error "$errors")"
    else
        export KEPT_PTXAS="$cuda/bin/ptxas" PKG_CONFIG_PATH="$own/lib/pkgconfig"
        # shellcheck disable=SC2046
        PTXOPT_FLAGS="-coarsen 2 -keep-original -launches-adapted -q" prints "clang: a program" "" "$clang" \
            "${program[@]}" "${shim[@]}" \
            tests/launching/program.cu -o "$tmp/app" $(pkg-config --cflags --libs ptxopt-launch) -L"$cuda/lib64" \
            -lcudart
        seen "clang: a program: it is ptxopt's" 1
        # Its PTX is clang's own, so nothing is coarsened on the emulated GPU.
        prints "clang: a program: runs" "^0 wrong" env LD_LIBRARY_PATH="$emulated" "$tmp/app"
    fi
    unset PTXOPT_STRICT PKG_CONFIG_PATH
fi

# Triton asks for the version, and skips programs without a good answer. It has an assembler for GPUs before sm_90 and
# one for the others, which read PTX of different versions: each must be used for its own.
python="$(python_with triton)"
if [ -z "$python" ]; then
    echo "skip Triton: not installed"
else
    assemblers="$("$python" -c 'import triton; print(triton.__path__[0])')/backends/nvidia/bin"
    export TRITON_CACHE_DIR="$tmp/triton" PTXOPT_STRICT=1 PTXOPT_FLAGS="-target-regs 64 -O1 -q"
    export TRITON_PTXAS_PATH="$own/bin/ptxopt-ptxas" TRITON_PTXAS_BLACKWELL_PATH="$own/bin/ptxopt-ptxas-blackwell"
    mkdir "$tmp/two"
    for name in ptxas ptxas-blackwell; do
        sed \
            "s|^exec .*|echo \"$name \$*\" >>'$tmp/called'; exec '$assemblers/$name' \"\$@\"|" \
            "$tmp/ptxas" >"$tmp/two/$name"
        chmod +x "$tmp/two/$name"
    done
    PTXOPT_REAL_PTXAS="$tmp/two" prints "Triton" "^sm_100: [0-9]+ bytes" "$python" tests/compilers/triton_kernel.py
    seen "Triton: all kernels are ptxopt's" 3
    result "Triton: sm_80 is for ptxas" "$(grep '/ptxopt-.*sm_\(90\|100\)' "$tmp/called" | grep '^ptxas ' | head -n 1)"
    result "Triton: the others are for ptxas-blackwell" \
        "$(grep '/ptxopt-.*sm_80' "$tmp/called" | grep '^ptxas-b' | head -n 1)"
    cp -r "$tmp/triton" "$tmp/triton-named"
    # The same without naming their places. The PTX shows which assembler Triton asked for its version.
    rm -rf "$TRITON_CACHE_DIR"
    PTXOPT_REAL_PTXAS='' prints "Triton, found by its process" "^sm_100: [0-9]+ bytes" "$python" \
        tests/compilers/triton_kernel.py
    result "Triton, found by its process: the same assemblers" \
        "$(diff <(cat "$tmp"/triton/*/*.ptx | grep '^\.[tv]' | sort) \
        <(cat "$tmp"/triton-named/*/*.ptx | grep '^\.[tv]' | sort))"
    PTXOPT_FLAGS="-coarsen 2" TRITON_CACHE_DIR="$tmp/triton-coarse" "$python" tests/compilers/triton_kernel.py \
        >"$tmp/out" 2>"$errors"
    result "Triton: coarsening, which its launcher does not know" \
        "$(grep -q 'say so with -launches-adapted' "$tmp/out" \
        "$errors" || echo "no error")"
    unset PTXOPT_STRICT PTXOPT_FLAGS TRITON_PTXAS_PATH TRITON_PTXAS_BLACKWELL_PATH
fi

# XLA looks for bin/ptxas in the CUDA folder that it is told.
python="$(python_with jax_plugins.xla_cuda13)"
if [ -z "$python" ]; then
    echo "skip XLA: JAX with its plugin for CUDA 13 is not installed"
else
    KEPT_PTXAS="$ptxas"
    plugin="$("$python" -c 'import jax_plugins.xla_cuda13 as plugin; print(plugin.__path__[0])')/xla_cuda_plugin.so"
    mkdir -p "$tmp/cuda/bin"
    ln -s "$own/bin/ptxopt-ptxas" "$tmp/cuda/bin/ptxas"
    XLA_FLAGS="--xla_gpu_cuda_data_dir=$tmp/cuda" PTXOPT_STRICT=1 PTXOPT_FLAGS="-coarsen bx2 -q" \
        prints "XLA" "^compiled" "$python" tests/compilers/xla_kernel.py "$plugin"
    seen "XLA: the kernel is ptxopt's" 1
fi
exit "$failed"
