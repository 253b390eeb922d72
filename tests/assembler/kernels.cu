// The kernels of test_assembler: a plain one, shared memory, a function that is not inlined, and values that do not
// all fit under a low cap.
//     nvcc -arch=sm_75 -ptx -o kernels.ptx kernels.cu
// and then .version lowered to 7.8, so that older assemblers accept it too.

extern "C" __device__ __noinline__ float helper(float x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * x + i;
    return sum;
}

extern "C" __global__ void plain(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * 2;
}

extern "C" __global__ void reversed(float *data)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[255 - threadIdx.x];
}

extern "C" __global__ void caller(float *out, const float *in, int n)
{
    out[threadIdx.x] = helper(in[threadIdx.x], n);
}

extern "C" __global__ void crowded(float *data, int n)
{
    float value[40];
#pragma unroll
    for (int i = 0; i < 40; i++)
        value[i] = data[i * n + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 40; i++)
        data[i + threadIdx.x * n] = value[i] * value[(i * 7) % 40] + value[39 - i];
}
