/* Kernels that say how they are to be coarsened (docs/formats.md):
 *
 *     ptxopt-nvcc -Xptxas -coarsen=source directive.cu
 *
 * builds them so, and nvcc alone ignores what they say. */
__global__ void scale(float *data, float by, int n)
{
    asm volatile("// ptxopt: coarsen x4");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= by;
}

/* Pairs of neighbours, and two rows of blocks in one. */
__global__ void transpose(float *out, const float *in, int width, int height)
{
    asm volatile("// ptxopt: coarsen x2,by2 stride unit");
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[x * height + y] = in[y * width + x];
}
