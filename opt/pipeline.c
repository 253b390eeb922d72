/* The pipeline, on one screen: pipeline_run at the end of this file.
 *
 *     statements -> body -> SSA -> dead buffers -> exchange -> grow -> diagonals, edges -> interior -> unroll and jam
 *     -> coarsen, or refine -> clean up
 *     -> reuse -> stage -> count -> lanes -> order of blocks -> what the assembler gets wrong
 *     -> bounds or the register search -> check -> body out of SSA
 *
 * Before coarsening, calls are inlined that it could not leave as they are. */
#include "opt/pipeline.h"

#include <string.h>

#include "opt/common/cleanup.h"
#include "opt/common/version.h"
#include "opt/demands.h"
#include "opt/memory/apply.h"
#include "opt/registers/moves/knobs.h"
#include "opt/passes.h"

/* The budget of the register search, in assemblies of the kernel, by -O level. With the assemblies for the report and
 * to check the output, a run at the default takes at most about 20 times as long as the assembler. */
static const unsigned level_effort[4] = {0, 8, 16, 120};

static const char no_assembler[] = "no assembler";

static Figures measure(const PipelineOptions *options, const FunctionForm *form)
{
    Figures figures = {.message = options->no_figures ? "not wanted" : no_assembler};
    if (options->judge && !options->no_figures)
        options->judge->measure(options->judge->context, form, &figures);
    return figures;
}

/* Merges the loads and computations that the replicas of one thread, now side by side, have in common; 'joins': and
 * joins neighbouring accesses. */
static void reuse(PassContext *context, bool joins)
{
    bool changed = pass_run(context, PASS_GUARDED_LOADS);
    changed |= pass_run(context, PASS_LOAD_REUSE);
    changed |= pass_run(context, PASS_ADDRESSES);
    changed |= pass_run(context, PASS_INDUCTION);
    changed |= pass_run(context, PASS_FORWARD);
    changed |= pass_run(context, PASS_MINIMA);
    changed |= pass_run(context, PASS_ACCUMULATOR);
    if (joins)
        changed |= pass_run(context, PASS_VECTORIZE);
    changed |= pass_run(context, PASS_BASES);
    changed |= pass_run(context, PASS_POINTERS);
    if (changed)
        pass_run(context, PASS_CLEANUP);
}

/* Joins neighbouring accesses after loops were staged. */
static void join_later(PassContext *context)
{
    if (!pass_run(context, PASS_VECTORIZE))
        return;
    pass_run(context, PASS_BASES);
    pass_run(context, PASS_POINTERS);
    pass_run(context, PASS_CLEANUP);
}

static bool joins_later(const KernelRequest *request)
{
    return request->staging.wanted && request->staging.before_vectors;
}

bool kernel_is_jammed(const KernelResult *result)
{
    for (unsigned i = 0; i < result->jam_count; i++)
        if (result->jams[i].done)
            return true;
    return false;
}

bool kernel_is_repaired(const KernelResult *result)
{
    for (size_t i = 0; i < result->defects.items.count; i++)
        if (result->defects.items.data[i].is_fixed)
            return true;
    return false;
}

bool kernel_is_changed(const KernelResult *result)
{
    return result->coarsening == OUTCOME_DONE || result->registers == OUTCOME_DONE ||
           result->edges == OUTCOME_DONE || result->staging == OUTCOME_DONE || result->counting == OUTCOME_DONE ||
           dead_buffers_count(&result->dead) || result->vectors == OUTCOME_DONE ||
           result->ordering == OUTCOME_DONE || kernel_is_jammed(result) || kernel_is_repaired(result);
}

/* Runs the pass and, if it changes anything, removes what it leaves dead; true if it does. */
static bool run_and_clean(PassContext *context, PassId pass)
{
    const bool changed = pass_run(context, pass);
    if (changed)
        pass_run(context, PASS_CLEANUP);
    return changed;
}

