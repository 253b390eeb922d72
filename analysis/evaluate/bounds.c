/* Bounds on the result of an instruction with bounded operands.
 *
 * Arithmetic is done on integers that do not wrap; the result is then reduced to the register's bits, once as an
 * unsigned and once as a signed integer, and both sets of bounds hold. The result of an operation without a rule of its
 * own is known only if all operands are. */
#include "analysis/evaluate/internal.h"

typedef __int128 Wide;

typedef struct Interval {
    Wide low, high;
} Interval;

/* All ones up to the highest bit that is set. */
static uint64_t ones_up_to(uint64_t value)
{
    return value ? UINT64_MAX >> __builtin_clzll(value) : 0;
}

static uint64_t least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t greatest_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Tightens the signed limits by the unsigned ones, which is possible if all values have the same sign. */
static void signed_tighten(Bounds *b)
{
    uint64_t sign = bits_sign(b->bits);
    if ((b->low ^ b->high) & sign)
        return;
    int64_t least = bits_signed(b->low, b->bits), most = bits_signed(b->high, b->bits);
    b->least = b->least > least ? b->least : least;
    b->most = b->most < most ? b->most : most;
}

static void unsigned_tighten(Bounds *b)
{
    if ((b->least < 0) != (b->most < 0))
        return;
    b->low = greatest_of(b->low, (uint64_t)b->least & bits_mask(b->bits));
    b->high = least_of(b->high, (uint64_t)b->most & bits_mask(b->bits));
}

/* Tightens each kind of bounds by the others. */
static Bounds tightened(Bounds b)
{
    uint64_t all = bits_mask(b.bits);
    b.high = least_of(b.high, all & ~b.zeros);
    signed_tighten(&b);
    unsigned_tighten(&b);
    b.zeros |= all & ~ones_up_to(b.high);
    return b;
}

Bounds bounds_any(unsigned bits)
{
    uint64_t all = bits_mask(bits);
    return (Bounds){0, all, -(int64_t)(all >> 1) - 1, (int64_t)(all >> 1), 0, (uint8_t)bits};
}

Bounds bounds_point(unsigned bits, uint64_t value)
{
    value &= bits_mask(bits);
    int64_t number = bits_signed(value, bits);
    return (Bounds){value, value, number, number, bits_mask(bits) & ~value, (uint8_t)bits};
}

Bounds bounds_unsigned(unsigned bits, uint64_t low, uint64_t high)
{
    Bounds b = bounds_any(bits);
    b.low = low;
    b.high = high;
    return tightened(b);
}

Bounds bounds_with_zeros(Bounds bounds, uint64_t zeros)
{
    bounds.zeros |= zeros & bits_mask(bounds.bits);
    return tightened(bounds);
}

static Bounds either(Bounds a, Bounds b)
{
    return (Bounds){least_of(a.low, b.low),
                    greatest_of(a.high, b.high),
                    a.least < b.least ? a.least : b.least,
                    a.most > b.most ? a.most : b.most,
                    a.zeros & b.zeros,
                    a.bits};
}

static Bounds both(Bounds a, Bounds b)
{
    return tightened((Bounds){greatest_of(a.low, b.low),
                              least_of(a.high, b.high),
                              a.least > b.least ? a.least : b.least,
                              a.most < b.most ? a.most : b.most,
                              a.zeros | b.zeros,
                              a.bits});
}

Bounds bounds_wrapped(unsigned bits, Wide low, Wide high)
{
    Bounds b = bounds_any(bits);
    unsigned __int128 apart = (unsigned __int128)high - (unsigned __int128)low; /* may need all 128 bits */
    if (apart > bits_mask(bits))
        return b;
    uint64_t size = (uint64_t)apart, first = (uint64_t)low & bits_mask(bits);
    if (size <= bits_mask(bits) - first) {
        b.low = first;
        b.high = first + size;
    }
    int64_t least = bits_signed(first, bits);
    if ((Wide)least + (Wide)size <= b.most) {
        b.most = (int64_t)((Wide)least + (Wide)size);
        b.least = least;
    }
    return tightened(b);
}

