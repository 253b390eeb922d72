/* Shifts, parts of words, counts of bits. */
#include "machine/internal.h"

/* Shifts a pair of words; amounts of 64 and more leave nothing but signs. */
static uint64_t shift_left(uint64_t value, unsigned by) { return by < 64 ? value << by : 0; }

static uint64_t shift_right(uint64_t value, unsigned by, bool is_signed)
{
    if (is_signed)
        return (uint64_t)((int64_t)value >> (by < 64 ? by : 63));
    return by < 64 ? value >> by : 0;
}

/* SHF d, a, amount, c: the pair c:a, of which it keeps one word. */
Step execute_shift(Thread *thread, const Decoded *it)
{
    const uint64_t value = integer32(thread, &it->operands[1]) | (uint64_t)integer32(thread, &it->operands[3]) << 32;
    const bool is_long = has(it, SUFFIX_U64) || has(it, SUFFIX_S64);
    const bool is_signed = has(it, SUFFIX_S32) || has(it, SUFFIX_S64);
    const unsigned width = is_long ? 64 : 32;
    uint32_t by = integer32(thread, &it->operands[2]);
    by = has(it, SUFFIX_W) ? by & (width - 1) : by < width ? by : width;
    const uint64_t shifted = has(it, SUFFIX_L) ? shift_left(value, by) : shift_right(value, by, is_signed);
    set32(thread, &it->operands[0], (uint32_t)(has(it, SUFFIX_HI) ? shifted >> 32 : shifted));
    return STEP_ON;
}

/* LEA d, [carry,] a, b, amount: (a << amount) + b */
Step execute_scale_add(Thread *thread, const Decoded *it)
{
    const unsigned first = skip_predicates(it, 1);
    const Place *a = &it->operands[first];
    if (((a->negated || a[1].negated) && first > 1) || first + 3 != it->operand_count)
        return stop(thread, MACHINE_UNDECIDED, "this form of a scaled sum");
    const uint32_t scaled = integer32(thread, a) << (integer32(thread, a + 2) & 31);
    const uint64_t sum = (uint64_t)scaled + integer32(thread, a + 1);
    for (unsigned i = 1; i < first; i++)
        set_predicate(thread, &it->operands[i], i == 1 && sum >> 32);
    set32(thread, &it->operands[0], (uint32_t)sum);
    return STEP_ON;
}

/* LEA.HI d, [carry,] a, b, c, amount [, carry]: the upper word of (c:a << amount), plus b. With .SX32 there is no c: a
 * is extended with its sign. */
Step execute_scale_add_high(Thread *thread, const Decoded *it)
{
    const unsigned first = skip_predicates(it, 1);
    const bool extends = has(it, SUFFIX_SX32);
    const Place *a = &it->operands[first], *b = a + 1, *amount = extends ? a + 2 : a + 3;
    const unsigned after = (unsigned)(amount - it->operands) + 1;
    if (a->negated || (b->negated && (first > 1 || has(it, SUFFIX_X))) ||
        after + has(it, SUFFIX_X) != it->operand_count)
        return stop(thread, MACHINE_UNDECIDED, "this form of a scaled sum");
    const uint64_t low = integer32(thread, a);
    const uint64_t value =
        extends ? (uint64_t)(int64_t)(int32_t)low : low | (uint64_t)integer32(thread, a + 2) << 32;
    const uint64_t scaled = value << (integer32(thread, amount) & 31);
    uint64_t sum = (scaled >> 32) + integer32(thread, b);
    if (has(it, SUFFIX_X))
        sum += predicate(thread, &it->operands[after]);
    for (unsigned i = 1; i < first; i++)
        set_predicate(thread, &it->operands[i], i == 1 && sum >> 32);
    set32(thread, &it->operands[0], (uint32_t)sum);
    return STEP_ON;
}

