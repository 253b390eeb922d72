/* Loops that wait for another thread.
 *
 * A loop that runs until another thread has done something may never end once both threads are replicas of one: the
 * replicas run one after the other. Such a loop's condition depends on a value that other threads may write within the
 * same barrier interval, so the check follows every such value to what it decides.
 *
 * Requires SSA form, dominators, loops. Changes nothing. */
#include "opt/coarsen_internal.h"

/* Reads a value that other threads may write in the same barrier interval, and uses it: the only way to wait for one
 * of them. */
static bool observes(const Values *values, const Inst *inst)
{
    bool strong = inst->sync == SYNC_STRONG || inst->sync == SYNC_MBARRIER ||
                  (inst->effects & EFFECT_VOLATILE && inst->effects & EFFECT_READ);
    if (!strong)
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && value_use_count(values, inst->refs[r].reg) > 0)
            return true;
    return false;
}

bool coarsening_loads_merge(const Coarsening *c)
{
    const Values *values = analyses_values(c->analyses);
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            if (observes(values, inst))
                return false;
    return true;
}

static bool exits_loop(const Coarsening *c, const Loop *loop, const Block *block)
{
    FOR_EACH_SUCC(block, succ)
        if (!loop_contains(c->loops, loop, succ))
            return true;
    return false;
}

/* Everything that depends on an observed value: by data, by branches that it decides, and through the thread's own
 * memory. */
typedef struct Reach {
    const Coarsening *c;
    const Values *values;
    const BlockLists *dependents; /* control dependents */
    const Block *observed;        /* the block of the observing instruction */
    const Loop *outermost;        /* around it */
    BitSet regs, blocks;          /* reached; blocks: those whose branch depends on the value */
    VEC(RegId) pending;          /* the reached registers whose uses are still to be followed */
    VEC(const Block *) branches; /* the reached blocks whose branch is still to be followed */
    bool has_locals;              /* the body has .local variables */
    bool memory;                  /* a reached value was stored in own memory */
} Reach;

static void reach_reg(Reach *reach, RegId reg)
{
    if (bitset_has(&reach->regs, reg))
        return;
    bitset_add(&reach->regs, reg);
    VEC_PUSH(reach->c->scratch, reach->pending, reg);
}

static void reach_results(Reach *reach, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            reach_reg(reach, inst->refs[r].reg);
}

static void reach_phis(Reach *reach, const Block *block)
{
    for (size_t p = 0; p < block->phis.count; p++)
        reach_reg(reach, block->phis.data[p].dst);
}

static void reach_block(Reach *reach, const Block *block)
{
    if (bitset_has(&reach->blocks, block->id))
        return;
    bitset_add(&reach->blocks, block->id);
    VEC_PUSH(reach->c->scratch, reach->branches, block);
}

/* Local memory, call parameters, and, where the body has .local variables, generic addresses. */
static bool is_own_access(const Reach *reach, const Inst *inst, AccessKind kind)
{
    Access access;
    if (!inst_access(inst, &access) || access.kind != kind || access.read_only)
        return false;
    return access.space == SPACE_LOCAL || access.space == SPACE_PARAM ||
           (access.space == SPACE_NONE && reach->has_locals);
}

/* A reached store or call: later loads may read what it wrote. */
static void reach_memory(Reach *reach, const Inst *inst)
{
    if (reach->memory || (!inst_is_call(inst) && !is_own_access(reach, inst, ACCESS_STORE)))
        return;
    reach->memory = true;
    for (uint32_t b = 0; b < reach->outermost->block_count; b++)
        for (const Inst *load = reach->outermost->blocks[b]->first; load; load = load->next)
            if (is_own_access(reach, load, ACCESS_LOAD))
                reach_results(reach, load);
}

/* The block's terminator if it may exit a loop around the observing instruction. */
static const Inst *loop_exit(const Reach *reach, const Block *block)
{
    for (const Loop *around = loop_of(reach->c->loops, reach->observed); around; around = around->parent)
        if (loop_contains(reach->c->loops, around, block) && exits_loop(reach->c, around, block))
            return block->last;
    return NULL;
}

/* Follows a branch to the blocks that depend on it and to the phis where its paths meet. Returns the terminator if it
 * decides whether a loop goes on. */
static const Inst *reach_branch(Reach *reach, const Block *block)
{
    const Inst *decides = loop_exit(reach, block);
    if (decides && block_chooses(block))
        return decides;
    FOR_EACH_SUCC(block, succ)
        if (succ->pred_count > 1)
            reach_phis(reach, succ);
    for (uint32_t d = 0; d < block_list_count(reach->dependents, block); d++) {
        const Block *dependent = block_list(reach->dependents, block)[d];
        reach_block(reach, dependent);
        reach_phis(reach, dependent);
        for (const Inst *inst = dependent->first; inst; inst = inst->next)
            reach_memory(reach, inst);
    }
    return NULL;
}

static void reach_uses(Reach *reach, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(reach->values, reg); u++) {
        const ValueUse *use = &value_uses(reach->values, reg)[u];
        if (!use->inst) {
            reach_reg(reach, use->block->phis.data[use->index].dst);
            continue;
        }
        if (inst_is_terminator(use->inst))
            reach_block(reach, use->block);
        reach_results(reach, use->inst);
        reach_memory(reach, use->inst);
    }
}

/* The terminator by which 'observed' decides whether a loop around it goes on, or NULL. */
static const Inst *loop_decided_by(const Coarsening *c, const Values *values, const BlockLists *dependents,
                                   const Inst *observed)
{
    const Loop *loop = loop_of(c->loops, observed->block);
    if (!loop)
        return NULL;
    while (loop->parent)
        loop = loop->parent;
    Reach reach = {
        .c = c, .values = values, .dependents = dependents, .observed = observed->block, .outermost = loop};
    reach.regs = bitset_new(c->scratch, c->body->regs.count);
    reach.blocks = bitset_new(c->scratch, c->body->blocks.count);
    for (size_t i = 0; i < c->body->variables.count; i++)
        reach.has_locals |= c->body->variables.data[i]->space == SPACE_LOCAL;
    reach_results(&reach, observed);
    while (reach.pending.count || reach.branches.count) {
        if (reach.pending.count) {
            reach_uses(&reach, VEC_POP(reach.pending));
            continue;
        }
        const Inst *decides = reach_branch(&reach, VEC_POP(reach.branches));
        if (decides)
            return decides;
    }
    return NULL;
}

bool coarsening_check_waiting(Coarsening *c)
{
    const Values *values = analyses_values(c->analyses);
    const BlockLists *dependents = NULL;
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        const Block *block = c->body->blocks.data[b];
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            if (!observes(values, inst))
                continue;
            if (bitset_has(&c->loops->irreducible, block->id))
                return coarsening_refuse(c, inst, "'%s' is in a loop with several entries",
                                         inst_spelling(c->scratch, inst));
            if (!dependents)
                dependents = control_dependents(c->scratch, c->postdominance);
            const Inst *decides = loop_decided_by(c, values, dependents, inst);
            if (decides)
                return coarsening_refuse(c, inst,
                                         "the loop that ends on line %u may wait for another thread through '%s'",
                                         coarsening_line(c, decides), inst_spelling(c->scratch, inst));
        }
    }
    return true;
}
