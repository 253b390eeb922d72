/* Floating-point arithmetic with MPFR: PTX ISA, "Floating Point", "Half Precision Floating Point" and "Mixed Precision
 * Floating Point Instructions". Sums, products and fused sums are exact before their one rounding; quotients and roots
 * are cut at many bits with a sticky bit below. */
#include "tests/oracle/rounding.h"

#include <math.h>
#include <string.h>

typedef struct Operation {
    const Probe *probe;
    const Spec *spec;       /* of the result */
    const Spec *sources[3]; /* of the operands */
    uint64_t in[3];
    Mode mode;
    bool ftz;
} Operation;

/* A truncated value is replaced by one strictly between it and the next. */
static void make_sticky(mpfr_t value, int ternary)
{
    if (ternary == 0 || !mpfr_regular_p(value))
        return;
    mpfr_t below;
    mpfr_init2(below, 2);
    mpfr_set_ui_2exp(below, 1, mpfr_get_exp(value) - 320, MPFR_RNDN);
    mpfr_setsign(below, below, mpfr_signbit(value), MPFR_RNDN);
    mpfr_prec_round(value, 400, MPFR_RNDN);
    mpfr_add(value, value, below, MPFR_RNDN);
    mpfr_clear(below);
}

enum { CUT_BITS = 256 };

static void divide(mpfr_t value, const mpfr_t a, const mpfr_t b)
{
    mpfr_set_prec(value, CUT_BITS);
    make_sticky(value, mpfr_div(value, a, b, MPFR_RNDZ));
}

/* The exact value of the operation, or one that rounds like it. */
static bool exact_value(const Operation *element, mpfr_t value)
{
    mpfr_t operands[3];
    mpfr_rnd_t mode = mpfr_mode(element->mode);
    bool known = true;
    for (unsigned i = 0; i < 3; i++) {
        mpfr_init2(operands[i], 64);
        mpfr_set_zero(operands[i], 1);
        if (element->sources[i])
            exact_set(operands[i], element->sources[i], element->in[i]);
    }
    switch (element->probe->op) {
    case OP_ADD: mpfr_add(value, operands[0], operands[1], mode); break;
    case OP_SUB: mpfr_sub(value, operands[0], operands[1], mode); break;
    case OP_MUL: mpfr_mul(value, operands[0], operands[1], mode); break;
    case OP_MAD:
    case OP_FMA: mpfr_fma(value, operands[0], operands[1], operands[2], mode); break;
    case OP_DIV: divide(value, operands[0], operands[1]); break;
    case OP_RCP:
        mpfr_set_ui(operands[1], 1, MPFR_RNDN);
        divide(value, operands[1], operands[0]);
        break;
    case OP_SQRT:
        mpfr_set_prec(value, CUT_BITS);
        make_sticky(value, mpfr_sqrt(value, operands[0], MPFR_RNDZ));
        break;
    default: known = false;
    }
    for (unsigned i = 0; i < 3; i++)
        mpfr_clear(operands[i]);
    return known;
}

/* fma.oob: a particular NaN in a or b, of either sign, means an element out of bounds. */
static bool out_of_bounds(const Operation *element)
{
    enum { MARK = 0x7ff7 };
    return probe_has(element->probe, ".oob") &&
           (low_bits(element->in[0], 15) == MARK || low_bits(element->in[1], 15) == MARK);
}

static bool exact_element(const Operation *element, uint64_t *result)
{
    const Probe *probe = element->probe;
    mpfr_t value;
    mpfr_init2(value, exact_bits(element->spec));
    bool known = exact_value(element, value);
    if (known && out_of_bounds(element))
        mpfr_set_zero(value, 1);
    if (known && probe_has(probe, ".sat"))
        exact_saturate(value);
    if (known && probe_has(probe, ".relu") && !mpfr_nan_p(value) && (mpfr_signbit(value) || mpfr_zero_p(value)))
        mpfr_set_zero(value, 1);
    if (known) {
        *result = exact_round(value, element->spec, element->mode, false);
        if (element->ftz && exact_is_tiny(value, element->spec, element->mode))
            *result &= UINT64_C(1) << (spec_bits(element->spec) - 1);
    }
    mpfr_clear(value);
    return known;
}

/* min and max: -0 < +0; a NaN loses, or wins with .NaN. */
static uint64_t extreme(const Operation *element, uint64_t a, uint64_t b)
{
    const Probe *probe = element->probe;
    const Spec *spec = element->spec;
    uint64_t sign = UINT64_C(1) << (spec_bits(spec) - 1), flip = probe_has(probe, ".xorsign") ? (a ^ b) & sign : 0;
    bool max = probe->op == OP_MAX;
    if (probe_has(probe, ".abs")) {
        a &= ~sign;
        b &= ~sign;
    }
    bool a_nan = spec_is_nan(spec, a), b_nan = spec_is_nan(spec, b);
    if ((a_nan && b_nan) || ((a_nan || b_nan) && probe_has(probe, ".NaN")))
        return spec->nan;
    if (a_nan || b_nan)
        return (a_nan ? b : a) | flip;
    int order = spec_compare(spec, a, b);
    if (order == 0)
        order = a == b ? 0 : a & sign ? -1 : 1;
    return ((order < 0) != max ? a : b) | flip;
}

