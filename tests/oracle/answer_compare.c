/* Comparison and selection: PTX ISA, "Comparison and Selection Instructions" and their half-precision forms. */
#include "tests/oracle/oracle.h"

#include <string.h>

typedef enum Relation { EQ, NE, LT, LE, GT, GE, NUM, IS_NAN } Relation;

static const struct {
    const char *mod;
    Relation relation;
    bool unordered, force_unsigned;
} relations[] = {
    {".eq", EQ, false, false},  {".ne", NE, false, false},  {".lt", LT, false, false},  {".le", LE, false, false},
    {".gt", GT, false, false},  {".ge", GE, false, false},  {".lo", LT, false, true},   {".ls", LE, false, true},
    {".hi", GT, false, true},   {".hs", GE, false, true},   {".equ", EQ, true, false},  {".neu", NE, true, false},
    {".ltu", LT, true, false},  {".leu", LE, true, false},  {".gtu", GT, true, false},  {".geu", GE, true, false},
    {".num", NUM, false, false}, {".nan", IS_NAN, false, false},
};

/* 'order' -1, 0, 1, or 2: one is NaN */
static bool holds(Relation relation, bool unordered, int order)
{
    if (relation == NUM || relation == IS_NAN)
        return (order == 2) == (relation == IS_NAN);
    if (order == 2)
        return unordered;
    switch (relation) {
    case EQ: return order == 0;
    case NE: return order != 0;
    case LT: return order < 0;
    case LE: return order <= 0;
    case GT: return order > 0;
    default: return order >= 0;
    }
}

static int order_integers(uint64_t a, uint64_t b, unsigned bits, bool is_signed)
{
    if (is_signed) {
        int64_t x = signed_bits(a, bits), y = signed_bits(b, bits);
        return x < y ? -1 : x > y;
    }
    a = low_bits(a, bits);
    b = low_bits(b, bits);
    return a < b ? -1 : a > b;
}

static bool combined(const Probe *probe, bool value, bool with)
{
    if (probe_has(probe, ".and"))
        return value && with;
    if (probe_has(probe, ".or"))
        return value || with;
    return probe_has(probe, ".xor") ? value != with : value;
}

/* The value for true in a destination of the type and width. */
static uint64_t truth(Type type)
{
    switch (type) {
    case TYPE_F32: return 0x3f800000;
    case TYPE_F16: return 0x3c00;
    case TYPE_BF16: return 0x3f80;
    case TYPE_F16X2: return 0x3c003c00;
    case TYPE_BF16X2: return 0x3f803f80;
    default: return UINT64_MAX;
    }
}

static bool answer_comparison(const Probe *probe, const uint64_t *in, Answer *answer)
{
    if (probe->op == OP_SET && probe->type_count < 2) /* of packed integers */
        return false;
    Type type = probe->types[probe->op == OP_SET ? 1 : 0];
    const Spec *spec = spec_of_type(type);
    unsigned bits = spec ? spec_bits(spec) : type_bits(type), parts = type_bits(type) / bits, found = 0;
    while (found < COUNT_OF(relations) && !probe_has(probe, relations[found].mod))
        found++;
    if (found == COUNT_OF(relations))
        return false;
    bool with = probe->source_count > 2 && (in[2] != 0) != probe->sources[2].inverted, value[2] = {false}, plain[2];
    for (unsigned i = 0; i < parts && i < 2; i++) {
        uint64_t a = low_bits(in[0] >> i * bits, bits), b = low_bits(in[1] >> i * bits, bits);
        if (spec && probe_has(probe, ".ftz") && spec != &specs[SPEC_F64]) {
            uint64_t sign = UINT64_C(1) << (bits - 1);
            a = spec_is_subnormal(spec, a) ? a & sign : a;
            b = spec_is_subnormal(spec, b) ? b & sign : b;
        }
        bool is_signed = type_is_signed(type) && !relations[found].force_unsigned;
        int order = spec ? spec_compare(spec, a, b) : order_integers(a, b, bits, is_signed);
        plain[i] = holds(relations[found].relation, relations[found].unordered, order);
        value[i] = combined(probe, plain[i], with);
    }
    if (probe->op == OP_SETP) {
        answer->words[0].bits = value[0];
        if (probe->dest_count > 1)
            answer->words[1].bits = parts == 2 ? value[1] : combined(probe, !plain[0], with);
        return true;
    }
    /* A packed result, or one wide destination for both halves. */
    Type dest = probe->types[0];
    unsigned width = probe->dests[0].reg_bits;
    uint64_t all = low_bits(truth(dest), width);
    if (parts == 2) {
        uint64_t low = low_bits(all, width / 2), high = all & ~low;
        answer->words[0].bits = (value[0] ? low : 0) | (value[1] ? high : 0);
    } else {
        answer->words[0].bits = value[0] ? all : 0;
    }
    return true;
}

bool answer_compare(const Probe *probe, const uint64_t *in, Answer *answer)
{
    switch (probe->op) {
    case OP_SET:
    case OP_SETP: return answer_comparison(probe, in, answer);
    case OP_SELP: answer->words[0].bits = low_bits(in[2] ? in[0] : in[1], probe->dests[0].reg_bits); return true;
    case OP_SLCT: {
        const Spec *spec = spec_of_type(probe->types[1]);
        /* -0 counts as not negative, and so does a value that .ftz flushes to it. */
        uint64_t key = spec && probe_has(probe, ".ftz") && spec_is_subnormal(spec, in[2]) ? 0 : in[2];
        bool first = spec ? spec_compare(spec, key, 0) == 0 || spec_compare(spec, key, 0) == 1 : (int32_t)key >= 0;
        answer->words[0].bits = low_bits(first ? in[0] : in[1], probe->dests[0].reg_bits);
        return true;
    }
    default: return false;
    }
}
