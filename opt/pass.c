#include "opt/pass.h"

#include "opt/coarsen/inline.h"

/* Works on a copy: if one of the calls has to stay, all do. */
static bool pass_inline(PassContext *context)
{
    const CoarsenRequest *request = context->coarsening;
    bool merges_blocks = request->level == LEVEL_BLOCK;
    for (unsigned d = 0; d < 3; d++)
        merges_blocks |= request->merged[d] > 1;
    Body *copy = body_clone(context->body);
    if (!inline_calls(copy, merges_blocks)) {
        body_free(copy);
        return false;
    }
    pass_set_body(context, copy);
    return true;
}

static bool pass_ssa(PassContext *context)
{
    body_to_ssa(context->body);
    return true;
}

/* Works on a copy, too. */
static bool pass_unroll_jam(PassContext *context)
{
    Body *copy = body_clone(context->body);
    if (!unroll_and_jam(copy, context->jam, &context->refusal)) {
        body_free(copy);
        return false;
    }
    pass_set_body(context, copy);
    return true;
}

/* Works on a copy: coarsening that is refused half-way leaves a useless body. */
static bool pass_coarsen(PassContext *context)
{
    Body *copy = body_clone(context->body);
    CoarsenRequest request = *context->coarsening;
    request.shared = &context->reuse;
    request.arena = context->arena;
    if (!coarsen_body(copy, &request, &context->contract, &context->refusal, &context->legality)) {
        body_free(copy);
        return false;
    }
    pass_set_body(context, copy);
    context->block = block_size_coarsened(&context->block, context->contract.factor, &copy->tuning);
    return true;
}

#define SSA PROPERTY_SSA
#define LAUNCH (PROPERTY_SSA | PROPERTY_LAUNCH)
#define KEEPS (PROPERTY_SSA | PROPERTY_FLOW | PROPERTY_LAUNCH)
#define ROW(id, name, letter, is_fixed, requires, preserves, invalidates, description)                                 \
    [PASS_##id] = {PASS_##id,  #name, letter, is_fixed, pass_##name, requires, preserves, ANALYSES_##invalidates,      \
                   description}

/* clang-format off */
const Pass pass_table[PASS_COUNT] = {
    /*  id             name           -d   fixed  requires/preserves invalidates description */
    ROW(INLINE,        inline,        'j', false, 0,   PROPERTY_LAUNCH, ALL, "inline calls that mind their thread"),
    ROW(SSA,           ssa,           's', true,  0,   KEEPS, ALL,          "build the body form and SSA"),
    ROW(UNROLL_JAM,    unroll_jam,    'u', false, SSA, LAUNCH, ALL,         "iterations of a loop side by side"),
    ROW(COARSEN,       coarsen,       'c', false, SSA, SSA,   ALL,          "thread coarsening"),
    ROW(CLEANUP,       cleanup,       'd', false, SSA, KEEPS, INSTRUCTIONS, "merge equal values, remove dead code"),
    ROW(DECIDE,        decide,        'n', false, SSA, LAUNCH, ALL,         "conditions that ranges decide"),
    ROW(LOAD_REUSE,    load_reuse,    'l', false, SSA, KEEPS, INSTRUCTIONS, "load what several replicas read once"),
    ROW(FORWARD,       forward,       'f', false, SSA, KEEPS, INSTRUCTIONS, "take stored values from registers"),
    ROW(ADDRESSES,     addresses,     'a', false, SSA, LAUNCH, ALL,         "one base for the addresses of replicas"),
    ROW(INDUCTION,     induction,     'i', false, SSA, KEEPS, INSTRUCTIONS, "advance addresses of replicas once"),
    ROW(ACCUMULATOR,   accumulator,   'm', false, SSA, LAUNCH, ALL,         "keep what a loop updates in registers"),
    ROW(VECTORIZE,     vectorize,     'v', false, SSA, LAUNCH, ALL,         "join neighbouring accesses to vectors"),
    ROW(BASES,         bases,         'e', false, SSA, KEEPS, INSTRUCTIONS, "a register and immediates for addresses"),
    ROW(POINTERS,      pointers,      'p', false, SSA, KEEPS, INSTRUCTIONS, "advance what is read, not its parts"),
    ROW(SCHEDULE,      schedule,      'o', false, SSA, KEEPS, NONE,         "order instructions for register pressure"),
    ROW(REMATERIALIZE, rematerialize, 'r', false, SSA, KEEPS, INSTRUCTIONS, "recompute values instead of keeping them"),
    ROW(RECOMPUTE,     recompute,     'y', false, SSA, KEEPS, INSTRUCTIONS, "keep what most can be recomputed from"),
    ROW(SINK,          sink,          'k', false, SSA, KEEPS, INSTRUCTIONS, "move computations towards their uses"),
    ROW(HOIST,         hoist,         'h', false, SSA, KEEPS, INSTRUCTIONS, "compute early where operands die"),
    ROW(OFFSETS,       offsets,       'w', false, SSA, KEEPS, INSTRUCTIONS, "one pointer for each stride of a loop"),
    ROW(PACK,          pack,          'z', false, SSA, KEEPS, INSTRUCTIONS, "small values in one register"),
    ROW(NOUNROLL,      nounroll,      'q', false, SSA, KEEPS, NONE,         "loops that assemblers must not unroll"),
    ROW(KNOBS,         knobs,         'x', false, 0,   KEEPS, NONE,         "options of the assembler that help"),
    ROW(SPILLING,      spilling,      't', false, 0,   KEEPS, NONE,         "spill to shared memory that is unused"),
    ROW(BOUNDS,        bounds,        'b', false, 0,   KEEPS, NONE,         ".maxnreg and .maxntid where they help"),
    ROW(CHECK,         check,         'g', false, 0,   LAUNCH, ALL,         "stop launches with the original's blocks"),
};
/* clang-format on */

#undef SSA
#undef LAUNCH
#undef KEEPS
#undef ROW

_Static_assert(COUNT_OF(pass_table) == PASS_COUNT, "one row for each pass");

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
    return !of_a.known || !of_b.known || of_a.cycles > of_b.cycles;
}

FunctionForm pass_form(const PassContext *context, const Body *body)
{
    return (FunctionForm){.function = context->kernel, .body = body};
}

bool pass_run(PassContext *context, PassId id)
{
    const Pass *pass = &pass_table[id];
    if (!pass_is_enabled(context->options, id))
        return false;
    require(!(pass->requires & PROPERTY_SSA) || context->body->ssa);
    if (!pass->run(context))
        return false;
    require(!(pass->preserves & PROPERTY_SSA) || !(pass->requires & PROPERTY_SSA) || context->body->ssa);
    analyses_invalidate(context->analyses, pass->invalidates);
    pass_verify(id, context->body);
    if (!context->search)
        pass_dump(context, id, context->body, NULL);
    return true;
}
