/* Loads of what the thread itself has stored.
 *
 * As load_reuse, with stores as another source of values: between a store and a load of the same place, in one barrier
 * interval, with nothing between that may write there. The store stays. */
#include "opt/common/cleanup.h"
#include "opt/passes.h"
#include "opt/replicas/reuse.h"

bool pass_forward(PassContext *context)
{
    if (!reuse_values(context->arena, context->body, context->analyses, LOCATION_STORES, &context->reuse))
        return false;
    analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    merge_equal_values(context->body, context->analyses);
    return true;
}
