/* Number formats and exact rounding, from which all scalar floating point of the emulator is made.
 *
 * Every value of every format here is a double. A result that is not is carried as a double rounded to odd: its last
 * bit says that something was lost, and rounding that double to a format with at least two bits less gives what
 * rounding the exact value would (Boldo and Melquiond, "When double rounding is odd", 2005). */
#ifndef PTXOPT_EMULATOR_NUMBERS_H
#define PTXOPT_EMULATOR_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum Rounding {
    ROUND_NEAREST_EVEN,
    ROUND_ZERO,
    ROUND_DOWN,
    ROUND_UP,
    ROUND_NEAREST_AWAY,
} Rounding;

typedef struct FloatFormat {
    int exponent_bits, mantissa_bits;
    bool has_infinity;
    uint32_t nan;     /* the canonical NaN; 0: the format has none */
    uint32_t largest; /* the largest finite value */
} FloatFormat;

extern const FloatFormat FORMAT_F32, FORMAT_F16, FORMAT_BF16, FORMAT_TF32;
extern const FloatFormat FORMAT_E4M3, FORMAT_E5M2, FORMAT_E2M1, FORMAT_E2M3, FORMAT_E3M2;

#define F32_NAN 0x7fffffffu
#define F64_NAN UINT64_C(0x7fffffffffffffff)

static inline float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double double_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The value of a pattern of the format. */
double format_decode(const FloatFormat *format, uint32_t bits);
/* Rounds to the format. Overflow gives infinity or the largest value as the mode says, but always the largest with
 * 'finite' or if the format has no infinity; NaN gives the canonical one, or the largest value if there is none. */
uint32_t format_encode(const FloatFormat *format, double value, Rounding rounding, bool finite);
/* Stochastic: 'random' (of 'random_bits' bits) is added below the last mantissa bit, then the value is truncated. */
uint32_t format_encode_stochastic(const FloatFormat *format, double value, uint32_t random, int random_bits);
/* Subnormal patterns become zeros of the same sign. */
uint32_t format_flush(const FloatFormat *format, uint32_t bits);
/* format_encode, and zero of the same sign for results that are less than the least normal number when rounded as if
 * exponents had no lower limit: the least normal number itself is a result only if that rounding gives it. */
uint32_t format_encode_flushed(const FloatFormat *format, double value, Rounding rounding);
static inline bool format_is_nan(const FloatFormat *format, uint32_t bits)
{
    double value = format_decode(format, bits);
    return value != value;
}

/* These round to odd. The product of numbers with at most 26 significant bits each is exact anyway. */
double sum_odd(double a, double b);
double quotient_odd(double a, double b);
double root_odd(double a);

/* These round to double precision, in a direction. */
double sum_double(double a, double b, Rounding rounding);
double product_double(double a, double b, Rounding rounding);
double quotient_double(double a, double b, Rounding rounding);
double fma_double(double a, double b, double c, Rounding rounding);
double root_double(double a, Rounding rounding);

/* Rounds to an integral value, without exceptions or a change of mode. */
double round_integral(double value, Rounding rounding);

#endif
