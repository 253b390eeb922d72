/* The clean-up pass: after coarsening, replicas compute many equal values, and some without readers. */
#include "opt/common/cleanup.h"

#include "opt/passes.h"

bool pass_cleanup(PassContext *context)
{
    merge_equal_values(context->body, context->analyses);
    analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    if (forget_kept_values(context->body, context->analyses))
        analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    if (fold_kept_copies(context->body, context->analyses))
        analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    remove_dead_code(context->body, context->analyses);
    return true;
}