/* The documented bounds: PTX ISA, each instruction's "maximum error". */
typedef struct Bound {
    double relative, absolute;
} Bound;

static Bound documented_bound(const Operation *element)
{
    const Probe *probe = element->probe;
    bool narrow = element->spec != &specs[SPEC_F32] && element->spec != &specs[SPEC_F64];
    bool half = element->spec == &specs[SPEC_F16], single = element->spec == &specs[SPEC_F32];
    switch (probe->op) {
    case OP_DIV: return (Bound){0x1p-22, 0};
    case OP_RCP: return (Bound){single ? 0x1p-23 : 0x1p-20, 0};
    case OP_SQRT: return (Bound){0x1p-23, 0};
    case OP_RSQRT: return (Bound){single ? 0x1p-22 : probe_has(probe, ".ftz") ? 0x1p-20 : 0x1p-50, 0};
    case OP_SIN:
    case OP_COS: return (Bound){0, 0x1p-20};
    case OP_LG2: return (Bound){0x1p-22, 0x1p-22};
    case OP_EX2: return narrow ? (Bound){half ? 0x1p-9 : 0x1p-7, 0} : (Bound){0x1p-22, 0};
    default: return narrow ? (Bound){half ? 0 : 0x1p-8, half ? 0x1p-10 : 0} : (Bound){0x1p-10, 0};
    }
}

static bool approximate_value(const Operation *element, mpfr_t value)
{
    mpfr_t a, b;
    bool known = true;
    mpfr_inits2(200, a, b, (mpfr_ptr)0);
    exact_set(a, element->sources[0], element->in[0]);
    if (element->sources[1])
        exact_set(b, element->sources[1], element->in[1]);
    switch (element->probe->op) {
    case OP_DIV: mpfr_div(value, a, b, MPFR_RNDN); break;
    case OP_RCP: mpfr_ui_div(value, 1, a, MPFR_RNDN); break;
    case OP_SQRT: mpfr_sqrt(value, a, MPFR_RNDN); break;
    case OP_RSQRT:
        /* 1 / sqrt(-0) is minus infinity here, as in IEEE 754 and PTX. */
        mpfr_sqrt(b, a, MPFR_RNDN);
        mpfr_ui_div(value, 1, b, MPFR_RNDN);
        break;
    case OP_SIN: mpfr_sin(value, a, MPFR_RNDN); break;
    case OP_COS: mpfr_cos(value, a, MPFR_RNDN); break;
    case OP_LG2:
        mpfr_log2(value, a, MPFR_RNDN);
        break;
    case OP_EX2: mpfr_exp2(value, a, MPFR_RNDN); break;
    case OP_TANH: mpfr_tanh(value, a, MPFR_RNDN); break;
    default: known = false;
    }
    mpfr_clears(a, b, (mpfr_ptr)0);
    return known;
}

/* div.approx of a divisor beyond 2^126: the reciprocal is subnormal and taken as zero. */
static bool divisor_is_too_large(const Operation *element)
{
    double b = fabs(spec_decode(&specs[SPEC_F32], element->in[1]));
    return element->probe->op == OP_DIV && !probe_has(element->probe, ".full") && b > 0x1p126 && !isinf(b);
}

static bool is_unbounded(const Operation *element)
{
    bool trigonometric = element->probe->op == OP_SIN || element->probe->op == OP_COS;
    double a = fabs(spec_decode(element->sources[0], element->in[0]));
    return trigonometric && a > 2 * M_PI && !isinf(a);
}

static bool approximate_element(const Operation *element, unsigned shift, struct AnswerWord *word)
{
    const Spec *spec = element->spec;
    unsigned bits = spec_bits(spec);
    uint64_t field = low_bits(UINT64_MAX, bits) << shift;
    mpfr_t value;
    mpfr_init2(value, 200);
    bool known = approximate_value(element, value);
    if (known) {
        word->care &= ~field;
        AnswerPart *part = &word->parts[word->part_count++];
        *part = (AnswerPart){.kind = PART_RANGE, .shift = shift, .spec = spec, .low = -INFINITY, .high = INFINITY};
        Bound bound = documented_bound(element);
        if (element->probe->op == OP_DIV && divisor_is_too_large(element)) {
            bool lost = spec_is_infinite(spec, element->in[0]) || spec_is_nan(spec, element->in[0]);
            part->kind = lost ? PART_NAN : PART_RANGE;
            part->low = part->high = 0;
        } else if (mpfr_nan_p(value)) {
            part->kind = PART_NAN;
        } else if (!is_unbounded(element)) {
            double middle = mpfr_get_d(value, MPFR_RNDN);
            /* On top of the bound, half a unit in the last place, and zero where results are flushed. */
            double unit = ldexp(1, 2 - (1 << (spec->exponent_bits - 1)) - spec->mantissa_bits);
            double slack = fabs(middle) * (bound.relative + ldexp(1, -spec->mantissa_bits - 1)) + bound.absolute + unit;
            double least = ldexp(1, 2 - (1 << (spec->exponent_bits - 1)));
            double largest = spec_decode(spec, spec->largest);
            part->low = isinf(middle) ? middle : middle - slack;
            part->high = isinf(middle) ? middle : middle + slack;
            if (fabs(middle) < least * 1.01) {
                part->low = fmin(part->low, middle < 0 ? part->low : 0);
                part->high = fmax(part->high, middle > 0 ? part->high : 0);
            }
            /* Beyond the largest number, the largest number and infinity are both accepted. */
            if (part->high > largest)
                part->high = INFINITY;
            if (part->low < -largest)
                part->low = -INFINITY;
            if (part->low > largest)
                part->low = largest;
            if (part->high < -largest)
                part->high = -largest;
        }
    }
    mpfr_clear(value);
    return known;
}

