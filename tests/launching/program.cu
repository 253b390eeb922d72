// A whole program, as users write it: several kernels, streams, events, variables of the device, a template, and blocks
// of a size that only the running program knows. Prints its findings. Its argument is the block size.
#include <cstdio>
#include <cstdlib>
#include <vector>

__device__ int total;
__constant__ float weights[2] = {2, 3};

// Every thread of the block takes part: a block of another size gives another result.
__global__ void reverse(const float *in, float *out)
{
    __shared__ float part[256];
    part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

template <class T> __global__ void weighted(const T *a, const T *b, T *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = weights[0] * a[i] + weights[1] * b[i];
}

__global__ void count(const float *a, float least)
{
    if (a[blockIdx.x * blockDim.x + threadIdx.x] >= least)
        atomicAdd(&total, 1);
}

#define CHECK(call)                                                                                                    \
    if (cudaError_t error = call) {                                                                                    \
        printf("%s: %s\n", #call, cudaGetErrorString(error));                                                          \
        return 1;                                                                                                      \
    }

int main(int argc, char **argv)
{
    const int block = argc > 1 ? atoi(argv[1]) : 128, blocks = 8, n = block * blocks;
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; i++)
        in[i] = i;
    float *a, *b, *c, milliseconds;
    CHECK(cudaMalloc(&a, n * sizeof *a));
    CHECK(cudaMalloc(&b, n * sizeof *b));
    CHECK(cudaMalloc(&c, n * sizeof *c));
    cudaStream_t one, other;
    cudaEvent_t begin, ready, end;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&ready));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMemcpyAsync(a, in.data(), n * sizeof *a, cudaMemcpyHostToDevice, one));
    CHECK(cudaEventRecord(begin, one));
    reverse<<<blocks, block, 0, one>>>(a, b);
    CHECK(cudaEventRecord(ready, one));
    CHECK(cudaStreamWaitEvent(other, ready, 0));
    weighted<float><<<blocks, block, 0, other>>>(a, b, c, n);
    for (int i = 0; i < 3; i++)
        count<<<blocks, block, 0, other>>>(a, n / 2);
    CHECK(cudaEventRecord(end, other));
    CHECK(cudaMemcpyAsync(out.data(), c, n * sizeof *c, cudaMemcpyDeviceToHost, other));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    int counted = 0, wrong = 0;
    CHECK(cudaMemcpyFromSymbol(&counted, total, sizeof counted));
    for (int i = 0; i < n; i++) {
        int mirrored = i / block * block + block - 1 - i % block;
        wrong += out[i] != 2 * in[i] + 3 * in[mirrored];
    }
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, (const void *)reverse));
    printf("%d wrong, %d counted of %d, at most %d threads, %s\n", wrong, counted, 3 * (n / 2),
           attributes.maxThreadsPerBlock, milliseconds > 0 ? "some time" : "no time");
    CHECK(cudaGetLastError());
    return wrong != 0 || counted != 3 * (n / 2);
}
