// Shifts a picture around its edges by reading it through a texture over pitch-linear memory: the texture's addressing
// wraps, so the code has no edges.

extern "C" __global__ void lintext(float *out, int pitch, int width, int height, int shift_x, int shift_y,
                                   cudaTextureObject_t image)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    // The middle of the texel, so that no rounding leads to its neighbour.
    out[y * pitch + x] = tex2D<float>(image, (x + shift_x + 0.5f) / (float)width, (y + shift_y + 0.5f) / (float)height);
}
