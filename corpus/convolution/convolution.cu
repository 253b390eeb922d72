// Convolution of an image with a square mask of any odd size; elements beyond the border count as zero.

extern "C" __global__ void convolution(const float *image, const float *mask, float *out, int width, int height,
                                       int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    int pitch = 2 * radius + 1;
    float sum = 0.0f;
    for (int j = -radius; j <= radius; j++) {
        if (y + j < 0 || y + j >= height)
            continue;
        for (int i = -radius; i <= radius; i++)
            if (x + i >= 0 && x + i < width)
                sum += image[(y + j) * width + x + i] * mask[(j + radius) * pitch + i + radius];
    }
    out[y * width + x] = sum;
}
