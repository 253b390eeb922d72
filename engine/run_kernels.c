/* The passes: each selected kernel, as the options request. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "engine/choose/choose.h"
#include "engine/choose/loops.h"
#include "engine/choose/memory.h"
#include "engine/directive.h"
#include "engine/kernel_estimate.h"
#include "engine/kernel_find.h"
#include "engine/report/defects.h"
#include "engine/report/pool.h"
#include "engine/report/refusal_words.h"
#include "engine/report/verdicts.h"
#include "engine/launch.h"
#include "engine/run_steps.h"

static void set_shape(KernelReport *report, const CoarsenOption *coarsen, Shape shape)
{
    KernelRequest *request = &report->request;
    report->is_auto = coarsen->is_auto;
    request->coarsen = !shape_is_identity(&shape);
    request->coarsen_named = coarsen->kernel != NULL;
    request->coarsening.shape = shape;
}

/* Records that coarsening is refused before it is tried. */
static void refuse_request(KernelReport *report, Refusal refusal)
{
    report->is_auto = report->request.coarsen = false;
    report->request.refused = refusal;
}

static bool follows_source(const Options *options)
{
    for (size_t i = 0; i < options->coarsen.count; i++)
        if (options->coarsen.data[i].is_source)
            return true;
    return false;
}

/* A directive prevails over an option for all kernels, but not over one that names its kernel. */
static void follow_directive(const Run *run, KernelReport *report)
{
    const Directive directive = directive_find(run->arena, report->result.kernel);
    KernelRequest *request = &report->request;
    if (!directive.span.end)
        return;
    if (directive.error) {
        refuse_request(report, (Refusal){.reason = REFUSAL_DIRECTIVE,
                                         .operands = {refusal_name(directive.error)},
                                         .span = directive.span,
                                         .has_span = true});
    } else {
        report->is_directed = true;
        set_shape(report, &directive.coarsen, directive.coarsen.shape);
        if (directive.stride_given)
            request->coarsening.stride = directive.stride;
    }
    request->coarsen_named = true;
}

/* Sets the loops that options and directives name. */
static void set_jams(const Run *run, KernelReport *report)
{
    const Options *options = run->options;
    VEC(UnrollJam) jams = {0};
    for (size_t i = 0; i < options->jams.count; i++) {
        const JamOption *option = &options->jams.data[i];
        if (option->is_source)
            report->loop_directive_count =
                directive_loops(run->arena, report->result.kernel, &report->loop_directives);
        else if (option->loop && kernel_has_label(report->result.kernel, option->loop))
            VEC_PUSH(run->arena, jams, ((UnrollJam){option->loop, option->factor}));
    }
    for (unsigned i = 0; i < report->loop_directive_count; i++) {
        const LoopDirective *directive = &report->loop_directives[i];
        bool is_named = directive->error != NULL; /* by an option, which prevails */
        for (size_t k = 0; k < jams.count && !is_named; k++)
            is_named = strcmp(jams.data[k].loop, directive->jam.loop) == 0;
        if (!is_named)
            VEC_PUSH(run->arena, jams, directive->jam);
    }
    report->request.jams = jams.data;
    report->request.jam_count = report->jams_named = (unsigned)jams.count;
}

/* If each launch is adapted or runs the original, a smaller grid costs nothing to use. */
static bool shrinks_grid(const Run *run, const CoarsenOption *coarsen)
{
    const bool is_given = option_given(run->options, OPTION_COARSEN_GRID);
    return is_given ? run->options->shrinks_grid : run->options->keep_original && coarsen && coarsen->is_auto;
}

/* The most blocks that an SM gets in any launch of the kernel; 0: no launch is given. */
static unsigned blocks_of_an_sm(const ChoiceContext *context, const char *kernel)
{
    double most = 0;
    for (size_t i = 0; i < context->launch_count; i++) {
        const Launch *launch = context->launches[i];
        if (strcmp(launch->kernel, kernel) == 0)
            most = fmax(most, (double)launch->grid[0] * launch->grid[1] * launch->grid[2]);
    }
    return (unsigned)fmin(ceil(most / context->device.multiprocessors), UINT_MAX);
}

