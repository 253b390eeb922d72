#include "../reference.h"

void imregionmax_reference(const RefLaunch *launch, void **args);

// The grid covers the image, which is width pixels wide; the image has a pixel more on every side.
void imregionmax_reference(const RefLaunch *launch, void **args)
{
    const float *image = args[0];
    float *marked = args[1];
    unsigned width = *(const unsigned *)args[2];
    unsigned pitch = *(const unsigned *)args[3];

    for (unsigned y = 0; y < launch->grid[1] * launch->block[1]; y++)
        for (unsigned x = 0; x < launch->grid[0] * launch->block[0]; x++) {
            float own = image[(y + 1) * pitch + x + 1];
            unsigned above = 0;
            for (unsigned j = 0; j < 3; j++)
                for (unsigned i = 0; i < 3; i++)
                    above += own > image[(y + j) * pitch + x + i];
            marked[y * width + x] = above == 8 ? 1.0f : 0.0f;
        }
}
