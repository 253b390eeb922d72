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

/* A kernel as it is written. */
typedef struct Own {
    const Function *kernel;
    Figures figures;
    CostBasis basis;
    FormCost cost; /* unknown without a launch and a block size */
} Own;

static const Launch *find_launch(const Reading *reading, const Function *kernel)
{
    for (size_t i = 0; i < reading->request->launch_count; i++)
        if (strcmp(reading->request->launches[i]->kernel, kernel->name) == 0)
            return reading->request->launches[i];
    return NULL;
}

static Own own_measure(Reading *reading, const Function *kernel)
{
    Run *run = &reading->run;
    Own own = {.kernel = kernel};
    const FunctionForm form = {.function = kernel};
    const BlockSize block = block_size_resolve(&kernel->tuning, reading->request->block);
    const Launch *launch = find_launch(reading, kernel);
    own.basis = cost_basis(run->arena, run->sm, &reading->device, launch, block.threads, 0);
    run->judge.judge.measure(run->judge.judge.context, &form, &own.figures);
    if (launch || block_size_total(&block))
        own.cost = machine_cost(&run->judge, &own.basis, &form, &own.figures, NULL, NULL);
    return own;
}

/* Sets what only a prediction says. */
static void set_time(const Reading *reading, const Own *own, StatsRow *row)
{
    if (!own->cost.known)
        return;
    row->values[STATS_TIME] = own->cost.time.microseconds;
    const SassProfile *code = own->cost.profile->sm;
    if (code && own->cost.profile->original_threads > 0)
        row->values[STATS_EXECUTED_SPILLS] = (code->spills + code->shared_spills) * reading->run.sm->warp_size /
                                             own->cost.profile->original_threads;
}

/* How much faster the form is predicted to be than the kernel; 0: unknown. */
static double predict_speedup(Reading *reading, const Own *own, const FunctionForm *form, const Figures *figures)
{
    FormCost before = own->cost;
    if (!before.known)
        return 0;
    FormCost after = machine_cost(&reading->run.judge, &own->basis, form, figures, NULL, NULL);
    if (!after.known)
        return 0;
    costs_align(&own->basis, &before, &after);
    return cost_speedup(&before, &after);
}

static bool is_met_by_spilling(const Function *kernel, const StatsRow *row)
{
    return row->values[STATS_SPILLS] > 0 && (kernel->tuning.maxnreg || kernel->tuning.minnctapersm);
}

/* Notes a launch bound that is met by spilling, if the kernel spills less without it. */
static void check_bound(Reading *reading, const Own *own, const StatsRow *row)
{
    Run *run = &reading->run;
    const Tuning *tuning = &own->kernel->tuning;
    Tuning free = *tuning;
    free.maxnreg = free.minnctapersm = 0;
    const FunctionForm form = {.function = own->kernel, .tuning = &free};
    Figures figures = {0};
    run->judge.judge.measure(run->judge.judge.context, &form, &figures);
    if (!own->figures.known || !figures.known || (double)figures_spills(&figures) >= row->values[STATS_SPILLS])
        return;
    VEC_PUSH(reading->stats->arena, reading->stats->bounds,
             ((StatsBound){.file = row->file,
                           .kernel = row->kernel,
                           .arch = row->arch,
                           .line = source_position(run->source, own->kernel->span.begin).line,
                           .maxnreg = tuning->maxnreg,
                           .minnctapersm = tuning->minnctapersm,
                           .registers = (unsigned)row->values[STATS_REGISTERS],
                           .free_registers = figures.registers,
                           .spills = row->values[STATS_SPILLS],
                           .free_spills = (double)figures_spills(&figures),
                           .speedup = predict_speedup(reading, own, &form, &figures)}));
}

/* What needs more than the assembler's figures. */
static void complete_row(Reading *reading, StatsRow *row)
{
    const Function *kernel = module_find_function(reading->run.module, row->kernel);
    const bool checks = kernel && !reading->request->quiet && is_met_by_spilling(kernel, row);
    if (!kernel || !(reading->request->predicts || checks))
        return;
    const Own own = own_measure(reading, kernel);
    if (reading->request->predicts)
        set_time(reading, &own, row);
    if (checks)
        check_bound(reading, &own, row);
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
    Reading reading = {.stats = stats, .request = request};
    const RunSetting setting = {.path = source->path,
                                .arch = request->arch,
                                .assembler = request->assembler,
                                .assembler_given = request->assembler_given,
                                .controls = request->controls,
                                .quiet = request->quiet};
    run_prepare(&reading.run, &reading.options, arena, &setting);
    reading.run.source = source;
    const bool done = input_is_ptx(source, stderr) && assemble_module(&reading);
    run_close(&reading.run);
    arena_free(arena);
    return done;
}
