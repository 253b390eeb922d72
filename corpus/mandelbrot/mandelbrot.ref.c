#include "../reference.h"

#include <math.h>

void mandelbrot_reference(const RefLaunch *launch, void **args);

// Products and sums contracted as nvcc does it: the last steps before an escape depend on every bit.
static int escape(float cr, float ci, int limit)
{
    float ci2 = ci * ci, right = cr - 0.25f, next = cr + 1.0f;
    float q = fmaf(right, right, ci2);
    float zr = 0.0f, zi = 0.0f;
    int i = 0;

    if (q * (right + q) < 0.25f * ci * ci || fmaf(next, next, ci2) < 0.0625f)
        return limit;
    for (; i < limit; i++) {
        float square_r = zr * zr, square_i = zi * zi;
        if (square_r + square_i > 4.0f)
            break;
        zi = fmaf(zr + zr, zi, ci);
        zr = square_r - square_i + cr;
    }
    return i;
}

// The grid covers the image.
void mandelbrot_reference(const RefLaunch *launch, void **args)
{
    int *out = args[0];
    int width = *(const int *)args[1];
    int height = *(const int *)args[2];
    float left = *(const float *)args[3];
    float top = *(const float *)args[4];
    float step = *(const float *)args[5];
    int limit = *(const int *)args[6];

    (void)launch;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            out[y * width + x] = escape(fmaf((float)x, step, left), fmaf(-(float)y, step, top), limit);
}
