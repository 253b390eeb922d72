// Compiled by ptxopt-nvcc, with unseen.cu, which is not: a kernel that both launch.
__global__ void reverse(const float *in, float *out)
{
    extern __shared__ float part[];
    part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

void launch_reverse(const float *in, float *out, int blocks, int block)
{
    reverse<<<blocks, block, block * sizeof *in>>>(in, out);
}

const void *reverse_kernel()
{
    return reinterpret_cast<const void *>(reverse);
}
