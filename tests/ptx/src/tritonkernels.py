"""Compiles small Triton kernels to PTX, without a GPU: files tritonNAME.TARGET.ptx in the working folder.

usage: TRITON_DISABLE_LINE_INFO=1 python tritonkernels.py   (without the variable the files name their source)
"""
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def axpy(x, y, n, a, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(y + i, a * tl.load(x + i, mask=m, other=0.0) + tl.load(y + i, mask=m, other=0.0), mask=m)


@triton.jit
def softmax(x, y, s, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * s + i, mask=i < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * s + i, v / tl.sum(v, axis=0), mask=i < n)


@triton.jit
def histogram(x, h, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(h + (tl.load(x + i, mask=i < n, other=0) & 255), 1, mask=i < n)


@triton.jit
def matmul(a, b, c, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sa + rk[None, :]
    pb = b + rk[:, None] * sb + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc += tl.dot(tl.load(pa), tl.load(pb))
        pa += BK
        pb += BK * sb
    tl.store(c + rm[:, None] * sc + rn[None, :], acc.to(tl.float16))


KERNELS = [
    ("axpy", axpy, {"x": "*fp32", "y": "*fp32", "n": "i32", "a": "fp32"}, {"B": 1024}),
    ("softmax", softmax, {"x": "*fp32", "y": "*fp32", "s": "i32", "n": "i32"}, {"B": 1024}),
    ("histogram", histogram, {"x": "*i32", "h": "*i32", "n": "i32"}, {"B": 512}),
    ("matmul", matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp16", "K": "i32", "sa": "i32", "sb": "i32", "sc": "i32"},
     {"BM": 64, "BN": 64, "BK": 32}),
]

for target, suffix, version in ((80, "", 83), (90, "a", 90), (100, "a", 90)):
    for name, kernel, types, constants in KERNELS:
        signature = dict(types, **{constant: "constexpr" for constant in constants})
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        compiled = triton.compile(source, target=GPUTarget("cuda", target, 32), options={"ptx_version": version})
        with open(f"triton{name}.sm_{target}{suffix}.ptx", "w") as out:
            out.write(compiled.asm["ptx"])
