/* Integer arithmetic: sums, products, comparisons, minima. */
#include "machine/internal.h"

#include <stdlib.h>

/* The addend for x, ~x or -x in a sum of 32-bit words whose carry is kept: -x is ~x and a carry. */
static uint64_t addend(const Thread *thread, const Place *place)
{
    const uint32_t value = raw32(thread, place);
    if (place->inverted)
        return (uint32_t)~value;
    return place->negated ? (uint64_t)(uint32_t)~value + 1 : value;
}

/* IADD3 d, [carry, [carry,]] a, b, c [, carry, carry]: two predicates together hold a carry of up to 2. */
Step execute_add3(Thread *thread, const Decoded *it)
{
    const unsigned first = skip_predicates(it, 1);
    uint64_t sum = 0;
    for (unsigned i = first; i < first + 3; i++)
        sum += addend(thread, &it->operands[i]);
    for (unsigned i = first + 3; i < it->operand_count; i++)
        sum += predicate(thread, &it->operands[i]);
    for (unsigned i = 1; i < first; i++)
        set_predicate(thread, &it->operands[i], sum >> 32 >= i);
    set32(thread, &it->operands[0], (uint32_t)sum);
    return STEP_ON;
}

/* UIADD3.64 d, [carry, carry,] a, b, c */
Step execute_add3_64(Thread *thread, const Decoded *it)
{
    const unsigned first = skip_predicates(it, 1);
    uint64_t sum = 0;
    for (unsigned i = 1; i < first; i++)
        if (it->operands[i].index != TRUE_PREDICATE)
            return stop(thread, MACHINE_UNDECIDED, "a carry of 64 bits");
    for (unsigned i = first; i < first + 3; i++)
        sum += integer64(thread, &it->operands[i]);
    set64(thread, &it->operands[0], sum);
    return STEP_ON;
}

/* A part of a register as a number. */
static int32_t part_of(uint32_t value, unsigned index, unsigned bits, bool is_signed)
{
    const uint32_t part = value >> index * bits & (uint32_t)((UINT64_C(1) << bits) - 1);
    return is_signed && part >> (bits - 1) ? (int32_t)part - (INT32_C(1) << bits) : (int32_t)part;
}

/* The bits of the numbers that the modifiers put into a register. */
static unsigned part_bits(const Decoded *it)
{
    if (has(it, SUFFIX_U8X4) || has(it, SUFFIX_S8X4))
        return 8;
    return has(it, SUFFIX_16X2) || has(it, SUFFIX_S16X2) || has(it, SUFFIX_U16X2) ? 16 : 32;
}

/* The sums of the parts of two registers; a minus sign is that of each part. */
static uint32_t add_parts(const Thread *thread, const Place *a, const Place *b, unsigned bits)
{
    uint32_t result = 0;
    if (bits == 32)
        return integer32(thread, a) + integer32(thread, b);
    for (unsigned i = 0; i < 32 / bits; i++) {
        const int32_t x = part_of(raw32(thread, a), i, bits, false), y = part_of(raw32(thread, b), i, bits, false);
        const int32_t sum = (a->negated ? -x : x) + (b->negated ? -y : y);
        result |= ((uint32_t)sum & ((UINT32_C(1) << bits) - 1)) << i * bits;
    }
    return result;
}

/* The addend of 64 bits for x, ~x or -x, as addend(). */
static unsigned __int128 addend64(const Thread *thread, const Place *place)
{
    /* -x is ~x and a carry, so only -0 has one more bit. */
    const uint64_t value = integer64(thread, place);
    return place->negated && !value ? (unsigned __int128)1 << 64 : value;
}

/* IADD d, [carry,] a, b [, carry]; .X takes the carry. */
static Step add_with_carry(Thread *thread, const Decoded *it, unsigned first)
{
    const bool is_wide = has(it, SUFFIX_64);
    unsigned __int128 sum = 0;
    for (unsigned i = first; i < first + 2; i++)
        sum += is_wide ? addend64(thread, &it->operands[i]) : addend(thread, &it->operands[i]);
    for (unsigned i = first + 2; i < it->operand_count; i++)
        sum += predicate(thread, &it->operands[i]);
    for (unsigned i = 1; i < first; i++)
        set_predicate(thread, &it->operands[i], i == 1 && sum >> (is_wide ? 64 : 32) != 0);
    if (is_wide)
        set64(thread, &it->operands[0], (uint64_t)sum);
    else
        set32(thread, &it->operands[0], (uint32_t)sum);
    return STEP_ON;
}

