// Black-Scholes prices of European call and put options, one option a thread.

// Cumulative normal distribution after Abramowitz and Stegun 26.2.17.
static __device__ float normalDistribution(float d)
{
    const float a1 = 0.319381530f;
    const float a2 = -0.356563782f;
    const float a3 = 1.781477937f;
    const float a4 = -1.821255978f;
    const float a5 = 1.330274429f;

    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * __expf(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void blackscholes(float *call, float *put, const float *price, const float *strike,
                                        const float *years, float riskfree, float volatility, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    float s = price[i];
    float x = strike[i];
    float t = years[i];

    float rootT = sqrtf(t);
    float d1 = (__logf(s / x) + (riskfree + 0.5f * volatility * volatility) * t) / (volatility * rootT);
    float d2 = d1 - volatility * rootT;
    float n1 = normalDistribution(d1);
    float n2 = normalDistribution(d2);

    float discounted = x * __expf(-riskfree * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
