#include "../reference.h"

#include <math.h>

void fft2_reference(const RefLaunch *launch, void **args);
void fft8_reference(const RefLaunch *launch, void **args);

// By the definition, in double precision: groups of radix numbers n / radix apart, turned by where they stand, each
// replaced by its discrete Fourier transform.
static void step(void **args, unsigned radix)
{
    const float *in = args[0];
    float *out = args[1];
    unsigned n = *(const unsigned *)args[2];
    unsigned span = *(const unsigned *)args[3];
    double pi = acos(-1.0), cosine[8], sine[8];

    for (unsigned k = 0; k < radix; k++) {
        cosine[k] = cos(-2.0 * pi * k / radix);
        sine[k] = sin(-2.0 * pi * k / radix);
    }
    for (unsigned i = 0; i < n / radix; i++) {
        unsigned j = i % span;
        double real[8], imaginary[8];
        for (unsigned k = 0; k < radix; k++) {
            double angle = -2.0 * pi * k * j / ((double)radix * span), c = cos(angle), s = sin(angle);
            double x = in[2 * (i + k * (n / radix))], y = in[2 * (i + k * (n / radix)) + 1];
            real[k] = x * c - y * s;
            imaginary[k] = x * s + y * c;
        }
        for (unsigned m = 0; m < radix; m++) {
            unsigned to = i / span * span * radix + j + m * span;
            double x = 0.0, y = 0.0;
            for (unsigned k = 0; k < radix; k++) {
                unsigned turn = m * k % radix;
                x += real[k] * cosine[turn] - imaginary[k] * sine[turn];
                y += real[k] * sine[turn] + imaginary[k] * cosine[turn];
            }
            out[2 * to] = (float)x;
            out[2 * to + 1] = (float)y;
        }
    }
}

void fft2_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    step(args, 2);
}

void fft8_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    step(args, 8);
}
