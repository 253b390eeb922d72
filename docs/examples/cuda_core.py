"""CUDA C++ to a coarsened kernel with cuda.core: NVRTC compiles, ptxopt rewrites, and the launch follows the contract.

    pip install cuda-core[cu13] nvidia-cuda-nvrtc ptxopt-*.whl
"""
import ctypes

from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, ObjectCode, Program, ProgramOptions, launch

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


def check(result):
    error, *values = result
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(str(error))
    return values[0] if values else None


device = Device(0)
device.set_current()
compiled = Program(SOURCE, "c++", ProgramOptions(arch="sm_90")).compile("ptx")
result = ptxopt.optimize(compiled.code, coarsen={"scale": 4}, block=BLOCK)
kernel = ObjectCode.from_ptx(result.text.encode()).get_kernel("scale")
config = LaunchConfig(grid=COUNT // BLOCK, block=result.launch("scale", BLOCK))
print("launch scale with", config.block, "instead of", BLOCK)

numbers, got = (ctypes.c_float * COUNT)(*range(COUNT)), (ctypes.c_float * COUNT)()
size = ctypes.sizeof(numbers)
a, b = check(driver.cuMemAlloc(size)), check(driver.cuMemAlloc(size))
check(driver.cuMemcpyHtoD(a, ctypes.addressof(numbers), size))
stream = device.create_stream()
launch(stream, config, kernel, int(a), int(b), ctypes.c_float(3), ctypes.c_int(COUNT))
stream.sync()
check(driver.cuMemcpyDtoH(ctypes.addressof(got), b, size))
print("wrong:", sum(x != 3 * i for i, x in enumerate(got)))
