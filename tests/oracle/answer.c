/* The oracle's formats, its comparison of results, and the choice of the family that an instruction belongs to. */
#include "tests/oracle/oracle.h"

#include <math.h>
#include <string.h>

const Spec specs[SPEC_COUNT] = {
    [SPEC_F64] = {11, 52, true, UINT64_C(0x7fffffffffffffff), UINT64_C(0x7fefffffffffffff)},
    [SPEC_F32] = {8, 23, true, 0x7fffffff, 0x7f7fffff},
    [SPEC_F16] = {5, 10, true, 0x7fff, 0x7bff},
    [SPEC_BF16] = {8, 7, true, 0x7fff, 0x7f7f},
    [SPEC_TF32] = {8, 10, true, 0x3ffff, 0x3fbff},
    [SPEC_E4M3] = {4, 3, false, 0x7f, 0x7e},
    [SPEC_E5M2] = {5, 2, true, 0x7f, 0x7b},
    [SPEC_E2M1] = {2, 1, false, 0, 7},
    [SPEC_E2M3] = {2, 3, false, 0, 0x1f},
    [SPEC_E3M2] = {3, 2, false, 0, 0x1f},
};

uint64_t low_bits(uint64_t value, unsigned bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

int64_t signed_bits(uint64_t value, unsigned bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)((low_bits(value, bits) ^ sign) - sign);
}

bool type_is_signed(Type type)
{
    return type == TYPE_S8 || type == TYPE_S16 || type == TYPE_S32 || type == TYPE_S64 ||
           type == TYPE_S16X2 || type == TYPE_S8X4;
}

unsigned spec_bits(const Spec *spec)
{
    return 1 + (unsigned)(spec->exponent_bits + spec->mantissa_bits);
}

static uint64_t magnitude(const Spec *spec, uint64_t bits)
{
    return low_bits(bits, spec_bits(spec) - 1);
}

bool spec_is_nan(const Spec *spec, uint64_t bits)
{
    uint64_t infinity = ((UINT64_C(1) << spec->exponent_bits) - 1) << spec->mantissa_bits;
    return spec->infinities ? magnitude(spec, bits) > infinity : spec->nan && magnitude(spec, bits) == spec->nan;
}

bool spec_is_infinite(const Spec *spec, uint64_t bits)
{
    uint64_t infinity = ((UINT64_C(1) << spec->exponent_bits) - 1) << spec->mantissa_bits;
    return spec->infinities && magnitude(spec, bits) == infinity;
}

bool spec_is_subnormal(const Spec *spec, uint64_t bits)
{
    uint64_t value = magnitude(spec, bits);
    return value && value < UINT64_C(1) << spec->mantissa_bits;
}

double spec_decode(const Spec *spec, uint64_t bits)
{
    int bias = (1 << (spec->exponent_bits - 1)) - 1;
    uint64_t value = magnitude(spec, bits), exponent = value >> spec->mantissa_bits;
    uint64_t fraction = low_bits(value, (unsigned)spec->mantissa_bits);
    double result;
    if (spec_is_nan(spec, bits))
        return (double)NAN;
    if (spec_is_infinite(spec, bits))
        result = (double)INFINITY;
    else if (exponent == 0)
        result = ldexp((double)fraction, 1 - bias - spec->mantissa_bits);
    else
        result = ldexp((double)(fraction | UINT64_C(1) << spec->mantissa_bits),
                       (int)exponent - bias - spec->mantissa_bits);
    return bits >> (spec_bits(spec) - 1) & 1 ? -result : result;
}

int spec_compare(const Spec *spec, uint64_t a, uint64_t b)
{
    if (spec_is_nan(spec, a) || spec_is_nan(spec, b))
        return 2;
    int64_t x = (int64_t)magnitude(spec, a), y = (int64_t)magnitude(spec, b);
    x = a >> (spec_bits(spec) - 1) & 1 ? -x : x;
    y = b >> (spec_bits(spec) - 1) & 1 ? -y : y;
    return x < y ? -1 : x > y;
}

const Spec *spec_of_type(Type type)
{
    switch (type) {
    case TYPE_F64: return &specs[SPEC_F64];
    case TYPE_F32:
    case TYPE_F32X2: return &specs[SPEC_F32];
    case TYPE_F16:
    case TYPE_F16X2: return &specs[SPEC_F16];
    case TYPE_BF16:
    case TYPE_BF16X2: return &specs[SPEC_BF16];
    default: return NULL;
    }
}

Mode probe_mode(const Probe *probe)
{
    static const struct {
        const char *mod;
        Mode mode;
    } modes[] = {{".rz", MODE_ZERO}, {".rm", MODE_DOWN},  {".rp", MODE_UP},  {".rzi", MODE_ZERO},
                 {".rmi", MODE_DOWN}, {".rpi", MODE_UP}, {".rna", MODE_AWAY}};
    for (unsigned i = 0; i < COUNT_OF(modes); i++)
        if (probe_has(probe, modes[i].mod))
            return modes[i].mode;
    return MODE_EVEN;
}

bool oracle_answer(const Probe *probe, const uint64_t *inputs, Answer *answer)
{
    *answer = (Answer){0};
    for (unsigned i = 0; i < probe->dest_count; i++) {
        const ProbeOperand *dest = &probe->dests[i];
        unsigned words = (dest->count ? dest->count : 1) * (dest->reg_bits == 128 ? 2 : 1);
        for (unsigned k = 0; k < words; k++)
            answer->words[dest->word + k].care = UINT64_MAX;
    }
    if (probe->carry_out)
        answer->words[probe->output_words - 1].care = UINT64_MAX;
    return answer_integer(probe, inputs, answer) || answer_convert(probe, inputs, answer) ||
           answer_compare(probe, inputs, answer) || answer_float(probe, inputs, answer) ||
           answer_move(probe, inputs, answer) || answer_video(probe, inputs, answer);
}

static bool part_accepts(const AnswerPart *part, uint64_t got)
{
    uint64_t bits = low_bits(got >> part->shift, spec_bits(part->spec));
    if (part->kind == PART_NAN)
        return spec_is_nan(part->spec, bits);
    double value = spec_decode(part->spec, bits);
    return value >= part->low && value <= part->high;
}

bool answer_accepts(const Probe *probe, const Answer *answer, const uint64_t *got)
{
    for (unsigned i = 0; i < probe->output_words; i++) {
        const struct AnswerWord *word = &answer->words[i];
        if ((word->bits ^ got[i]) & word->care)
            return false;
        for (unsigned k = 0; k < word->part_count; k++)
            if (!part_accepts(&word->parts[k], got[i]))
                return false;
    }
    return true;
}
