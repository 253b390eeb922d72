// Convolution in its simplest form. The image is padded: a thread at (idx, idy) reads the size x size elements from
// there on, so nothing is guarded.

extern "C" __global__ void conv(const float *image, const float *mask, float *out, int width, int pitch, int size)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int idy = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++)
            sum += image[(idy + j) * pitch + idx + i] * mask[j * size + i];
    out[idy * width + idx] = sum;
}
