// The second unit of unit.cu.
extern __device__ float first_weight;
__device__ int counted;
__constant__ float weights[2] = {2, 3};

static __device__ int own = 10;
static __device__ __noinline__ float add(float value)
{
    return value + weights[1] * own;
}

__device__ float weigh(float value)
{
    return add(first_weight * value);
}

__global__ void double_(float *a)
{
    a[blockIdx.x * blockDim.x + threadIdx.x] *= 2;
}

__global__ void count(const float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && a[i] >= 0)
        atomicAdd(&counted, 1);
}
