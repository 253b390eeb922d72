#include "../reference.h"

#include <math.h>

void nlm_reference(const RefLaunch *launch, void **args);

static double pixel(const float *image, int width, int height, int x, int y)
{
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return image[y * width + x];
}

// The grid covers the image. In double precision: the kernel's exponential is approximate.
void nlm_reference(const RefLaunch *launch, void **args)
{
    const float *in = args[0];
    float *out = args[1];
    int width = *(const int *)args[2];
    int height = *(const int *)args[3];
    double strength = *(const float *)args[4];

    (void)launch;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double sum = 0.0, weights = 0.0;
            for (int wy = -2; wy <= 2; wy++)
                for (int wx = -2; wx <= 2; wx++) {
                    double distance = 0.0;
                    for (int j = -1; j <= 1; j++)
                        for (int i = -1; i <= 1; i++) {
                            double difference = pixel(in, width, height, x + wx + i, y + wy + j) -
                                                pixel(in, width, height, x + i, y + j);
                            distance += difference * difference;
                        }
                    double weight = exp(-distance * strength);
                    sum += weight * pixel(in, width, height, x + wx, y + wy);
                    weights += weight;
                }
            out[y * width + x] = (float)(sum / weights);
        }
}
