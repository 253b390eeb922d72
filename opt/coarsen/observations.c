/* Observations: where a thread may learn what another one does within a barrier interval.
 *
 * Without one, plain loads of equal addresses give equal values in all replicas: a write that differed between them
 * would race with one of the loads. After one, a replica may have acquired what another thread has written, and the
 * other replicas not yet. A barrier of the block ends this: what a thread has learned before it, all threads know
 * after it. So loads are merged where no observation can come before them in their interval. Merged blocks have no
 * barrier in common: what one of them has learned, the others may never learn.
 *
 * Requires SSA form. Changes nothing. */
#include "opt/coarsen/internal.h"

bool coarsening_observes(const Values *values, const Inst *inst)
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

bool coarsening_region_observes(const Facts *facts, const Region *region)
{
    const Values *values = analyses_values(facts->analyses);
    for (size_t i = 0; i < region->blocks.count; i++)
        for (const Inst *inst = region->blocks.data[i]->first; inst; inst = inst->next)
            if (coarsening_observes(values, inst))
                return true;
    return false;
}

bool coarsening_is_meeting(const CoarsenStep *step, const Inst *inst)
{
    return !step->merges_blocks && !inst_is_guarded(inst) &&
           (inst->sync == SYNC_BLOCK_BARRIER || coarsening_combines(inst));
}

/* Follows the observation through the block. */
static const Inst *leave_block(const Coarsening *c, const Values *values, const Block *block, const Inst *observation)
{
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        if (coarsening_is_meeting(&c->step, inst))
            observation = NULL;
        else if (!observation && coarsening_observes(values, inst))
            observation = inst;
    }
    return observation;
}

/* The observation that may come before each block in the same interval, by Block.id. */
static const Inst **observations_before(Coarsening *c, const Values *values)
{
    const Inst **before = ARENA_ARRAY(c->scratch, const Inst *, c->body->blocks.count);
    VEC(const Block *) pending = {0};
    for (size_t b = c->body->blocks.count; b-- > 0;)
        VEC_PUSH(c->scratch, pending, c->body->blocks.data[b]);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        const Inst *after = leave_block(c, values, block, before[block->id]);
        if (!after)
            continue;
        FOR_EACH_SUCC(block, succ)
            if (!before[succ->id]) {
                before[succ->id] = after;
                VEC_PUSH(c->scratch, pending, succ);
            }
    }
    return before;
}

void coarsening_find_observations(Coarsening *c)
{
    const Values *values = analyses_values(c->facts.analyses);
    const Inst **before = observations_before(c, values);
    c->facts.observations = (PointerMap){.arena = c->scratch};
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        const Inst *observation = before[b];
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (coarsening_is_meeting(&c->step, inst))
                observation = NULL;
            else if (!observation && coarsening_observes(values, inst))
                observation = inst;
            else if (observation && inst_access(inst, &access))
                pointer_map_put(&c->facts.observations, inst, observation);
        }
    }
}
