// With other_unit.cu: a program of two units that are linked for the device. Each has functions and variables that the
// other uses, and a function and a variable of its own of the same names. Its argument is the block size.
#include <cstdio>
#include <cstdlib>
#include <vector>

extern __device__ int counted;
extern __constant__ float weights[2];
__device__ float first_weight = 2;
__device__ float weigh(float value);
__global__ void count(const float *a, int n);

static __device__ int own = 1;
static __device__ __noinline__ float add(float value)
{
    return value + own;
}

__global__ void weighted(float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = add(weigh(a[i]));
}

__global__ void double_(float *a);

// Every thread of the block takes part: a block of another size gives another result.
__global__ void reverse(const float *in, float *out)
{
    extern __shared__ float part[];
    part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

int main(int argc, char **argv)
{
    const int block = argc > 1 ? atoi(argv[1]) : 128, blocks = 4, n = block * blocks;
    std::vector<float> in(n), out(n), reversed(n);
    for (int i = 0; i < n; i++)
        in[i] = i;
    float *a, *b, ours[2] = {0, 0};
    int found = 0, wrong = 0, different = 0;
    cudaMalloc(&a, n * sizeof *a);
    cudaMalloc(&b, n * sizeof *b);
    cudaMemcpy(a, in.data(), n * sizeof *a, cudaMemcpyHostToDevice);
    weighted<<<blocks, block>>>(a);
    double_<<<blocks, block>>>(a);
    count<<<blocks, block>>>(a, n);
    reverse<<<blocks, block, block * sizeof *a>>>(a, b);
    cudaMemcpy(out.data(), a, n * sizeof *a, cudaMemcpyDeviceToHost);
    cudaMemcpy(reversed.data(), b, n * sizeof *b, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&found, counted, sizeof found);
    cudaMemcpyFromSymbol(ours, weights, sizeof ours);
    for (int i = 0; i < n; i++) {
        wrong += out[i] != 2 * (2 * in[i] + 3 * 10 + 1);
        different += reversed[i] != out[i / block * block + block - 1 - i % block];
    }
    printf("%d wrong, %d different, %s counted, weights %g and %g, %s\n", wrong, different,
           found == n ? "all" : "not all", ours[0], ours[1], cudaGetErrorString(cudaGetLastError()));
    return wrong || different;
}