/* Refinement takes the place of coarsening that is chosen, or asked for all kernels. */
static void set_refinement(const Run *run, KernelReport *report)
{
    KernelRequest *request = &report->request;
    const RefineOption *refine = options_refine_for(run->options, report->result.kernel->name);
    if (!refine || request->coarsen_named)
        return;
    report->is_refine_auto = refine->is_auto;
    if (refine->is_auto)
        return;
    report->is_auto = request->coarsen = false;
    request->refining_named = refine->kernel != NULL;
    request->refining = (RefineRequest){
        .threads = refine->threads, .is_apart = refine->is_apart, .reassociates = run->options->reassociates};
}

/* The parameters whose buffers options say are dead on return. */
static DeadBuffers dead_buffers(const Run *run, const Function *kernel)
{
    const Options *options = run->options;
    const char **names = ARENA_ARRAY(run->arena, const char *, options->dead.count + 1);
    unsigned count = 0;
    for (size_t i = 0; i < options->dead.count; i++) {
        const Variable *parameter = dead_parameter(&options->dead.data[i], kernel);
        bool is_new = parameter != NULL;
        for (unsigned k = 0; k < count; k++)
            is_new &= strcmp(names[k], parameter->name) != 0;
        if (is_new)
            names[count++] = parameter->name;
    }
    return (DeadBuffers){names, count};
}

/* The scalars that the kernel has in all launches that are given. */
static KnownParameters known_scalars(const Run *run, const Function *kernel)
{
    const ChoiceContext *context = &run->choice;
    KnownParameters common = {0};
    bool is_first = true;
    for (size_t i = 0; i < context->launch_count; i++) {
        if (strcmp(context->launches[i]->kernel, kernel->name) != 0)
            continue;
        const KnownParameters scalars = launch_scalars(run->arena, kernel, context->launches[i]);
        common = is_first ? scalars : known_in_both(run->arena, &common, &scalars);
        is_first = false;
    }
    return common;
}

/* The sizes of small arrays that the kernel has in all launches that are given: counters are for all elements. */
static KnownExtents known_extents(const Run *run, const Function *kernel)
{
    const ChoiceContext *context = &run->choice;
    KnownExtents common = {0};
    bool is_first = true;
    for (size_t i = 0; i < context->launch_count; i++) {
        if (strcmp(context->launches[i]->kernel, kernel->name) != 0)
            continue;
        const KnownExtents own = launch_extents(run->arena, kernel, context->launches[i], COUNTERS_BYTES_MOST);
        common = is_first ? own : known_extents_of_both(run->arena, &common, &own);
        is_first = false;
    }
    return common;
}