/* Bounds on the bits of a register that are read. */
static Bounds cut(Bounds b, unsigned bits)
{
    if (b.bits <= bits)
        return b;
    Bounds low = bounds_wrapped(bits, b.low, b.high);
    if (b.high > bits_mask(bits))
        low = both(low, bounds_wrapped(bits, b.least, b.most));
    return bounds_with_zeros(low, b.zeros);
}

/* Bounds on the result as extended to a register that may be wider. */
static Bounds extended(const Computation *c, Bounds b)
{
    if (c->bits == c->reg_bits)
        return b;
    if (c->extends_sign)
        return bounds_wrapped(c->reg_bits, b.least, b.most);
    return bounds_with_zeros(bounds_unsigned(c->reg_bits, b.low, b.high), b.zeros | ~bits_mask(c->bits));
}

static Interval interval(const Bounds *b, bool is_signed)
{
    return is_signed ? (Interval){b->least, b->most} : (Interval){b->low, b->high};
}

static Wide wide_least(Wide a, Wide b) { return a < b ? a : b; }
static Wide wide_most(Wide a, Wide b) { return a > b ? a : b; }

/* False if the product may not fit into 128 bits. */
static bool interval_multiply(Interval *a, Interval b)
{
    const Wide factors[4][2] = {{a->low, b.low}, {a->low, b.high}, {a->high, b.low}, {a->high, b.high}};
    for (unsigned i = 0; i < 4; i++) {
        Wide product;
        if (__builtin_mul_overflow(factors[i][0], factors[i][1], &product))
            return false;
        a->low = i ? wide_least(a->low, product) : product;
        a->high = i ? wide_most(a->high, product) : product;
    }
    return true;
}

/* The sum, difference or product of the sources, read as signed or as unsigned integers. */
static bool arithmetic(const Computation *c, const Bounds *s, bool is_signed, Interval *out)
{
    Interval a = interval(&s[0], is_signed), b = interval(&s[1], is_signed), rest = {0, 0};
    if (c->op == COMPUTE_ADD)
        *out = (Interval){a.low + b.low, a.high + b.high};
    else if (c->op == COMPUTE_SUB)
        *out = (Interval){a.low - b.high, a.high - b.low};
    else if (c->op == COMPUTE_NEG)
        *out = (Interval){-a.high, -a.low};
    else if (!interval_multiply(&a, b))
        return false;
    else {
        if (c->op == COMPUTE_MAD)
            rest = interval(&s[2], is_signed);
        if (__builtin_add_overflow(a.low, rest.low, &out->low) || __builtin_add_overflow(a.high, rest.high, &out->high))
            return false;
    }
    return true;
}

static Wide clamped(Wide value, unsigned bits, bool is_signed)
{
    Wide most = is_signed ? (Wide)(bits_mask(bits) >> 1) : (Wide)bits_mask(bits), least = is_signed ? -most - 1 : 0;
    return wide_least(wide_most(value, least), most);
}

static Bounds saturated(unsigned bits, Interval i, bool is_signed)
{
    return bounds_wrapped(bits, clamped(i.low, bits, is_signed), clamped(i.high, bits, is_signed));
}

/* Sums wrap alike whether the integers are signed or not; factors that are extended are of one kind. */
static Bounds arithmetic_bounds(const Computation *c, const Bounds *s)
{
    Bounds result = bounds_any(c->bits);
    bool is_wide = c->sources[0].bits < c->bits;
    for (unsigned kind = 0; kind < 2; kind++) {
        Interval i;
        if (((is_wide || c->saturates) && kind != c->is_signed) || !arithmetic(c, s, kind, &i))
            continue;
        result =
            both(result, c->saturates ? saturated(c->bits, i, c->is_signed) : bounds_wrapped(c->bits, i.low, i.high));
    }
    return result;
}

static Bounds high_bounds(const Computation *c, const Bounds *s)
{
    Interval a = interval(&s[0], c->is_signed), b = interval(&s[1], c->is_signed);
    if (!interval_multiply(&a, b))
        return bounds_any(c->bits);
    return bounds_wrapped(c->bits, a.low >> c->bits, a.high >> c->bits);
}

