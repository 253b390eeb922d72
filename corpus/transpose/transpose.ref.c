#include "../reference.h"

void transpose_naive_reference(const RefLaunch *launch, void **args);
void transpose_tiled_reference(const RefLaunch *launch, void **args);

// The grid covers the matrix.
static void transpose(float *out, const float *in, int width, int height)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            out[x * height + y] = in[y * width + x];
}

void transpose_naive_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    transpose(args[0], args[1], *(const int *)args[2], *(const int *)args[3]);
}

void transpose_tiled_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    transpose(args[0], args[1], *(const int *)args[2], *(const int *)args[3]);
}
