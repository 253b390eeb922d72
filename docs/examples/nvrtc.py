"""CUDA C++ to a coarsened cubin, without a GPU: NVRTC compiles, ptxopt rewrites.

    pip install cuda-bindings nvidia-cuda-nvrtc ptxopt-*.whl
"""
from cuda.bindings import nvrtc

import ptxopt

SOURCE = b"""
extern "C" __global__ void scale(const float *a, float *b, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        b[i] = s * a[i];
}
"""


def compile_ptx(source, *options):
    def call(function, *arguments):
        error, *values = function(*arguments)
        if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(str(error))
        return values[0] if values else None

    program = call(nvrtc.nvrtcCreateProgram, source, b"scale.cu", 0, [], [])
    call(nvrtc.nvrtcCompileProgram, program, len(options), list(options))
    ptx = b" " * call(nvrtc.nvrtcGetPTXSize, program)
    call(nvrtc.nvrtcGetPTX, program, ptx)
    return ptx


result = ptxopt.optimize(compile_ptx(SOURCE, b"--gpu-architecture=sm_90"), coarsen={"scale": 4}, block=256,
                         assembler="none")
print("launch scale<<<grid, 256>>> with a block of", result.launch("scale", 256))
