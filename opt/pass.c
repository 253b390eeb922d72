#include "opt/passes.h"
#include "opt/policy.h"

#define PASS(id_, name_, where, how, requires_, preserves_, changes, text)                                             \
    [PASS_##id_] = {.name = #name_,                                                                                    \
                    .is_of_search = (where) == SEARCH,                                                                 \
                    .is_fixed = (how) == FIXED,                                                                        \
                    .on_copy = (how) == COPY,                                                                          \
                    .run = pass_##name_,                                                                               \
                    .requires = (requires_),                                                                           \
                    .preserves = (preserves_),                                                                         \
                    .invalidates = ANALYSES_##changes,                                                                 \
                    .description = (text)},

/* The words of the table. */
enum { CODE, SEARCH };
enum { FIXED = 1, COPY };
enum {
    SSA = PROPERTY_SSA,
    LAUNCH = PROPERTY_SSA | PROPERTY_LAUNCH,
    KEEPS = PROPERTY_SSA | PROPERTY_LAUNCH | PROPERTY_FLOW,
};

const Pass pass_table[] = {
#include "opt/passes.def"
};

#undef PASS

const unsigned pass_count = PASS_COUNT;
_Static_assert((int)PASS_COUNT <= (int)PASSES_MOST, "as many as PassOptions has room for");

bool pass_is_enabled(const PassOptions *options, PassId id)
{
    return pass_table[id].is_fixed || options->enabled[id];
}

PassContext pass_context_new(Arena *arena, const PassOptions *options, Function *kernel, Body *body)
{
    return (PassContext){
        .arena = arena, .options = options, .kernel = kernel, .body = body, .analyses = analyses_new(body)};
}

void pass_context_free(PassContext *context)
{
    analyses_free(context->analyses);
    body_free(context->body);
    context->analyses = NULL;
    context->body = NULL;
}

void pass_set_body(PassContext *context, Body *body)
{
    pass_context_free(context);
    context->body = body;
    context->analyses = analyses_new(body);
}

Body *pass_take_body(PassContext *context)
{
    Body *body = context->body;
    context->body = NULL;
    pass_context_free(context);
    return body;
}

void pass_verify(PassId id, const Body *body)
{
    body_verify(body, pass_table[id].name);
}

void pass_dump(const PassContext *context, PassId id, const Body *body, const char *comment)
{
    if (!context->options->dumped[id])
        return;
    Buf text = {0};
    body_dump(body, &text);
    fprintf(context->options->dump_out, "// %s: after %s%s%s\n%s", context->kernel->name, pass_table[id].name,
            comment ? ": " : "", comment ? comment : "", buf_text(&text));
    buf_free(&text);
}

unsigned pass_blocks_on_sm(const PassContext *context, const Figures *figures, uint64_t dynamic_shared)
{
    return sm_occupancy(context->sm, block_size_total(&context->block), figures->registers,
                             figures->shared + dynamic_shared)
        .blocks;
}

bool pass_is_slower(const PassContext *context, const FunctionForm *a, const Figures *a_figures, const FunctionForm *b,
                    const Figures *b_figures)
{
    const Judge *judge = context->judge;
    if (!judge || !judge->predict)
        return true;
    const LaunchChange change = contract_change(&context->contract);
    Prediction of_a = judge->predict(judge->context, a, a_figures, &change);
    Prediction of_b = judge->predict(judge->context, b, b_figures, &change);
    const Policy policy = {.needs_time = true, .time = 1};
    return !policy_accepts(&policy, &of_a, &of_b);
}

FunctionForm pass_form(const PassContext *context, const Body *body)
{
    return (FunctionForm){.function = context->kernel, .body = body};
}

/* A pass that may give up half-way works on a copy, which replaces the body only if it succeeds. */
static bool run_on_copy(PassContext *context, const Pass *pass)
{
    Body *body = context->body;
    Analyses *analyses = context->analyses;
    context->body = body_clone(body);
    context->analyses = analyses_new(context->body);
    if (pass->run(context)) {
        analyses_free(analyses);
        body_free(body);
        return true;
    }
    pass_context_free(context);
    context->body = body;
    context->analyses = analyses;
    return false;
}

bool pass_run(PassContext *context, PassId id)
{
    const Pass *pass = &pass_table[id];
    if (!pass_is_enabled(context->options, id))
        return false;
    require(!(pass->requires & PROPERTY_SSA) || context->body->ssa);
    if (!(pass->on_copy ? run_on_copy(context, pass) : pass->run(context)))
        return false;
    require(!(pass->preserves & PROPERTY_SSA) || !(pass->requires & PROPERTY_SSA) || context->body->ssa);
    analyses_invalidate(context->analyses, pass->invalidates);
    pass_verify(id, context->body);
    if (!context->search)
        pass_dump(context, id, context->body, NULL);
    return true;
}
