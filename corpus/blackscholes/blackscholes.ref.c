#include "../reference.h"

#include <math.h>

void blackscholes_reference(const RefLaunch *launch, void **args);

static double normal_distribution(double d)
{
    return 0.5 * erfc(-d / sqrt(2.0));
}

// In double precision and with the exact distribution: the kernel's polynomial is good to about 1e-7, its quick
// exponential and logarithm to about 1e-6 of the price.
void blackscholes_reference(const RefLaunch *launch, void **args)
{
    float *call = args[0];
    float *put = args[1];
    const float *price = args[2];
    const float *strike = args[3];
    const float *years = args[4];
    double riskfree = *(const float *)args[5];
    double volatility = *(const float *)args[6];
    int n = *(const int *)args[7];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int i = 0; i < n && i < threads; i++) {
        double s = price[i];
        double x = strike[i];
        double t = years[i];
        double d1 = (log(s / x) + (riskfree + 0.5 * volatility * volatility) * t) / (volatility * sqrt(t));
        double d2 = d1 - volatility * sqrt(t);
        double discounted = x * exp(-riskfree * t);
        call[i] = (float)(s * normal_distribution(d1) - discounted * normal_distribution(d2));
        put[i] = (float)(discounted * normal_distribution(-d2) - s * normal_distribution(-d1));
    }
}
