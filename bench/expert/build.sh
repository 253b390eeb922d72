#!/bin/sh
# Regenerates the PTX of the kernels and of their forms by hand.   usage: build.sh [NAME...]
# The files in the repository came from nvcc 13.0.88.
cd "$(dirname "$0")" || exit 2
[ $# -gt 0 ] || set -- axpby conv3 gemm orbit tiles
for name in "$@"; do
    for form in "$name" "$name.expert"; do
        "${NVCC:-nvcc}" -ptx -arch=sm_90 -o "$form.ptx" "$form.cu" || exit 1
    done
done