static void set_request(const Run *run, KernelReport *report)
{
    const char *name = report->result.kernel->name;
    KernelRequest *request = &report->request;
    const CoarsenOption *coarsen = options_coarsen_for(run->options, name);
    const RegistersOption *registers = options_registers_for(run->options, name);
    const MemoryOption *memory = options_memory_for(run->options, name);
    const OrderOption *order = options_order_for(run->options, name);
    const BlockOption *block = options_block_for(run->options, name);
    const SharedOption *shared = options_shared_for(run->options, name);
    *request = (KernelRequest){.coarsening = {.shrinks_grid = shrinks_grid(run, coarsen),
                                              .stride = run->options->stride,
                                              .guards = run->options->guards,
                                              .growth = run->options->growth}};
    const Launch *launch = choice_launch(&run->choice, name);
    request->dynamic_shared = launch ? launch->dynamic_shared : shared ? shared->bytes : 0;
    request->launch_blocks = blocks_of_an_sm(&run->choice, name);
    request->known = known_scalars(run, report->result.kernel);
    request->extents = known_extents(run, report->result.kernel);
    if (launch)
        memcpy(request->launch_block, launch->block, sizeof request->launch_block);
    if (block)
        memcpy(request->block, block->threads, sizeof request->block);
    if (coarsen)
        set_shape(report, coarsen, options_shape(run->options, coarsen));
    if (follows_source(run->options) && !(coarsen && coarsen->kernel))
        follow_directive(run, report);
    set_refinement(run, report);
    request->reassociates = run->options->reassociates;
    if (memory) {
        report->is_memory_auto = memory->is_auto;
        request->edges = memory->edges;
        request->staging.wanted = memory->stages;
        request->staging.prefetches = memory->prefetches;
        request->staging.buffers = memory->buffers;
        request->staging.holds_rows = memory->rows;
        request->counters = memory->counts;
        request->vectors = memory->vectors;
        request->vectors_first = memory->vectors_first;
    }
    request->dead = dead_buffers(run, report->result.kernel);
    if (order) {
        report->order = order->order;
        request->order_named = order->kernel != NULL;
    }
    report->is_jam_auto = options_jam_auto(run->options);
    set_jams(run, report);
    if (registers) {
        request->reduce = true;
        request->registers_named = registers->kernel != NULL;
        request->registers = (RegistersRequest){.goal = registers->goal,
                                                .price = registers->price,
                                                .spill = run->options->spill,
                                                .knobs = run->knobs,
                                                .controls = run->controls,
                                                .target = registers->target};
    }
}

/* Warns if -block, which gives the block size that the module leaves open, contradicts the module, which then
 * prevails. */
static void check_block(Run *run, const KernelReport *report)
{
    const Function *kernel = report->result.kernel;
    const unsigned *block = report->request.block;
    const Tuning *tuning = &kernel->tuning;
    const BlockOption *option = options_block_for(run->options, kernel->name);
    if (!option)
        return;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2], most = 1;
    for (unsigned i = 0; i < tuning->maxntid_count; i++)
        most *= tuning->maxntid[i];
    for (unsigned i = 0; i < tuning->reqntid_count; i++)
        if (tuning->reqntid[i] != block[i]) {
            diag_warning(&run->diag, kernel->span,
                         "-block gives '%s' %u thread%s along %c, but its .reqntid says %u, which prevails",
                         kernel->name, block[i], plural(block[i]), "xyz"[i], tuning -> reqntid[i]);
            return;
        }
    if (tuning->maxntid_count && threads > most)
        diag_warning(&run->diag, kernel->span, "-block gives '%s' %llu thread%s, but its .maxntid allows %llu at most",
                     kernel->name, (unsigned long long)threads, plural(threads), (unsigned long long)most);
}