/* IADD, VIADD d, a, b; .ISAT keeps the sum within the numbers of 32 bits. */
Step execute_add(Thread *thread, const Decoded *it)
{
    const Place *a = &it->operands[1], *b = &it->operands[2];
    const unsigned first = skip_predicates(it, 1);
    if (first > 1 || has(it, SUFFIX_X))
        return add_with_carry(thread, it, first);
    if (has(it, SUFFIX_64)) {
        set64(thread, &it->operands[0], integer64(thread, a) + integer64(thread, b));
    } else if (has(it, SUFFIX_ISAT)) {
        const int64_t x = (int32_t)raw32(thread, a), y = (int32_t)raw32(thread, b);
        const int64_t sum = (a->negated ? -x : x) + (b->negated ? -y : y);
        if (!has(it, SUFFIX_S32) || a->inverted || b->inverted)
            return stop(thread, MACHINE_UNDECIDED, "this form of a sum");
        set32(thread, &it->operands[0], (uint32_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum));
    } else {
        if (part_bits(it) < 32 && (a->inverted || b->inverted))
            return stop(thread, MACHINE_UNDECIDED, "this form of a sum");
        set32(thread, &it->operands[0], add_parts(thread, a, b, part_bits(it)));
    }
    return STEP_ON;
}

/* The product of the operands a and b; the sign of either is that of the product. */
static uint64_t product(const Thread *thread, const Decoded *it, const Place *a, const Place *b)
{
    const uint32_t x = integer32(thread, a), y = integer32(thread, b);
    return has(it, SUFFIX_U32) ? (uint64_t)x * y : (uint64_t)((int64_t)(int32_t)x * (int32_t)y);
}

/* IMAD d, a, b, c [, carry]: a * b + c, of which it keeps the lower half. */
Step execute_multiply_add(Thread *thread, const Decoded *it)
{
    uint32_t sum = integer32(thread, &it->operands[1]) * integer32(thread, &it->operands[2]) +
                   integer32(thread, &it->operands[3]);
    for (unsigned i = 4; i < it->operand_count; i++)
        sum += predicate(thread, &it->operands[i]);
    set32(thread, &it->operands[0], sum);
    return STEP_ON;
}

/* IMAD.WIDE and IMAD.HI d, [carry,] a, b, c [, carry], with 64 bits of c: the whole sum, or its upper half. The carry
 * is that of the sum of 64 bits, also of a signed product: ptxas joins mul.wide.s32 and add.cc.u64 so. */
static Step multiply_add_wide(Thread *thread, const Decoded *it, bool high)
{
    const unsigned first = skip_predicates(it, 1);
    const Place *a = &it->operands[first], *b = a + 1, *c = a + 2;
    unsigned carries = 0;
    for (unsigned i = first + 3; i < it->operand_count; i++)
        carries += predicate(thread, &it->operands[i]);
    if (first > 1 && (a->negated || b->negated || c->negated))
        return stop(thread, MACHINE_UNDECIDED, "the carry of a negative product");
    const uint64_t addend64 = c->kind == PLACE_NUMBER ? (uint64_t)(int64_t)(int32_t)c->number : integer64(thread, c);
    const unsigned __int128 sum = (unsigned __int128)product(thread, it, a, b) + addend64 + carries;
    for (unsigned i = 1; i < first; i++)
        set_predicate(thread, &it->operands[i], i == 1 && sum >> 64 & 1);
    if (high)
        set32(thread, &it->operands[0], (uint32_t)((uint64_t)sum >> 32));
    else
        set64(thread, &it->operands[0], (uint64_t)sum);
    return STEP_ON;
}

Step execute_multiply_add_wide(Thread *thread, const Decoded *it) { return multiply_add_wide(thread, it, false); }
Step execute_multiply_add_high(Thread *thread, const Decoded *it) { return multiply_add_wide(thread, it, true); }

/* IDP.4A.TA.TB d, a, b, c: the dot product of four bytes; IDP.2A.LO or .HI: that of two halves of a and the lower or
 * upper bytes of b. */
