#include "../reference.h"

#include <math.h>

void fft16_reference(const RefLaunch *launch, void **args);

// Each transform by its definition, in double precision: agrees with the kernel except for rounding.
void fft16_reference(const RefLaunch *launch, void **args)
{
    const float *in = args[0];
    float *out = args[1];
    const float *twiddle = args[2];
    int n = *(const int *)args[3];
    int span = *(const int *)args[4];
    int stride = n / 16;
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int i = 0; i < stride && i < threads; i++) {
        int j = i % span;
        double real[16], imaginary[16];
        for (int k = 0; k < 16; k++) {
            double a = in[2 * (i + k * stride)], b = in[2 * (i + k * stride) + 1];
            double c = twiddle[2 * (j * 16 + k)], d = twiddle[2 * (j * 16 + k) + 1];
            real[k] = a * c - b * d;
            imaginary[k] = a * d + b * c;
        }
        for (int k = 0; k < 16; k++) {
            double sumReal = 0.0, sumImaginary = 0.0;
            for (int m = 0; m < 16; m++) {
                double angle = -2.0 * 3.14159265358979323846 * k * m / 16.0;
                sumReal += real[m] * cos(angle) - imaginary[m] * sin(angle);
                sumImaginary += real[m] * sin(angle) + imaginary[m] * cos(angle);
            }
            int to = i / span * span * 16 + j + k * span;
            out[2 * to] = (float)sumReal;
            out[2 * to + 1] = (float)sumImaginary;
        }
    }
}