static void warn_refusals(Run *run, const KernelReport *report)
{
    const KernelResult *result = &report->result;
    const char *name = result->kernel->name;
    if (result->coarsening == OUTCOME_REFUSED) {
        Span span = result->refusal.has_span ? result->refusal.span : result->kernel->span;
        diag_warning(&run->diag, span, "kernel '%s' is not %s: %s", name,
                     report->request.refining.threads ? "refined" : "coarsened",
                     refusal_text(run->arena, &result->refusal));
    }
    if (is_refusal(&result->staged.refusal) && !report->is_memory_auto) {
        const Refusal *refusal = &result->staged.refusal;
        diag_warning(&run->diag, refusal->has_span ? refusal->span : result->kernel->span,
                     "no loop of kernel '%s' is staged: %s", name, refusal_text(run->arena, refusal));
    }
    if (result->ordering == OUTCOME_REFUSED) {
        const Refusal *refusal = &result->order_refusal;
        diag_warning(&run->diag, refusal->has_span ? refusal->span : result->kernel->span,
                     "the blocks of kernel '%s' keep their order: %s", name, refusal_text(run->arena, refusal));
    }
    for (unsigned i = 0; i < result->dead.count; i++) {
        const DeadBuffer *buffer = &result->dead.buffers[i];
        if (!buffer->done)
            diag_warning(&run->diag, buffer->refusal.has_span ? buffer->refusal.span : result->kernel->span,
                         "the buffer of %s stays in global memory: %s", buffer->parameter,
                         refusal_text(run->arena, &buffer->refusal));
    }
    for (unsigned i = 0; i < report->loop_directive_count; i++) {
        const LoopDirective *directive = &report->loop_directives[i];
        if (directive->error)
            diag_warning(&run->diag, directive->span, "the loop's directive is wrong: %s", directive->error);
    }
    for (unsigned i = 0; i < result->jam_count; i++) {
        const UnrollJamResult *jam = &result->jams[i];
        if (jam->done)
            continue;
        diag_warning(&run->diag, jam->refusal.has_span ? jam->refusal.span : result->kernel->span,
                     "the loop at %s is not unrolled and jammed: %s", jam->jam.loop,
                     refusal_text(run->arena, &jam->refusal));
    }
    if (result->registers == OUTCOME_REFUSED) {
        diag_warning(&run->diag, result->kernel->span, "the registers of kernel '%s' are not reduced: %s", name,
                     refusal_text(run->arena, &result->registers_refusal));
    } else if (report->request.reduce && report->request.registers.goal == GOAL_COUNT &&
               result->registers != OUTCOME_NOT_ASKED && !result->reduction.reached) {
        Buf words = {0};
        explanation_print(&result->reduction, run->report.source, &words);
        diag_warning(&run->diag, result->kernel->span, "kernel '%s' does not reach %u register%s%s%s", name,
                     report->request.registers.target, plural(report->request.registers.target),
                     words.length ? ": " : "", buf_text(&words));
        buf_free(&words);
    }
}

/* True if coarsening is requested for a kernel that already has a launch contract. */
static bool is_coarsened_already(Run *run, const KernelReport *report)
{
    return (report->request.coarsen || report->request.refining.threads || report->is_auto) &&
           module_find_variable(run->module, contract_symbol_name(run->module, report->result.kernel->name));
}

static bool chooses(const KernelReport *kernel)
{
    return kernel->is_auto || kernel->is_jam_auto || kernel->is_memory_auto || kernel->is_refine_auto;
}

/* How long the search for the kernel's form may take. */
static double seconds_for(const Run *run, const KernelReport *kernel)
{
    if (!chooses(kernel))
        return options_search_seconds(run->options);
    const bool only_memory = !kernel->is_auto && !kernel->is_jam_auto && !kernel->is_refine_auto;
    return only_memory ? options_memory_seconds(run->options) : options_choice_seconds(run->options);
}

static bool is_searched(const Run *run, const KernelReport *kernel)
{
    return run->assembler && (chooses(kernel) || kernel->request.reduce);
}

/* The parts of a search, in their order. */
typedef enum SearchPart {
    PART_COARSENING,
    PART_MEMORY,
    PART_LOOPS_ALONE,
    PART_LOOPS,
    PART_REGISTERS,
    PART_COUNT
} SearchPart;

/* Begins a part. It may take the time that the parts before it have left, except what is reserved for those that
 * follow. */
static void part_begin(Run *run, const KernelReport *kernel, SearchPart part, const char *words)
{
    static const unsigned percent[PART_COUNT] = {0, 25, 15, 10, 15}; /* of the time, for a part */
    const bool wanted[PART_COUNT] = {kernel->is_auto, kernel->is_memory_auto || kernel->is_refine_auto,
                                     kernel->is_auto && kernel->is_jam_auto, kernel->is_jam_auto,
                                     kernel->request.reduce};
    double reserved = 0, seconds = HUGE_VAL;
    for (unsigned i = part + 1; i < PART_COUNT; i++)
        reserved += wanted[i] ? percent[i] / 100.0 : 0;
    if (run->assembler)
        seconds = assembler_judge_part(&run->judge, reserved);
    progress_phase(&run->progress, words, seconds);
}

