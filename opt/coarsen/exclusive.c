/* Blocks that only replica 0 executes.
 *
 * "if (threadIdx.x < 32)" and "if (threadIdx.x / 32 == 0)" choose the first warp, and with whole warps no other replica
 * is in it. The conditions of the branches that lead to a block are computed for every index that a replica other than
 * the first can have; if one of them is never met, the block is replica 0's alone.
 *
 * Only the index along the coarsened dimension and constants are known (analysis/evaluate/evaluate.h computes with
 * them). Requires SSA form, dominators and values. Changes nothing. */
#include "opt/coarsen/internal.h"

/* MOST_INDEX: of a block along x and y; along z there are fewer. */
enum { MOST_INDEX = 1024, MOST_DEPTH = 8, MOST_STEPS = 256 };

typedef struct Evaluation {
    const Coarsening *c;
    const Values *values;
    uint64_t index;
    unsigned depth;  /* of the register at hand */
    unsigned *steps; /* that have been made */
} Evaluation;

/* A value that depends on anything else may be any. */
static Bounds evaluate(const void *context, RegId reg)
{
    Evaluation e = *(const Evaluation *)context;
    const Body *body = e.c->body;
    const Inst *inst = value_inst(e.values, reg);
    unsigned bits = type_bits(body->regs.data[reg].type);
    Computation c;
    if (inst && inst == e.c->index.read)
        return bounds_point(bits, e.index);
    if (!inst || e.depth++ > MOST_DEPTH || ++*e.steps > MOST_STEPS || !computation_of(body, inst, &c))
        return bounds_any(bits);
    return computation_bounds(&c, evaluate, &e);
}

/* The least index of a replica other than the first. */
static unsigned least_index(const Coarsening *c)
{
    switch (c->step.stride.kind) {
    case STRIDE_UNIT: return 1;
    case STRIDE_NUMBER: return c->step.stride.number;
    case STRIDE_BLOCK: break;
    }
    return c->step.dimension == 0 && c->needs_whole_warps ? 32 : 1; /* at least this many threads are left along x */
}

/* True if the branch keeps all replicas but the first from going on to 'to', which it may take to. */
static bool keeps_others_away(const Coarsening *c, const Block *branch, const Block *to)
{
    const Inst *last = block_two_way_branch(branch);
    if (!last)
        return false;
    bool taken = last->targets[0] == to;
    if (!taken && branch->fall != to)
        return false;
    for (unsigned p = 0; p < to->pred_count; p++)
        if (to->preds[p] != branch && !dominance_has(c->facts.dominance, to, to->preds[p]))
            return false; /* there is another way in */
    RegId condition = inst_predicate(last);
    if (!variance_reg(c->facts.variance, condition))
        return false;
    unsigned steps;
    Evaluation e = {.c = c, .values = analyses_values(c->facts.analyses), .steps = &steps};
    for (e.index = least_index(c); e.index < MOST_INDEX; e.index++) {
        steps = 0;
        Bounds outcome = evaluate(&e, condition);
        if (!bounds_is_point(&outcome) || (outcome.low != last->guard_inverted) == taken)
            return false;
    }
    return true;
}

bool coarsening_is_exclusive(const Coarsening *c, const Block *block)
{
    require(!c->step.merges_blocks);
    for (const Block *at = block, *over; (over = dominance_parent(c->facts.dominance, at)); at = over)
        if (keeps_others_away(c, over, at))
            return true;
    return false;
}
