#include "../reference.h"

#include <stdlib.h>

void blockmatch_reference(const RefLaunch *launch, void **args);

static int clamped(const unsigned char *image, int width, int height, int x, int y)
{
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return image[y * width + x];
}

void blockmatch_reference(const RefLaunch *launch, void **args)
{
    const unsigned char *current = args[0];
    const unsigned char *previous = args[1];
    int *best = args[2];
    int width = *(const int *)args[3];
    int height = *(const int *)args[4];

    for (int by = 0; by < (int)launch->grid[1]; by++)
        for (int bx = 0; bx < (int)launch->grid[0]; bx++) {
            int least = -1, where = 0;
            for (int t = 0; t < 256; t++) {
                int dx = t % 16 - 8, dy = t / 16 - 8, sum = 0;
                for (int y = 8 * by; y < 8 * by + 8; y++)
                    for (int x = 8 * bx; x < 8 * bx + 8; x++)
                        sum += abs(current[y * width + x] - clamped(previous, width, height, x + dx, y + dy));
                if (least < 0 || sum < least) {
                    least = sum;
                    where = t;
                }
            }
            best[by * (int)launch->grid[0] + bx] = least * 256 + where;
        }
}
