"""A Triton kernel with fewer registers, without a GPU: Triton compiles, ptxopt rewrites. The launch stays as it is.

    pip install triton ptxopt-*.whl

Building with TRITON_PTXAS_PATH=/usr/local/bin/ptxopt-ptxas does the same to every kernel that Triton compiles.
"""
import os
import pathlib

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

import ptxopt

# The newest that it has, which reads the PTX that it writes.
os.environ["PTXOPT_PTXAS"] = str(pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas-blackwell")


@triton.jit
def softmax(out, rows, stride, n, size: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, size)
    x = tl.load(rows + row * stride + column, mask=column < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * stride + column, e / tl.sum(e, axis=0), mask=column < n)


source = triton.compiler.ASTSource(fn=softmax, constexprs={"size": 8192},
                                   signature={"out": "*fp32", "rows": "*fp32", "stride": "i32", "n": "i32",
                                              "size": "constexpr"})
compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
result = ptxopt.optimize(compiled.asm["ptx"], target_regs=64, O1=True, assembler="ptxas", warn=False)
for kernel in result.report.kernels:
    print(kernel.name, "needs", kernel.after.registers, "registers instead of", kernel.before.registers)
