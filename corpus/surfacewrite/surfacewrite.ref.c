#include "../reference.h"

#include <math.h>
#include <string.h>

void surfacewrite_reference(const RefLaunch *launch, void **args);
void surfacewrite_turn_reference(const RefLaunch *launch, void **args);

void surfacewrite_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    memcpy(args[3], args[0], (size_t)*(const int *)args[1] * (size_t)*(const int *)args[2] * sizeof(float));
}

// The picture repeats in both directions.
static double texel(const float *image, int width, int height, int x, int y)
{
    return image[(y % height + height) % height * width + (x % width + width) % width];
}

// Bilinear, with exact weights: those of the hardware have eight fractional bits.
void surfacewrite_turn_reference(const RefLaunch *launch, void **args)
{
    float *out = args[0];
    int width = *(const int *)args[1];
    int height = *(const int *)args[2];
    double cosine = *(const float *)args[3], sine = *(const float *)args[4];
    const float *image = args[5];

    (void)launch;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double u = (double)x / width - 0.5, v = (double)y / height - 0.5;
            double s = (u * cosine - v * sine + 0.5) * width - 0.5;
            double t = (v * cosine + u * sine + 0.5) * height - 0.5;
            int column = (int)floor(s), row = (int)floor(t);
            double a = s - column, b = t - row;
            double above = (1 - a) * texel(image, width, height, column, row) +
                           a * texel(image, width, height, column + 1, row);
            double below = (1 - a) * texel(image, width, height, column, row + 1) +
                           a * texel(image, width, height, column + 1, row + 1);
            out[y * width + x] = (float)((1 - b) * above + b * below);
        }
}
