/* Instructions that add up multiples of their operands. */
#include "analysis/evaluate/internal.h"

static void add_term(ComputedSum *sum, unsigned source, uint64_t factor)
{
    factor &= bits_mask(sum->bits);
    if (factor)
        sum->terms[sum->term_count++] = (struct ComputedTerm){source, factor};
}

/* The value of a known source as it is read: extended by its kind. */
static bool is_known(const Computation *c, const Bounds *sources, unsigned i, uint64_t *value)
{
    const ComputeSource *source = &c->sources[i];
    *value = sources[i].low & bits_mask(source->bits);
    if (source->is_signed)
        *value = (uint64_t)bits_signed(*value, source->bits);
    return bounds_is_point(&sources[i]);
}

/* factor * source, or a constant if the source is one. */
static void add_source(const Computation *c, const Bounds *sources, ComputedSum *sum, unsigned i, uint64_t factor)
{
    uint64_t value;
    if (is_known(c, sources, i, &value))
        sum->constant += factor * value;
    else
        add_term(sum, i, factor);
}

static void add_product(const Computation *c, const Bounds *sources, ComputedSum *sum)
{
    uint64_t value;
    for (unsigned i = 0; i < 2; i++)
        if (is_known(c, sources, i, &value)) {
            add_source(c, sources, sum, 1 - i, value);
            return;
        }
    sum->has_product = true;
    sum->factors[0] = 0;
    sum->factors[1] = 1;
}

static bool shift_sum(const Computation *c, const Bounds *sources, ComputedSum *sum)
{
    uint64_t amount;
    if (!is_known(c, sources, 1, &amount))
        return false;
    add_source(c, sources, sum, 0, amount < c->bits ? UINT64_C(1) << amount : 0);
    return true;
}

/* Sources that share no bit have no carries, so their or, or xor, is their sum. */
static bool joined_sum(const Computation *c, const Bounds *sources, ComputedSum *sum)
{
    uint64_t all = bits_mask(c->bits);
    if (~(sources[0].zeros | sources[1].zeros) & all)
        return false;
    add_source(c, sources, sum, 0, 1);
    add_source(c, sources, sum, 1, 1);
    return true;
}

/* The complement of all bits from the k-th on is a sum if the others are 0: -source - 2^k. */
static bool complement_sum(const Computation *c, const Bounds *sources, unsigned i, uint64_t mask, ComputedSum *sum)
{
    uint64_t all = bits_mask(c->bits), first = -mask & all;
    if (!first || first & (first - 1) || ~sources[i].zeros & (first - 1) & all)
        return false;
    add_source(c, sources, sum, i, UINT64_MAX);
    sum->constant -= first;
    return true;
}

static bool difference_sum(const Computation *c, const Bounds *sources, ComputedSum *sum)
{
    uint64_t value;
    if (joined_sum(c, sources, sum))
        return true;
    for (unsigned i = 0; i < 2; i++)
        if (is_known(c, sources, i, &value))
            return complement_sum(c, sources, 1 - i, value & bits_mask(c->bits), sum);
    return false;
}

static bool is_sum(const Computation *c, const Bounds *sources, ComputedSum *sum)
{
    switch (c->op) {
    case COMPUTE_COPY:
    case COMPUTE_CONVERT: add_source(c, sources, sum, 0, 1); return true;
    case COMPUTE_ADD:
    case COMPUTE_SUB:
        add_source(c, sources, sum, 0, 1);
        add_source(c, sources, sum, 1, c->op == COMPUTE_ADD ? 1 : UINT64_MAX);
        return true;
    case COMPUTE_NEG: add_source(c, sources, sum, 0, UINT64_MAX); return true;
    case COMPUTE_MUL: add_product(c, sources, sum); return true;
    case COMPUTE_MAD:
        add_product(c, sources, sum);
        add_source(c, sources, sum, 2, 1);
        return true;
    case COMPUTE_SHIFT_LEFT: return shift_sum(c, sources, sum);
    case COMPUTE_OR: return joined_sum(c, sources, sum);
    case COMPUTE_XOR: return difference_sum(c, sources, sum);
    case COMPUTE_NOT: return complement_sum(c, sources, 0, bits_mask(c->bits), sum);
    default: return false;
    }
}

bool computation_sum(const Computation *c, const Bounds *sources, ComputedSum *out)
{
    *out = (ComputedSum){.bits = c->bits};
    if (c->bits != c->reg_bits || c->bits == 1 || c->saturates || !is_sum(c, sources, out))
        return false;
    out->constant &= bits_mask(c->bits);
    return true;
}