Step execute_dot(Thread *thread, const Decoded *it)
{
    const uint32_t a = raw32(thread, &it->operands[1]), b = raw32(thread, &it->operands[2]);
    const bool takes_halves = has(it, SUFFIX_2A);
    const SuffixId a_type = it->order[1 + takes_halves], b_type = it->order[2 + takes_halves];
    const unsigned count = takes_halves ? 2 : 4, first = has(it, SUFFIX_HI) ? 2 : 0;
    uint32_t sum = integer32(thread, &it->operands[3]);
    for (unsigned i = 0; i < count; i++)
        sum += (uint32_t)(part_of(a, i, 32 / count, a_type == SUFFIX_S8 || a_type == SUFFIX_S16) *
                          part_of(b, first + i, 8, b_type == SUFFIX_S8));
    set32(thread, &it->operands[0], sum);
    return STEP_ON;
}

Step execute_absolute(Thread *thread, const Decoded *it)
{
    const uint32_t value = integer32(thread, &it->operands[1]);
    set32(thread, &it->operands[0], value >> 31 ? -value : value);
    return STEP_ON;
}

/* -1, 0 or 1 */
static int order_of(uint64_t a, uint64_t b, bool is_signed)
{
    if (is_signed)
        return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
    return (a > b) - (a < b);
}

/* An operand of a comparison or a minimum, extended to 64 bits. */
static uint64_t compared(const Thread *thread, const Place *place, bool is_signed)
{
    const uint32_t value = integer32(thread, place);
    return is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
}

static bool holds(const Decoded *it, int order)
{
    if (has(it, SUFFIX_LT))
        return order < 0;
    if (has(it, SUFFIX_LE))
        return order <= 0;
    if (has(it, SUFFIX_GT))
        return order > 0;
    if (has(it, SUFFIX_GE))
        return order >= 0;
    return has(it, SUFFIX_EQ) ? order == 0 : order != 0;
}

/* ISETP p, q, a, b, with [, lower]; .EX compares upper words, after the lower ones have been. */
Step execute_compare(Thread *thread, const Decoded *it)
{
    const unsigned first = skip_predicates(it, 0);
    const Place *a = &it->operands[first], *b = a + 1, *with = a + 2;
    const bool is_wide = has(it, SUFFIX_U64) || has(it, SUFFIX_S64);
    const bool is_signed = !has(it, SUFFIX_U32) && !has(it, SUFFIX_U64);
    if (first + 2 >= it->operand_count)
        return stop(thread, MACHINE_UNDECIDED, "a comparison without a predicate");
    const int order = is_wide ? order_of(integer64(thread, a), integer64(thread, b), is_signed)
                              : order_of(compared(thread, a, is_signed), compared(thread, b, is_signed), is_signed);
    bool result = has(it, SUFFIX_T) || (!has(it, SUFFIX_F) && holds(it, order));
    if (has(it, SUFFIX_EX) && order == 0)
        result = predicate(thread, a + 3);
    set_comparison(thread, it, result, with);
    return STEP_ON;
}

static uint32_t minimum(uint32_t a, uint32_t b, bool is_signed, bool takes_least)
{
    const bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;
    return less == takes_least ? a : b;
}

/* The minimum or maximum of each part. */
static uint32_t minimum_of_parts(uint32_t a, uint32_t b, unsigned bits, bool is_signed, bool takes_least)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < 32 / bits; i++) {
        const uint32_t x = (uint32_t)part_of(a, i, bits, is_signed), y = (uint32_t)part_of(b, i, bits, is_signed);
        result |= (minimum(x, y, is_signed, takes_least) & ((UINT32_C(1) << bits) - 1)) << bits * i;
    }
    return result;
}

static uint32_t minimum_as(const Decoded *it, uint32_t a, uint32_t b, bool takes_least)
{
    const unsigned bits = part_bits(it);
    if (bits < 32)
        return minimum_of_parts(a, b, bits, has(it, SUFFIX_S16X2) || has(it, SUFFIX_S8X4), takes_least);
    return minimum(a, b, !has(it, SUFFIX_U32), takes_least);
}

/* .RELU: at least 0. */
static uint32_t clamp(const Decoded *it, uint32_t value)
{
    return has(it, SUFFIX_RELU) ? minimum_as(it, value, 0, false) : value;
}

/* The number of the first operand after the result and its predicates, which must be PT, if 'count' operands follow; 0
 * after stop(). */
