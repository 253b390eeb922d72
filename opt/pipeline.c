/* The pipeline, on one screen: pipeline_run at the end of this file.
 *
 *     parsed form -> body -> SSA -> coarsen -> clean up -> registers (search, judged) -> body printed instead of the
 * statements
 */
#include "opt/pipeline.h"

#include "opt/passes.h"

#include <string.h>

const PassInfo pass_infos[PASS_COUNT] = {
    {PASS_SSA, "ssa", 's', "build the body form and SSA"},
    {PASS_COARSEN, "coarsen", 'c', "thread coarsening"},
    {PASS_CLEANUP, "cleanup", 'd', "merge equal values, remove dead code"},
    {PASS_SCHEDULE, "schedule", 'o', "order instructions for register pressure"},
    {PASS_REMATERIALIZE, "rematerialize", 'r', "recompute values instead of keeping them"},
    {PASS_SINK, "sink", 'k', "move computations towards their uses"},
    {PASS_BOUNDS, "bounds", 'b', ".maxnreg and .maxntid where they help"},
};

_Static_assert(COUNT_OF(pass_infos) == PASS_COUNT, "one row for each pass");

/* How many candidates the register search may assemble, by -O level. */
static const unsigned search_effort[4] = {0, 12, 40, 120};

static const char no_assembler[] = "no assembler";

static void dump(const PipelineOptions *options, PassId pass, const Body *body)
{
    if (!options->dump[pass])
        return;
    Buf text = {0};
    body_dump(body, &text);
    fprintf(options->dump_out, "// %s: after %s\n%s", body->function->name, pass_infos[pass].name, buf_text(&text));
    buf_free(&text);
}

static void finish_pass(const PipelineOptions *options, PassId pass, const Body *body)
{
    body_verify(body, pass_infos[pass].name);
    dump(options, pass, body);
}

static void measure(const PipelineOptions *options, Function *kernel, const Body *body, Figures *figures)
{
    *figures = (Figures){.message = no_assembler};
    if (options->judge)
        options->judge->measure(options->judge->context, kernel, body, figures);
}

/* The block size at launch, as far as the module or the request says it. */
static void find_block(const Function *kernel, const KernelRequest *request, unsigned block[3])
{
    const Tuning *tuning = &kernel->tuning;
    for (unsigned d = 0; d < 3; d++)
        if (tuning->reqntid_count)
            block[d] = d < tuning->reqntid_count ? tuning->reqntid[d] : 1;
        else
            block[d] = request->block[d];
}

static unsigned thread_count(const unsigned block[3])
{
    return block[0] * block[1] * block[2];
}

/* Blocks on an SM for what the assembler says; 0: not known. */
static unsigned blocks_on_sm(const Machine *machine, const unsigned block[3], const Figures *figures)
{
    if (!figures->known)
        return 0;
    return machine_occupancy(machine, thread_count(block), figures->registers, (unsigned)figures->shared).blocks;
}

/* A known block size is told to the assembler, which otherwise reckons with 1,024 threads.  It may then take so many
 * registers that fewer blocks fit: where the judge says so, the size is not told.  The register search weighs it
 * itself. */
static void declare_block(Function *kernel, Body *body, const PipelineOptions *options, const unsigned block[3],
                          bool is_searched)
{
    Tuning *tuning = &body->tuning, plain = *tuning;
    if (!thread_count(block) || tuning->reqntid_count || tuning->maxntid_count)
        return;
    memcpy(tuning->maxntid, block, sizeof tuning->maxntid);
    tuning->maxntid_count = block[2] > 1 ? 3 : block[1] > 1 ? 2 : 1;
    if (is_searched || !options->judge || !options->machine)
        return;
    Figures told, untold;
    Tuning bounded = *tuning;
    measure(options, kernel, body, &told);
    *tuning = plain;
    measure(options, kernel, body, &untold);
    bool is_worse = told.known && untold.known &&
                    (figures_spills(&told) > figures_spills(&untold) ||
                     blocks_on_sm(options->machine, block, &told) < blocks_on_sm(options->machine, block, &untold));
    if (!is_worse)
        *tuning = bounded;
}

