/* How coarsening treats an instruction, as far as the instruction table says.
 *
 * The rules follow from three columns of a row (category, effects, synchronization); a row that reads a special
 * register follows the register's role. Conditions on operands, variance or control flow are checked in legality.c;
 * coarsening_clones() alone asks variance, for the rule "cloned if variant". */
#include "opt/coarsen/internal.h"

static CoarsenTreatment refused(RefusalReason reason)
{
    return (CoarsenTreatment){COARSEN_REFUSED, reason};
}

/* A plain store of one value to one place can be done once for all replicas. */
static bool is_plain_store(const Form *form)
{
    return form_category(form) == CATEGORY_MEMORY && form_op(form) == OP_ST && !form_has(form, MOD_BULK);
}

static CoarsenTreatment treat_unsynchronized(const Form *form)
{
    unsigned effects = form_effects(form);
    if (effects & EFFECT_STACK)
        return refused(REFUSAL_STACK);
    if (form_category(form) == CATEGORY_CONTROL)
        return (CoarsenTreatment){form_op(form) == OP_CALL ? COARSEN_BY_CALLEE : COARSEN_IF_VARIANT, REFUSAL_NONE};
    /* Only a special register's read is both: the register decides. */
    if (effects & EFFECT_PURE && effects & EFFECT_VOLATILE)
        return (CoarsenTreatment){COARSEN_BY_REGISTER, REFUSAL_NONE};
    bool counts = effects & (EFFECT_VOLATILE | EFFECT_ASYNC | EFFECT_CONTROL) ||
                  (effects & EFFECT_WRITE && !is_plain_store(form));
    return (CoarsenTreatment){counts ? COARSEN_CLONED : COARSEN_IF_VARIANT, REFUSAL_NONE};
}

CoarsenTreatment coarsen_treatment(const Form *form)
{
    switch (form_sync(form)) {
    case SYNC_NONE: return treat_unsynchronized(form);
    case SYNC_FENCE: return (CoarsenTreatment){COARSEN_IF_VARIANT, REFUSAL_NONE};
    case SYNC_STRONG: return (CoarsenTreatment){COARSEN_CLONED, REFUSAL_NONE};
    case SYNC_BLOCK_BARRIER:
    case SYNC_CLUSTER_BARRIER:
    case SYNC_ASYNC_GROUP: return (CoarsenTreatment){COARSEN_ONCE, REFUSAL_NONE};
    case SYNC_WARP: return (CoarsenTreatment){COARSEN_WHOLE_WARPS, REFUSAL_NONE};
    case SYNC_BLOCK_COUNT:
        if (form_has(form, MOD_RED))
            return (CoarsenTreatment){COARSEN_COMBINED, REFUSAL_NONE};
        return refused(REFUSAL_COUNTS_THREADS);
    case SYNC_CONVERGED:
        /* Only activemask is volatile, and right for any set of threads (warps.c). */
        if (form_effects(form) & EFFECT_VOLATILE)
            return (CoarsenTreatment){COARSEN_WHOLE_WARPS, REFUSAL_NONE};
        return refused(REFUSAL_CONVERGED);
    case SYNC_WARPGROUP: return refused(REFUSAL_WARPGROUP);
    case SYNC_MBARRIER: return refused(REFUSAL_MBARRIER);
    /* A thread that has waited for other grids sees what they have written, and it is enough that one thread of the
     * block lets other grids start: neither counts threads or orders them. */
    case SYNC_GRID: return (CoarsenTreatment){COARSEN_IF_VARIANT, REFUSAL_NONE};
    case SYNC_REGISTERS:
        return refused(REFUSAL_REGISTER_POOL);
    case SYNC_OTHER: break;
    }
    return refused(REFUSAL_OTHER_EFFECTS);
}

CoarsenTreatment coarsen_sreg_treatment(const Sreg *sreg)
{
    switch (sreg->role) {
    case SREG_ROLE_TID:
    case SREG_ROLE_NTID:
        if (sreg->axis == SREG_AXIS_ALL)
            return refused(REFUSAL_WHOLE_VECTOR);
        return (CoarsenTreatment){COARSEN_REWRITTEN, REFUSAL_NONE};
    case SREG_ROLE_WARPID:
    case SREG_ROLE_NWARPID: return refused(REFUSAL_COUNTS_WARPS);
    default: break;
    }
    switch (sreg->dependence) {
    case SREG_THREAD: return (CoarsenTreatment){COARSEN_WHOLE_WARPS, REFUSAL_NONE};
    case SREG_VOLATILE: return (CoarsenTreatment){COARSEN_CLONED, REFUSAL_NONE};
    default: return (CoarsenTreatment){COARSEN_IF_VARIANT, REFUSAL_NONE};
    }
}

CoarsenTreatment coarsening_treatment(const Inst *inst)
{
    CoarsenTreatment treatment = coarsen_treatment(inst->form);
    if (treatment.rule != COARSEN_BY_REGISTER)
        return treatment;
    const Sreg *sreg = inst_sreg(inst);
    require(sreg);
    return coarsen_sreg_treatment(sreg);
}

bool coarsening_combines(const Inst *inst)
{
    return inst->sync == SYNC_BLOCK_COUNT && coarsening_treatment(inst).rule == COARSEN_COMBINED;
}

/* An instruction that several threads of a warp execute together. */
static bool is_warp_level(const Inst *inst)
{
    return inst->sync == SYNC_WARP && coarsening_treatment(inst).rule == COARSEN_WHOLE_WARPS;
}

bool coarsening_names_members(const Inst *inst)
{
    return is_warp_level(inst) && !signature_is_aligned(inst->signature) &&
           !(inst->effects & (EFFECT_READ | EFFECT_WRITE));
}

bool coarsening_is_collective(const Inst *inst)
{
    CoarsenRule rule = coarsening_treatment(inst).rule;
    return rule == COARSEN_ONCE || rule == COARSEN_COMBINED || inst->sync == SYNC_BLOCK_COUNT ||
           (is_warp_level(inst) && !coarsening_names_members(inst));
}

bool coarsening_joins(const CoarsenStep *step, const Inst *inst)
{
    return !step->merges_blocks && coarsening_combines(inst);
}

bool coarsening_orders(const Inst *inst)
{
    return inst->sync != SYNC_NONE && inst->sync != SYNC_STRONG;
}

bool coarsening_clones(const Coarsening *c, const Inst *inst)
{
    if (coarsening_is_agreement(c, inst) || coarsening_joins(&c->step, inst))
        return false;
    if (variance_inst(c->facts.variance, inst) || coarsening_uses_private(c, inst))
        return true;
    CoarsenRule rule = coarsening_treatment(inst).rule;
    return rule == COARSEN_CLONED || rule == COARSEN_BY_CALLEE;
}
