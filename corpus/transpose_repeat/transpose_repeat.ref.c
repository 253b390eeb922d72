#include "../reference.h"

void transpose_repeat_reference(const RefLaunch *launch, void **args);
void transpose_repeat_tiled_reference(const RefLaunch *launch, void **args);

// The grid covers the matrix in tiles of 16 x 16. Without a repetition nothing is written.
static void transpose(void **args)
{
    float *out = args[0];
    const float *in = args[1];
    int width = *(const int *)args[2];
    int height = *(const int *)args[3];
    int repeats = *(const int *)args[4];

    for (int y = 0; repeats > 0 && y < height; y++)
        for (int x = 0; x < width; x++)
            out[x * height + y] = in[y * width + x];
}

void transpose_repeat_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    transpose(args);
}

void transpose_repeat_tiled_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    transpose(args);
}
