#include "../reference.h"

#include <math.h>

void boxfilter_columns_reference(const RefLaunch *launch, void **args);
void boxfilter_rows_reference(const RefLaunch *launch, void **args);

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static float channel(unsigned pixel, int c)
{
    return (float)(pixel >> 8 * c & 255);
}

// One line of n pixels that lie step apart. The sums run along the line as in the kernel: their rounding adds up.
static void filter_line(const unsigned *in, unsigned *out, int step, int n, int radius)
{
    const float unit = 1.0f / 255.0f;
    float scale = 1.0f / (float)(2 * radius + 1);
    for (int i = 0; i < n; i++)
        out[i * step] = 0;
    for (int c = 0; c < 4; c++) {
        float sum = channel(in[0], c) * unit * (float)(radius + 1);
        for (int i = 1; i <= radius; i++)
            sum = fmaf(channel(in[clamp(i, n) * step], c), unit, sum);
        for (int i = 0; i < n; i++) {
            float mean = fminf(fmaxf(sum * scale, 0.0f), 1.0f);
            out[i * step] |= (unsigned)(mean * 255.0f) << 8 * c;
            float leaving = channel(in[clamp(i - radius, n) * step], c) * unit;
            sum += channel(in[clamp(i + radius + 1, n) * step], c) * unit - leaving;
        }
    }
}

void boxfilter_columns_reference(const RefLaunch *launch, void **args)
{
    int width = *(const int *)args[2];
    (void)launch;
    for (int x = 0; x < width; x++)
        filter_line((const unsigned *)args[0] + x, (unsigned *)args[1] + x, width, *(const int *)args[3],
                    *(const int *)args[4]);
}

void boxfilter_rows_reference(const RefLaunch *launch, void **args)
{
    int width = *(const int *)args[2];
    int height = *(const int *)args[3];
    (void)launch;
    for (int y = 0; y < height; y++)
        filter_line((const unsigned *)args[0] + y * width, (unsigned *)args[1] + y * width, 1, width,
                    *(const int *)args[4]);
}