static bool is_interrupted(const Run *run)
{
    return run->options->interrupt && run->options->interrupt->seen;
}

/* From here on, an interrupt ends searches, not the process: their results so far are written. */
static void search_begin(Run *run, const KernelReport *kernel)
{
    Interrupt *interrupt = run->options->interrupt;
    run->skips = is_interrupted(run);
    if (!is_searched(run, kernel))
        return;
    assembler_judge_limit(&run->judge, seconds_for(run, kernel));
    run->judge.interrupted = interrupt ? &interrupt->seen : NULL;
    if (interrupt)
        interrupt->armed = 1;
}

/* ", with 3 forms not compared" */
static const char *left_out_text(Arena *arena, const KernelReport *kernel)
{
    unsigned count = kernel->memory_choice.left_out;
    for (unsigned i = 0; i < kernel->choice.trial_count; i++) {
        const TrialState state = kernel->choice.trials[i].verdict.state;
        count += state == TRIAL_MADE || state == TRIAL_NOT_REACHED || state == TRIAL_NOT_COMPARED;
    }
    return count ? arena_printf(arena, ", with %u form%s not compared", count, plural(count)) : "";
}

static void search_end(Run *run, const KernelReport *kernel)
{
    const char *name = kernel->result.kernel->name;
    const char *what = chooses(kernel) ? "a form of" : "fewer registers in";
    const double seconds = seconds_for(run, kernel);
    assembler_judge_settle(&run->judge);
    if (!is_searched(run, kernel))
        return;
    if (is_interrupted(run))
        run->skipped += run->skips;
    if (is_interrupted(run) && !run->skips)
        diag_note(&run->diag, kernel->result.kernel->span, "the search for %s kernel '%s' was interrupted; the best "
                  "form until then is used", what, name);
    else if (run->judge.time.was_late && !is_interrupted(run))
        diag_note(&run->diag, kernel->result.kernel->span, "the search for %s kernel '%s' reached its time limit of "
                  "%g s (-search)%s; the best form until then is used", what, name, seconds,
                  left_out_text(run->arena, kernel));
}

/* Limits the time for predicting what was chosen, which adds little where the search was in time. */
static void report_begin(Run *run, const KernelReport *kernel)
{
    enum { SHARE = 10 };
    const double seconds = seconds_for(run, kernel) / SHARE;
    const double left = run->assembler ? assembler_judge_part(&run->judge, 0) : 0;
    if (run->assembler)
        assembler_judge_limit(&run->judge, !chooses(kernel) ? HUGE_VAL : left > seconds ? left : seconds);
    progress_phase(&run->progress, "predicting times", HUGE_VAL);
}

static unsigned count_kernels(const Run *run)
{
    unsigned kernels = 0;
    for (size_t i = 0; i < run->module->items.count; i++)
        kernels += is_kernel(&run->module->items.data[i]);
    return kernels;
}

static size_t count_selected(const Run *run)
{
    size_t kernels = 0;
    for (size_t i = 0; i < run->module->items.count; i++)
        kernels += is_kernel(&run->module->items.data[i]) &&
                   options_selects(run->options, run->module->items.data[i].function->name);
    return kernels;
}

/* The options of the assembler that may be tried: none that the user has set, and none that would also apply to other
 * kernels. */
static unsigned find_knobs(Run *run)
{
    unsigned open = knobs_open(run->options->ptxas_options.data);
    const char *obstacle = NULL;
    if (!run->options->knobs || !run->assembler)
        return 0;
    if (count_kernels(run) > 1)
        obstacle = "the module has several kernels, and such options apply to all of them";
    else if (!open && !run->options->knob_files.count)
        obstacle = "-Xptxas sets them";
    else
        find_controls(run);
    if (obstacle)
        diag_report_plain(&run->diag, SEVERITY_WARNING, "-knobs tries no option of the assembler: %s", obstacle);
    return obstacle ? 0 : open;
}

