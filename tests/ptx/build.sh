#!/bin/sh
# Makes the PTX files of this folder again from src/ and the corpus, then has ptxas assemble every one.
# usage: build.sh                          all of it
#        build.sh -c                       only the check
#        build.sh -n SOURCE TARGET FOLDER  writes FOLDER/SOURCE.TARGET.ptx as nvcc makes it, and nothing else
# The files in the repository came from nvcc 13.0.88, NVRTC 13.0, clang 14.0.6 and Triton 3.9.0.
cd "$(dirname "$0")" || exit 2
here=$PWD
nvcc=${NVCC:-nvcc}
clang=${CLANG:-clang}
ptxas=${PTXAS:-ptxas}
cuda=${CUDA_HOME:-/usr/local/cuda}

# Assembles the file $1 for the target it names, unless ptxas is too new for it.
check() {
    target=$(sed -n 's/^\.target[[:space:]]*\([a-z0-9_]*\).*/\1/p' "$1" | head -n 1)
    set -- "$1" "-arch=$target" -o /dev/null
    case $1 in *.rdc.*) set -- "$@" -c ;; esac
    "$ptxas" "$@" 2>&1 | grep -v "'$target' is not defined for option 'gpu-name'" |
        grep -E 'error|fatal|terminated' && echo "not assembled: $1"
}

# Compilers write the path of their source into debug information: one that is the same on every machine.
work=/tmp/ptxopt-ptx

# $1: source without .cu; $2: target; $3: what the file name adds; the rest: options.
nvidia() {
    source=$1 target=$2 variant=$3
    shift 3
    $nvcc -ptx -arch="$target" "$@" -o "$source.$target$variant.ptx" "$source.cu" ||
        echo "not compiled: $source $target"
}

# $1: target; $2: what the file name adds; the rest: options.
clang_cuda() {
    target=$1 variant=$2
    shift 2
    $clang -x cuda --cuda-device-only --cuda-gpu-arch="$target" -nocudainc -nocudalib -Wno-unknown-cuda-version \
        -S "$@" -o "clangkernels.$target$variant.ptx" clangkernels.cu || echo "not compiled: clangkernels $target"
}

clang_opencl() {
    $clang -x cl -cl-std=CL1.2 --target=nvptx64-nvidia-nvcl -Xclang -target-cpu -Xclang sm_75 -Xclang -target-feature \
        -Xclang +ptx70 -S "$1" -o "clangopencl.sm_75$2.ptx" clangopencl.cl || echo "not compiled: clangopencl"
}

# NVIDIA's compiler as a library.  $1: target; $2: what the file name adds; the rest: options.
runtime() {
    target=$1 variant=$2
    shift 2
    [ -x ./nvrtc ] || cc -I"$cuda/include" -o nvrtc nvrtc.c -L"$cuda/lib64" -lnvrtc -Wl,-rpath,"$cuda/lib64" || exit 2
    ./nvrtc runtime.cu "--gpu-architecture=compute_${target#sm_}" "$@" >"runtime.$target$variant.ptx" ||
        echo "not compiled: runtime $target"
}

# nvcc puts the number of its process into the names of an anonymous namespace: a file in which nothing else differs
# stays. Debug sections spell the names in numbers, and say how long they are.
without_module_id() {
    sed -E -e 's/[0-9]+_GLOBAL__N__[0-9a-f]+_12_templates_cu_[0-9a-f]+_[0-9]+([46](Plus|Larger))/\1/g' \
        -e '/^\.b(8|32) /d' "$1"
}

build() {
    rm -rf "$work" && mkdir "$work" && cp src/* "$work" && cd "$work" || exit 2
    # Those kernels of the corpus that are here already: enough for the tests.
    for file in "$here"/corpus.*.sm_100.ptx; do
        kernel=${file##*/corpus.} kernel=${kernel%.sm_100.ptx}
        cp "$here/../../corpus/$kernel/$kernel.cu" "corpus.$kernel.cu"
    done

    for target in sm_75 sm_80 sm_90 sm_100 sm_120; do
        for source in assembly async atomics bounds caching calls control floats groups half integers memory objects \
            printing templates texture warp wmma; do
            nvidia $source $target ""
        done
        nvidia separate $target .rdc -rdc=true
    done
    for target in sm_90 sm_100 sm_120 sm_90a sm_100a sm_100f sm_120f; do
        nvidia bulk $target ""
    done
    for target in sm_90 sm_100; do
        for source in calls groups memory objects; do
            nvidia $source $target .rdc -rdc=true
        done
        for source in control half templates corpus.matmul_tiled corpus.softmax; do
            nvidia $source $target .lineinfo -lineinfo
        done
        for source in assembly calls control templates corpus.reduce corpus.stencil27; do
            nvidia $source $target .debug -G
        done
        for source in calls control floats; do
            nvidia $source $target .unoptimized -Xcicc -O0
        done
        nvidia floats $target .fast -use_fast_math
    done
    for kernel in fft16 nlm reduce softmax spmv stencil27; do
        nvidia corpus.$kernel sm_90 .unoptimized -Xcicc -O0
    done
    nvidia floats sm_80 .unfused -fmad=false -ftz=true -prec-div=false -prec-sqrt=false
    for file in corpus.*.cu; do
        nvidia "${file%.cu}" sm_100 ""
    done

    for target in sm_75 sm_80 sm_86; do
        clang_cuda $target "" -O2
    done
    clang_cuda sm_75 .unoptimized -O0
    clang_cuda sm_75 .debug -O1 -g
    clang_cuda sm_80 .lineinfo -O2 -gline-tables-only
    clang_opencl -O2 ""
    clang_opencl -O0 .unoptimized

    $clang -x cl -cl-std=CL1.2 --target=nvptx64-nvidia-nvcl -Xclang -target-cpu -Xclang sm_30 -Xclang -target-feature \
        -Xclang +ptx32 -S -O2 -o clangopencl.sm_30.ptx clangopencl.cl || echo "not compiled: clangopencl sm_30"

    for target in sm_75 sm_80 sm_90 sm_100 sm_120; do
        runtime $target ""
    done
    runtime sm_90 .lineinfo -lineinfo
    runtime sm_90 .debug -G
    runtime sm_100 .rdc -rdc=true
    runtime sm_100a .fast -use_fast_math

    # pip install triton in an environment of its own, and TRITON_PYTHON is its python
    [ -z "$TRITON_PYTHON" ] || TRITON_DISABLE_LINE_INFO=1 TRITON_CACHE_DIR=$work/cache "$TRITON_PYTHON" tritonkernels.py

    for file in templates.*.ptx; do
        [ "$(without_module_id "$file")" != "$(without_module_id "$here/$file")" ] || rm "$file"
    done
    cp ./*.ptx "$here" && cd "$here" && rm -rf "$work"
}

if [ "$1" = -n ]; then
    cd src && source=$2 target=$3 && $nvcc -ptx -arch="$target" -o "$4/$source.$target.ptx" "$source.cu"
    exit
fi
[ "$1" = -c ] || build
failures=$(for file in *.ptx; do check "$file"; done)
[ -z "$failures" ] && echo "$(echo *.ptx | wc -w) files assemble" && exit 0
echo "$failures"
exit 1
