/* The results of instructions for given operands. */
#include "analysis/evaluate/internal.h"

/* A source as it is read: its bits, and the integer that they represent. */
typedef struct Number {
    uint64_t bits;
    int64_t number; /* extended by the source's kind */
} Number;

static Number number_read(const ComputeSource *source, uint64_t value)
{
    Number number = {(source->is_constant ? source->constant : value) & bits_mask(source->bits), 0};
    number.bits ^= source->is_inverted;
    number.number = source->is_signed ? bits_signed(number.bits, source->bits) : (int64_t)number.bits;
    return number;
}

/* Clamps the integer to the range of integers of this many bits. */
static uint64_t saturated(__int128 value, unsigned bits, bool is_signed)
{
    __int128 most = is_signed ? (__int128)(bits_mask(bits) >> 1) : (__int128)bits_mask(bits);
    __int128 least = is_signed ? -most - 1 : 0;
    return (uint64_t)(value > most ? most : value < least ? least : value);
}

/* The source as an integer of the operation's kind; unsigned 64-bit ones need more than 64 bits. */
static __int128 widened(const Computation *c, Number number)
{
    return c->is_signed ? (__int128)number.number : (__int128)number.bits;
}

static int compared(const Computation *c, Number a, Number b)
{
    __int128 x = widened(c, a), y = widened(c, b);
    return (x > y) - (x < y);
}

static bool relation_holds(Relation relation, int order)
{
    switch (relation) {
    case RELATION_EQUAL: return order == 0;
    case RELATION_NOT_EQUAL: return order != 0;
    case RELATION_LESS: return order < 0;
    case RELATION_LESS_EQUAL: return order <= 0;
    case RELATION_GREATER: return order > 0;
    case RELATION_GREATER_EQUAL: return order >= 0;
    default: bug("a comparison without a relation");
    }
}

static bool combined(Combination combination, bool value, bool with)
{
    switch (combination) {
    case COMBINE_AND: return value && with;
    case COMBINE_OR: return value || with;
    case COMBINE_XOR: return value != with;
    default: return value;
    }
}

static uint64_t comparison_value(const Computation *c, const Number *s)
{
    bool holds = relation_holds(c->relation, compared(c, s[0], s[1]));
    return combined(c->combination, holds, s[2].bits) ? bits_mask(c->bits) : 0;
}

static uint64_t sum_value(const Computation *c, __int128 sum)
{
    return c->saturates ? saturated(sum, c->bits, c->is_signed) : (uint64_t)sum;
}

static uint64_t high_half(const Computation *c, const Number *s)
{
    if (c->is_signed)
        return (uint64_t)((__int128)s[0].number * s[1].number >> c->bits);
    return (uint64_t)((unsigned __int128)s[0].bits * s[1].bits >> c->bits);
}

static uint64_t high_sum(const Computation *c, const Number *s)
{
    uint64_t high = high_half(c, s);
    __int128 integer = c->is_signed ? (__int128)bits_signed(high, c->bits) : (__int128)high;
    return sum_value(c, integer + widened(c, s[2]));
}

static uint64_t product_24(const Computation *c, const Number *s)
{
    uint64_t a = c->is_signed ? (uint64_t)bits_signed(s[0].bits, 24) : s[0].bits & bits_mask(24);
    uint64_t b = c->is_signed ? (uint64_t)bits_signed(s[1].bits, 24) : s[1].bits & bits_mask(24);
    return a * b;
}

/* The ISA leaves division by zero undefined, and says nothing about the only quotient that does not fit. */
static bool quotient_value(const Computation *c, const Number *s, uint64_t *result)
{
    __int128 a = widened(c, s[0]), b = widened(c, s[1]);
    bool fits = b != 0 && !(c->is_signed && b == -1 && s[0].bits == bits_sign(c->bits));
    if (fits)
        *result = (uint64_t)(c->op == COMPUTE_DIV ? a / b : a % b);
    return fits;
}

static uint64_t extreme_value(const Computation *c, const Number *s)
{
    bool first = (compared(c, s[0], s[1]) < 0) == (c->op == COMPUTE_MIN);
    Number chosen = first ? s[0] : s[1];
    return c->clips && chosen.number < 0 ? 0 : chosen.bits;
}

/* The result for one of the two integers in a register. */
static uint64_t half_value(const Computation *c, uint64_t a, uint64_t b)
{
    int64_t x = c->is_signed ? bits_signed(a, 16) : (int64_t)(a & bits_mask(16));
    int64_t y = c->is_signed ? bits_signed(b, 16) : (int64_t)(b & bits_mask(16));
    int64_t value = c->op == COMPUTE_HALVES_ADD ? x + y : (x < y) == (c->op == COMPUTE_HALVES_MIN) ? x : y;
    return (uint64_t)(c->clips && value < 0 ? 0 : value) & bits_mask(16);
}

