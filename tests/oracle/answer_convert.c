/* cvt and cvt.pack with MPFR and exact integers: PTX ISA, "Data Movement and Conversion Instructions: cvt", "cvt.pack".
 */
#include "tests/oracle/rounding.h"

#include <string.h>

/* One side of a conversion. */
typedef struct Side {
    const Spec *spec; /* NULL: integers */
    unsigned bits;    /* of an element in the register */
    unsigned count;   /* elements in the register */
    bool is_signed;
    bool scale; /* ue8m0: a power of two */
} Side;

static const struct {
    const char *mod;
    SpecId spec;
    unsigned bits, count;
} formats[] = {
    {".f64", SPEC_F64, 64, 1},     {".f32", SPEC_F32, 32, 1},     {".f16", SPEC_F16, 16, 1},
    {".bf16", SPEC_BF16, 16, 1},   {".f16x2", SPEC_F16, 16, 2},   {".bf16x2", SPEC_BF16, 16, 2},
    {".tf32", SPEC_TF32, 32, 1},   {".e4m3x2", SPEC_E4M3, 8, 2},  {".e5m2x2", SPEC_E5M2, 8, 2},
    {".e4m3x4", SPEC_E4M3, 8, 4},  {".e5m2x4", SPEC_E5M2, 8, 4},  {".e2m1x2", SPEC_E2M1, 4, 2},
    {".e2m1x4", SPEC_E2M1, 4, 4},  {".e2m3x2", SPEC_E2M3, 8, 2},  {".e3m2x2", SPEC_E3M2, 8, 2},
    {".e2m3x4", SPEC_E2M3, 8, 4},  {".e3m2x4", SPEC_E3M2, 8, 4},
};

