/* Arithmetic of 16 bits, two values in a register: f16, or bf16 with .BF16 or .BF16_V2. Products of such numbers, and
 * their sums rounded to odd, are doubles. */
#include "machine/internal.h"

#include <math.h>

static const FloatFormat *format_of(const Decoded *it)
{
    return has(it, SUFFIX_BF16_V2) || has(it, SUFFIX_BF16) ? &FORMAT_BF16 : &FORMAT_F16;
}

/* The half of a register that lane i of the result is computed from. */
static uint32_t half_bits(const Thread *thread, const Place *place, unsigned lane)
{
    const uint32_t value = raw32(thread, place);
    const unsigned part = place->half == HALF_BOTH ? lane : place->half == HALF_HIGH;
    uint32_t bits = value >> 16 * part & 0xffff;
    if (place->kind == PLACE_FLOAT)
        return bits;
    if (place->absolute)
        bits &= 0x7fff;
    return place->negated ? bits ^ 0x8000 : bits;
}

static double half_value(const Thread *thread, const Decoded *it, const Place *place, unsigned lane)
{
    const FloatFormat *format = format_of(it);
    if (place->single)
        return format_decode(format, format_encode(format, float_from_bits(float32(thread, place)), ROUND_ZERO, false));
    uint32_t bits = half_bits(thread, place, lane);
    return format_decode(format, has(it, SUFFIX_FTZ) ? format_flush(format, bits) : bits);
}

static uint32_t encode_half(const Decoded *it, double value)
{
    const FloatFormat *format = format_of(it);
    if (has(it, SUFFIX_SAT))
        value = value > 0 ? value < 1 ? value : 1 : 0;
    if (has(it, SUFFIX_RELU) && !(value > 0) && value == value)
        value = 0;
    return has(it, SUFFIX_FTZ) ? format_encode_flushed(format, value, ROUND_NEAREST_EVEN)
                               : format_encode(format, value, ROUND_NEAREST_EVEN, false);
}

typedef double HalfFunction(const Thread *thread, const Decoded *it, unsigned lane);

static double half_sum(const Thread *thread, const Decoded *it, unsigned lane)
{
    return sum_odd(half_value(thread, it, &it->operands[1], lane), half_value(thread, it, &it->operands[2], lane));
}

static double half_product(const Thread *thread, const Decoded *it, unsigned lane)
{
    return half_value(thread, it, &it->operands[1], lane) * half_value(thread, it, &it->operands[2], lane);
}

static double half_fused(const Thread *thread, const Decoded *it, unsigned lane)
{
    return sum_odd(half_product(thread, it, lane), half_value(thread, it, &it->operands[3], lane));
}

/* Computes both lanes. */
static Step give_halves(Thread *thread, const Decoded *it, HalfFunction *function)
{
    uint32_t result = encode_half(it, function(thread, it, 0));
    result |= encode_half(it, function(thread, it, 1)) << 16;
    set32(thread, &it->operands[0], result);
    return STEP_ON;
}

/* HADD2 d, a, b; an operand may be an f32, which is rounded to zero first. With .F32, the sum of the lower lane as
 * f32. */
Step execute_half_add(Thread *thread, const Decoded *it)
{
    if (!has(it, SUFFIX_F32))
        return give_halves(thread, it, half_sum);
    const double sum = half_sum(thread, it, 0);
    set32(thread, &it->operands[0], format_encode(&FORMAT_F32, sum, ROUND_NEAREST_EVEN, false));
    return STEP_ON;
}

Step execute_half_multiply(Thread *thread, const Decoded *it) { return give_halves(thread, it, half_product); }

/* HFMA2 d, a, b, c; the assembler also moves constants by it: -0 * 0 + c, whose halves may be any bits. */
Step execute_half_fused(Thread *thread, const Decoded *it)
{
    const Place *a = &it->operands[1], *b = &it->operands[2], *c = &it->operands[3];
    if (it->operand_count != 4)
        return stop(thread, MACHINE_UNDECIDED, "this form of a product and a sum");
    if (a->kind == PLACE_REGISTER && a->index == ZERO_REGISTER && b->kind == PLACE_REGISTER &&
        b->index == ZERO_REGISTER && a->negated && c->kind == PLACE_FLOAT) {
        set32(thread, &it->operands[0], raw32(thread, c));
        return STEP_ON;
    }
    return give_halves(thread, it, half_fused);
}

/* HSETP2 p, q, a, b, with: a predicate for each lane; they are combined with 'with' alike. */
Step execute_half_compare(Thread *thread, const Decoded *it)
{
    const Place *a = &it->operands[2], *b = &it->operands[3];
    const bool with = it->operand_count > 4 && predicate(thread, &it->operands[4]);
    if (it->operand_count != 5 || !is_predicate(&it->operands[0]) || !is_predicate(&it->operands[1]))
        return stop(thread, MACHINE_UNDECIDED, "this form of a comparison");
    for (unsigned lane = 0; lane < 2; lane++) {
        const bool result = float_compare(it, half_value(thread, it, a, lane), half_value(thread, it, b, lane));
        set_predicate(thread, &it->operands[lane], combine(it, result, with));
    }
    return STEP_ON;
}

/* HSET2 d, a, b, with: in each lane ones, or the number 1 with .BF, if the comparison holds. */
Step execute_half_set(Thread *thread, const Decoded *it)
{
    const uint32_t one = !has(it, SUFFIX_BF) ? 0xffff : has(it, SUFFIX_BF16_V2) ? 0x3f80 : 0x3c00;
    const Place *a = &it->operands[1], *b = &it->operands[2], *with = &it->operands[3];
    uint32_t result = 0;
    if (it->operand_count != 4 || !is_predicate(with))
        return stop(thread, MACHINE_UNDECIDED, "this form of a comparison");
    for (unsigned lane = 0; lane < 2; lane++) {
        const bool holds = float_compare(it, half_value(thread, it, a, lane), half_value(thread, it, b, lane));
        result |= (combine(it, holds, predicate(thread, with)) ? one : 0) << 16 * lane;
    }
    set32(thread, &it->operands[0], result);
    return STEP_ON;
}

static uint32_t half_minimum(const Decoded *it, uint32_t a, uint32_t b, bool takes_least)
{
    const FloatFormat *format = format_of(it);
    uint32_t sign = 0;
    if (has(it, SUFFIX_XORSIGN)) {
        sign = (a ^ b) & 0x8000;
        a &= 0x7fff;
        b &= 0x7fff;
    }
    const double x = format_decode(format, a), y = format_decode(format, b);
    if (x != x || y != y)
        return has(it, SUFFIX_NAN) || (x != x && y != y) ? format->nan : (x != x ? b : a) | sign;
    const bool less = x < y || (x == y && signbit(x) > signbit(y));
    return (less == takes_least ? a : b) | sign;
}

/* HMNMX2 d, a, b, p */
Step execute_half_minimum(Thread *thread, const Decoded *it)
{
    if (it->operand_count != 4)
        return stop(thread, MACHINE_UNDECIDED, "this form of a minimum");
    uint32_t result = 0;
    for (unsigned lane = 0; lane < 2; lane++)
        result |= half_minimum(it, half_bits(thread, &it->operands[1], lane),
                               half_bits(thread, &it->operands[2], lane), predicate(thread, &it->operands[3]))
                  << 16 * lane;
    set32(thread, &it->operands[0], result);
    return STEP_ON;
}