/* False if coarsening is refused because blocks cannot grow. */
static bool grow(PassContext *context, const KernelRequest *request, KernelResult *result)
{
    if (!merges_any(request->coarsening.shape.grown))
        return true;
    context->refusal = (Refusal){.reason = REFUSAL_SWITCHED_OFF};
    const bool done = pass_run(context, PASS_GROW);
    result->legality = context->legality;
    if (done) {
        pass_run(context, PASS_CLEANUP);
    } else {
        result->coarsening = OUTCOME_REFUSED;
        result->refusal = context->refusal;
    }
    context->refusal = (Refusal){.reason = REFUSAL_NONE};
    return done;
}

/* Lets threads inside of the data go without guards, unless these are kept, and short loops become straight code; true
 * if either is done. */
static bool take_guards(PassContext *context, bool keeps_guards)
{
    bool done = run_and_clean(context, PASS_SPECIALIZE);
    if (done)
        run_and_clean(context, PASS_DECIDE);
    done |= !keeps_guards && run_and_clean(context, PASS_INTERIOR);
    /* Otherwise, loads that are to be staged are under conditions that each round decides, and so are those that merged
     * neighbours decide. */
    context->short_loops = done ? SHORT_LOOPS_ALL : keeps_guards ? SHORT_LOOPS_OF_CONDITIONS : SHORT_LOOPS_OF_BITS;
    run_and_clean(context, PASS_SHORT_LOOPS);
    return done || context->unrolled_loops;
}

static void unroll_jam(PassContext *context, const KernelRequest *request, KernelResult *result)
{
    result->jams = ARENA_ARRAY(context->arena, UnrollJamResult, request->jam_count);
    result->jam_count = request->jam_count;
    for (unsigned i = 0; i < request->jam_count; i++) {
        UnrollJamResult *jam = &result->jams[i];
        jam->jam = request->jams[i];
        context->jam = &jam->jam;
        context->refusal = (Refusal){.reason = REFUSAL_SWITCHED_OFF};
        jam->done = pass_run(context, PASS_UNROLL_JAM);
        if (!jam->done)
            jam->refusal = context->refusal;
    }
    context->refusal = (Refusal){.reason = REFUSAL_NONE};
    if (kernel_is_jammed(result))
        pass_run(context, PASS_CLEANUP);
}

static void let_edges_join(PassContext *context, const KernelRequest *request, KernelResult *result)
{
    const Shape shape = shape_complete(&request->coarsening.shape);
    context->edges_request = (EdgesRequest){.are_neighbours = request->coarsening.stride.kind == STRIDE_UNIT,
                                            .shrinks_grid = request->coarsening.shrinks_grid};
    for (unsigned d = 0; d < 3 && request->coarsen; d++)
        context->edges_request.blocks[d] = shape.blocks[d];
    context->edges.refusal = (Refusal){.reason = REFUSAL_SWITCHED_OFF};
    const bool crosses = run_and_clean(context, PASS_DIAGONALS), done = run_and_clean(context, PASS_EDGES);
    result->edges = done || crosses ? OUTCOME_DONE : OUTCOME_REFUSED;
    result->edges_result = context->edges;
    result->edges_result.diagonal = context->diagonal;
    result->edges_result.has_all &= done;
}

/* Before the other passes, whose code the checks would understand less well. */
static void check_order(const PassContext *context, KernelResult *result)
{
    if (!pass_is_enabled(context->options, PASS_BLOCK_ORDER))
        result->order_refusal = (Refusal){.reason = REFUSAL_SWITCHED_OFF};
    else
        coarsening_may_renumber(context->body, &result->order_refusal);
    result->ordering = is_refusal(&result->order_refusal) ? OUTCOME_REFUSED : OUTCOME_DONE;
}

/* After all that relies on blocks having one index. */
static void exchange_lanes(PassContext *context, KernelResult *result)
{
    if (!run_and_clean(context, PASS_LANES))
        return;
    result->staged.exchange = context->exchange;
    result->staging = OUTCOME_DONE;
}

/* Last of what changes the code, because it hides from analyses that neighbouring blocks work on neighbouring data. */
static void order_blocks(PassContext *context, KernelResult *result)
{
    run_and_clean(context, PASS_BLOCK_ORDER);
    result->order = *context->order;
}

/* 'is_alone': nothing follows that could make them pay. */
static void make_vectors(PassContext *context, KernelResult *result, bool is_alone)
{
    const bool done = memory_vectors(context, is_alone ? &result->vectors_are_slower : NULL);
    result->vectors = done ? OUTCOME_DONE : OUTCOME_UNCHANGED;
    result->vector_list = context->vectors;
}