static Bounds conversion_bounds(const Computation *c, const Bounds *s)
{
    Interval i = interval(&s[0], c->sources[0].is_signed);
    return c->saturates ? saturated(c->bits, i, c->extends_sign) : bounds_wrapped(c->bits, i.low, i.high);
}

/* Known only for a positive divisor and a dividend that is not negative. */
static Bounds quotient_bounds(const Computation *c, const Bounds *s)
{
    Interval a = interval(&s[0], c->is_signed), b = interval(&s[1], c->is_signed);
    if (b.low <= 0 || a.low < 0)
        return bounds_any(c->bits);
    if (c->op == COMPUTE_DIV)
        return bounds_wrapped(c->bits, a.low / b.high, a.high / b.low);
    return bounds_wrapped(c->bits, a.high < b.low ? a.low : 0, wide_least(a.high, b.high - 1));
}

/* The bounds are unsigned, because the least signed integer has no opposite: its absolute value is half of 2^bits. */
static Bounds absolute_bounds(const Computation *c, const Bounds *s)
{
    Wide low = s[0].least, high = s[0].most;
    if (low >= 0)
        return s[0];
    return bounds_wrapped(c->bits, high < 0 ? -high : 0, wide_most(-low, high));
}

static Bounds extreme_bounds(const Computation *c, const Bounds *s)
{
    Interval a = interval(&s[0], c->is_signed), b = interval(&s[1], c->is_signed);
    Wide (*pick)(Wide, Wide) = c->op == COMPUTE_MIN ? wide_least : wide_most;
    Interval i = {pick(a.low, b.low), pick(a.high, b.high)};
    if (c->clips)
        i = (Interval){wide_most(i.low, 0), wide_most(i.high, 0)};
    return bounds_wrapped(c->bits, i.low, i.high);
}

static Bounds logic_bounds(const Computation *c, const Bounds *s)
{
    uint64_t all = bits_mask(c->bits), zeros = s[0].zeros & s[1].zeros;
    switch (c->op) {
    case COMPUTE_AND:
        return bounds_with_zeros(bounds_unsigned(c->bits, 0, least_of(s[0].high, s[1].high)), s[0].zeros | s[1].zeros);
    case COMPUTE_OR: {
        Bounds b = bounds_with_zeros(bounds_any(c->bits), zeros);
        b.low = greatest_of(s[0].low, s[1].low);
        return tightened(b);
    }
    case COMPUTE_XOR: return bounds_with_zeros(bounds_any(c->bits), zeros);
    default: return bounds_unsigned(c->bits, all & ~s[0].high, all & ~s[0].low);
    }
}

static Bounds shift_left_bounds(const Computation *c, const Bounds *s)
{
    if (s[1].low >= c->bits)
        return bounds_point(c->bits, 0);
    if (!bounds_is_point(&s[1]))
        return bounds_any(c->bits);
    unsigned by = (unsigned)s[1].low;
    Bounds result = bounds_any(c->bits);
    for (unsigned kind = 0; kind < 2; kind++) {
        Interval i = interval(&s[0], kind), power = {(Wide)1 << by, (Wide)1 << by};
        if (interval_multiply(&i, power))
            result = both(result, bounds_wrapped(c->bits, i.low, i.high));
    }
    return bounds_with_zeros(result, s[0].zeros << by | ~(UINT64_MAX << by));
}

/* A further shift moves the value nearer to 0, or to -1. */
static Bounds shift_right_bounds(const Computation *c, const Bounds *s)
{
    unsigned limit = c->is_signed ? c->bits - 1u : c->bits;
    unsigned least = (unsigned)least_of(s[1].low, limit), most = (unsigned)least_of(s[1].high, limit);
    Interval a = interval(&s[0], c->is_signed);
    return bounds_wrapped(c->bits, a.low >> (a.low < 0 ? least : most), a.high >> (a.high < 0 ? most : least));
}

/* A field of a known length is bounded by that length; a field of an unsigned integer also by the bits from its
 * position on. */
