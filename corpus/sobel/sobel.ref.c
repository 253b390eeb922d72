#include "../reference.h"

#include <math.h>

void sobel_reference(const RefLaunch *launch, void **args);

// The grid covers the image.
void sobel_reference(const RefLaunch *launch, void **args)
{
    const unsigned char *in = args[0];
    unsigned char *out = args[1];
    int width = *(const int *)args[2];
    int height = *(const int *)args[3];

    (void)launch;
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            int gx = 0, gy = 0;
            for (int k = -1; k <= 1; k++) {
                int weight = k == 0 ? 2 : 1;
                gx += weight * (in[(y + k) * width + x + 1] - in[(y + k) * width + x - 1]);
                gy += weight * (in[(y + 1) * width + x + k] - in[(y - 1) * width + x + k]);
            }
            float magnitude = sqrtf((float)(gx * gx + gy * gy)) * 0.5f;
            out[y * width + x] = (unsigned char)(magnitude < 255.0f ? magnitude : 255.0f);
        }
}