static void set_coarsened(const PassContext *context, KernelResult *result)
{
    result->coarsening = OUTCOME_DONE;
    result->contract = context->contract;
    result->block_after = context->block;
}

/* The blocks that are merged to one along x; 0: something else is merged. */
static unsigned blocks_along_x(const KernelRequest *request)
{
    if (request->refining.threads)
        return 0;
    if (!request->coarsen)
        return 1;
    const Shape shape = shape_complete(&request->coarsening.shape);
    return shape.blocks[0] == shape_replicas(&shape) && !merges_any(shape.grown) ? shape.blocks[0] : 0;
}

static void coarsen(PassContext *context, const KernelRequest *request, KernelResult *result)
{
    if (!shape_merges(&request->coarsening.shape)) {
        set_coarsened(context, result);
        return;
    }
    bool had_slow_side = body_has_cold(context->body);
    CoarsenRequest coarsening = request->coarsening;
    if (coarsening.guards == GUARDS_INTERIOR)
        coarsening.guards = GUARDS_AUTO;
    if (context->unflattened.done)
        coarsening.stride.kind = STRIDE_UNIT; /* replicas are parts of one group of tiles */
    coarsening.beyond_joins = result->edges == OUTCOME_DONE && result->edges_result.has_all;
    context->coarsening = &coarsening;
    if (!pass_is_enabled(context->options, PASS_COARSEN))
        context->refusal = (Refusal){.reason = REFUSAL_SWITCHED_OFF};
    bool done = pass_run(context, PASS_COARSEN);
    context->coarsening = &request->coarsening;
    result->legality = context->legality;
    if (!done) {
        result->coarsening = OUTCOME_REFUSED;
        result->refusal = context->refusal;
        return;
    }
    result->has_fast_paths = !had_slow_side && body_has_cold(context->body);
    if (context->unflattened.done)
        fold_constants(context->body, context->analyses); /* of the tiles of replicas */
    pass_run(context, PASS_CLEANUP);
    pass_run(context, PASS_DECIDE);
    pass_run(context, PASS_DELINEARIZE);
    reuse(context, !joins_later(request));
    result->reuse = context->reuse;
    set_coarsened(context, result);
}

/* Refinement takes the place of coarsening, whose outcome it is. */
static void refine(PassContext *context, const KernelRequest *request, KernelResult *result)
{
    context->refining = &request->refining;
    context->refusal = (Refusal){.reason = REFUSAL_SWITCHED_OFF};
    pass_run(context, PASS_CLEANUP); /* copies of values from before a loop are not the loop's */
    run_and_clean(context, PASS_REROLL);
    const bool done = pass_run(context, PASS_REFINE);
    result->coarsening = done ? OUTCOME_DONE : OUTCOME_REFUSED;
    result->refusal = done ? (Refusal){.reason = REFUSAL_NONE} : context->refusal;
    context->refusal = (Refusal){.reason = REFUSAL_NONE};
    if (!done)
        return;
    pass_run(context, PASS_CLEANUP);
    pass_run(context, PASS_DECIDE);
    result->refined = context->refined;
    result->contract = context->contract;
    result->block_after = context->block;
}

static void stage_loops(PassContext *context, const KernelRequest *request, KernelResult *result)
{
    StageRequest staging = request->staging;
    const LaunchChange change = kernel_launch_change(result);
    staging.dynamic_shared = launch_change_shared(&change, request->dynamic_shared);
    const bool done = memory_stage(context, &staging);
    const bool has_replicas = (result->coarsening == OUTCOME_DONE && shape_merges(&result->contract.shape)) ||
                              kernel_is_jammed(result);
    if (joins_later(request) && has_replicas)
        join_later(context);
    result->staged = context->staged;
    result->staged.exchange = context->exchange;
    result->staged.unflattened = context->unflattened;
    result->staging = done || stage_is_done(&result->staged) ? OUTCOME_DONE : OUTCOME_REFUSED;
}

/* Before loops are changed, because fewer of them are as simple afterwards; and before staging and vectors, which take
 * loops without atomic operations, for what merged threads and unrolled rounds have left. */
