#include "emulator/semantics/numbers.h"

#include <fenv.h>
#include <math.h>

const FloatFormat FORMAT_F32 = {8, 23, true, 0x7fffffff, 0x7f7fffff};
const FloatFormat FORMAT_F16 = {5, 10, true, 0x7fff, 0x7bff};
const FloatFormat FORMAT_BF16 = {8, 7, true, 0x7fff, 0x7f7f};
const FloatFormat FORMAT_TF32 = {8, 10, true, 0x3ffff, 0x3fbff};
const FloatFormat FORMAT_E4M3 = {4, 3, false, 0x7f, 0x7e};
const FloatFormat FORMAT_E5M2 = {5, 2, true, 0x7f, 0x7b};
const FloatFormat FORMAT_E2M1 = {2, 1, false, 0, 0x7};
const FloatFormat FORMAT_E2M3 = {2, 3, false, 0, 0x1f};
const FloatFormat FORMAT_E3M2 = {3, 2, false, 0, 0x1f};

static int format_bias(const FloatFormat *format)
{
    return (1 << (format->exponent_bits - 1)) - 1;
}

double format_decode(const FloatFormat *format, uint32_t bits)
{
    uint32_t mantissa = bits & ((UINT32_C(1) << format->mantissa_bits) - 1);
    uint32_t top = (UINT32_C(1) << format->exponent_bits) - 1;
    uint32_t exponent = bits >> format->mantissa_bits & top;
    bool negative = bits >> (format->mantissa_bits + format->exponent_bits) & 1;
    double value;

    if (exponent == top && format->has_infinity)
        value = mantissa ? (double)NAN : (double)INFINITY;
    else if (format->nan && (bits & format->nan) == format->nan)
        value = (double)NAN; /* e4m3: only the pattern of all ones */
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - format_bias(format) - format->mantissa_bits);
    else
        value = ldexp(mantissa | UINT32_C(1) << format->mantissa_bits,
                      (int)exponent - format_bias(format) - format->mantissa_bits);
    return negative ? -value : value;
}

/* The significand of |value| cut at the format's last bit: value = (mantissa + fraction) * 2^scale, where fraction is
 * 'rest' / 2^'bits' and mantissa has at most mantissa_bits + 1 bits. */
typedef struct Cut {
    uint64_t mantissa, rest;
    int bits, scale;
} Cut;

static Cut value_cut(const FloatFormat *format, double magnitude)
{
    uint64_t bits = double_bits(magnitude);
    int exponent = (int)(bits >> 52);
    uint64_t significand = bits & (UINT64_C(0xfffffffffffff));
    if (exponent)
        significand |= UINT64_C(1) << 52;
    else
        exponent = 1;
    exponent -= 1075; /* magnitude = significand * 2^exponent */

    int least = 1 - format_bias(format) - format->mantissa_bits; /* of the format's last subnormal bit */
    int wanted = exponent + 52 - format->mantissa_bits;
    Cut cut = {0, 0, 0, wanted > least ? wanted : least};
    cut.bits = cut.scale - exponent;
    if (cut.bits > 60) {
        /* Far below the last bit: only whether it is zero matters. */
        cut.rest = significand != 0;
        cut.bits = 60;
    } else if (cut.bits > 0) {
        cut.mantissa = significand >> cut.bits;
        cut.rest = significand & ((UINT64_C(1) << cut.bits) - 1);
    } else {
        cut.mantissa = significand << -cut.bits; /* a zero */
        cut.bits = 0;
    }
    return cut;
}

static uint32_t cut_pack(const FloatFormat *format, Cut cut, bool negative, bool to_infinity)
{
    uint32_t sign = (uint32_t)negative << (format->mantissa_bits + format->exponent_bits);
    if (cut.mantissa >> (format->mantissa_bits + 1)) {
        cut.mantissa >>= 1;
        cut.scale++;
    }
    int biased = cut.scale + format_bias(format) + format->mantissa_bits;
    uint64_t hidden = UINT64_C(1) << format->mantissa_bits;
    uint64_t bits = cut.mantissa & hidden ? ((uint64_t)biased << format->mantissa_bits | (cut.mantissa & (hidden - 1)))
                                          : cut.mantissa;
    if ((cut.mantissa & hidden && biased >= 1 << format->exponent_bits) || bits > format->largest)
        return sign |
               (to_infinity ? ((UINT32_C(1) << format->exponent_bits) - 1) << format->mantissa_bits : format->largest);
    return sign | (uint32_t)bits;
}

uint32_t format_encode(const FloatFormat *format, double value, Rounding rounding, bool finite)
{
    bool negative = signbit(value);
    if (value != value)
        return format->nan ? format->nan : format->largest;
    if (isinf(value)) {
        Cut endless = {UINT64_C(1) << format->mantissa_bits, 0, 0, 1 << format->exponent_bits};
        return cut_pack(format, endless, negative, format->has_infinity && !finite);
    }
    Cut cut = value_cut(format, fabs(value));
    uint64_t half = cut.bits ? UINT64_C(1) << (cut.bits - 1) : 0;
    bool up = false, away = false; /* away: the mode rounds this sign's overflow to infinity */
    switch (rounding) {
    case ROUND_NEAREST_EVEN:
        up = cut.bits && (cut.rest > half || (cut.rest == half && cut.mantissa & 1));
        away = true;
        break;
    case ROUND_NEAREST_AWAY:
        up = cut.bits && cut.rest >= half;
        away = true;
        break;
    case ROUND_DOWN:
        up = negative && cut.rest;
        away = negative;
        break;
    case ROUND_UP:
        up = !negative && cut.rest;
        away = !negative;
        break;
    case ROUND_ZERO: break;
    }
    cut.mantissa += up;
    return cut_pack(format, cut, negative, away && format->has_infinity && !finite);
}