/* Drops the coarsened form that was chosen for another one, with all that was found out about it: its speedup, and the
 * launches for which it pays. The other one loses in none that was looked at. */
static void replace_choice(KernelReport *kernel, FactorOutcome outcome)
{
    FactorChoice *choice = &kernel->choice;
    choice->outcome = outcome;
    for (unsigned i = 0; i < choice->trial_count; i++)
        choice->trials[i].chosen = false;
    choice->speedup = 0;
    choice->pays = (FormPays){.from = 0};
    choice->preferred_count = 0;
}

/* The same for what -memory chose. */
static void replace_memory(MemoryChoice *choice)
{
    for (unsigned i = 0; i < choice->trial_count; i++)
        choice->trials[i].chosen = false;
    if (choice->outcome == MEMORY_CHOSEN)
        choice->outcome = MEMORY_LOOPS_ALONE;
}

/* Chooses loops for the kernel's form, and for the kernel as it is, with vectors if these may be chosen: iterations
 * side by side read neighbouring elements. Takes the latter if that is faster. */
static void choose_loops(Run *run, KernelReport *kernel, const KernelRequest *plain)
{
    Function *function = kernel->result.kernel;
    KernelRequest own = *plain;
    LoopsChoice alone = {.cycles = 0};
    own.vectors |= kernel->is_memory_auto;
    if (kernel->is_auto && kernel->request.coarsen) {
        part_begin(run, kernel, PART_LOOPS_ALONE, "comparing loops");
        alone = choose_jams(run->arena, function, &own, &run->pipeline, &run->choice);
    }
    part_begin(run, kernel, PART_LOOPS, "comparing loops");
    kernel->loops_choice = choose_jams(run->arena, function, &kernel->request, &run->pipeline, &run->choice);
    const LoopsChoice *with = &kernel->loops_choice;
    if (!(alone.cycles > 0) || !(with->cycles > 0) || alone.jam_count == plain->jam_count ||
        !time_is_longer(with->cycles, alone.cycles))
        return;
    replace_choice(kernel, FACTOR_LOOPS_ALONE);
    replace_memory(&kernel->memory_choice);
    kernel->choice.loops_alone = with->cycles / alone.cycles;
    kernel->request = own;
    kernel->loops_choice = alone;
}

/* Chooses what is staged and joined, and whether threads are divided, within a time limit, with the coarsening. */
static void complete_memory(Run *run, KernelReport *kernel, const KernelRequest *plain)
{
    KernelRequest *request = &kernel->request;
    const MemoryScope scope = {.loads = kernel->is_memory_auto,
                               .refines = kernel->is_refine_auto,
                               .reassociates = run->options->reassociates,
                               .shrinks_grid = plain->coarsening.shrinks_grid,
                               .factors = kernel->is_auto ? &kernel->choice : NULL};
    part_begin(run, kernel, PART_MEMORY, "comparing forms with tiles and vectors");
    kernel->memory_choice = choose_memory(run->arena, kernel->result.kernel, request, &run->pipeline, &run->choice,
                                          &scope);
    *request = kernel->memory_choice.request;
    if (!kernel->memory_choice.coarsens_otherwise)
        return;
    replace_choice(kernel, FACTOR_BY_MEMORY);
}

