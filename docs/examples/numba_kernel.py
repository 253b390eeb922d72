"""A Numba kernel, coarsened: Numba compiles to PTX without a GPU, ptxopt rewrites it.

    pip install numba-cuda ptxopt-*.whl
"""
from numba import cuda, types

import ptxopt


def scale(a, b, s, n):
    i = cuda.grid(1)
    if i < n:
        b[i] = s * a[i]


ptx, _ = cuda.compile_ptx(scale, (types.float32[::1], types.float32[::1], types.float32, types.int32), cc=(9, 0))
result = ptxopt.optimize(ptx, coarsen=4, block=256, assembler="none")
for kernel in result.contracts:
    print("launch with a block of", result.launch(kernel, 256), "instead of 256:", kernel[:40])
