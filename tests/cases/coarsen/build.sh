#!/usr/bin/env bash
# Makes shapes.*.ptx of shapes.cu and hand/loops.ptx of loops.cu again, with nvcc.
# usage: build.sh [FOLDER]   (the default is this one)
#
# nvcc hashes the path of its source into the names of static functions: it is the same on every machine.
set -euo pipefail
cd "$(dirname "$0")"
to="$(realpath "${1:-.}")"
work=/tmp/ptxopt-shapes
rm -rf "$work"
mkdir "$work"
cp shapes.cu loops.cu "$work"
cd "$work"
nvcc="${NVCC:-nvcc}"
"$nvcc" -std=c++17 -arch=sm_75 -ptx -o shapes.sm_75.ptx shapes.cu
"$nvcc" -std=c++17 -arch=sm_90 -ptx -o shapes.sm_90.ptx shapes.cu
"$nvcc" -std=c++17 -arch=sm_80 -Xcicc -O0 -ptx -o shapes.unoptimized.ptx shapes.cu
"$nvcc" -std=c++17 -arch=sm_80 -diag-suppress 177 -ptx -o loops.ptx loops.cu # not every kernel uses its tile
mkdir -p "$to/hand"
mv loops.ptx "$to/hand"
cp ./*.ptx "$to"
rm -rf "$work"