/* Puts the best choices into the request, which is all that remains of the trials. */
static void complete_request(Run *run, KernelReport *kernel)
{
    Function *function = kernel->result.kernel;
    KernelRequest *request = &kernel->request;
    const KernelRequest plain = *request;
    if (is_coarsened_already(run, kernel))
        refuse_request(kernel, (Refusal){.reason = REFUSAL_COARSENED_ALREADY});
    if (kernel->is_auto) {
        part_begin(run, kernel, PART_COARSENING, "comparing forms");
        ChoiceContext context = run->choice;
        if (kernel->is_directed) { /* -coarsen-level block says how options are read */
            context.threads_only |= context.blocks_only;
            context.blocks_only = false;
        }
        kernel->choice = choose_factor(run->arena, function, request, &run->pipeline, &context);
        *request = kernel->choice.request;
    }
    if (kernel->is_memory_auto || kernel->is_refine_auto)
        complete_memory(run, kernel, &plain);
    if (kernel->is_jam_auto) {
        choose_loops(run, kernel, &plain);
        request->jams = kernel->loops_choice.jams;
        request->jam_count = kernel->loops_choice.jam_count;
    }
}

/* Finds out how the kernel passes on the registers of its blocks, and warns where it waits for them forever. */
static void find_pool(Run *run, KernelReport *kernel)
{
    const Function *function = kernel->result.kernel;
    const BlockSize block = block_size_resolve(&function->tuning, kernel->request.block);
    bool is_limited = false; /* by an option of the assembler, which ptxas heeds only without these directives */
    for (size_t i = 0; !function->tuning.maxntid_count && !function->tuning.reqntid_count &&
                       i < run->options->ptxas_options.count; i++)
        is_limited |= strstr(run->options->ptxas_options.data[i], "maxrregcount") != NULL;
    kernel->pool = pool_report(kernel->result.kernel, &block, is_limited);
    pool_warn(&run->diag, function, &kernel->pool);
}

static void warn_defects(Run *run, const KernelResult *result)
{
    if (run->assembler)
        defects_warn(&run->diag, result,
                     arena_printf(run->arena, "%s %s", assembler_name(run->assembler),
                                  assembler_version(run->assembler)));
}

/* Rewrites code in device functions that the assembler is known to get wrong. Nothing else changes in them. */
static void fix_functions(Run *run)
{
    PipelineOptions pipeline = run->pipeline;
    pipeline.judge = NULL;
    for (size_t i = 0; i < run->module->items.count; i++) {
        const Item *item = &run->module->items.data[i];
        KernelResult result;
        if (item->kind != ITEM_FUNCTION || item->function->is_entry || !item->function->has_body)
            continue;
        pipeline_run(run->arena, item->function, &(KernelRequest){0}, &pipeline, &result);
        run->changed |= kernel_install(&result);
        warn_defects(run, &result);
    }
}

/* Tiles that are asked for need the size of the blocks: if nothing else tells it, that of the launch files. */
static void follow_launch_block(const Run *run, KernelReport *kernel)
{
    const Function *function = kernel->result.kernel;
    KernelRequest *request = &kernel->request;
    const BlockSize known = block_size_resolve(&function->tuning, request->block);
    if (request->staging.wanted && known.origin != BLOCK_REQUIRED && known.origin != BLOCK_GIVEN)
        choice_launch_block(&run->choice, function->name, request->block);
}