/* SGXT d, a, bits: a's lower bits, extended. */
Step execute_extend(Thread *thread, const Decoded *it)
{
    const uint32_t value = integer32(thread, &it->operands[1]);
    uint32_t bits = integer32(thread, &it->operands[2]);
    bits = has(it, SUFFIX_W) ? bits & 31 : bits < 32 ? bits : 32;
    uint32_t result = bits == 32 ? value : bits ? value & ((UINT32_C(1) << bits) - 1) : 0;
    if (!has(it, SUFFIX_U32) && bits && bits < 32 && result >> (bits - 1))
        result |= ~((UINT32_C(1) << bits) - 1);
    set32(thread, &it->operands[0], result);
    return STEP_ON;
}

/* BMSK d, position, width */
Step execute_mask(Thread *thread, const Decoded *it)
{
    uint32_t position = integer32(thread, &it->operands[1]), width = integer32(thread, &it->operands[2]);
    if (has(it, SUFFIX_W)) {
        position &= 31;
        width &= 31;
    }
    const uint64_t ones = width < 32 ? (UINT64_C(1) << width) - 1 : UINT32_MAX;
    set32(thread, &it->operands[0], position < 32 ? (uint32_t)(ones << position) : 0);
    return STEP_ON;
}

Step execute_count(Thread *thread, const Decoded *it)
{
    set32(thread, &it->operands[0], (uint32_t)__builtin_popcount(integer32(thread, &it->operands[1])));
    return STEP_ON;
}

/* FLO d, a: the number of the highest one, or of the highest bit that is not the sign; with .SH, the shift that brings
 * it to the top. */
Step execute_find(Thread *thread, const Decoded *it)
{
    const unsigned first = skip_predicates(it, 1);
    uint32_t value = integer32(thread, &it->operands[first]), result = UINT32_MAX;
    if (first != 1)
        return stop(thread, MACHINE_UNDECIDED, "this form of a search for a bit");
    if (!has(it, SUFFIX_U32) && value >> 31)
        value = ~value;
    if (value)
        result = has(it, SUFFIX_SH) ? (uint32_t)__builtin_clz(value) : 31 - (uint32_t)__builtin_clz(value);
    set32(thread, &it->operands[0], result);
    return STEP_ON;
}

Step execute_reverse(Thread *thread, const Decoded *it)
{
    uint32_t value = integer32(thread, &it->operands[1]), result = 0;
    for (unsigned i = 0; i < 32; i++, value >>= 1)
        result = result << 1 | (value & 1);
    set32(thread, &it->operands[0], result);
    return STEP_ON;
}

/* The byte that a mode of PRMT chooses for byte i (PTX ISA, "prmt"). */
static unsigned chosen_byte(const Decoded *it, uint32_t selector, unsigned i)
{
    const unsigned n = selector & 3;
    if (has(it, SUFFIX_F4E))
        return n + i;
    if (has(it, SUFFIX_B4E))
        return (n - i) & 7;
    if (has(it, SUFFIX_RC8))
        return n;
    if (has(it, SUFFIX_ECL))
        return i > n ? i : n;
    if (has(it, SUFFIX_ECR))
        return i < n ? i : n;
    return has(it, SUFFIX_RC16) ? (n & 1) * 2 + (i & 1) : selector >> 4 * i & 15;
}

/* PRMT d, a, selector, c: four bytes of c:a; bit 3 of a selector's digit repeats the byte's sign. */
Step execute_permute(Thread *thread, const Decoded *it)
{
    const uint64_t bytes = raw32(thread, &it->operands[1]) | (uint64_t)raw32(thread, &it->operands[3]) << 32;
    const uint32_t selector = raw32(thread, &it->operands[2]);
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned digit = chosen_byte(it, selector, i);
        uint32_t byte = bytes >> 8 * (digit & 7) & 0xff;
        if (digit & 8)
            byte = byte >> 7 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    set32(thread, &it->operands[0], result);
    return STEP_ON;
}
