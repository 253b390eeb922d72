#include "opt/common/kept_sums.h"

#include "opt/common/preheader.h"
#include "opt/passes.h"

/* True if a loop may store a sum: anything at all. */
static bool loops_store(PassContext *context)
{
    const LoopForest *loops = analyses_loops(context->analyses);
    for (size_t b = 0; b < context->body->blocks.count && loops->loop_count; b++)
        for (const Inst *inst = context->body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst->effects & EFFECT_WRITE && loop_of(loops, inst->block))
                return true;
    return false;
}

Body *sums_keep(PassContext *context)
{
    if (!loops_store(context))
        return NULL;
    Body *before = body_clone(context->body);
    loops_add_preheaders(context->body, context->analyses);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    pass_run(context, PASS_FORWARD);
    if (!pass_run(context, PASS_ACCUMULATOR)) {
        pass_set_body(context, before);
        return NULL;
    }
    pass_run(context, PASS_LOAD_REUSE);
    pass_run(context, PASS_CLEANUP);
    return before;
}