static void sum_partially(PassContext *context, const KernelRequest *request, bool is_first, KernelResult *result)
{
    context->reassociates = request->reassociates;
    if (memory_sums(context, !is_first))
        result->summed = context->summed;
}

static void count_privately(PassContext *context, const KernelRequest *request, KernelResult *result)
{
    const LaunchChange change = kernel_launch_change(result);
    context->reassociates = request->reassociates;
    const bool done = memory_counters(context, launch_change_shared(&change, request->dynamic_shared));
    result->counted = context->counted;
    result->counting = done || result->summed.sums.count      ? OUTCOME_DONE
                       : is_refusal(&result->counted.refusal) ? OUTCOME_REFUSED
                                                              : OUTCOME_UNCHANGED;
}

/* First of all, because the filling of a buffer shows best in the code as it was written; what follows treats it as any
 * other code with shared memory. */
static void keep_dead_buffers(PassContext *context, const KernelRequest *request, KernelResult *result)
{
    const unsigned count = request->dead.count;
    context->dead = (DeadBuffersResult){ARENA_ARRAY(context->arena, DeadBuffer, count), count};
    context->dead_dynamic_shared = request->dynamic_shared;
    for (unsigned i = 0; i < count; i++)
        context->dead.buffers[i] =
            (DeadBuffer){.parameter = request->dead.names[i], .refusal = {.reason = REFUSAL_SWITCHED_OFF}};
    run_and_clean(context, PASS_DEAD_BUFFERS);
    result->dead = context->dead;
}

static unsigned effort_of(const PipelineOptions *options)
{
    return level_effort[options->level > 3 ? 3 : options->level];
}

static unsigned search_effort(const KernelRequest *request, const PipelineOptions *options)
{
    unsigned effort = effort_of(options) + KNOB_EFFORT * controls_count(request->registers.controls);
    for (unsigned knobs = request->registers.knobs; knobs; knobs &= knobs - 1)
        effort += KNOB_EFFORT;
    return effort;
}

/* Why registers cannot be reduced. */
static RefusalReason search_refusal(const PipelineOptions *options)
{
    if (!options->judge)
        return REFUSAL_SEARCH_NO_ASSEMBLER;
    if (!options->sm)
        return REFUSAL_SEARCH_NO_LIMITS;
    return effort_of(options) ? REFUSAL_NONE : REFUSAL_SEARCH_NO_BUDGET;
}

/* Threads of a changed block. */
static unsigned launch_threads(const unsigned block[3], const LaunchChange *change)
{
    unsigned threads = 1;
    for (unsigned d = 0; d < 3; d++)
        threads *= (unsigned)launch_change_block(change, d, block[d]);
    return threads;
}

static void reduce_registers(PassContext *context, const KernelRequest *request, const PipelineOptions *options,
                             KernelResult *result)
{
    RegistersRequest wanted = request->registers;
    wanted.change = kernel_launch_change(result);
    wanted.dynamic_shared = launch_change_shared(&wanted.change, request->dynamic_shared);
    wanted.launch_threads = launch_threads(request->launch_block, &wanted.change);
    wanted.launch_blocks = request->launch_blocks * merged_count(wanted.change.spread);
    wanted.effort = search_effort(request, options);
    wanted.is_original = !kernel_is_changed(result);
    registers_reduce(context, &wanted, &result->reduction);
    result->registers = result->reduction.changed ? OUTCOME_DONE : OUTCOME_UNCHANGED;
}

