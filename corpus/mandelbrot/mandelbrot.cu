// Escape times of the Mandelbrot set: threads return early, and leave the loop each at its own time.

extern "C" __global__ void mandelbrot(int *out, int width, int height, float left, float top, float step, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float cr = left + x * step;
    float ci = top - y * step;

    // Inside the main cardioid or the disc left of it: nothing escapes, so nothing is iterated.
    float q = (cr - 0.25f) * (cr - 0.25f) + ci * ci;
    if (q * (q + (cr - 0.25f)) < 0.25f * ci * ci || (cr + 1.0f) * (cr + 1.0f) + ci * ci < 0.0625f) {
        out[y * width + x] = limit;
        return;
    }

    float zr = 0.0f;
    float zi = 0.0f;
    for (int i = 0; i < limit; i++) {
        // Rounded one by one: contracted or not, the counts would differ.
        float squareR = __fmul_rn(zr, zr);
        float squareI = __fmul_rn(zi, zi);
        if (squareR + squareI > 4.0f) {
            out[y * width + x] = i;
            return;
        }
        zi = 2.0f * zr * zi + ci;
        zr = squareR - squareI + cr;
    }
    out[y * width + x] = limit;
}