static bool is_approximate(const Probe *probe)
{

    switch (probe->op) {
    case OP_RSQRT:
    case OP_SIN:
    case OP_COS:
    case OP_LG2:
    case OP_EX2:
    case OP_TANH: return true;
    case OP_DIV:
    case OP_SQRT: return probe_has(probe, ".approx") || probe_has(probe, ".full");
    case OP_RCP: return probe_has(probe, ".approx");
    default: return false;
    }
}

static bool answer_element(const Operation *element, unsigned count, unsigned shift, struct AnswerWord *word)
{
    const Probe *probe = element->probe;
    const Spec *spec = element->spec;
    uint64_t sign = UINT64_C(1) << (spec_bits(spec) - 1), result = 0;
    if (is_approximate(probe))
        return approximate_element(element, shift, word);
    switch (probe->op) {
    case OP_NEG:
    case OP_ABS:
        result = probe->op == OP_NEG ? element->in[0] ^ sign : element->in[0] & ~sign;
        break;
    case OP_MIN:
    case OP_MAX:
        result = extreme(element, element->in[0], element->in[1]);
        if (count == 3)
            result = extreme(element, result, element->in[2]);
        break;
    case OP_COPYSIGN:
        result = (element->in[0] & sign) | (element->in[1] & ~sign);
        word->bits |= result << shift; /* also of NaNs */
        return true;
    default:
        if (!exact_element(element, &result))
            return false;
    }
    /* The payload of a NaN is specified where it is canonical: not for f64, neg and abs. */
    if (spec_is_nan(spec, result) && (spec == &specs[SPEC_F64] || probe->op == OP_NEG || probe->op == OP_ABS)) {
        word->care &= ~(low_bits(UINT64_MAX, spec_bits(spec)) << shift);
        word->parts[word->part_count++] = (AnswerPart){.kind = PART_NAN, .shift = shift, .spec = spec};
        return true;
    }
    word->bits |= result << shift;
    return true;
}

static bool answer_test(const Probe *probe, const uint64_t *in, Answer *answer)
{
    const Spec *spec = spec_of_type(probe->types[0]);
    bool nan = spec_is_nan(spec, in[0]), infinite = spec_is_infinite(spec, in[0]),
         small = spec_is_subnormal(spec, in[0]);
    answer->words[0].bits = probe_has(probe, ".finite")       ? !nan && !infinite
                            : probe_has(probe, ".infinite")   ? infinite
                            : probe_has(probe, ".number")     ? !nan
                            : probe_has(probe, ".notanumber") ? nan
                            : probe_has(probe, ".normal")     ? !nan && !infinite && !small
                                                              : small;
    return true;
}

/* rcp and rsqrt.approx.ftz.f64 read the upper half of the operand and write the upper half of the result. */
static void keep_upper_word(Operation *element)
{
    element->in[0] &= ~(uint64_t)UINT32_MAX;
    element->in[0] = spec_flush(element->spec, element->in[0]);
}

bool answer_float(const Probe *probe, const uint64_t *in, Answer *answer)
{
    const Spec *spec = probe->type_count ? spec_of_type(probe->types[0]) : NULL;
    if (!spec)
        return false;
    if (probe->op == OP_TESTP)
        return answer_test(probe, in, answer);
    unsigned bits = spec_bits(spec), width = probe->dests[0].reg_bits;
    for (unsigned shift = 0; shift < width; shift += bits) {
        Operation element = {.probe = probe, .spec = spec, .mode = probe_mode(probe)};
        /* On doubles it has a meaning only in the approximate forms. */
        element.ftz = probe_has(probe, ".ftz") && (spec != &specs[SPEC_F64] || is_approximate(probe));
        for (unsigned i = 0; i < probe->source_count && i < 3; i++) {
            element.sources[i] = spec_of_type(probe->sources[i].type);
            if (!element.sources[i])
                return false;
            element.in[i] = low_bits(in[i] >> shift, spec_bits(element.sources[i]));
            if (element.ftz && element.sources[i] == spec && spec != &specs[SPEC_F64])
                element.in[i] = spec_flush(spec, element.in[i]);
        }
        if (spec == &specs[SPEC_F64] && element.ftz && is_approximate(probe))
            keep_upper_word(&element);
        if (!answer_element(&element, probe->source_count, shift, &answer->words[0]))
            return false;
    }
    return true;
}