static void refuse(Arena *arena, const KernelRequest *request, KernelResult *result, const Refusal *refusal)
{
    if (request->coarsen || request->refining.threads) {
        result->coarsening = OUTCOME_REFUSED;
        result->refusal = *refusal;
    }
    if (request->reduce) {
        result->registers = OUTCOME_REFUSED;
        result->registers_refusal = *refusal;
    }
    if (request->edges) {
        result->edges = OUTCOME_REFUSED;
        result->edges_result.refusal = *refusal;
    }
    if (request->staging.wanted) {
        result->staging = OUTCOME_REFUSED;
        result->staged.refusal = *refusal;
    }
    if (request->counters) {
        result->counting = OUTCOME_REFUSED;
        result->counted.refusal = *refusal;
    }
    if (request->dead.count) {
        result->dead = (DeadBuffersResult){ARENA_ARRAY(arena, DeadBuffer, request->dead.count), request->dead.count};
        for (unsigned i = 0; i < request->dead.count; i++)
            result->dead.buffers[i] = (DeadBuffer){.parameter = request->dead.names[i], .refusal = *refusal};
    }
    if (request->vectors) {
        result->vectors = OUTCOME_REFUSED;
        result->vectors_refusal = *refusal;
    }
    if (request->order.kind != GRID_ORDER_ROWS) {
        result->ordering = OUTCOME_REFUSED;
        result->order_refusal = *refusal;
    }
    result->jams = ARENA_ARRAY(arena, UnrollJamResult, request->jam_count);
    result->jam_count = request->jam_count;
    for (unsigned i = 0; i < request->jam_count; i++)
        result->jams[i] = (UnrollJamResult){.jam = request->jams[i], .refusal = *refusal};
    result->after = result->before;
}

/* NULL, with the refusal, if the kernel cannot be changed. */
static Body *build(Function *kernel, Refusal *refusal)
{
    const char *obstacle = NULL;
    if (module_is_debug(kernel->module)) {
        *refusal = (Refusal){.reason = REFUSAL_DEBUG};
        return NULL;
    }
    Body *body = body_build(kernel, &obstacle);
    if (!body)
        *refusal = (Refusal){.reason = REFUSAL_BODY, .operands = {refusal_name(obstacle)}};
    return body;
}

/* True if there is anything to do: a module may have thousands of kernels, and only one may be changed. */
static bool is_wanted(const Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                      const BlockSize *block)
{
    bool is_declared = kernel->tuning.reqntid_count || kernel->tuning.maxntid_count;
    bool is_requested = request->coarsen || request->refining.threads || request->jam_count || request->edges ||
                        request->staging.wanted || request->counters || request->dead.count || request->vectors ||
                        request->reduce || options->defects.fixes || request->order.kind != GRID_ORDER_ROWS;
    return is_requested || (block_size_total(block) && !is_declared) || options->passes.dumped[PASS_SSA];
}

/* The result gets the body, or only its tuning where the code has not changed. */
static void conclude(PassContext *context, const PipelineOptions *options, KernelResult *result)
{
    FunctionForm form = {.function = context->kernel, .tuning = &result->tuning};
    result->tuning = context->body->tuning;
    if (kernel_is_changed(result)) {
        result->body = pass_take_body(context);
        if (result->body->ssa)
            body_from_ssa(result->body);
        body_verify(result->body, "leaving SSA");
        form.body = result->body;
    }
    if (result->coarsening == OUTCOME_DONE && contract_changes_launch(&result->contract))
        form.added = result->contract_symbol = contract_symbol(context->kernel->module, &result->contract);
    result->after = measure(options, &form);
}

DemandObjection kernel_objection(const KernelResult *result, const SmLimits *sm, uint64_t dynamic_shared,
                                 const Figures *before, const Figures *after)
{
    const DemandObjection none = {.kind = DEMAND_MET};
    const Residency residency = {.sm = sm,
                                 .block = result->block_before,
                                 .change = kernel_launch_change(result),
                                 .whole_warps = result->contract.whole_warps,
                                 .dynamic_shared = dynamic_shared};
    const Legality *legality = &result->legality;
    DemandObjection objection = {.module = result->kernel->module, .read = legality->waiting, .is_coarse = true};
    if (result->coarsening != OUTCOME_DONE || !before->known || !after->known)
        return none;
    bool has_clusters = demands_find(result->kernel).has_clusters;
    objection.kind = has_clusters ? DEMAND_CLUSTERS : DEMAND_LOOP;
    return (legality->waits || has_clusters) && residency_falls(&residency, before, after, &objection.change)
               ? objection
               : none;
}

