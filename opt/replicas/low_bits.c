/* With neighbours merged, the index of a thread is a multiple of their number, and a constant more in each replica:
 *
 *     x = (%ctaid * %ntid + %tid) * 2 + r        x % 2 == r
 *
 * That decides conditions on whether indices are even, as of a transposed convolution or of a grid in two colours.
 * Bounds do not say it. */
#include "opt/replicas/low_bits.h"

static const LowBits unknown = {0, 0};

static LowBits low_bits(unsigned count, unsigned value)
{
    count = count > LOW_BITS_MOST ? LOW_BITS_MOST : count;
    return (LowBits){(uint8_t)count, (uint8_t)(value & ((1U << count) - 1))};
}

/* The bits of the value that are 0 for certain, from the lowest one on. */
static unsigned zeros(LowBits low)
{
    unsigned count = 0;
    while (count < low.count && !(low.value >> count & 1))
        count++;
    return count;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static LowBits sum(LowBits a, LowBits b, bool subtracts)
{
    return low_bits(least(a.count, b.count), subtracts ? (unsigned)(a.value - b.value) : (unsigned)(a.value + b.value));
}

/* (a + i * 2^m) * (b + j * 2^n) = a * b + i * b * 2^m + j * a * 2^n + ... */
static LowBits product(LowBits a, LowBits b)
{
    const unsigned by_a = b.count + zeros(a), by_b = a.count + zeros(b);
    return low_bits(least(by_a, by_b), (unsigned)a.value * b.value);
}

/* Bits are known up to the first that is in neither, or that the one where it is known does not decide. */
static LowBits joined(ComputeOp op, LowBits a, LowBits b)
{
    const unsigned deciding = op == COMPUTE_OR;
    unsigned count = 0, value = 0;
    for (; count < LOW_BITS_MOST; count++) {
        const bool in_a = count < a.count, in_b = count < b.count;
        const unsigned x = a.value >> count & 1, y = b.value >> count & 1;
        if (!(in_a && in_b) && (op == COMPUTE_XOR || !((in_a && x == deciding) || (in_b && y == deciding))))
            break;
        const unsigned bit = op == COMPUTE_XOR ? x ^ y : op == COMPUTE_OR ? x | y : x & y;
        value |= bit << count;
    }
    return low_bits(count, value);
}

static LowBits source_bits(const ComputeSource *source, LowBits of_register)
{
    if (source->is_constant)
        return low_bits(LOW_BITS_MOST, (unsigned)source->constant);
    return source->reg == REG_NONE || source->bits < LOW_BITS_MOST || source->is_inverted ? unknown : of_register;
}

LowBits low_bits_of(const Computation *c, const LowBits *sources)
{
    LowBits s[COMPUTE_SOURCES];
    if (c->saturates || c->clips || c->bits < LOW_BITS_MOST)
        return unknown;
    for (unsigned i = 0; i < c->source_count; i++)
        s[i] = source_bits(&c->sources[i], sources[i]);
    switch (c->op) {
    case COMPUTE_COPY:
    case COMPUTE_CONVERT: return s[0];
    case COMPUTE_ADD: return sum(s[0], s[1], false);
    case COMPUTE_SUB: return sum(s[0], s[1], true);
    case COMPUTE_NEG: return sum(low_bits(LOW_BITS_MOST, 0), s[0], true);
    case COMPUTE_MUL: return product(s[0], s[1]);
    case COMPUTE_MAD: return sum(product(s[0], s[1]), s[2], false);
    case COMPUTE_NOT: return low_bits(s[0].count, ~(unsigned)s[0].value);
    case COMPUTE_AND:
    case COMPUTE_OR:
    case COMPUTE_XOR: return joined(c->op, s[0], s[1]);
    case COMPUTE_SHIFT_LEFT:
        if (!c->sources[1].is_constant)
            return unknown;
        return c->sources[1].constant >= LOW_BITS_MOST
                   ? low_bits(LOW_BITS_MOST, 0)
                   : low_bits(s[0].count + (unsigned)c->sources[1].constant,
                              (unsigned)s[0].value << c->sources[1].constant);
    default: return unknown;
    }
}

Bounds low_bits_bounds(LowBits low, Bounds bounds)
{
    const uint64_t mask = (UINT64_C(1) << low.count) - 1;
    const uint64_t above = (low.value - bounds.low) & mask, below = (bounds.high - low.value) & mask;
    if (above > bounds.high - bounds.low || below > bounds.high - bounds.low - above)
        return bounds; /* of code that is never executed */
    bounds.low += above;
    bounds.high -= below;
    return bounds_is_point(&bounds) ? bounds_point(bounds.bits, bounds.low) : bounds;
}