static unsigned first_of(Thread *thread, const Decoded *it, unsigned count)
{
    const unsigned first = skip_predicates(it, 1);
    bool plain = first + count == it->operand_count;
    for (unsigned i = first; plain && part_bits(it) < 32 && i + 1 < it->operand_count; i++)
        plain = !it->operands[i].negated && !it->operands[i].inverted;
    for (unsigned i = 1; i < first; i++)
        plain = plain && it->operands[i].index == TRUE_PREDICATE;
    if (!plain)
        stop(thread, MACHINE_UNDECIDED, "this form of a minimum");
    return plain ? first : 0;
}

/* IMNMX.S64 p, q, d, a, b, r, s */
static Step minimum_of_pairs(Thread *thread, const Decoded *it)
{
    const Place *d = &it->operands[2];
    if (it->operand_count != 7 || it->operands[0].index != TRUE_PREDICATE || it->operands[1].index != TRUE_PREDICATE ||
        d[4].index != TRUE_PREDICATE)
        return stop(thread, MACHINE_UNDECIDED, "this form of a minimum");
    const uint64_t a = integer64(thread, d + 1), b = integer64(thread, d + 2);
    const bool less = order_of(a, b, has(it, SUFFIX_S64)) < 0;
    set64(thread, d, less == predicate(thread, d + 3) ? a : b);
    return STEP_ON;
}

/* IMNMX, VIMNMX d, a, b, p: the minimum if p. */
Step execute_minimum(Thread *thread, const Decoded *it)
{
    if (has(it, SUFFIX_S64) || has(it, SUFFIX_U64))
        return minimum_of_pairs(thread, it);
    const unsigned first = first_of(thread, it, 3);
    const Place *a = &it->operands[first];
    if (!first)
        return STEP_STOPPED;
    set32(thread, &it->operands[0],
          clamp(it, minimum_as(it, integer32(thread, a), integer32(thread, a + 1), predicate(thread, a + 2))));
    return STEP_ON;
}

/* VIMNMX3 d, a, b, c, p: the least or greatest of three. */
Step execute_minimum3(Thread *thread, const Decoded *it)
{
    const unsigned first = first_of(thread, it, 4);
    const Place *a = &it->operands[first];
    if (!first)
        return STEP_STOPPED;
    const bool takes_least = predicate(thread, a + 3);
    const uint32_t two = minimum_as(it, integer32(thread, a), integer32(thread, a + 1), takes_least);
    set32(thread, &it->operands[0], clamp(it, minimum_as(it, two, integer32(thread, a + 2), takes_least)));
    return STEP_ON;
}

/* VIADDMNMX d, a, b, c, p: the minimum of a + b, which may overflow, and c. */
Step execute_add_minimum(Thread *thread, const Decoded *it)
{
    const unsigned first = first_of(thread, it, 4);
    const Place *a = &it->operands[first];
    if (!first)
        return STEP_STOPPED;
    const uint32_t sum = add_parts(thread, a, a + 1, part_bits(it));
    set32(thread, &it->operands[0], clamp(it, minimum_as(it, sum, integer32(thread, a + 2), predicate(thread, a + 3))));
    return STEP_ON;
}

/* VABSDIFF d, a, b, c: |a - b| + c */
Step execute_absolute_difference(Thread *thread, const Decoded *it)
{
    const uint32_t a = integer32(thread, &it->operands[1]), b = integer32(thread, &it->operands[2]);
    const bool a_less = has(it, SUFFIX_U32) ? a < b : (int32_t)a < (int32_t)b;
    set32(thread, &it->operands[0], (a_less ? b - a : a - b) + integer32(thread, &it->operands[3]));
    return STEP_ON;
}

/* VABSDIFF4.U8 d, a, b, c: |a - b| of each byte. .ACC adds them all to c, which is not read otherwise. */
Step execute_absolute_difference4(Thread *thread, const Decoded *it)
{
    const uint32_t a = raw32(thread, &it->operands[1]), b = raw32(thread, &it->operands[2]);
    uint32_t bytes = 0, sum = integer32(thread, &it->operands[3]);
    if (it->operand_count != 4 || !has(it, SUFFIX_U8))
        return stop(thread, MACHINE_UNDECIDED, "this form of a difference");
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t difference = (uint32_t)abs(part_of(a, i, 8, false) - part_of(b, i, 8, false));
        bytes |= difference << 8 * i;
        sum += difference;
    }
    set32(thread, &it->operands[0], has(it, SUFFIX_ACC) ? sum : bytes);
    return STEP_ON;
}
