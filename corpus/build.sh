#!/bin/sh
# Regenerates the PTX beside every CUDA source of the corpus.   usage: build.sh [NAME...]
# The files in the repository came from nvcc 13.0.88 and clang 14.0.6.
cd "$(dirname "$0")" || exit 2
nvcc=${NVCC:-nvcc}
clang=${CLANG:-clang}

# Compiled for the newest architecture too, and by clang.
newest='attention fft16 matmul_naive matmul_regtile nbody reduce softmax stencil27'
clangs='binarysearch bitonic convolution dwthaar histogram64 matmul_naive matmul_tiled reduce scan spmv stencil1d
stencil27 synth transpose'

# True if $1 is one of the words $2.
is_one_of() {
    for word in $2; do
        [ "$word" != "$1" ] || return 0
    done
    return 1
}

# Compiled within the folder, so that the output contains no path.
with_nvcc() {
    (cd "$1" && $nvcc -ptx -arch="$2" -o "$1.$2.ptx" "$1.cu")
}

with_clang() {
    (cd "$1" && $clang -x cuda --cuda-device-only --cuda-gpu-arch="$2" -nocudainc -nocudalib -O2 -S \
        -include ../clang.h -o "$1.clang.$2.ptx" "$1.cu")
}

[ $# -gt 0 ] || set -- */
status=0
for name in "$@"; do
    name=${name%/}
    with_nvcc "$name" sm_75 || status=1
    with_nvcc "$name" sm_90 || status=1
    if is_one_of "$name" "$newest"; then
        with_nvcc "$name" sm_120 || status=1
    fi
    if is_one_of "$name" "$clangs"; then
        with_clang "$name" sm_75 || status=1
    fi
done
exit $status
