// Sobel edge filter on an image of bytes; the border stays as it was.

extern "C" __global__ void sobel(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= width - 1 || y < 1 || y >= height - 1)
        return;

    const unsigned char *p = in + y * width + x;
    int northWest = p[-width - 1], north = p[-width], northEast = p[-width + 1];
    int west = p[-1], east = p[1];
    int southWest = p[width - 1], south = p[width], southEast = p[width + 1];

    int gx = northEast + 2 * east + southEast - northWest - 2 * west - southWest;
    int gy = southWest + 2 * south + southEast - northWest - 2 * north - northEast;
    float magnitude = sqrtf((float)(gx * gx + gy * gy)) * 0.5f;
    out[y * width + x] = (unsigned char)fminf(magnitude, 255.0f);
}