static Bounds extract_bounds(const Computation *c, const Bounds *s)
{
    if (!bounds_is_point(&s[2]))
        return c->is_signed ? bounds_any(c->bits) : bounds_unsigned(c->bits, 0, s[0].high);
    unsigned length = s[2].low & 255;
    if (!length)
        return bounds_point(c->bits, 0);
    if (c->is_signed)
        return length >= c->bits
                   ? bounds_any(c->bits)
                   : bounds_wrapped(c->bits, -(INT64_C(1) << (length - 1)), (INT64_C(1) << (length - 1)) - 1);
    uint64_t high = length < c->bits ? bits_mask(length) : bits_mask(c->bits), from = s[1].low & 255;
    uint64_t left = !bounds_is_point(&s[1]) ? s[0].high : from < c->bits ? s[0].high >> from : 0;
    return bounds_unsigned(c->bits, 0, least_of(high, left));
}

static Bounds count_bounds(const Computation *c, const Bounds *s)
{
    unsigned bits = c->sources[0].bits, spare = 64 - bits;
    if (c->op == COMPUTE_COUNT_ONES)
        return bounds_unsigned(c->bits, s[0].low > 0, (unsigned)__builtin_popcountll(bits_mask(bits) & ~s[0].zeros));
    unsigned low = s[0].high ? (unsigned)__builtin_clzll(s[0].high) - spare : bits;
    unsigned high = s[0].low ? (unsigned)__builtin_clzll(s[0].low) - spare : bits;
    return bounds_unsigned(c->bits, low, high);
}

static Bounds selection_bounds(const Bounds *s, bool first, bool second)
{
    return first && second ? either(s[0], s[1]) : first ? s[0] : s[1];
}

/* Sets outcomes[0] if the relation may be false, outcomes[1] if it may be true. */
static void relation_outcomes(Relation relation, Interval a, Interval b, bool outcomes[2])
{
    bool same = a.low == a.high && b.low == b.high && a.low == b.low, apart = a.high < b.low || a.low > b.high;
    switch (relation) {
    case RELATION_EQUAL: outcomes[0] = !same, outcomes[1] = !apart; break;
    case RELATION_NOT_EQUAL: outcomes[0] = !apart, outcomes[1] = !same; break;
    case RELATION_LESS: outcomes[0] = a.high >= b.low, outcomes[1] = a.low < b.high; break;
    case RELATION_LESS_EQUAL: outcomes[0] = a.high > b.low, outcomes[1] = a.low <= b.high; break;
    case RELATION_GREATER: outcomes[0] = a.low <= b.high, outcomes[1] = a.high > b.low; break;
    case RELATION_GREATER_EQUAL: outcomes[0] = a.low < b.high, outcomes[1] = a.high >= b.low; break;
    default: bug("a comparison without a relation");
    }
}

/* Equality can be excluded by the signed bounds, by the unsigned ones, and by the bits. */
static void comparison_outcomes(const Computation *c, const Bounds *s, bool outcomes[2])
{
    bool is_equality = c->relation == RELATION_EQUAL || c->relation == RELATION_NOT_EQUAL;
    relation_outcomes(c->relation, interval(&s[0], c->is_signed), interval(&s[1], c->is_signed), outcomes);
    if (!is_equality)
        return;
    bool other[2];
    relation_outcomes(c->relation, interval(&s[0], !c->is_signed), interval(&s[1], !c->is_signed), other);
    bool apart = (s[0].low == s[0].high && s[0].low & s[1].zeros) || (s[1].low == s[1].high && s[1].low & s[0].zeros);
    outcomes[0] &= other[0];
    outcomes[1] &= other[1];
    if (apart)
        outcomes[c->relation == RELATION_EQUAL] = false;
}

static Bounds comparison_bounds(const Computation *c, const Bounds *s)
{
    bool holds[2], result[2] = {false, false};
    comparison_outcomes(c, s, holds);
    bool has_predicate = c->combination != COMBINE_NOTHING;
    bool with[2] = {!has_predicate || s[2].low == 0, has_predicate && s[2].high == 1};
    for (unsigned i = 0; i < 4; i++) {
        bool value = i & 1, other = i >> 1;
        if (holds[value] && with[other])
            result[c->combination == COMBINE_AND   ? value && other
                   : c->combination == COMBINE_OR  ? value || other
                   : c->combination == COMBINE_XOR ? value != other
                                                   : value] = true;
    }
    return either(bounds_point(c->bits, result[0] ? 0 : UINT64_MAX),
                        bounds_point(c->bits, result[1] ? UINT64_MAX : 0));
}

