#!/usr/bin/env bash
# Makes shapes.*.ptx of shapes.cu again, with nvcc.
set -euo pipefail
cd "$(dirname "$0")"
nvcc -std=c++17 -arch=sm_75 -ptx -o shapes.sm_75.ptx shapes.cu
nvcc -std=c++17 -arch=sm_90 -ptx -o shapes.sm_90.ptx shapes.cu
nvcc -std=c++17 -arch=sm_80 -Xcicc -O0 -ptx -o shapes.unoptimized.ptx shapes.cu