static uint64_t halves_value(const Computation *c, const Number *s)
{
    return half_value(c, s[0].bits, s[1].bits) | half_value(c, s[0].bits >> 16, s[1].bits >> 16) << 16;
}

static uint64_t table_value(const Computation *c, const Number *s)
{
    uint64_t result = 0;
    for (unsigned row = 0; row < 8; row++)
        if (c->table >> row & 1)
            result |= (row & 4 ? s[0].bits : ~s[0].bits) & (row & 2 ? s[1].bits : ~s[1].bits) &
                      (row & 1 ? s[2].bits : ~s[2].bits);
    return result;
}

/* A shift by at least the number of bits leaves zeros or copies of the sign. */
static uint64_t shift_value(const Computation *c, const Number *s)
{
    uint64_t amount = s[1].bits;
    if (c->op == COMPUTE_SHIFT_LEFT)
        return amount < c->bits ? s[0].bits << amount : 0;
    if (!c->is_signed)
        return amount < c->bits ? s[0].bits >> amount : 0;
    return (uint64_t)(s[0].number >> (amount < c->bits ? amount : c->bits - 1u));
}

static uint64_t funnel_value(const Computation *c, const Number *s)
{
    uint64_t both = s[1].bits << 32 | s[0].bits, amount = s[2].bits;
    amount = !c->clamps ? amount & 31 : amount > 32 ? 32 : amount;
    if (c->op == COMPUTE_FUNNEL_RIGHT)
        return both >> amount;
    return amount == 32 ? both : both << amount >> 32;
}

/* bfe: the bits beyond the register are copies of the sign, or zeros. */
static uint64_t extract_value(const Computation *c, const Number *s)
{
    unsigned position = s[1].bits & 255, length = s[2].bits & 255;
    if (!length)
        return 0;
    unsigned end = position + length < c->bits ? position + length : c->bits;
    bool negative = c->is_signed && s[0].bits >> (end - 1) & 1;
    uint64_t field = position < end ? (s[0].bits & bits_mask(end)) >> position : 0;
    unsigned found = position < end ? end - position : 0;
    return negative && found < 64 ? field | UINT64_MAX << found : field;
}

static uint64_t insert_value(const Computation *c, const Number *s)
{
    unsigned position = s[2].bits & 255, length = s[3].bits & 255;
    if (!length || position >= c->bits)
        return s[1].bits;
    uint64_t mask = bits_mask(length < 64 ? length : 64) << position;
    return (s[1].bits & ~mask) | (s[0].bits << position & mask);
}

/* bmsk: this many ones from a position on. */
static uint64_t mask_value(const Computation *c, const Number *s)
{
    uint64_t position = c->clamps ? s[0].bits : s[0].bits & 31, length = c->clamps ? s[1].bits : s[1].bits & 31;
    if (position >= 32 || !length)
        return 0;
    return bits_mask(length < 32 ? (unsigned)length : 32) << position;
}

/* szext */
static uint64_t extend_value(const Computation *c, const Number *s)
{
    uint64_t length = c->clamps ? s[1].bits : s[1].bits & 31;
    if (!length)
        return 0;
    if (length >= 32)
        return s[0].bits;
    return c->is_signed ? (uint64_t)bits_signed(s[0].bits, (unsigned)length) : s[0].bits & bits_mask((unsigned)length);
}

static uint64_t reversed(uint64_t value, unsigned bits)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; i++)
        result |= (value >> i & 1) << (bits - 1 - i);
    return result;
}