/* Coarsens a copy; on success it takes the place of *body. */
static void coarsen(Body **body, const KernelRequest *request, const PipelineOptions *options, KernelResult *result)
{
    if (!options->enabled[PASS_COARSEN]) {
        result->coarsening = OUTCOME_REFUSED;
        result->refusal = (Refusal){.reason = "the pass is switched off"};
        return;
    }
    CoarsenRequest wanted = request->coarsening;
    memcpy(wanted.block, result->block_before, sizeof wanted.block);
    Body *copy = body_clone(*body);
    if (!coarsen_body(copy, &wanted, &result->contract, &result->refusal)) {
        result->coarsening = OUTCOME_REFUSED;
        body_free(copy);
        return;
    }
    finish_pass(options, PASS_COARSEN, copy);
    if (options->enabled[PASS_CLEANUP]) {
        merge_equal_values(copy);
        remove_dead_code(copy);
        finish_pass(options, PASS_CLEANUP, copy);
    }
    body_free(*body);
    *body = copy;
    result->coarsening = OUTCOME_DONE;
    for (unsigned d = 0; d < 3; d++)
        result->block_after[d] = result->block_before[d] / wanted.factor[d];
}

static void reduce_registers(Arena *arena, Function *kernel, Body **body, const KernelRequest *request, unsigned effort,
                             const PipelineOptions *options, KernelResult *result)
{
    result->registers = OUTCOME_REFUSED;
    if (!options->judge) {
        result->registers_refusal = "there is no assembler to judge by";
        return;
    }
    if (!options->machine) {
        result->registers_refusal = "the limits of the target architecture are not known";
        return;
    }
    RegistersRequest wanted = {
        .is_auto = request->registers_auto,
        .target = request->target_registers,
        .machine = options->machine,
        .block_threads = thread_count(result->block_after),
        .effort = effort,
        .use_schedule = options->enabled[PASS_SCHEDULE],
        .use_rematerialize = options->enabled[PASS_REMATERIALIZE],
        .use_sink = options->enabled[PASS_SINK],
        .use_launch_bounds = options->enabled[PASS_BOUNDS],
    };
    if (!wanted.effort) {
        result->registers_refusal = "-O0 assembles no candidates";
        return;
    }
    registers_reduce(arena, kernel, body, &wanted, options->judge, &result->reduction);
    body_verify(*body, "registers");
    for (PassId pass = PASS_SCHEDULE; pass <= PASS_BOUNDS; pass++)
        dump(options, pass, *body);
    result->registers = result->reduction.changed ? OUTCOME_DONE : OUTCOME_UNCHANGED;
}

/* Leaves the kernel as it came. */
static void refuse(const KernelRequest *request, KernelResult *result, const char *reason)
{
    if (request->coarsen) {
        result->coarsening = OUTCOME_REFUSED;
        result->refusal = (Refusal){.reason = reason};
    }
    if (request->registers) {
        result->registers = OUTCOME_REFUSED;
        result->registers_refusal = reason;
    }
    result->after = result->before;
}

void pipeline_run(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                  KernelResult *result)
{
    *result = (KernelResult){.kernel = kernel};
    find_block(kernel, request, result->block_before);
    memcpy(result->block_after, result->block_before, sizeof result->block_after);

    const Tuning *tuning = &kernel->tuning;
    bool block_given = thread_count(request->block) != 0 && !tuning->reqntid_count && !tuning->maxntid_count;
    if (!request->coarsen && !request->registers && !block_given && !options->dump[PASS_SSA]) {
        /* Nothing to weigh: a module may have thousands of kernels of which one is asked for. */
        result->before = result->after = (Figures){.message = options->judge ? "nothing is asked for" : no_assembler};
        return;
    }
    measure(options, kernel, NULL, &result->before);
    const char *reason = NULL;
    Body *body = module_is_debug(kernel->module) ? NULL : body_build(kernel, &reason);
    if (!body) {
        refuse(request, result,
               reason ? arena_printf(arena, "the kernel has %s", reason)
                      : "the module is for debugging (.target debug), whose sections name places in the code");
        return;
    }
    body_to_ssa(body);
    finish_pass(options, PASS_SSA, body);

    if (request->coarsen)
        coarsen(&body, request, options, result);
    unsigned effort = search_effort[options->level > 3 ? 3 : options->level];
    if (options->enabled[PASS_BOUNDS])
        declare_block(kernel, body, options, result->block_after, request->registers && effort);
    if (request->registers)
        reduce_registers(arena, kernel, &body, request, effort, options, result);
    if (result->coarsening == OUTCOME_DONE || result->registers == OUTCOME_DONE) {
        if (body->ssa)
            body_from_ssa(body);
        body_verify(body, "leaving SSA");
        function_set_body(kernel, body);
    } else { /* the statements stay as they were written */
        kernel->tuning = body->tuning;
        body_free(body);
    }
    if (result->coarsening == OUTCOME_DONE)
        contract_add_symbol(kernel->module, &result->contract);
    measure(options, kernel, kernel->body, &result->after);
}
