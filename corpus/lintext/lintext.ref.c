#include "../reference.h"

void lintext_reference(const RefLaunch *launch, void **args);

// Rows of the output lie pitch elements apart; those of the picture do not have gaps.
void lintext_reference(const RefLaunch *launch, void **args)
{
    float *out = args[0];
    int pitch = *(const int *)args[1];
    int width = *(const int *)args[2];
    int height = *(const int *)args[3];
    int shift_x = *(const int *)args[4];
    int shift_y = *(const int *)args[5];
    const float *image = args[6];

    for (unsigned y = 0; y < launch->grid[1] * launch->block[1]; y++)
        for (unsigned x = 0; x < launch->grid[0] * launch->block[0]; x++)
            out[(int)y * pitch + (int)x] =
                image[((int)y + shift_y) % height * width + ((int)x + shift_x) % width];
}
