#include "../reference.h"

void demosaic_reference(const RefLaunch *launch, void **args);

// The mean of the neighbours of (x, y) whose place in the pattern of two by two is (px, py): two or four of them.
static float mean(const float *raw, unsigned pitch, unsigned x, unsigned y, unsigned px, unsigned py)
{
    const float *at = raw + (y + 1) * pitch + x + 1;
    int same_column = x % 2 == px, same_row = y % 2 == py;

    if (same_column && same_row)
        return at[0];
    if (same_row)
        return (at[-1] + at[1]) * 0.5f;
    if (same_column)
        return (*(at - pitch) + at[pitch]) * 0.5f;
    return (*(at - pitch - 1) + *(at - pitch + 1) + at[pitch - 1] + at[pitch + 1]) * 0.25f;
}

// The grid covers the image, which is width pixels wide; raw has a pixel more on every side.
void demosaic_reference(const RefLaunch *launch, void **args)
{
    const float *raw = args[0];
    float *red = args[1];
    float *green = args[2];
    float *blue = args[3];
    unsigned width = *(const unsigned *)args[4];
    unsigned pitch = *(const unsigned *)args[5];

    for (unsigned y = 0; y < launch->grid[1] * launch->block[1]; y++)
        for (unsigned x = 0; x < launch->grid[0] * launch->block[0]; x++) {
            const float *at = raw + (y + 1) * pitch + x + 1;
            float sides = (at[-1] + at[1]) * 0.5f;
            float ends = (*(at - pitch) + at[pitch]) * 0.5f;
            red[y * width + x] = mean(raw, pitch, x, y, 0, 0);
            blue[y * width + x] = mean(raw, pitch, x, y, 1, 1);
            green[y * width + x] = x % 2 != y % 2 ? at[0] : (sides + ends) * 0.5f;
        }
}
