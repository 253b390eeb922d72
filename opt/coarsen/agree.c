/* Agreements: predicates that say what all replicas decide.
 *
 * Before cloning, an agreement is an instruction like any other: "and.pred a, p, p", true if p is true, or "or.pred a,
 * p, p". Variance is told that its result is the same in all replicas. Cloning makes it the conjunction or
 * disjunction of all replicas' p; in a region, where each replica decides alone, it stays what it is. Either way the
 * code means the same. */
#include "opt/coarsen/internal.h"

RegId coarsening_agree(Coarsening *c, Block *block, RegId predicate, bool all)
{
    Body *body = c->body;
    RegId result = body_add_reg(body, TYPE_PRED, intern(body->module->names, all ? "%all" : "%any"));
    Inst *inst = inst_build(body, all ? "and.pred" : "or.pred", "drr", result, predicate, predicate);
    if (block->last && inst_is_terminator(block->last))
        inst_insert_before(block->last, inst);
    else
        inst_append(block, inst);
    VEC_PUSH(c->scratch, c->agreements.results, result);
    return result;
}

BitSet coarsening_agreed(const Coarsening *c)
{
    BitSet agreed = bitset_new(c->scratch, c->body->regs.count);
    for (size_t i = 0; i < c->agreements.results.count; i++)
        bitset_add(&agreed, c->agreements.results.data[i]);
    return agreed;
}

bool coarsening_is_agreement(const Coarsening *c, const Inst *inst)
{
    if (!c->agreements.results.count || inst->ref_count != 3 || !ref_writes(&inst->refs[0]))
        return false;
    RegId result = inst->refs[0].reg;
    return result < c->facts.agreed_count && bitset_has(&c->facts.agreed, result);
}
