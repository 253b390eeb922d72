/* How blocks end: by which condition, whether threads leave the kernel there, and where the others go. */
#include "cost/estimate.h"

const Inst *estimate_condition(const Estimate *estimate, const Block *block)
{
    const Inst *last = block->last;
    const bool has_condition = last && inst_is_terminator(last) && inst_is_guarded(last);
    return has_condition ? estimate_maker(estimate, inst_predicate(last)) : NULL;
}

bool estimate_decides(const Estimate *estimate, const Computation *c, bool *holds)
{
    const Bounds bounds = computation_bounds(c, affine_reg_bounds, estimate->values);
    *holds = bounds.low & 1;
    return bounds_is_point(&bounds);
}

bool estimate_branch_is_decided(const Estimate *estimate, const Block *block, bool *holds)
{
    Computation c;
    const Inst *compare = block_two_way_branch(block) ? estimate_condition(estimate, block) : NULL;
    return compare && computation_of(estimate->body, compare, &c) && c.op == COMPUTE_COMPARE && c.bits == 1 &&
           c.combination == COMBINE_NOTHING && estimate_decides(estimate, &c, holds);
}

bool estimate_may_exit(const Block *block)
{
    const Inst *last = block->last;
    return last && inst_is_guarded(last) && inst_is_terminator(last) && !inst_is_branch(last);
}

bool estimate_only_leaves(const Block *block)
{
    const Inst *last = block->last;
    return block->first == last && last && !last->target_count && !inst_falls_through(last);
}

bool estimate_guards(const Estimate *estimate, const Block *block, bool *if_true)
{
    const Dominance *postdominance = analyses_postdominance(estimate->analyses);
    const Inst *last = block->last;
    if (estimate_may_exit(block)) {
        *if_true = last->guard_inverted; /* others exit */
        return true;
    }
    last = block_two_way_branch(block);
    if (!last)
        return false;
    const Block *taken = last->targets[0], *fall = block->fall;
    const bool skips_taken = estimate_only_leaves(taken) || dominance_has(postdominance, taken, fall);
    const bool skips_fall = estimate_only_leaves(fall) || dominance_has(postdominance, fall, taken);
    *if_true = skips_fall != last->guard_inverted;
    return skips_taken != skips_fall;
}

bool estimate_traps(const Block *block)
{
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (inst_op(inst) == OP_TRAP && !inst_is_guarded(inst))
            return true;
    return false;
}

Flow estimate_edge(const Estimate *estimate, const Block *from, const Block *to)
{
    const FlowGraph *graph = &analyses_dominance(estimate->analyses)->graph;
    for (uint32_t i = graph->succ_start[from->id]; i < graph->succ_start[from->id + 1]; i++)
        if (graph->succs[i] == to->id)
            return estimate->edges[i];
    return (Flow){0};
}
