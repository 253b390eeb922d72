/* Loads of what another load has read: neighbours that overlap, replicas that read the same place, rows that two
 * replicas share.
 *
 * A plain load is replaced by an earlier one of the same place on every path to it, if the two addresses are one sum
 * (analysis/affine/affine.h) and nothing between may write there or lets other threads write: no store that may meet
 * it, no barrier, fence, call, strong or volatile access. That is what an expert does by hand with registers (Unkule,
 * Shaltz and Qasem, CC'12, section 3), for the replicas that coarsening has put side by side. */
#include "opt/common/cleanup.h"
#include "opt/passes.h"
#include "opt/replicas/reuse.h"

/* A load whose address was loaded is found when that load has been replaced. */
enum { WALKS = 3 };

bool pass_load_reuse(PassContext *context)
{
    bool changed = false;
    for (unsigned walk = 0; walk < WALKS; walk++) {
        if (!reuse_values(context->arena, context->body, context->analyses, LOCATION_LOADS, &context->reuse))
            break;
        changed = true;
        analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
        merge_equal_values(context->body, context->analyses);
        analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    }
    return changed;
}
