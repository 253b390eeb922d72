// Fills a picture through a surface, and reads it back, turned, through a texture that interpolates.

extern "C" __global__ void surfacewrite(const float *data, int width, int height, cudaSurfaceObject_t surface)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    surf2Dwrite(data[y * width + x], surface, x * (int)sizeof(float), y, cudaBoundaryModeTrap);
}

extern "C" __global__ void surfacewrite_turn(float *out, int width, int height, float cosine, float sine,
                                             cudaTextureObject_t image)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = x / (float)width - 0.5f;
    float v = y / (float)height - 0.5f;

    out[y * width + x] = tex2D<float>(image, u * cosine - v * sine + 0.5f, v * cosine + u * sine + 0.5f);
}
