// Compiled without ptxopt: launches a kernel of seen.cu by its address, which nothing can adapt, and one of
// its own.
#include <cstdio>
#include <vector>

void launch_reverse(const float *in, float *out, int blocks, int block);
const void *reverse_kernel();

__global__ void add_one(float *a)
{
    a[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

int main()
{
    const int block = 128, blocks = 4, n = block * blocks;
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; i++)
        in[i] = i;
    float *a, *b, *c;
    int wrong = 0;
    cudaMalloc(&a, n * sizeof *a);
    cudaMalloc(&b, n * sizeof *b);
    cudaMalloc(&c, n * sizeof *c);
    cudaMemcpy(a, in.data(), n * sizeof *a, cudaMemcpyHostToDevice);
    void *arguments[] = {&b, &c};
    launch_reverse(a, b, blocks, block);
    add_one<<<blocks, block>>>(b);
    cudaLaunchKernel(reverse_kernel(), dim3(blocks), dim3(block), arguments, block * sizeof *a, nullptr);
    cudaMemcpy(out.data(), c, n * sizeof *c, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        wrong += out[i] != in[i] + 1;
    printf("%d wrong, %s\n", wrong, cudaGetErrorString(cudaGetLastError()));
    return wrong != 0;
}