/* The same with the judge's figures, which are asked for only where they matter. */
static DemandObjection coarsening_objection(const KernelResult *result, const KernelRequest *request,
                                            const PipelineOptions *options)
{
    const Judge *judge = options->judge;
    const FunctionForm input = {.function = result->kernel}, form = kernel_form(result);
    Figures before = {0}, after = {0};
    bool matters = result->coarsening == OUTCOME_DONE && judge && options->sm &&
                   (result->legality.waits || demands_find(result->kernel).has_clusters);
    if (!matters || !judge->measure(judge->context, &input, &before) || !judge->measure(judge->context, &form, &after))
        return (DemandObjection){.kind = DEMAND_MET};
    return kernel_objection(result, options->sm, request->dynamic_shared, &before, &after);
}

/* The kernel without coarsening, after this was refused. */
static void run_plain(Arena *arena, const KernelRequest *request, const PipelineOptions *options, KernelResult *result,
                      const Refusal *refusal)
{
    const Legality legality = result->legality;
    KernelRequest plain = *request;
    plain.coarsen = false;
    plain.refining.threads = 0;
    kernel_discard(result);
    pipeline_run(arena, result->kernel, &plain, options, result);
    result->coarsening = OUTCOME_REFUSED;
    result->refusal = *refusal;
    result->legality = legality;
}

/* The same, after coarsening turned out to be objectionable. */
static void run_unobjectionable(Arena *arena, const KernelRequest *request, const PipelineOptions *options,
                                KernelResult *result, const DemandObjection *objection)
{
    const Span waiting = result->legality.waiting;
    const Refusal refusal = {
        .reason = REFUSAL_DEMAND, .demand = objection, .has_span = waiting.end > 0, .span = waiting};
    result->legality.state[LEGAL_LAUNCH] = LEGALITY_FAILED;
    run_plain(arena, request, options, result, &refusal);
}

FunctionForm kernel_form(const KernelResult *result)
{
    return (FunctionForm){.function = result->kernel,
                          .body = result->body,
                          .tuning = &result->tuning,
                          .added = result->contract_symbol};
}

LaunchChange kernel_launch_change(const KernelResult *result)
{
    return result->coarsening == OUTCOME_DONE ? contract_change(&result->contract) : (LaunchChange){0};
}

PipelineOptions pipeline_quiet(const PipelineOptions *options)
{
    PipelineOptions quiet = *options;
    quiet.judge = NULL;
    memset(quiet.passes.dumped, 0, sizeof quiet.passes.dumped);
    return quiet;
}

/* Runs the pipeline. Threads inside of the data and those at its edges then execute different versions of a loop, if
 * both are wanted, and nothing is staged in either. So a first attempt keeps the guards: true if that was one, and no
 * loop could be staged. */
