/* The clean-up after coarsening: replicas compute much that is equal, and some that nobody reads. */
#include "opt/cleanup.h"

#include "opt/pass.h"

bool pass_cleanup(PassContext *context)
{
    merge_equal_values(context->body, context->analyses);
    analyses_invalidate(context->analyses, pass_table[PASS_CLEANUP].invalidates);
    remove_dead_code(context->body, context->analyses);
    return true;
}