static void run_kernel(Run *run, KernelReport *kernel)
{
    KernelResult *result = &kernel->result;
    set_request(run, kernel);
    follow_learned(run, kernel);
    check_block(run, kernel);
    search_begin(run, kernel);
    const KernelRequest plain = kernel->request;
    follow_launch_block(run, kernel);
    if (kernel->is_auto && kernel->learned_block[0])
        memcpy(kernel->request.block, kernel->learned_block, sizeof kernel->request.block);
    run->judge.keeps_code = chooses(kernel);
    complete_request(run, kernel);
    run->judge.keeps_code = false;
    if (run->options->tuned_forms && kernel->is_auto)
        forms_make_tuned(run, kernel, &plain);
    else if (kernel->choice.preferred_count)
        forms_make_preferred(run, kernel, &plain);
    if (kernel->learned_launch_count)
        forms_make_learned(run, kernel);
    kernel->has_basis = find_basis(run, kernel, &kernel->basis);
    run->judge.basis = kernel->has_basis ? &kernel->basis : NULL;
    assembler_judge_forget(&run->judge);
    if (kernel->request.reduce && count_kernels(run) == 1)
        answer_input(run, result->kernel);
    kernel->tuning = result->kernel->tuning;
    find_pool(run, kernel);
    if (run->options->report)
        kernel->estimate_before = kernel_estimate(run->arena, result->kernel, NULL, run->sm);
    /* The reported figures are those of the whole files. */
    PipelineOptions pipeline = run->pipeline;
    pipeline.no_figures = true;
    if (kernel->request.reduce)
        part_begin(run, kernel, PART_REGISTERS, "fewer registers");
    else
        progress_phase(&run->progress, "assembling", HUGE_VAL);
    kernel->request.order = kernel->order;
    pipeline_run(run->arena, result->kernel, &kernel->request, &pipeline, result);
    kernel->refusal = kernel_refusal_text(run->arena, result);
    search_end(run, kernel);
    report_begin(run, kernel);
    predict_costs(run, kernel);
    progress_form(&run->progress, NULL);
    kernel->estimate_after = kernel->estimate_before;
    if (run->options->report && result->body)
        kernel->estimate_after = kernel_estimate(run->arena, result->kernel, result->body, run->sm);
    run->changed |= kernel_install(result) || kernel->form_count;
    if (result->coarsening == OUTCOME_DONE)
        kernel->condition_count = contract_conditions(&result->contract, kernel->conditions);
    warn_refusals(run, kernel);
    warn_defects(run, result);
}

/* The assembler and the target that the code is for. */
static DefectRequest find_defects(const Run *run)
{
    const Options *options = run->options;
    /* A driver may assemble PTX for a newer device than its target, unless it was made for one. */
    DefectRequest request = {.fixes = options->fixes_defects, .or_newer = options->fixes_defects && !options->arch};
    Arch arch;
    if (arch_parse(run->arch, &arch))
        request.arch = arch.number;
    if (run->assembler)
        request.version = defect_version(assembler_version(run->assembler));
    return request;
}

void run_kernels(Run *run)
{
    Report *report = &run->report;
    const size_t kernels = count_kernels(run);
    report->kernels = ARENA_ARRAY(run->arena, KernelReport, kernels + 1);
    if (!kernels && (run->options->coarsen.count || run->options->refine.count ||
                                     run->options->registers.count))
        diag_report_plain(&run->diag, SEVERITY_WARNING, "the module has no kernel, so there is nothing to change");
    run->pipeline = (PipelineOptions){
        .sm = run->sm,
        .judge = run->assembler ? &run->judge.judge : NULL,
        .level = run->options->level,
        .defects = find_defects(run),
        .passes = run->options->passes,
    };
    run->pipeline.passes.dump_out = run->messages;
    run->pipeline.passes.print_step = step_print;
    run->knobs = find_knobs(run);
    /* Launch contracts add items to the module. */
    const size_t item_count = run->module->items.count, selected = count_selected(run);
    for (size_t i = 0; i < item_count; i++) {
        const Item *item = &run->module->items.data[i];
        if (!is_kernel(item) || !options_selects(run->options, item->function->name))
            continue;
        KernelReport *kernel = &report->kernels[report->kernel_count++];
        kernel->result.kernel = item->function;
        progress_kernel(&run->progress, item->function->name, report->kernel_count, selected);
        run_kernel(run, kernel);
    }
    if (run->pipeline.defects.fixes)
        fix_functions(run);
    progress_kernel(&run->progress, NULL, 0, 0);
    progress_phase(&run->progress, "assembling the output", HUGE_VAL);
    if (run->options->interrupt)
        run->options->interrupt->armed = 0;
    if (run->skipped)
        diag_report_plain(&run->diag, SEVERITY_NOTE, "after the interrupt, nothing was searched for %u more kernel%s",
                          run->skipped, run->skipped == 1 ? "" : "s");
}
