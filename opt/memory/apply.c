#include "opt/memory/apply.h"

#include "opt/common/byte_words.h"
#include "opt/common/kept_sums.h"
#include "opt/common/preheader.h"
#include "opt/memory/atomics.h"
#include "opt/passes.h"
#include "opt/policy.h"

static bool has_nest(const PassContext *context)
{
    const LoopForest *loops = analyses_loops(context->analyses);
    for (uint32_t i = 0; i < loops->loop_count; i++)
        if (loops->loops[i].depth > 1)
            return true;
    return false;
}

/* Makes 64-bit values of indices of loops, where tests allow it; false: there is nothing to do. */
static bool widen_indices(PassContext *context)
{
    loops_add_preheaders(context->body, context->analyses);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    if (!pass_run(context, PASS_WIDEN))
        return false;
    pass_run(context, PASS_CLEANUP);
    pass_run(context, PASS_BASES);
    pass_run(context, PASS_POINTERS);
    pass_run(context, PASS_CLEANUP);
    return true;
}

static void hold_rows(PassContext *context)
{
    if (!context->holds_rows || context->holds.done || !pass_run(context, PASS_HELD_ROWS))
        return;
    context->holds.done = true;
    pass_run(context, PASS_CLEANUP);
}

/* The same, in loops without empty latches, holds rows, and keeps sums that loops store in registers; 'rolls': rolls
 * loops up first. Gives the body as it was before, owned by the caller. */
static Body *prepare(PassContext *context, bool rolls)
{
    Body *before = body_clone(context->body);
    loops_remove_empty_latches(context->body, context->analyses);
    if (rolls && pass_run(context, PASS_REROLL))
        pass_run(context, PASS_CLEANUP);
    hold_rows(context);
    if (pass_run(context, PASS_PASSED_ROWS)) {
        pass_run(context, PASS_CLEANUP);
        hold_rows(context);
    }
    Body *narrow = body_clone(context->body);
    if (widen_indices(context))
        body_free(narrow);
    else
        pass_set_body(context, narrow);
    body_free(sums_keep(context));
    return before;
}

/* Nests are found by the pointers that their loops advance. */
static void find_pointers(PassContext *context)
{
    pass_run(context, PASS_CLEANUP);
    if (pass_run(context, PASS_POINTERS))
        pass_run(context, PASS_CLEANUP);
}

bool memory_stage(PassContext *context, const StageRequest *request)
{
    context->staging = request;
    context->staged = (StageResult){.refusal = {.reason = REFUSAL_SWITCHED_OFF}};
    const HeldRows held = context->holds;
    Body *before = prepare(context, true);
    if (has_nest(context))
        find_pointers(context);
    bool done = pass_run(context, PASS_STAGE);
    done |= context->holds.done && !held.done;
    if (done) {
        pass_run(context, PASS_CLEANUP);
        pass_run(context, PASS_POINTERS);
        pass_run(context, PASS_CLEANUP);
    }
    context->staged.held = context->holds;
    if (done)
        body_free(before);
    else
        pass_set_body(context, before);
    context->staging = NULL;
    return done;
}

bool memory_sums(PassContext *context, bool rolls)
{
    if (!body_has_atomics(context->body))
        return false;
    Body *before = prepare(context, rolls);
    if (pass_run(context, PASS_PARTIAL_SUMS)) {
        pass_run(context, PASS_CLEANUP);
        body_free(before);
        return true;
    }
    pass_set_body(context, before);
    return false;
}

bool memory_counters(PassContext *context, uint64_t dynamic_shared)
{
    context->counting_dynamic_shared = dynamic_shared;
    context->counted = (CountersResult){.refusal = {.reason = REFUSAL_SWITCHED_OFF}};
    const bool done = pass_run(context, PASS_COUNTERS);
    if (done)
        pass_run(context, PASS_CLEANUP);
    return done;
}

/* True if the body is predicted to take longer than another form of it; false if times are not predicted. */
static bool is_slower_than(PassContext *context, const Body *other)
{
    Figures now = {0}, then = {0};
    const Judge *judge = context->judge;
    const FunctionForm form = pass_form(context, context->body), before = pass_form(context, other);
    const LaunchChange change = contract_change(&context->contract);
    if (!judge || !judge->predict || !judge->measure(judge->context, &form, &now) ||
        !judge->measure(judge->context, &before, &then))
        return false;
    const Prediction of_form = judge->predict(judge->context, &form, &now, &change);
    const Prediction of_before = judge->predict(judge->context, &before, &then, &change);
    return !policy_accepts(&(Policy){.time = 1}, &of_form, &of_before);
}

bool memory_vectors(PassContext *context, bool *is_slower)
{
    const bool is_alone = is_slower != NULL;
    const HeldRows held = context->holds;
    context->tests_by_thread = is_alone;
    Body *before = prepare(context, !is_alone);
    if (body_load_words(context->body))
        analyses_invalidate(context->analyses, ANALYSES_ALL);
    if (pass_run(context, PASS_ROW_VECTORS))
        pass_run(context, PASS_CLEANUP);
    if (pass_run(context, PASS_VECTORS)) {
        pass_run(context, PASS_BASES);
        pass_run(context, PASS_POINTERS);
        pass_run(context, PASS_CLEANUP);
    }
    const bool changed = vectors_joined(&context->vectors) > 0;
    if (changed && pass_run(context, PASS_DOTS))
        pass_run(context, PASS_CLEANUP);
    const bool drops = changed && is_slower && is_slower_than(context, before);
    if (is_slower)
        *is_slower = drops;
    if (changed && !drops) {
        body_free(before);
        return true;
    }
    context->holds = held;
    pass_set_body(context, before);
    return false;
}
