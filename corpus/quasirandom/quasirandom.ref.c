#include "../reference.h"

#include <math.h>

void inverse_cnd_reference(const RefLaunch *launch, void **args);
void quasirandom_reference(const RefLaunch *launch, void **args);

// Moro's approximation in double precision; a null pointer instead of points means evenly spaced ones.
static double inverse_normal(double point)
{
    static const double a[] = {2.50662823884, -18.61500062529, 41.39119773534, -25.44106049637};
    static const double b[] = {1, -8.4735109309, 23.08336743743, -21.06224101826, 3.13082909833};
    static const double c[] = {0.337475482272615, 0.976169019091719, 0.160797971491821, 2.76438810333863e-02,
                               3.8405729373609e-03, 3.951896511919e-04, 3.21767881768e-05, 2.888167364e-07,
                               3.960315187e-07};
    double y = point - 0.5, upper = 0, lower = 0;
    if (fabs(y) < 0.42) {
        for (int i = 3; i >= 0; i--)
            upper = upper * y * y + a[i];
        for (int i = 4; i >= 0; i--)
            lower = lower * y * y + b[i];
        return y * upper / lower;
    }
    double z = log(-log(y > 0 ? 1 - point : point));
    for (int i = 8; i >= 0; i--)
        upper = upper * z + c[i];
    return y > 0 ? upper : -upper;
}

void inverse_cnd_reference(const RefLaunch *launch, void **args)
{
    float *out = args[0];
    const unsigned *in = args[1];
    unsigned n = *(const unsigned *)args[2];

    (void)launch;
    for (unsigned i = 0; i < n; i++)
        out[i] = (float)inverse_normal((in[i] + 0.5) / 4294967296.0);
}

void quasirandom_reference(const RefLaunch *launch, void **args)
{
    float *out = args[0];
    const unsigned *table = args[1];
    unsigned seed = *(const unsigned *)args[2];
    unsigned n = *(const unsigned *)args[3];

    for (unsigned dimension = 0; dimension < launch->block[1]; dimension++)
        for (unsigned i = 0; i < n; i++) {
            unsigned result = 0;
            for (int bit = 0; bit < 31; bit++)
                if ((seed + i) >> bit & 1)
                    result ^= table[dimension * 31 + (unsigned)bit];
            out[dimension * n + i] = (float)(result + 1) / 2147483648.0f;
        }
}
