// Marks the regional maxima of an image: pixels above all of their eight neighbours. The image has a border of one
// pixel.

extern "C" __global__ void imregionmax(const float *image, float *marked, int width, int pitch)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int idy = blockIdx.y * blockDim.y + threadIdx.y;
    const float *at = image + (idy + 1) * pitch + idx + 1;

    float own = at[0];
    float is = 1.0f;
    if (at[-pitch - 1] >= own)
        is = 0.0f;
    if (at[-pitch] >= own)
        is = 0.0f;
    if (at[-pitch + 1] >= own)
        is = 0.0f;
    if (at[-1] >= own)
        is = 0.0f;
    if (at[1] >= own)
        is = 0.0f;
    if (at[pitch - 1] >= own)
        is = 0.0f;
    if (at[pitch] >= own)
        is = 0.0f;
    if (at[pitch + 1] >= own)
        is = 0.0f;
    marked[idy * width + idx] = is;
}