static bool attempt(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                    bool keeps_guards, KernelResult *result)
{
    const BlockSize block = block_size_resolve(&kernel->tuning, request->block);
    const FunctionForm input = {.function = kernel};
    const bool orders = request->order.kind != GRID_ORDER_ROWS;
    Refusal refusal;
    *result = (KernelResult){
        .kernel = kernel, .tuning = kernel->tuning, .block_before = block, .block_after = block};
    if (is_refusal(&request->refused)) {
        require(!request->coarsen);
        result->coarsening = OUTCOME_REFUSED;
        result->refusal = request->refused;
    }
    if (!is_wanted(kernel, request, options, &block)) {
        result->before = result->after = (Figures){.message = options->judge ? "nothing was requested" : no_assembler};
        return false;
    }
    result->before = measure(options, &input);
    Body *body = build(kernel, &refusal);
    if (!body) {
        refuse(arena, request, result, &refusal);
        return false;
    }

    PassContext context = pass_context_new(arena, &options->passes, kernel, body);
    context.sm = options->sm;
    context.judge = options->judge;
    context.block = block;
    context.coarsening = &request->coarsening;
    context.known = &request->known;
    context.extents = &request->extents;
    context.launch_blocks = request->launch_blocks;
    context.defect_request = &options->defects;
    context.order = &request->order;
    context.joins_everywhere = request->vectors;
    context.holds_rows = request->staging.wanted && request->staging.holds_rows && !request->dynamic_shared;
    if (request->coarsen || request->refining.threads || orders)
        pass_run(&context, PASS_INLINE);
    pass_run(&context, PASS_SSA);
    /* From here on the body is in SSA form. */
    if (orders)
        check_order(&context, result);
    if (request->coarsen || request->refining.threads || request->staging.wanted || request->vectors ||
        request->counters || request->jam_count) {
        run_and_clean(&context, PASS_MIDDLE_EXITS);  /* then rounds can be counted before the loop */
        run_and_clean(&context, PASS_POINTER_LOOPS); /* and it shows that threads go round equally often */
    }
    if (request->dead.count)
        keep_dead_buffers(&context, request, result);
    if ((request->coarsen && shape_merges(&request->coarsening.shape)) || request->staging.wanted)
        run_and_clean(&context, PASS_REMAINDERS); /* then the columns of a flattened grid show */
    if (request->staging.wanted) {
        context.flat_merged = blocks_along_x(request);
        if (!run_and_clean(&context, PASS_UNFLATTEN))
            run_and_clean(&context, PASS_EXCHANGE);
    }
    if (request->counters)
        sum_partially(&context, request, true, result);
    const bool coarsens = request->coarsen && grow(&context, request, result);
    if (request->edges)
        let_edges_join(&context, request, result);
    if (coarsens && request->coarsening.guards == GUARDS_INTERIOR) {
        result->has_interior = take_guards(&context, keeps_guards);
        result->assumed = context.assumed;
    }
    if (request->jam_count)
        unroll_jam(&context, request, result);
    if (coarsens)
        coarsen(&context, request, result);
    else if (request->refining.threads)
        refine(&context, request, result);
    if (coarsens && result->coarsening == OUTCOME_REFUSED && merges_any(request->coarsening.shape.grown)) {
        const Refusal refused = result->refusal; /* blocks have grown for nothing */
        pass_context_free(&context);
        run_plain(arena, request, options, result, &refused);
        return false;
    }
    if (kernel_is_jammed(result) && (result->coarsening != OUTCOME_DONE || !shape_merges(&result->contract.shape))) {
        pass_run(&context, PASS_DECIDE);
        reuse(&context, !joins_later(request));
    }
    if (request->counters)
        sum_partially(&context, request, false, result);
    if (request->vectors && request->vectors_first)
        make_vectors(&context, result, false);
    if (request->staging.wanted)
        stage_loops(&context, request, result);
    if (keeps_guards && !stage_count(&result->staged)) {
        pass_context_free(&context);
        return true;
    }
    if (request->counters)
        count_privately(&context, request, result);
    if (request->vectors && !request->vectors_first)
        make_vectors(&context, result, true);
    if (request->staging.wanted && !context.exchange.done)
        exchange_lanes(&context, result);
    if (result->ordering == OUTCOME_DONE)
        order_blocks(&context, result);
    if (pass_run(&context, PASS_FIX_DEFECTS))
        pass_run(&context, PASS_CLEANUP);
    result->defects = context.defects;
    /* From here on the launch is the contract's, and what the code computes is settled. */
    if (request->reduce)
        result->registers_refusal.reason = search_refusal(options);
    if (is_refusal(&result->registers_refusal))
        result->registers = OUTCOME_REFUSED;
    if (request->reduce && result->registers != OUTCOME_REFUSED)
        reduce_registers(&context, request, options, result);
    else
        pass_run(&context, PASS_BOUNDS);
    /* From here on the body may have left SSA form, and the assembler's figures hold except for the check. */
    /* If the block's size changes, it can tell whether the launch was adapted. */
    if (result->coarsening == OUTCOME_DONE && contract_changes_block(&result->contract))
        pass_run(&context, PASS_CHECK);
    result->unadapted = context.unadapted;
    conclude(&context, options, result);
    pass_context_free(&context);
    const DemandObjection objection = coarsening_objection(result, request, options);
    if (objection.kind != DEMAND_MET)
        run_unobjectionable(arena, request, options, result, demand_copy(arena, &objection));
    return false;
}

void pipeline_run(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                  KernelResult *result)
{
    const bool may_keep =
        request->coarsen && request->coarsening.guards == GUARDS_INTERIOR && request->staging.wanted;
    if (!may_keep || attempt(arena, kernel, request, options, true, result))
        attempt(arena, kernel, request, options, false, result);
}

void kernel_discard(KernelResult *result)
{
    body_free(result->body);
    result->body = NULL;
}