uint32_t format_encode_stochastic(const FloatFormat *format, double value, uint32_t random, int random_bits)
{
    if (value != value || isinf(value))
        return format_encode(format, value, ROUND_ZERO, false);
    Cut cut = value_cut(format, fabs(value));
    /* The lost bits in steps of 2^-random_bits of the last kept bit; anything below a step cannot carry. */
    uint64_t steps = (uint64_t)ldexp(fabs(value), random_bits - cut.scale);
    cut.mantissa = (steps + random) >> random_bits;
    return cut_pack(format, cut, signbit(value), format->has_infinity);
}

uint32_t format_flush(const FloatFormat *format, uint32_t bits)
{
    uint32_t exponent = ((UINT32_C(1) << format->exponent_bits) - 1) << format->mantissa_bits;
    uint32_t sign = UINT32_C(1) << (format->mantissa_bits + format->exponent_bits);
    return bits & exponent ? bits : bits & sign;
}

uint32_t format_encode_flushed(const FloatFormat *format, double value, Rounding rounding)
{
    double least = ldexp(1, 1 - format_bias(format)), scale = ldexp(1, format->mantissa_bits + 1);
    uint32_t bits = format_encode(format, value, rounding, false);
    if (!(fabs(value) < least))
        return bits;
    double unbounded = format_decode(format, format_encode(format, value * scale, rounding, false));
    return fabs(unbounded) < least * scale ? bits & UINT32_C(1) << (format->mantissa_bits + format->exponent_bits)
                                           : bits;
}

/* 'nearest' is the exact value rounded to nearest, 'error' has the sign of exact minus nearest. */
static double make_odd(double nearest, double error)
{
    if (error == 0 || error != error || isinf(nearest))
        return nearest;
    uint64_t bits = double_bits(nearest);
    if (nearest == 0)
        return copysign(0x1p-1074, error);
    if ((error < 0) != (nearest < 0))
        bits--; /* the exact value is nearer to zero: truncate */
    return double_from_bits(bits | 1);
}

double sum_odd(double a, double b)
{
    double sum = a + b;
    if (!isfinite(sum))
        return sum;
    /* Knuth's two-sum: 'error' is exact. */
    double b_part = sum - a;
    double error = (a - (sum - b_part)) + (b - b_part);
    return make_odd(sum, error);
}

double quotient_odd(double a, double b)
{
    double quotient = a / b;
    if (!isfinite(quotient) || b == 0 || isinf(b) || a == 0)
        return quotient;
    double rest = fma(-quotient, b, a);
    return make_odd(quotient, b < 0 ? -rest : rest);
}

double root_odd(double a)
{
    double root = sqrt(a);
    if (!isfinite(root) || root == 0)
        return root;
    return make_odd(root, fma(-root, root, a));
}

static int host_rounding(Rounding rounding)
{
    switch (rounding) {
    case ROUND_ZERO: return FE_TOWARDZERO;
    case ROUND_DOWN: return FE_DOWNWARD;
    case ROUND_UP: return FE_UPWARD;
    default: return FE_TONEAREST;
    }
}

/* The operands are volatile so that the operation stays between the two changes of mode. */
#define DIRECTED(expression)                                                                                           \
    do {                                                                                                               \
        if (rounding == ROUND_NEAREST_EVEN)                                                                            \
            return expression;                                                                                         \
        fesetround(host_rounding(rounding));                                                                           \
        volatile double result = expression;                                                                           \
        fesetround(FE_TONEAREST);                                                                                      \
        return result;                                                                                                 \
    } while (0)

double sum_double(double a, double b, Rounding rounding)
{
    volatile double x = a, y = b;
    DIRECTED(x + y);
}

double product_double(double a, double b, Rounding rounding)
{
    volatile double x = a, y = b;
    DIRECTED(x * y);
}

double quotient_double(double a, double b, Rounding rounding)
{
    volatile double x = a, y = b;
    DIRECTED(x / y);
}

double fma_double(double a, double b, double c, Rounding rounding)
{
    volatile double x = a, y = b, z = c;
    DIRECTED(fma(x, y, z));
}

double root_double(double a, Rounding rounding)
{
    volatile double x = a;
    DIRECTED(sqrt(x));
}

double round_integral(double value, Rounding rounding)
{
    switch (rounding) {
    case ROUND_ZERO: return trunc(value);
    case ROUND_DOWN: return floor(value);
    case ROUND_UP: return ceil(value);
    case ROUND_NEAREST_AWAY: return round(value);
    default: return nearbyint(value);
    }
}
