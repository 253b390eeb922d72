/* Values that are computed in the same way for different replicas.
 *
 * The copies that coarsening makes of a computation read the indices of different threads, which differ by a constant,
 * or, where a loop executes the replicas one after the other, a variable of that loop, which starts with the first
 * one's. */
#include "cost/estimate.h"

enum { DEEPEST_MATCH = 8, MOST_MATCHED = 64 };

typedef struct Matching {
    const Estimate *estimate;
    unsigned compared;
} Matching;

static bool values_match(Matching *m, RegId a, RegId b, unsigned depth);

static bool same_terms(const AffineForm *a, const AffineForm *b)
{
    if (!a->bits || a->bits != b->bits || a->term_count != b->term_count)
        return false;
    for (unsigned i = 0; i < a->term_count; i++) {
        bool found = false;
        for (unsigned k = 0; k < b->term_count && !found; k++)
            found = a->terms[i].coefficient == b->terms[k].coefficient &&
                    affine_base_equal(&a->terms[i], &b->terms[k]);
        if (!found)
            return false;
    }
    return true;
}

/* The value with which a variable of a loop over few replicas starts; REG_NONE: it is none. */
static RegId start_of(const Estimate *estimate, RegId reg)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = def->block && !def->inst ? loop_headed(loops, def->block) : NULL;
    const bool is_of_replicas = loop && estimate_has_few_rounds(estimate, loop);
    const Phi *phi = is_of_replicas ? &def->block->phis.data[def->phi] : NULL;
    for (size_t i = 0; phi && i < phi->args.count; i++)
        if (!loop_contains(loops, loop, phi->args.data[i].pred))
            return phi->args.data[i].reg;
    return REG_NONE;
}

/* At least one is a variable of such a loop. */
static bool starts_match(Matching *m, RegId a, RegId b, unsigned depth)
{
    const RegId start_a = start_of(m->estimate, a), start_b = start_of(m->estimate, b);
    if (start_a != REG_NONE && start_b != REG_NONE)
        return values_match(m, start_a, start_b, depth + 1);
    if (start_a != REG_NONE)
        return values_match(m, start_a, b, depth + 1);
    return start_b != REG_NONE && values_match(m, a, start_b, depth + 1);
}

static bool instructions_match(Matching *m, const Inst *a, const Inst *b, unsigned depth)
{
    if (a->form != b->form || a->signature != b->signature || a->ref_count != b->ref_count ||
        a->operand_count != b->operand_count || a->guard != b->guard || a->guard_inverted != b->guard_inverted)
        return false;
    for (unsigned i = 0; i < a->operand_count; i++) {
        const Operand *x = &a->operands[i], *y = &b->operands[i];
        uint64_t p = 0, q = 0;
        if (x->kind != y->kind || (x->kind == OPERAND_SREG && x->sreg != y->sreg) ||
            operand_is_integer(x, &p) != operand_is_integer(y, &q) || p != q)
            return false;
    }
    for (unsigned i = 0; i < a->ref_count; i++)
        if (ref_reads(&a->refs[i]) && !values_match(m, a->refs[i].reg, b->refs[i].reg, depth + 1))
            return false;
    return true;
}

static bool values_match(Matching *m, RegId a, RegId b, unsigned depth)
{
    const Values *values = analyses_values(m->estimate->analyses);
    if (a == b)
        return true;
    if (a == REG_NONE || b == REG_NONE || depth >= DEEPEST_MATCH || ++m->compared > MOST_MATCHED)
        return false;
    const Affine *affine = analyses_affine(m->estimate->analyses);
    const AffineForm x = affine_of_reg(affine, a), y = affine_of_reg(affine, b);
    if (same_terms(&x, &y))
        return true;
    const Inst *made_a = value_inst(values, a), *made_b = value_inst(values, b);
    if (made_a && made_b)
        return instructions_match(m, made_a, made_b, depth);
    return starts_match(m, a, b, depth);
}

bool estimate_alike(const Estimate *estimate, RegId a, RegId b)
{
    Matching matching = {.estimate = estimate};
    return values_match(&matching, a, b, 0);
}
