// Colour image from a Bayer sensor, bilinear: even rows hold red and green, odd rows green and blue, and the colours
// that a pixel lacks are the means of its neighbours that have them. A border of one pixel makes guards unnecessary.

extern "C" __global__ void demosaic(const float *raw, float *red, float *green, float *blue, int width, int pitch)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int idy = blockIdx.y * blockDim.y + threadIdx.y;
    const float *at = raw + (idy + 1) * pitch + idx + 1;

    float own = at[0];
    float horizontal = (at[-1] + at[1]) * 0.5f;
    float vertical = (at[-pitch] + at[pitch]) * 0.5f;
    float cross = (horizontal + vertical) * 0.5f;
    float diagonal = (at[-pitch - 1] + at[-pitch + 1] + at[pitch - 1] + at[pitch + 1]) * 0.25f;

    float r, g, b;
    if (idy % 2 == 0) {
        if (idx % 2 == 0) {
            r = own;
            g = cross;
            b = diagonal;
        } else {
            r = horizontal;
            g = own;
            b = vertical;
        }
    } else {
        if (idx % 2 == 0) {
            r = vertical;
            g = own;
            b = horizontal;
        } else {
            r = diagonal;
            g = cross;
            b = own;
        }
    }
    red[idy * width + idx] = r;
    green[idy * width + idx] = g;
    blue[idy * width + idx] = b;
}
