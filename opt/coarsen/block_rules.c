/* How instructions are treated where blocks are merged, insofar as that differs from merging threads.
 *
 * The threads of a block stay what they are, so instructions that count them, their warps or their arrivals need no
 * change. Instructions that are about blocks do: those about their index and, in a grid that shrinks, their number,
 * which index.c replaces, clusters, and the size of shared memory.
 *
 * If blocks grow, threads keep their work, but not their place in the block: instructions about the block and about
 * the thread's place in it are treated as for merged blocks and as for merged threads. */
#include "opt/coarsen/internal.h"

static CoarsenTreatment refused(RefusalReason reason)
{
    return (CoarsenTreatment){COARSEN_REFUSED, reason};
}

CoarsenTreatment coarsening_sreg_rule(const Coarsening *c, const Sreg *sreg)
{
    const CoarsenTreatment of_threads = coarsen_sreg_treatment(sreg);
    if (!c->step.merges_blocks)
        return of_threads;
    if (c->step.grows && of_threads.rule != COARSEN_IF_VARIANT && of_threads.rule != COARSEN_CLONED)
        return of_threads;
    switch (sreg->role) {
    case SREG_ROLE_CTAID:
        if (sreg->axis == SREG_AXIS_ALL)
            return refused(REFUSAL_WHOLE_VECTOR);
        return (CoarsenTreatment){COARSEN_REWRITTEN, REFUSAL_NONE};
    case SREG_ROLE_NCTAID:
        if (!c->step.shrinks_grid)
            break;
        if (sreg->axis == SREG_AXIS_ALL)
            return refused(REFUSAL_WHOLE_VECTOR);
        return (CoarsenTreatment){COARSEN_REWRITTEN, REFUSAL_NONE};
    case SREG_ROLE_CLUSTERID:
    case SREG_ROLE_NCLUSTERID:
    case SREG_ROLE_CLUSTER_CTAID:
    case SREG_ROLE_CLUSTER_NCTAID:
    case SREG_ROLE_CLUSTER_CTARANK:
    case SREG_ROLE_CLUSTER_NCTARANK:
    case SREG_ROLE_IS_EXPLICIT_CLUSTER: return refused(REFUSAL_ABOUT_CLUSTERS);
    case SREG_ROLE_DYNAMIC_SMEM_SIZE: /* after the first step, it is coarsening that reads it */
        if (!c->dynamic.is_split || merges_any(c->step.before.blocks))
            break;
        return refused(REFUSAL_SHARED_SIZE);
    case SREG_ROLE_TOTAL_SMEM_SIZE:
    case SREG_ROLE_AGGR_SMEM_SIZE: return refused(REFUSAL_SHARED_SIZE);
    default: break;
    }
    return (CoarsenTreatment){sreg->dependence == SREG_VOLATILE ? COARSEN_CLONED : COARSEN_IF_VARIANT, REFUSAL_NONE};
}

CoarsenTreatment coarsening_block_rule(const Coarsening *c, const Inst *inst)
{
    switch ((SyncKind)inst->sync) {
    case SYNC_BLOCK_COUNT:
        if (c->step.grows)
            return refused(REFUSAL_COUNTS_THREADS);
        return (CoarsenTreatment){COARSEN_IF_VARIANT, REFUSAL_NONE}; /* the same threads count */
    case SYNC_CLUSTER_BARRIER: return refused(REFUSAL_FOR_CLUSTERS);
    default: break;
    }
    if (inst_op(inst) == OP_MAPA || inst_op(inst) == OP_GETCTARANK)
        return refused(REFUSAL_ABOUT_CLUSTERS);
    if (inst_has(inst, MOD_BULK))
        return refused(REFUSAL_CLUSTER_WRITE);
    return coarsening_treatment(inst);
}

bool coarsening_is_for_clusters(const Coarsening *c, const Inst *inst)
{
    const RefusalReason reason = coarsening_block_rule(c, inst).reason;
    return reason == REFUSAL_ABOUT_CLUSTERS || reason == REFUSAL_FOR_CLUSTERS || inst_has(inst, MOD_CTA_GROUP_2) ||
           inst_has(inst, MOD_MULTICAST_CLUSTER) || inst_has(inst, MOD_MULTICAST_CLUSTER_16B) ||
           inst_has(inst, MOD_MULTICAST_CLUSTER_32B) || inst_has(inst, MOD_MULTICAST_CLUSTER_ALL);
}
