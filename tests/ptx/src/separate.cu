// Additions of separate compilation: external functions and variables, weak and inline definitions.

extern __device__ float elsewhere(float x, const int *table);
extern __device__ int counters[];
extern __constant__ double scale;
extern __shared__ double tile[];

__device__ int published[4] = {1, 2, 3, 4};
__device__ int &alias = published[2];

__device__ float exported(float x)
{
    return x * (float)scale;
}

__device__ __attribute__((weak)) int replaceable(int x)
{
    return x + 1;
}

template <typename T> __device__ __noinline__ T shared(T x)
{
    static __device__ T state = 3;
    state += x;
    return state * 2;
}

typedef float (*Callback)(float);
extern __device__ Callback callback;

extern "C" __global__ void linked(float *out)
{
    int i = threadIdx.x;
    tile[i] = elsewhere(out[i], counters);
    __syncthreads();
    out[i] = exported((float)tile[63 - i]) + replaceable(counters[i]) + shared<int>(i) + callback(out[i]) + alias;
}
