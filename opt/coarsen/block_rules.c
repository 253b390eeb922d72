/* How instructions are treated where blocks are merged, insofar as that differs from merging threads.
 *
 * The threads of a block stay what they are, so instructions that count them, their warps or their arrivals need no
 * change. Instructions that are about blocks do: those about their index and, in a grid that shrinks, their number,
 * which index.c replaces, clusters, and the size of shared memory. */
#include "opt/coarsen/internal.h"

static CoarsenTreatment refused(const char *reason)
{
    return (CoarsenTreatment){COARSEN_REFUSED, reason};
}

CoarsenTreatment coarsening_sreg_rule(const Coarsening *c, const Sreg *sreg)
{
    if (!c->step.merges_blocks)
        return coarsen_sreg_treatment(sreg);
    switch (sreg->role) {
    case SREG_ROLE_CTAID:
        if (sreg->axis == SREG_AXIS_ALL)
            return refused("is a whole vector, and only its components can be replaced");
        return (CoarsenTreatment){COARSEN_REWRITTEN, NULL};
    case SREG_ROLE_NCTAID:
        if (!c->step.shrinks_grid)
            break;
        if (sreg->axis == SREG_AXIS_ALL)
            return refused("is a whole vector, and only its components can be replaced");
        return (CoarsenTreatment){COARSEN_REWRITTEN, NULL};
    case SREG_ROLE_CLUSTERID:
    case SREG_ROLE_NCLUSTERID:
    case SREG_ROLE_CLUSTER_CTAID:
    case SREG_ROLE_CLUSTER_NCTAID:
    case SREG_ROLE_CLUSTER_CTARANK:
    case SREG_ROLE_CLUSTER_NCTARANK:
    case SREG_ROLE_IS_EXPLICIT_CLUSTER: return refused("is about clusters, whose blocks are not merged");
    case SREG_ROLE_DYNAMIC_SMEM_SIZE: /* after the first step, it is coarsening that reads it */
        if (!c->dynamic.is_split || merges_any(c->step.before.blocks))
            break;
        return refused("is the size of shared memory, which merging blocks changes");
    case SREG_ROLE_TOTAL_SMEM_SIZE:
    case SREG_ROLE_AGGR_SMEM_SIZE: return refused("is the size of shared memory, which merging blocks changes");
    default: break;
    }
    return (CoarsenTreatment){sreg->dependence == SREG_VOLATILE ? COARSEN_CLONED : COARSEN_IF_VARIANT, NULL};
}

CoarsenTreatment coarsening_block_rule(const Inst *inst)
{
    switch ((SyncKind)inst->sync) {
    case SYNC_BLOCK_COUNT: return (CoarsenTreatment){COARSEN_IF_VARIANT, NULL}; /* the same threads count */
    case SYNC_CLUSTER_BARRIER: return refused("is for clusters, whose blocks are not merged");
    default: break;
    }
    if (inst_op(inst) == OP_MAPA || inst_op(inst) == OP_GETCTARANK)
        return refused("is about clusters, whose blocks are not merged");
    if (inst_has(inst, MOD_BULK))
        return refused("may write to the shared memory of a cluster");
    return coarsening_treatment(inst);
}
