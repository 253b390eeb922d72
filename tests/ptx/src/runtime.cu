// Kernels as they are compiled at run time: templates, no headers, device functions.
template <typename T> __device__ T clamp(T v, T low, T high) { return v < low ? low : v > high ? high : v; }

extern "C" __global__ void scale(float *out, const float *in, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = clamp(factor * in[i], -1.0f, 1.0f);
}

template <typename T, int N> __global__ void reduce(T *out, const T *in)
{
    __shared__ T part[N];
    unsigned t = threadIdx.x;
    part[t] = in[blockIdx.x * N + t];
    __syncthreads();
    for (int s = N / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, part[0]);
}
template __global__ void reduce<float, 256>(float *, const float *);
template __global__ void reduce<int, 128>(int *, const int *);

__constant__ int table[4] = {1, -2, 3, -4};
__device__ __noinline__ long long mix(long long a, int b) { return a * 0x9E3779B97F4A7C15ll ^ table[b & 3]; }
extern "C" __global__ void __launch_bounds__(128, 4) hash(long long *data, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = mix(data[i], i) + clock64() * 0;
}
