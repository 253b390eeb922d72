#include "../reference.h"

#include <math.h>

void convolution_reference(const RefLaunch *launch, void **args);

// The grid covers the image.
void convolution_reference(const RefLaunch *launch, void **args)
{
    const float *image = args[0];
    const float *mask = args[1];
    float *out = args[2];
    int width = *(const int *)args[3];
    int height = *(const int *)args[4];
    int radius = *(const int *)args[5];

    (void)launch;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float sum = 0.0f;
            for (int v = y - radius; v <= y + radius; v++)
                for (int u = x - radius; u <= x + radius; u++)
                    if (v >= 0 && v < height && u >= 0 && u < width)
                        sum = fmaf(image[v * width + u],
                                   mask[(v - y + radius) * (2 * radius + 1) + u - x + radius], sum);
            out[y * width + x] = sum;
        }
}
