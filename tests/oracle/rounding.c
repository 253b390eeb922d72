#include "tests/oracle/rounding.h"

unsigned exact_bits(const Spec *spec)
{
    return spec->exponent_bits > 8 ? 4400 : 700;
}

void exact_set(mpfr_t value, const Spec *spec, uint64_t bits)
{
    mpfr_set_d(value, spec_decode(spec, bits), MPFR_RNDN);
}

mpfr_rnd_t mpfr_mode(Mode mode)
{
    switch (mode) {
    case MODE_ZERO: return MPFR_RNDZ;
    case MODE_DOWN: return MPFR_RNDD;
    case MODE_UP: return MPFR_RNDU;
    default: return MPFR_RNDN;
    }
}

uint64_t spec_flush(const Spec *spec, uint64_t bits)
{
    return spec_is_subnormal(spec, bits) ? bits & UINT64_C(1) << (spec_bits(spec) - 1) : bits;
}

bool exact_is_tiny(const mpfr_t value, const Spec *spec, Mode mode)
{
    mpfr_t rounded;
    if (!mpfr_regular_p(value))
        return false;
    mpfr_init2(rounded, spec->mantissa_bits + 1);
    mpfr_set(rounded, value, mpfr_mode(mode));
    bool tiny = mpfr_get_exp(rounded) - 1 < 2 - (1L << (spec->exponent_bits - 1));
    mpfr_clear(rounded);
    return tiny;
}

static uint64_t overflow(const Spec *spec, bool negative, Mode mode, bool finite)
{
    uint64_t sign = (uint64_t)negative << (spec_bits(spec) - 1);
    bool inward = mode == MODE_ZERO || mode == (negative ? MODE_UP : MODE_DOWN);
    if (finite || inward || !spec->infinities)
        return sign | spec->largest;
    return sign | ((UINT64_C(1) << spec->exponent_bits) - 1) << spec->mantissa_bits;
}

uint64_t exact_round(const mpfr_t value, const Spec *spec, Mode mode, bool finite)
{
    bool negative = mpfr_signbit(value);
    uint64_t sign = (uint64_t)negative << (spec_bits(spec) - 1);
    if (mpfr_nan_p(value))
        return spec->nan ? spec->nan : spec->largest;
    if (mpfr_inf_p(value)) /* exact, whatever the mode */
        return overflow(spec, negative, MODE_EVEN, finite);
    if (mpfr_zero_p(value))
        return sign;
    long least = 2 - (1L << (spec->exponent_bits - 1));        /* exponent of the least normal number */
    long exponent = mpfr_get_exp(value) - 1;                    /* 2^exponent <= |value| < 2^(exponent + 1) */
    long quantum = (exponent > least ? exponent : least) - spec->mantissa_bits;
    if (exponent > 2L << spec->exponent_bits)
        return overflow(spec, negative, mode, finite);
    mpfr_t scaled;
    mpfr_init2(scaled, mpfr_get_prec(value));
    mpfr_mul_2si(scaled, value, -quantum, MPFR_RNDN);
    if (mode == MODE_AWAY)
        mpfr_round(scaled, scaled);
    else
        mpfr_rint(scaled, scaled, mpfr_mode(mode));
    mpfr_abs(scaled, scaled, MPFR_RNDN);
    uint64_t steps = mpfr_get_uj(scaled, MPFR_RNDN);
    mpfr_clear(scaled);
    /* The hidden bit of a normal number adds the one that its exponent field is ahead of the subnormals'. */
    uint64_t bits = ((uint64_t)(quantum - (least - spec->mantissa_bits)) << spec->mantissa_bits) + steps;
    if (bits > spec->largest)
        return overflow(spec, negative, mode, finite);
    return sign | bits;
}

void exact_saturate(mpfr_t value)
{
    if (mpfr_nan_p(value) || mpfr_signbit(value) || mpfr_zero_p(value))
        mpfr_set_zero(value, 1);
    else if (mpfr_cmp_ui(value, 1) > 0)
        mpfr_set_ui(value, 1, MPFR_RNDN);
}
