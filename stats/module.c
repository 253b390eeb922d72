/* The rows of a module of PTX, which is assembled for them. */
#include "engine/engine.h"
#include "stats/internal.h"

/* A module while its rows are made. */
typedef struct Reading {
    Stats *stats;
    const StatsRequest *request;
    Options options;
    Run run;
    Device device;
} Reading;

static const Launch *find_launch(Reading *reading, const Function *kernel)
{
    const char *error = NULL;
    for (size_t i = 0; i < reading->request->launch_count; i++) {
        const Launch *launch = launch_read(reading->run.arena, reading->request->launches[i], &error);
        if (launch && strcmp(launch->kernel, kernel->name) == 0)
            return launch;
    }
    return NULL;
}

/* False if neither a launch nor a block size is known. */
static bool find_conditions(Reading *reading, const Function *kernel, CostBasis *basis)
{
    const Run *run = &reading->run;
    const BlockSize block = block_size_resolve(&kernel->tuning, reading->request->block);
    const Launch *launch = find_launch(reading, kernel);
    *basis = cost_basis(run->arena, run->sm, &reading->device, launch, block.threads, 0);
    return launch || block_size_total(&block);
}

/* Sets what only a prediction says. */
static void set_time(Reading *reading, const Function *kernel, StatsRow *row)
{
    Run *run = &reading->run;
    const FunctionForm form = {.function = kernel};
    CostBasis basis;
    Figures figures = {0};
    if (!find_conditions(reading, kernel, &basis))
        return;
    run->judge.judge.measure(run->judge.judge.context, &form, &figures);
    const FormCost cost = machine_cost(&run->judge, &basis, &form, &figures, NULL, NULL);
    if (!cost.known)
        return;
    row->values[STATS_TIME] = cost.time.microseconds;
    const SassProfile *code = cost.profile->sm;
    if (code && cost.profile->original_threads > 0)
        row->values[STATS_EXECUTED_SPILLS] =
            (code->spills + code->shared_spills) * run->sm->warp_size / cost.profile->original_threads;
}

/* How much faster the form is predicted to be than the kernel; 0: unknown. */
static double predict_speedup(Reading *reading, const FunctionForm *form, const Figures figures[2])
{
    Run *run = &reading->run;
    const FunctionForm own = {.function = form->function};
    CostBasis basis;
    if (!find_conditions(reading, form->function, &basis))
        return 0;
    FormCost before = machine_cost(&run->judge, &basis, &own, &figures[0], NULL, NULL);
    FormCost after = machine_cost(&run->judge, &basis, form, &figures[1], NULL, NULL);
    if (!before.known || !after.known)
        return 0;
    costs_align(&basis, &before, &after);
    return cost_speedup(&before, &after);
}

/* Notes a launch bound that is met by spilling. */
static void check_bound(Reading *reading, const Function *kernel, const StatsRow *row)
{
    Run *run = &reading->run;
    const Tuning *tuning = &kernel->tuning;
    if (!(row->values[STATS_SPILLS] > 0) || (!tuning->maxnreg && !tuning->minnctapersm))
        return;
    Tuning free = *tuning;
    free.maxnreg = free.minnctapersm = 0;
    const FunctionForm own = {.function = kernel}, form = {.function = kernel, .tuning = &free};
    Figures figures[2] = {0};
    run->judge.judge.measure(run->judge.judge.context, &own, &figures[0]);
    run->judge.judge.measure(run->judge.judge.context, &form, &figures[1]);
    if (!figures[0].known || !figures[1].known || (double)figures_spills(&figures[1]) >= row->values[STATS_SPILLS])
        return;
    VEC_PUSH(reading->stats->arena, reading->stats->bounds,
             ((StatsBound){.file = row->file,
                           .kernel = row->kernel,
                           .arch = row->arch,
                           .line = source_position(run->source, kernel->span.begin).line,
                           .maxnreg = tuning->maxnreg,
                           .minnctapersm = tuning->minnctapersm,
                           .registers = (unsigned)row->values[STATS_REGISTERS],
                           .free_registers = figures[1].registers,
                           .spills = row->values[STATS_SPILLS],
                           .free_spills = (double)figures_spills(&figures[1]),
                           .speedup = predict_speedup(reading, &form, figures)}));
}

/* What needs more than the assembler's figures. */
static void complete_row(Reading *reading, StatsRow *row)
{
    const Function *kernel = module_find_function(reading->run.module, row->kernel);
    if (!kernel)
        return;
    if (reading->request->predicts)
        set_time(reading, kernel, row);
    if (!reading->request->quiet)
        check_bound(reading, kernel, row);
}

static bool fail(const Run *run, const char *message)
{
    fprintf(run->messages, "ptxopt: error: %s: %s\n", run->source->path, message);
    return false;
}

static bool assemble_module(Reading *reading)
{
    Run *run = &reading->run;
    Stats *stats = reading->stats;
    if (!read_module(run) || !choose_arch(run) || !open_assembler(run))
        return false;
    if (!run->assembler)
        return fail(run, "there is no assembler, so its kernels have no figures");
    if (!read_device(run, NULL, &reading->device))
        return false;
    AssemblyRequest request = assembly_request(run->source->text, run->source->size);
    request.want_cubin = true;
    Assembly assembly;
    if (!assembler_run(run->assembler, run->arena, &request, &assembly))
        return fail(run, assembly.message);
    const size_t first = stats->rows.count;
    stats_add_cubin(stats, reading->request, run->source->path, assembly.cubin, assembly.cubin_size, assembly.log);
    for (size_t i = first; i < stats->rows.count; i++)
        complete_row(reading, &stats->rows.data[i]);
    return true;
}

bool stats_add_module(Stats *stats, const StatsRequest *request, Source *source)
{
    Arena *arena = arena_new();
    Reading reading = {.stats = stats,
                       .request = request,
                       .options = {.input = source->path,
                                   .arch = request->arch,
                                   .assembler = request->assembler,
                                   .canonical = true,
                                   .report = true,
                                   .quiet = request->quiet}};
    if (request->assembler_given)
        option_set_given(&reading.options, OPTION_ASSEMBLER);
    reading.run = (Run){.options = &reading.options, .messages = stderr, .arena = arena, .source = source};
    const bool done = input_is_ptx(source, stderr) && assemble_module(&reading);
    assembler_judge_close(&reading.run.judge);
    assembler_close(reading.run.assembler);
    arena_free(arena);
    return done;
}