/* prmt without a mode: each byte is a chosen one, or filled with its sign. */
static uint64_t permuted(const Number *s)
{
    uint64_t both = s[1].bits << 32 | s[0].bits, result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned choice = s[2].bits >> 4 * i & 15;
        uint64_t byte = both >> 8 * (choice & 7) & 255;
        if (choice & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

/* bfind: the highest bit that differs from the sign; all ones if there is none. */
static uint64_t find_value(const Computation *c, const Number *s)
{
    unsigned bits = c->sources[0].bits;
    uint64_t value = (c->is_signed && s[0].number < 0 ? ~s[0].bits : s[0].bits) & bits_mask(bits);
    if (!value)
        return UINT64_MAX;
    unsigned at = 63 - (unsigned)__builtin_clzll(value);
    return c->shift_amount ? bits - 1 - at : at;
}

static uint64_t zeros_counted(const Computation *c, const Number *s)
{
    unsigned bits = c->sources[0].bits;
    return s[0].bits ? (unsigned)__builtin_clzll(s[0].bits) - (64 - bits) : bits;
}

static uint64_t converted(const Computation *c, const Number *s)
{
    if (!c->saturates)
        return (uint64_t)s[0].number;
    __int128 value = c->sources[0].is_signed ? (__int128)s[0].number : (__int128)s[0].bits;
    return saturated(value, c->bits, c->extends_sign);
}

static uint64_t distance_value(const Computation *c, const Number *s)
{
    return (compared(c, s[0], s[1]) > 0 ? s[0].bits - s[1].bits : s[1].bits - s[0].bits) + s[2].bits;
}

/* False if the result is undefined. */
static bool computed(const Computation *c, const Number *s, uint64_t *result)
{
    switch (c->op) {
    case COMPUTE_NOTHING: return false;
    case COMPUTE_COPY: *result = s[0].bits; break;
    case COMPUTE_CONVERT: *result = converted(c, s); break;
    case COMPUTE_ADD: *result = sum_value(c, widened(c, s[0]) + widened(c, s[1])); break;
    case COMPUTE_SUB: *result = sum_value(c, widened(c, s[0]) - widened(c, s[1])); break;
    case COMPUTE_NEG: *result = -s[0].bits; break;
    case COMPUTE_ABS: *result = s[0].number < 0 ? -s[0].bits : s[0].bits; break;
    case COMPUTE_MUL: *result = (uint64_t)s[0].number * (uint64_t)s[1].number; break;
    case COMPUTE_MAD: *result = (uint64_t)s[0].number * (uint64_t)s[1].number + s[2].bits; break;
    case COMPUTE_MUL_HIGH: *result = high_half(c, s); break;
    case COMPUTE_MAD_HIGH: *result = high_sum(c, s); break;
    case COMPUTE_MUL_24: *result = product_24(c, s); break;
    case COMPUTE_MAD_24: *result = product_24(c, s) + s[2].bits; break;
    case COMPUTE_DIV:
    case COMPUTE_REM: return quotient_value(c, s, result);
    case COMPUTE_DISTANCE: *result = distance_value(c, s); break;
    case COMPUTE_MIN:
    case COMPUTE_MAX: *result = extreme_value(c, s); break;
    case COMPUTE_HALVES_ADD:
    case COMPUTE_HALVES_MIN:
    case COMPUTE_HALVES_MAX: *result = halves_value(c, s); break;
    case COMPUTE_AND: *result = s[0].bits & s[1].bits; break;
    case COMPUTE_OR: *result = s[0].bits | s[1].bits; break;
    case COMPUTE_XOR: *result = s[0].bits ^ s[1].bits; break;
    case COMPUTE_NOT: *result = ~s[0].bits; break;
    case COMPUTE_IS_ZERO: *result = s[0].bits == 0; break;
    case COMPUTE_TABLE: *result = table_value(c, s); break;
    case COMPUTE_SHIFT_LEFT:
    case COMPUTE_SHIFT_RIGHT: *result = shift_value(c, s); break;
    case COMPUTE_FUNNEL_LEFT:
    case COMPUTE_FUNNEL_RIGHT: *result = funnel_value(c, s); break;
    case COMPUTE_EXTRACT: *result = extract_value(c, s); break;
    case COMPUTE_INSERT: *result = insert_value(c, s); break;
    case COMPUTE_MASK: *result = mask_value(c, s); break;
    case COMPUTE_EXTEND: *result = extend_value(c, s); break;
    case COMPUTE_REVERSE: *result = reversed(s[0].bits, c->bits); break;
    case COMPUTE_PERMUTE: *result = permuted(s); break;
    case COMPUTE_COUNT_ONES: *result = (unsigned)__builtin_popcountll(s[0].bits); break;
    case COMPUTE_COUNT_ZEROS: *result = zeros_counted(c, s); break;
    case COMPUTE_FIND: *result = find_value(c, s); break;
    case COMPUTE_SELECT: *result = s[2].bits ? s[0].bits : s[1].bits; break;
    case COMPUTE_SELECT_SIGN: *result = s[2].number >= 0 ? s[0].bits : s[1].bits; break;
    case COMPUTE_COMPARE: *result = comparison_value(c, s); break;
    }
    return true;
}

bool computation_value(const Computation *c, const uint64_t *values, uint64_t *result)
{
    Number sources[COMPUTE_SOURCES] = {0};
    uint64_t value = 0;
    for (unsigned i = 0; i < c->source_count; i++)
        sources[i] = number_read(&c->sources[i], values[i]);
    if (!computed(c, sources, &value))
        return false;
    value &= bits_mask(c->bits);
    if (c->extends_sign)
        value = (uint64_t)bits_signed(value, c->bits);
    *result = value & bits_mask(c->reg_bits);
    return true;
}
