/* Numbers that are multiples of a power of two by the way they are computed, as n - n % 4 is of 4. Transformations ask
 * for this before they take a loop that advances by 4 to end where its counter meets a bound. */
#include "cost/estimate.h"

static bool is_mask_of(const Estimate *estimate, RegId reg, Computation *c)
{
    const Inst *inst = reg == REG_NONE ? NULL : estimate_maker(estimate, reg);
    return inst && computation_matches(estimate->body, inst, COMPUTE_AND, 32, "ri", c);
}

/* True if the first term's base is what remains of the second one's after a division by mask + 1, or by a multiple. */
static bool is_remainder(const Estimate *estimate, const AffineTerm *part, const AffineTerm *whole, uint64_t mask)
{
    Computation c;
    const bool is_value = part->base == AFFINE_VALUE || part->base == AFFINE_SIGNED;
    if (!is_value || !is_mask_of(estimate, part->reg, &c) || (c.sources[1].constant & mask) != mask)
        return false;
    const AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), c.sources[0].reg);
    return form.term_count == 1 && !form.constant && form.terms[0].coefficient == 1 &&
           affine_base_equal(&form.terms[0], whole);
}

/* True if the sum is a multiple of mask + 1: all of its terms are, or two others make up for each other. */
static bool is_multiple(const Estimate *estimate, const AffineForm *sum, uint64_t mask)
{
    const AffineTerm *others[2];
    uint64_t rest = (uint64_t)sum->constant;
    unsigned count = 0;
    for (unsigned t = 0; t < sum->term_count; t++) {
        const AffineTerm *term = &sum->terms[t];
        if (!((uint64_t)term->coefficient & mask))
            continue;
        if (count == COUNT_OF(others))
            return false;
        others[count++] = term;
    }
    if (!count)
        return !(rest & mask);
    if (count == 1)
        return false;
    rest += (uint64_t)others[0]->coefficient + (uint64_t)others[1]->coefficient;
    return !(rest & mask) && (is_remainder(estimate, others[0], others[1], mask) ||
                              is_remainder(estimate, others[1], others[0], mask));
}

bool estimate_leaves_no_rest(const Estimate *estimate, const Computation *equality)
{
    Computation c;
    const ComputeSource *sources = equality->sources;
    const unsigned zero = sources[0].is_constant ? 0 : 1;
    if (!sources[zero].is_constant || sources[zero].constant || !is_mask_of(estimate, sources[!zero].reg, &c))
        return false;
    const uint64_t mask = c.sources[1].constant;
    const AffineForm sum = affine_of_reg(analyses_affine(estimate->analyses), c.sources[0].reg);
    return sum.bits && !(mask & (mask + 1)) && is_multiple(estimate, &sum, mask);
}