static bool side_of(const char *mod, Side *side)
{
    *side = (Side){0};
    if (strcmp(mod, ".ue8m0x2") == 0) {
        *side = (Side){.bits = 8, .count = 2, .scale = true};
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (strcmp(mod, formats[i].mod) == 0) {
            *side = (Side){.spec = &specs[formats[i].spec], .bits = formats[i].bits, .count = formats[i].count};
            return true;
        }
    Type type = type_from_name(mod + 1);
    *side = (Side){.bits = type_bits(type), .count = 1, .is_signed = type_is_signed(type)};
    return type != TYPE_NONE;
}

/* Destination and source: the last two modifiers. */
static bool sides(const Probe *probe, Side *to, Side *from)
{
    return probe->mod_count >= 2 && side_of(probe->mods[probe->mod_count - 2], to) &&
           side_of(probe->mods[probe->mod_count - 1], from);
}

typedef __int128 Wide;

static Wide clamp(Wide value, unsigned bits, bool is_signed)
{
    Wide top = ((Wide)1 << (bits - is_signed)) - 1, bottom = is_signed ? -top - 1 : 0;
    return value > top ? top : value < bottom ? bottom : value;
}

/* The result is extended to a wider register by its own sign. */
static uint64_t extended(uint64_t value, const Side *to, unsigned reg_bits)
{
    value = to->is_signed ? (uint64_t)signed_bits(value, to->bits) : low_bits(value, to->bits);
    return low_bits(value, reg_bits);
}

static uint64_t integer_to_integer(const Probe *probe, const Side *to, const Side *from, uint64_t in)
{
    Wide value = from->is_signed ? (Wide)signed_bits(in, from->bits) : (Wide)low_bits(in, from->bits);
    if (probe_has(probe, ".sat"))
        value = clamp(value, to->bits, to->is_signed);
    return (uint64_t)value;
}

static uint64_t float_to_integer(const Probe *probe, const Side *to, const Side *from, uint64_t in)
{
    if (spec_is_nan(from->spec, in))
        return from->spec == &specs[SPEC_F64] || to->bits == 64 ? UINT64_C(1) << (to->bits - 1) : 0;
    if (probe_has(probe, ".ftz") && from->spec == &specs[SPEC_F32])
        in = spec_flush(from->spec, in);
    mpfr_t value, limit;
    mpfr_inits2(1100, value, limit, (mpfr_ptr)0);
    exact_set(value, from->spec, in);
    mpfr_rint(value, value, mpfr_mode(probe_mode(probe)));
    uint64_t result;
    mpfr_set_ui_2exp(limit, 1, (long)to->bits - to->is_signed, MPFR_RNDN);
    if (mpfr_cmp(value, limit) >= 0) {
        result = low_bits(UINT64_MAX, to->bits - to->is_signed);
    } else if (mpfr_signbit(value)) {
        mpfr_neg(limit, limit, MPFR_RNDN);
        if (!to->is_signed)
            result = 0;
        else
            result = mpfr_cmp(value, limit) <= 0 ? UINT64_C(1) << (to->bits - 1)
                                                 : (uint64_t)mpfr_get_sj(value, MPFR_RNDN);
    } else {
        result = mpfr_get_uj(value, MPFR_RNDN);
    }
    mpfr_clears(value, limit, (mpfr_ptr)0);
    return result;
}

static uint64_t pack_integers(const Probe *probe, const uint64_t *in)
{
    Side to;
    const char *mod = probe->mods[2];
    unsigned bits = (unsigned)(mod[2] - '0');
    to = (Side){.bits = mod[3] ? 16 : bits, .is_signed = mod[1] == 's'};
    uint64_t high = low_bits((uint64_t)clamp((int32_t)in[0], to.bits, to.is_signed), to.bits);
    uint64_t low = low_bits((uint64_t)clamp((int32_t)in[1], to.bits, to.is_signed), to.bits);
    uint64_t rest = probe->source_count > 2 ? in[2] << 2 * to.bits : 0;
    return (uint32_t)(rest | high << to.bits | low);
}

static void relu(mpfr_t value)
{
    if (!mpfr_nan_p(value) && (mpfr_signbit(value) || mpfr_zero_p(value)))
        mpfr_set_zero(value, 1);
}

/* Adds the random bits below the last kept bit and truncates. */
static uint64_t stochastic(const mpfr_t value, const Spec *spec, uint64_t random, unsigned random_bits, bool finite)
{
    if (!mpfr_regular_p(value))
        return exact_round(value, spec, MODE_ZERO, finite);
    mpfr_t sum;
    long least = 2 - (1L << (spec->exponent_bits - 1)), exponent = mpfr_get_exp(value) - 1;
    long quantum = (exponent > least ? exponent : least) - spec->mantissa_bits;
    mpfr_init2(sum, 1100);
    mpfr_set_uj_2exp(sum, random, quantum - (long)random_bits, MPFR_RNDN);
    mpfr_setsign(sum, sum, mpfr_signbit(value), MPFR_RNDN);
    mpfr_add(sum, sum, value, MPFR_RNDZ);
    /* Beyond the largest number the sum counts as infinite, unless it is to stay finite. */
    uint64_t cut = exact_round(sum, spec, MODE_ZERO, true), largest = spec->largest;
    mpfr_t limit;
    mpfr_init2(limit, 64);
    exact_set(limit, spec, largest);
    bool beyond = false;
    if (low_bits(cut, spec_bits(spec) - 1) == largest) {
        mpfr_t step;
        mpfr_init2(step, 64);
        exact_set(step, spec, largest - 1);
        mpfr_sub(step, limit, step, MPFR_RNDN);
        mpfr_add(limit, limit, step, MPFR_RNDN);
        beyond = mpfr_cmpabs(sum, limit) >= 0;
        mpfr_clear(step);
    }
    if (beyond && !finite && spec->infinities)
        cut = (cut & UINT64_C(1) << (spec_bits(spec) - 1)) |
              (((UINT64_C(1) << spec->exponent_bits) - 1) << spec->mantissa_bits);
    mpfr_clears(sum, limit, (mpfr_ptr)0);
    return cut;
}

/* ue8m0: the exponent alone, rounded up or towards zero. */
static uint64_t scale_of(const Probe *probe, const mpfr_t value)
{
    if (mpfr_nan_p(value))
        return 0xff;
    bool finite = probe_has(probe, ".satfinite"), up = probe_has(probe, ".rp");
    if (mpfr_inf_p(value))
        return finite || !up ? 0xfe : 0xff;
    if (mpfr_zero_p(value))
        return 0;
    mpfr_t power;
    long exponent = mpfr_get_exp(value) - 1;
    mpfr_init2(power, 64);
    mpfr_set_ui_2exp(power, 1, exponent, MPFR_RNDN);
    if (up && mpfr_cmpabs(value, power) > 0)
        exponent++;
    mpfr_clear(power);
    if (exponent < -127)
        exponent = -127;
    return exponent > 127 ? finite ? 0xfe : 0xff : (uint64_t)(exponent + 127);
}

static void source_value(const Probe *probe, const Side *from, uint64_t in, mpfr_t value)
{
    if (from->spec) {
        if (probe_has(probe, ".ftz") && from->spec == &specs[SPEC_F32])
            in = spec_flush(from->spec, in);
        exact_set(value, from->spec, in);
    } else if (from->scale) {
        if (low_bits(in, 8) == 0xff)
            mpfr_set_nan(value);
        else
            mpfr_set_ui_2exp(value, 1, (long)low_bits(in, 8) - 127, MPFR_RNDN);
    } else if (from->is_signed) {
        mpfr_set_sj(value, signed_bits(in, from->bits), MPFR_RNDN);
    } else {
        mpfr_set_uj(value, low_bits(in, from->bits), MPFR_RNDN);
    }
}

static bool rounds_to_integral(const Probe *probe)
{
    return probe_has(probe, ".rni") || probe_has(probe, ".rzi") || probe_has(probe, ".rmi") || probe_has(probe, ".rpi");
}

/* One element, as its format's pattern. */
static uint64_t convert_element(const Probe *probe, const Side *to, const Side *from, uint64_t in)
{
    mpfr_t value;
    mpfr_init2(value, 128);
    source_value(probe, from, in, value);
    if (rounds_to_integral(probe))
        mpfr_rint(value, value, mpfr_mode(probe_mode(probe)));
    if (probe_has(probe, ".sat"))
        exact_saturate(value);
    if (probe_has(probe, ".relu"))
        relu(value);
    uint64_t result;
    if (to->scale)
        result = scale_of(probe, value);
    else
        result = exact_round(value, to->spec, probe_mode(probe), probe_has(probe, ".satfinite"));
    if (probe_has(probe, ".ftz") && to->spec == &specs[SPEC_F32] && exact_is_tiny(value, to->spec, probe_mode(probe)))
        result &= UINT64_C(1) << 31;
    mpfr_clear(value);
    return to->spec == &specs[SPEC_TF32] ? result << 13 : result;
}

static uint64_t stochastic_element(const Probe *probe, const Side *to, uint64_t in, uint64_t random,
                                   unsigned random_bits)
{
    mpfr_t value;
    mpfr_init2(value, 128);
    exact_set(value, &specs[SPEC_F32], in);
    if (probe_has(probe, ".relu"))
        relu(value);
    uint64_t result =
        stochastic(value, to->spec, low_bits(random, random_bits), random_bits, probe_has(probe, ".satfinite"));
    mpfr_clear(value);
    return result;
}

/* Nothing is said of the sign and the payload of a NaN that f64 has on either side, that keeps its format, or that only
 * becomes a pattern of the wider f32. */
static bool is_loose_nan(const Probe *probe, const Side *to, const Side *from, uint64_t in)
{
    if (!from->spec || !spec_is_nan(from->spec, in) || probe_has(probe, ".sat"))
        return false;
    return to->spec == &specs[SPEC_F64] || from->spec == &specs[SPEC_F64] || to->spec == &specs[SPEC_TF32] ||
           (from->spec == &specs[SPEC_BF16] && to->spec == &specs[SPEC_F32]) ||
           (to->spec == from->spec && !probe_has(probe, ".ftz"));
}

bool answer_convert(const Probe *probe, const uint64_t *in, Answer *answer)
{
    Side to, from;
    struct AnswerWord *word = &answer->words[0];
    if (probe->op != OP_CVT)
        return false;
    if (probe_has(probe, ".pack")) {
        word->bits = pack_integers(probe, in);
        return true;
    }
    if (!sides(probe, &to, &from))
        return false;
    if (!to.spec && !to.scale) {
        uint64_t value =
            from.spec ? float_to_integer(probe, &to, &from, in[0]) : integer_to_integer(probe, &to, &from, in[0]);
        word->bits = extended(value, &to, probe->dests[0].reg_bits);
        return true;
    }
    uint64_t result = 0;
    for (unsigned i = 0; i < to.count; i++) {
        /* The first of several sources goes to the top; a single source is converted element by element. */
        uint64_t element = from.count == 1 ? in[i] : in[0] >> (to.count - 1 - i) * from.bits;
        element = low_bits(element, from.bits);
        uint64_t part;
        if (probe_has(probe, ".rs")) {
            uint64_t random = in[to.count] >> ((to.count == 2 ? i : i / 2) ? 0 : 16);
            part = stochastic_element(probe, &to, element, random, to.spec == &specs[SPEC_F16] ? 13 : 16);
        } else {
            part = convert_element(probe, &to, &from, element);
        }
        if (probe_mode(probe) == MODE_AWAY && spec_is_nan(from.spec, element))
            word->care = 0; /* .rna adds to the pattern, whatever it is */
        result = to.bits < 64 ? result << to.bits | part : part;
    }
    if (probe_mode(probe) != MODE_AWAY && is_loose_nan(probe, &to, &from, in[0])) {
        word->care = 0;
        /* tf32 is the upper part of an f32. */
        const Spec *spec = to.spec == &specs[SPEC_TF32] ? &specs[SPEC_F32] : to.spec;
        word->parts[word->part_count++] = (AnswerPart){.kind = PART_NAN, .spec = spec};
    } else {
        word->bits = result;
    }
    return true;
}
