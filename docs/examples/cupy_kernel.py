"""CUDA C++ to a coarsened kernel with CuPy: its NVRTC compiles, ptxopt rewrites, and the launch follows the contract.
Without a GPU it stops before the launch.

    pip install cupy-cuda13x nvidia-cuda-nvrtc ptxopt-*.whl
"""
import pathlib
import sys
import tempfile

import cupy
from cupy.cuda import nvrtc

import ptxopt

SOURCE = """
extern "C" __global__ void scale(const float *a, float *b, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        b[i] = s * a[i];
}
"""
COUNT, BLOCK = 1024, 256

program = nvrtc.createProgram(SOURCE, "scale.cu", [], [])
nvrtc.compileProgram(program, ["-arch=compute_90"])
result = ptxopt.optimize(nvrtc.getPTX(program), coarsen={"scale": 4}, block=BLOCK)
block = result.launch("scale", BLOCK)
print("launch scale with", block, "instead of", BLOCK)
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as error:
    print("not launched:", error)
    sys.exit()

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "scale.ptx"
    path.write_text(result.text)
    kernel = cupy.RawModule(path=str(path)).get_function("scale")
    a = cupy.arange(COUNT, dtype=cupy.float32)
    b = cupy.empty_like(a)
    kernel((COUNT // BLOCK,), block, (a, b, cupy.float32(3), cupy.int32(COUNT)))
    print("wrong:", int((b != 3 * a).sum()))
