// Declarations of a kernel about its launches, and parameters of every shape.

struct Large {
    int values[100];
    double last;
};

struct Empty {
};

struct __align__(2) Odd {
    char letters[3];
    short half;
};

extern "C" __global__ void __launch_bounds__(128) atMost(int *data)
{
    data[threadIdx.x]++;
}

extern "C" __global__ void __launch_bounds__(256, 4) atMostAtLeast(int *data)
{
    data[threadIdx.x]--;
}

extern "C" __global__ void __maxnreg__(40) capped(float *data, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += data[i] * data[n - i];
    data[threadIdx.x] = sum;
}

extern "C" __global__ void nothing()
{
}

extern "C" __global__ void parameters(char a, unsigned short b, bool c, float d, double e, long long f, Large g, Odd h,
                                      Empty, float4 j, int *out, const __grid_constant__ Large k)
{
    int i = threadIdx.x;
    out[i] = a + b + c + (int)d + (int)e + (int)f + g.values[i % 100] + h.letters[i % 3] + h.half + (int)j.z +
             k.values[i % 100] + (int)k.last;
}

extern "C" __global__ void geometry(uint3 *out)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = make_uint3(block, thread, warpSize);
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __launch_bounds__(64, 2, 4) clustered(int *data)
{
    data[threadIdx.x] += 5;
}

extern "C" __global__ void __cluster_dims__(2, 2, 1) __block_size__((64, 1, 1)) sized(int *data)
{
    data[threadIdx.x] += 6;
}
#endif
