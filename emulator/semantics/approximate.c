/* The approximate functions of f32 and narrower, as doubles that the caller rounds once.
 *
 * Only additions, multiplications, divisions and square roots of doubles are used, which IEEE 754 fixes to the last
 * bit: results are the same on every host, whatever its mathematical library. Each is within 2^-48 of the exact value,
 * relatively, so the result in f32 is nearly always the exact one rounded. docs/approximate.md compares
 * that with devices. */
#include "emulator/semantics/approximate.h"

#include "support/support.h"

#include <math.h>

static const double LN_2 = 0x1.62e42fefa39efp-1, LOG2_E = 0x1.71547652b82fep+0, HALF_PI = 0x1.921fb54442d18p+0;

/* x * (c[0] + x2 * (c[1] + ...)) */
static double odd_polynomial(double x, const double *coefficients, size_t count)
{
    double square = x * x, sum = 0;
    while (count--)
        sum = sum * square + coefficients[count];
    return x * sum;
}

static double scaled(double value, int exponent)
{
    /* In two steps, so that each factor is a normal number. */
    int half = exponent / 2;
    return value * double_from_bits((uint64_t)(1023 + half) << 52) *
           double_from_bits((uint64_t)(1023 + exponent - half) << 52);
}

/* The first 320 bits of 2/pi. */
static const uint64_t two_over_pi[] = {UINT64_C(0xa2f9836e4e441529), UINT64_C(0xfc2757d1f534ddc0),
                                       UINT64_C(0xdb6295993c439041), UINT64_C(0xfe5163abdebbc561),
                                       UINT64_C(0xb7246e3a424dd2e0)};

/* 128 bits of 2/pi from the given bit on; zeros before the first. */
static unsigned __int128 two_over_pi_bits(int first)
{
    unsigned __int128 bits = 0;
    if (first < 0)
        return first <= -128 ? 0 : two_over_pi_bits(0) >> -first;
    unsigned word = (unsigned)first / 64, shift = (unsigned)first % 64;
    bits = (unsigned __int128)two_over_pi[word] << 64 | two_over_pi[word + 1];
    return shift ? bits << shift | two_over_pi[word + 2] >> (64 - shift) : bits;
}

/* x = (quadrant + r) pi/2 with r in [-1/2, 1/2), by multiplying its 24 bits with 128 of 2/pi (Payne and Hanek, "Radian
 * Reduction for Trigonometric Functions", 1983). */
static double reduce(double x, unsigned *quadrant)
{
    uint64_t bits = double_bits(x);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023 - 52;
    uint64_t significand = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    /* An f32 has 24 bits: the low 29 of the double's 53 are zero. */
    significand >>= 29;
    exponent += 29;
    unsigned __int128 product = two_over_pi_bits(exponent - 2) * significand;
    unsigned __int128 fraction = product << 2;
    *quadrant = (unsigned)(product >> 126) + (unsigned)(fraction >> 127);
    return (double)(__int128)fraction * 0x1p-128;
}

static const double sine[] = {1,
                              -1.0 / 6,
                              1.0 / 120,
                              -1.0 / 5040,
                              1.0 / 362880,
                              -1.0 / 39916800,
                              1.0 / 6227020800,
                              -1.0 / 1307674368000,
                              1.0 / 355687428096000};
static const double cosine[] = {1,
                                -1.0 / 2,
                                1.0 / 24,
                                -1.0 / 720,
                                1.0 / 40320,
                                -1.0 / 3628800,
                                1.0 / 479001600,
                                -1.0 / 87178291200,
                                1.0 / 20922789888000};

static double sine_of(double r)
{
    return odd_polynomial(r, sine, COUNT_OF(sine));
}

static double cosine_of(double r)
{
    double square = r * r, sum = 0;
    for (size_t i = COUNT_OF(cosine); i--;)
        sum = sum * square + cosine[i];
    return sum;
}

/* The sine of x, or with 'turn' 1 that of x + pi/2. */
static double trigonometric(double x, unsigned turn)
{
    unsigned quadrant = 0;
    double r = fabs(x);
    if (!(r < INFINITY))
        return NAN;
    if (r > 0.75)
        r = HALF_PI * reduce(r, &quadrant);
    quadrant += turn;
    double value = quadrant & 1 ? cosine_of(r) : sine_of(r);
    bool negative = quadrant & 2;
    if (!turn && signbit(x))
        negative = !negative;
    return negative ? -value : value;
}

double approximate_sin(double x)
{
    return trigonometric(x, 0);
}

double approximate_cos(double x)
{
    return trigonometric(x, 1);
}

/* e^r - 1 for |r| <= ln(2) / 2. */
static double exponential_less_one(double r)
{
    double sum = 0;
    /* 1 + r/2 (1 + r/3 (1 + ...)) */
    for (int i = 14; i > 1; i--)
        sum = (1 + sum) * r / i;
    return r * (1 + sum);
}

double approximate_ex2(double x)
{
    if (x != x)
        return x;
    if (x > 1023)
        return INFINITY;
    if (x < -1020)
        return 0;
    double whole = floor(x + 0.5);
    return scaled(1 + exponential_less_one((x - whole) * LN_2), (int)whole);
}

double approximate_lg2(double x)
{
    static const double series[] = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                    2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    if (x == 0)
        return -INFINITY;
    if (!(x > 0))
        return NAN;
    if (x == INFINITY)
        return x;
    uint64_t bits = double_bits(x);
    int exponent = (int)(bits >> 52) - 1023;
    double m = double_from_bits((bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52);
    if (m > 1.4142135) {
        m *= 0.5;
        exponent++;
    }
    /* ln(m) = 2 artanh((m - 1) / (m + 1)) */
    return exponent + odd_polynomial((m - 1) / (m + 1), series, COUNT_OF(series)) * LOG2_E;
}

/* (e^2x - 1) / (e^2x + 1) */
double approximate_tanh(double x)
{
    double y = 2 * fabs(x);
    if (x != x)
        return x;
    if (y > 60)
        return copysign(1, x);
    double whole = floor(y * LOG2_E + 0.5), power = scaled(1, (int)whole);
    double part = power * exponential_less_one(y - whole * LN_2);
    return copysign((power - 1 + part) / (power + 1 + part), x);
}
