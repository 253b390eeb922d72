/* The scalar parameter with which a kernel compares the places of its threads: if (i < n) with i = blockIdx.x *
 * blockDim.x + threadIdx.x. If n is a multiple of the block's threads, all threads of a block are on one side. */
#include "cost/estimate.h"

typedef struct BoundFinder {
    const Affine *affine;
    const Variable *parameter; /* NULL: none found yet */
    bool is_other;             /* places are compared with something else as well */
} BoundFinder;

/* True if the sum has the thread's index along x once, maybe beside the product of block and block size. */
static bool is_place(const Affine *affine, const AffineForm *form)
{
    for (unsigned i = 0; i < form->term_count && !form->constant; i++) {
        const AffineTerm *term = &form->terms[i];
        if (term->base == AFFINE_SREG && term->sreg->role == SREG_ROLE_TID && term->sreg->axis == SREG_AXIS_X)
            return term->coefficient == 1;
    }
    const bool is_value = form->term_count == 1 && !form->constant && form->terms[0].base == AFFINE_VALUE &&
                          form->terms[0].coefficient == 1;
    const AffineFactors *product = is_value ? affine->factors[form->terms[0].reg] : NULL;
    const AffineForm *added = product ? &product->forms[2] : NULL;
    return added && added->term_count == 1 && added->terms[0].base != AFFINE_VALUE && is_place(affine, added);
}

static void note_comparison(BoundFinder *finder, const Computation *c)
{
    AffineForm sides[2] = {{0}, {0}};
    for (unsigned i = 0; i < 2; i++)
        if (c->sources[i].reg != REG_NONE)
            sides[i] = affine_of_reg(finder->affine, c->sources[i].reg);
    for (unsigned i = 0; i < 2; i++) {
        const AffineForm *other = &sides[1 - i];
        if (!sides[i].bits || !is_place(finder->affine, &sides[i]) || !other->bits || !other->term_count)
            continue;
        const AffineTerm *term = estimate_parameter(other);
        const Variable *parameter = term && term->coefficient == 1 ? term->variable : NULL;
        finder->is_other |= !parameter || (finder->parameter && finder->parameter != parameter);
        finder->parameter = parameter;
    }
}

bool bound_parameter_find(const Function *kernel, unsigned *index)
{
    const char *reason;
    Body *body = body_build((Function *)kernel, &reason);
    if (!body)
        return false;
    body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    BoundFinder finder = {.affine = analyses_affine(analyses)};
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Computation c;
            if (computation_of(body, inst, &c) && c.op == COMPUTE_COMPARE && c.source_count >= 2 &&
                c.relation != RELATION_EQUAL && c.relation != RELATION_NOT_EQUAL)
                note_comparison(&finder, &c);
        }
    *index = prototype_param_index(&kernel->prototype, finder.parameter);
    analyses_free(analyses);
    body_free(body);
    return !finder.is_other && *index < kernel->prototype.param_count;
}
