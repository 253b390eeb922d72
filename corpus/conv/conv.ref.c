#include "../reference.h"

#include <math.h>

void conv_reference(const RefLaunch *launch, void **args);

// The grid covers the image, which is width elements wide.
void conv_reference(const RefLaunch *launch, void **args)
{
    const float *image = args[0];
    const float *mask = args[1];
    float *out = args[2];
    unsigned width = *(const unsigned *)args[3];
    unsigned pitch = *(const unsigned *)args[4];
    unsigned size = *(const unsigned *)args[5];

    for (unsigned y = 0; y < launch->grid[1] * launch->block[1]; y++)
        for (unsigned x = 0; x < launch->grid[0] * launch->block[0]; x++) {
            float sum = 0.0f;
            for (unsigned tap = 0; tap < size * size; tap++)
                sum = fmaf(image[(y + tap / size) * pitch + x + tap % size], mask[tap], sum);
            out[y * width + x] = sum;
        }
}