static Bounds bounded(const Computation *c, const Bounds *s)
{
    switch (c->op) {
    case COMPUTE_COPY: return s[0];
    case COMPUTE_CONVERT: return conversion_bounds(c, s);
    case COMPUTE_ADD:
    case COMPUTE_SUB:
    case COMPUTE_NEG:
    case COMPUTE_MUL:
    case COMPUTE_MAD: return arithmetic_bounds(c, s);
    case COMPUTE_MUL_HIGH: return high_bounds(c, s);
    case COMPUTE_DIV:
    case COMPUTE_REM: return quotient_bounds(c, s);
    case COMPUTE_ABS: return absolute_bounds(c, s);
    case COMPUTE_MIN:
    case COMPUTE_MAX: return extreme_bounds(c, s);
    case COMPUTE_AND:
    case COMPUTE_OR:
    case COMPUTE_XOR:
    case COMPUTE_NOT: return logic_bounds(c, s);
    case COMPUTE_IS_ZERO: return bounds_unsigned(c->bits, 0, s[0].low == 0);
    case COMPUTE_SHIFT_LEFT: return shift_left_bounds(c, s);
    case COMPUTE_SHIFT_RIGHT: return shift_right_bounds(c, s);
    case COMPUTE_EXTRACT: return extract_bounds(c, s);
    case COMPUTE_COUNT_ONES:
    case COMPUTE_COUNT_ZEROS: return count_bounds(c, s);
    case COMPUTE_SELECT: return selection_bounds(s, s[2].high == 1, s[2].low == 0);
    case COMPUTE_SELECT_SIGN: return selection_bounds(s, s[2].most >= 0, s[2].least < 0);
    case COMPUTE_COMPARE: return comparison_bounds(c, s);
    default: return bounds_any(c->bits);
    }
}

Bounds computation_bounds_of(const Computation *c, const Bounds *sources)
{
    Bounds read[COMPUTE_SOURCES] = {0};
    uint64_t values[COMPUTE_SOURCES], value;
    bool all = true;
    for (unsigned i = 0; i < c->source_count; i++) {
        values[i] = sources[i].low;
        all &= bounds_is_point(&sources[i]);
        read[i] = cut(sources[i], c->sources[i].bits);
        if (c->sources[i].is_inverted)
            read[i] = bounds_unsigned(1, !read[i].high, !read[i].low);
    }
    if (all)
        return computation_value(c, values, &value) ? bounds_point(c->reg_bits, value) : bounds_any(c->reg_bits);
    return extended(c, bounded(c, read));
}

Bounds computation_bounds(const Computation *c, RegisterBounds *of, const void *context)
{
    Bounds sources[COMPUTE_SOURCES];
    for (unsigned i = 0; i < c->source_count; i++) {
        const ComputeSource *source = &c->sources[i];
        sources[i] = source->is_constant       ? bounds_point(source->bits, source->constant)
                     : source->reg != REG_NONE ? of(context, source->reg)
                                               : bounds_any(source->bits);
    }
    return computation_bounds_of(c, sources);
}

/* The loaded integer, or each element of a vector, is extended to its register as its type says. */
Bounds bounds_of_load(const Body *body, const Inst *inst, RegId reg)
{
    Type type = inst->signature->type_count ? inst->signature->types[0] : TYPE_NONE;
    unsigned bits = type_bits(body->regs.data[reg].type), loaded = type_bits(type);
    bool is_load = !inst_is_opaque(inst) && (inst_op(inst) == OP_LD || inst_op(inst) == OP_LDU);
    if (!is_load || !class_is_integer(type_class(type)) || loaded >= bits)
        return bounds_any(bits);
    uint64_t half = bits_mask(loaded) >> 1;
    if (type_class(type) == CLASS_SIGNED)
        return bounds_wrapped(bits, -(int64_t)half - 1, (int64_t)half);
    return bounds_unsigned(bits, 0, bits_mask(loaded));
}
