/* Tests of the alignment of addresses, as are made before vectors: (a | b | ...) & mask == 0, where the width of a row
 * is among the sums. Launches tell whether a width that is a parameter passes. */
#include "cost/estimate.h"

enum { MOST_SUMS = 32 };

/* The sums of which the comparison asks whether all are multiples of *mask + 1; 0: it asks for something else, or they
 * are too many. */
static unsigned tested_sums(const Estimate *estimate, const Computation *equality, RegId sums[MOST_SUMS],
                            uint64_t *mask)
{
    Computation c;
    const unsigned zero = equality->sources[0].is_constant ? 0 : 1;
    const ComputeSource *masked = &equality->sources[!zero];
    unsigned count = 0, looked = 0;
    if (!equality->sources[zero].is_constant || equality->sources[zero].constant || masked->reg == REG_NONE ||
        !computation_matches(estimate->body, estimate_maker(estimate, masked->reg), COMPUTE_AND, 64, "ri", &c) ||
        c.sources[1].constant & (c.sources[1].constant + 1))
        return 0;
    *mask = c.sources[1].constant;
    for (sums[count++] = c.sources[0].reg; looked < count; looked++)
        while (computation_matches(estimate->body, estimate_maker(estimate, sums[looked]), COMPUTE_OR, 64, "rr", &c)) {
            if (count == MOST_SUMS)
                return 0;
            sums[looked] = c.sources[0].reg;
            sums[count++] = c.sources[1].reg;
        }
    return count;
}

bool estimate_is_misaligned(const Estimate *estimate, const Computation *equality)
{
    RegId sums[MOST_SUMS];
    uint64_t mask;
    const unsigned count = tested_sums(estimate, equality, sums, &mask);
    for (unsigned i = 0; i < count; i++) {
        const Bounds bounds = affine_reg_bounds(estimate->values, sums[i]);
        if (bounds_is_point(&bounds) && bounds.low & mask)
            return true;
    }
    return false;
}

/* The parameter that the sum is, and what it is multiplied by; NULL: it is another sum. */
static const Variable *scaled_parameter(const Estimate *estimate, RegId sum, uint64_t *scale)
{
    Computation c;
    RegId reg = sum;
    *scale = 1;
    if (computation_matches(estimate->body, estimate_maker(estimate, sum), COMPUTE_MUL, 64, "ri", &c)) {
        *scale = c.sources[1].constant;
        reg = c.sources[0].reg;
    }
    const AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), reg);
    const AffineTerm *parameter = estimate_parameter(&form);
    if (!parameter)
        return NULL;
    *scale *= (uint64_t)parameter->coefficient;
    return parameter->variable;
}

/* Notes that the parameter has to be such a multiple. */
static void note_parameter(AlignedParameters *found, unsigned index, unsigned multiple)
{
    unsigned i = 0;
    while (i < found->count && found->of[i].index != index)
        i++;
    if (multiple < 2 || i == MOST_ALIGNED)
        return;
    if (i == found->count)
        found->of[found->count++] = (AlignedParameter){index, multiple};
    else if (multiple > found->of[i].multiple)
        found->of[i].multiple = multiple;
}

static void note_test(const Estimate *estimate, const Function *kernel, const Computation *equality,
                      AlignedParameters *found)
{
    RegId sums[MOST_SUMS];
    uint64_t mask, scale;
    const unsigned count = tested_sums(estimate, equality, sums, &mask);
    for (unsigned i = 0; i < count; i++) {
        const Variable *parameter = scaled_parameter(estimate, sums[i], &scale);
        const uint64_t bits = (mask + 1) | scale; /* the lowest one is of their greatest common divisor */
        const unsigned index = prototype_param_index(&kernel->prototype, parameter);
        if (index < kernel->prototype.param_count)
            note_parameter(found, index, (unsigned)((mask + 1) / (bits & -bits)));
    }
}

AlignedParameters alignment_parameters(const FunctionForm *form)
{
    AlignedParameters found = {.count = 0};
    const char *error;
    Body *body = form->body ? body_clone(form->body) : body_build((Function *)form->function, &error);
    if (!body)
        return found;
    if (!body->ssa)
        body_to_ssa(body);
    const Estimate estimate = {.body = body, .analyses = analyses_new(body)};
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Computation c;
            if (computation_of(body, inst, &c) && c.op == COMPUTE_COMPARE && c.combination == COMBINE_NOTHING &&
                c.relation == RELATION_EQUAL && c.source_count == 2)
                note_test(&estimate, form->function, &c, &found);
        }
    analyses_free(estimate.analyses);
    body_free(body);
    return found;
}
