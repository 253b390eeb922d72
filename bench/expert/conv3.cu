// A 3 x 3 convolution of the inner pixels, as PolyBench's 2DCONV.
extern "C" __global__ void conv3(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
        out[y * width + x] = 0.2f * in[(y - 1) * width + x - 1] + 0.5f * in[(y - 1) * width + x] -
                             0.8f * in[(y - 1) * width + x + 1] - 0.3f * in[y * width + x - 1] +
                             0.6f * in[y * width + x] - 0.9f * in[y * width + x + 1] +
                             0.4f * in[(y + 1) * width + x - 1] + 0.7f * in[(y + 1) * width + x] +
                             0.1f * in[(y + 1) * width + x + 1];
}
