/* Whether the blocks of a grid may do one another's work.
 *
 * CUDA runs blocks in any order, so a kernel computes the same if each block does the work of another one, unless it
 * learns which block it really is, or needs certain blocks to begin before others:
 *   - every read of the block's index is replaced (opt/order/block_order.c), so all of them must be in the kernel's
 *     own code;
 *   - the blocks of a cluster are neighbours of the hardware's choosing, and a launch that is cancelled
 *     (clusterlaunchcontrol) tells an index of the hardware: both are refused, as are all instructions with effects
 *     beyond their thread that are not modelled;
 *   - CUDA does not promise that blocks begin in the order of their indices, but GPUs do that, and programs rely on it:
 *     a block that waits for one with a smaller index, as in a scan with look-back, would never end if enough waiting
 *     ones began first. So loops that may wait for another block are refused (waiting.c), even if an atomic counter
 *     decides which one. Lock-free loops, and atomics whose results no loop waits for, depend on no order.
 *
 * Requires SSA form. Works on a copy. */
#include "opt/coarsen/internal.h"
#include "opt/common/ends.h"

static bool check_sreg(Coarsening *c, const Inst *inst, const Sreg *sreg)
{
    RefusalReason reason = REFUSAL_NONE;
    if (coarsening_sreg_rule(c, sreg).reason == REFUSAL_ABOUT_CLUSTERS)
        reason = REFUSAL_ORDER_ABOUT_CLUSTERS;
    else if (sreg->role == SREG_ROLE_CTAID && sreg->axis == SREG_AXIS_ALL)
        reason = REFUSAL_WHOLE_VECTOR;
    return reason == REFUSAL_NONE || coarsening_refuse_with(c, inst, reason, REFUSAL_WITH(refusal_name(sreg->name)));
}

static bool check_inst(Coarsening *c, const Inst *inst)
{
    if (inst_is_opaque(inst))
        return coarsening_refuse(c, inst, REFUSAL_UNKNOWN);
    const Sreg *sreg = inst_sreg(inst);
    if (sreg)
        return check_sreg(c, inst, sreg);
    if (inst_is_call(inst))
        return coarsening_check_call(c, inst);
    if (coarsening_is_for_clusters(c, inst))
        return coarsening_refuse_with(c, inst, REFUSAL_ORDER_ABOUT_CLUSTERS,
                                      REFUSAL_WITH(refusal_name(inst_spelling(c->scratch, inst))));
    if (inst->sync == SYNC_OTHER)
        return coarsening_refuse_with(c, inst, REFUSAL_ORDER_EFFECTS,
                                      REFUSAL_WITH(refusal_name(inst_spelling(c->scratch, inst))));
    return true;
}

/* The carry flag must not leave a block, or waiting.c would lose values in it. */
static bool check_instructions(Coarsening *c)
{
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        bool has_carry = false;
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            if (!check_inst(c, inst))
                return false;
            if (inst->effects & EFFECT_CC_READ && !has_carry)
                return coarsening_refuse(c, inst, REFUSAL_CARRY_BETWEEN_BLOCKS);
            has_carry |= (inst->effects & EFFECT_CC_WRITE) != 0;
        }
    }
    return true;
}

static bool reads_index(const Body *body, unsigned axis)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            const Sreg *sreg = inst_sreg(inst);
            if (sreg && sreg->role == SREG_ROLE_CTAID && sreg->axis == axis)
                return true;
        }
    return false;
}

static bool check_waiting(Coarsening *c)
{
    Facts *facts = &c->facts;
    body_unify_exits(c->body);
    facts->analyses = analyses_new(c->body);
    facts->dominance = analyses_dominance(facts->analyses);
    facts->postdominance = analyses_postdominance(facts->analyses);
    facts->loops = analyses_loops(facts->analyses);
    const bool held = coarsening_check_waiting(c);
    analyses_free(facts->analyses);
    return held;
}

bool coarsening_may_renumber(const Body *body, Refusal *refusal)
{
    require(body->ssa);
    Arena *scratch = arena_new();
    Legality unwanted = {0};
    Coarsening c = {.body = body_clone(body),
                    .scratch = scratch,
                    .step = {.merges_blocks = true, .renumbers = true},
                    .record = {.refusal = refusal, .legality = &unwanted},
                    .exits.parted = {.arena = scratch},
                    .common.users = {.arena = scratch}};
    bool may;
    *refusal = (Refusal){0};
    if (coarsening_has_clusters(&body->tuning))
        may = coarsening_refuse(&c, NULL, REFUSAL_ORDER_CLUSTERS);
    else
        may = check_instructions(&c);
    for (unsigned axis = SREG_AXIS_X; axis <= SREG_AXIS_Y && may; axis++)
        if (!reads_index(body, axis))
            may = coarsening_refuse_with(&c, NULL, REFUSAL_ORDER_FLAT, REFUSAL_WITH(refusal_axis(axis)));
    may = may && check_waiting(&c);
    body_free(c.body);
    arena_free(scratch);
    return may;
}
