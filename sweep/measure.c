/* One form: made once, counted for each block size, assembled and mapped to machine code for each architecture. */
#include "sweep/internal.h"

/* A form while it is measured; all is in the arena. */
typedef struct Measurement {
    Sweep *sweep;
    const SweepForm *form;
    Arena *arena;
    SweepMade made;
    const Function *placed; /* what was made, read again */
} Measurement;

/* A block size: its counts, or why there are none. */
typedef struct Counted {
    SweepStatus status;
    const char *reason;
    const Profile *profile;
} Counted;

bool sweep_open_assemblers(Sweep *sweep)
{
    for (size_t i = 0; i < sweep->target_count; i++) {
        Run *run = &sweep->targets[i].run;
        if (!open_assembler(run))
            return false;
        figures_cache_close(&run->judge.cache); /* figures without code would be assembled once more */
        run->judge.judge.width = 1;
    }
    return true;
}

static void take_time(double *seconds, double *since)
{
    const double now = seconds_now();
    *seconds += now - *since;
    *since = now;
}

static Counted count(const Measurement *measurement, const Launch *launch)
{
    LaunchUnmet unmet;
    if (!sweep_made_fits(&measurement->made, launch, &unmet))
        return (Counted){.status = SWEEP_UNMET, .reason = unmet_text(measurement->arena, &unmet)};
    const FunctionForm form = {.function = measurement->placed};
    Counted counted = {.status = SWEEP_OK};
    const CountOptions options = {.jobs = 1, .samples = true};
    counted.profile =
        profile_count(measurement->arena, &form, launch, &measurement->made.change, &options, &counted.reason);
    if (!counted.profile)
        counted.status = SWEEP_FAULT;
    return counted;
}

/* Sets the counters, for each thread of the original. */
static void set_counters(const Profile *profile, const Time *time, double replicas, double *values)
{
    const double threads = profile->original_threads, lanes = 32 / threads;
    const double *pipe = profile->sm ? profile->sm->pipe : profile->pipe;
    values[SWEEP_THREADS] = threads;
    values[SWEEP_INSTRUCTIONS] = profile_executed(profile) * lanes;
    values[SWEEP_FP32] = pipe[PIPE_FP32] * lanes;
    values[SWEEP_INTEGER] = (pipe[PIPE_INTEGER] + pipe[PIPE_MULTIPLY]) * lanes;
    values[SWEEP_SPECIAL] = pipe[PIPE_SPECIAL] * lanes;
    values[SWEEP_CONTROL] = pipe[PIPE_CONTROL] * lanes;
    values[SWEEP_LOADS] = profile->loads * lanes;
    values[SWEEP_STORES] = profile->stores * lanes;
    values[SWEEP_LOAD_SECTORS] = profile->load_sectors / threads;
    values[SWEEP_STORE_SECTORS] = profile->store_sectors / threads;
    values[SWEEP_DRAM_SECTORS] = time->dram_sectors / threads;
    values[SWEEP_L1_MISSES] = profile->load_sectors * (1 - time->l1_hits) / threads;
    values[SWEEP_SHARED] = profile->shared_accesses * lanes;
    values[SWEEP_CONFLICTS] = profile->bank_conflicts * lanes;
    values[SWEEP_LOCAL] = pipe[PIPE_LOCAL] * lanes;
    values[SWEEP_BRANCHES] = profile->branches * lanes;
    values[SWEEP_DIVERGENT] = profile->divergent_branches * lanes;
    values[SWEEP_BARRIERS] = profile->pipe[PIPE_BARRIER] * lanes;
    values[SWEEP_PATH] = time->path / replicas;
}

/* Sets what is predicted for a launch, by machine code if there is a map, and if its counts can be right. */
static void predict(const Measurement *measurement, const SweepTarget *target, const Launch *launch,
                    const SassMap *map, const Figures *figures, const Counted *counted, SweepRow *row)
{
    Profile *profile = ARENA_NEW(measurement->arena, Profile);
    *profile = *counted->profile;
    row->by_machine =
        map && profile_add_machine(measurement->arena, measurement->arena, map, profile) != NULL;
    const CostBasis basis = cost_basis(measurement->arena, target->run.sm, &target->device, launch, NULL, 0);
    FormCost cost = {.figures = *figures, .change = measurement->made.change, .profile = profile};
    cost.time = form_time(&basis, &cost);
    if (!cost.time.known) {
        row->status = SWEEP_NO_ROOM;
        row->reason = "an SM cannot hold one of its blocks";
        return;
    }
    set_counters(profile, &cost.time, measurement->form->factor, row->values);
    row->bound = resource_name(cost.time.binding);
    row->values[SWEEP_WARPS] = cost.time.resident_warps;
    row->values[SWEEP_CYCLES] = cost.time.cycles;
    row->values[SWEEP_TIME] = cost.time.microseconds;
}

/* Prints a row, with times if all has gone well: two of the original, of which one is predicted by PTX, for comparison
 * with forms that have no other. 'pair' is on the GPU; NULL: nothing is measured. */
static void print_row(const Measurement *measurement, const SweepTarget *target, SweepPair *pair, const Launch *launch,
                      const SassMap *map, const Figures *figures, const Counted *counted, const SweepRow *row,
                      double *since, Buf *out)
{
    SweepRow timed = *row;
    if (row->status == SWEEP_OK)
        predict(measurement, target, launch, map, figures, counted, &timed);
    take_time(&measurement->sweep->seconds.mapping, since);
    if (timed.status == SWEEP_OK && pair)
        sweep_pair_measure(measurement->sweep, pair, launch, &measurement->made.change, &timed);
    take_time(&measurement->sweep->seconds.measuring, since);
    sweep_row_print(&timed, out);
    if (row->factor > 1 || timed.status != SWEEP_OK || !timed.by_machine)
        return;
    SweepRow by_ptx = *row;
    predict(measurement, target, launch, NULL, figures, counted, &by_ptx);
    by_ptx.values[SWEEP_MEASURED] = timed.values[SWEEP_MEASURED];
    by_ptx.values[SWEEP_MEASURED_WARM] = timed.values[SWEEP_MEASURED_WARM];
    sweep_row_print(&by_ptx, out);
}

/* Loads the form on the GPU if it is measured there, else *pair is NULL; what is wrong, or NULL. */
static const char *load_pair(const Measurement *measurement, const SweepTarget *target, SweepPair **pair)
{
    Sweep *sweep = measurement->sweep;
    const SweepForm *form = measurement->form;
    *pair = target->is_on_gpu ? ARENA_NEW(measurement->arena, SweepPair) : NULL;
    if (!*pair)
        return NULL;
    const char *problem = sweep_pair_open(sweep, measurement->arena, form->kernel, *pair);
    problem = problem || form->factor == 1 ? problem : sweep_pair_load(sweep, *pair, &measurement->made);
    return problem ? arena_printf(measurement->arena, "on the GPU: %s", problem) : NULL;
}

/* Assembles the form for an architecture and prints its rows. */
static void measure_on(const Measurement *measurement, SweepTarget *target, const Counted *counted, Buf *out)
{
    Sweep *sweep = measurement->sweep;
    AssemblerJudge *judge = &target->run.judge;
    const SweepKernel *kernel = measurement->form->kernel;
    const CostBasis basis = {0}; /* the judge keeps code in which lines are numbered where it has one */
    double since = seconds_now();
    Figures figures = {0};
    const SassMap *map = NULL;
    SweepPair *pair = NULL;
    const char *not_loaded = NULL;
    if (measurement->made.status == SWEEP_OK) {
        judge->basis = &basis;
        judge->judge.measure(judge, &measurement->made.written, &figures);
        take_time(&sweep->seconds.assembling, &since);
        map = figures.known ? machine_map(judge, measurement->arena, measurement->placed) : NULL;
        take_time(&sweep->seconds.mapping, &since);
        not_loaded = figures.known ? load_pair(measurement, target, &pair) : NULL;
        take_time(&sweep->seconds.measuring, &since);
    }
    for (size_t i = 0; i < kernel->launches.count; i++) {
        SweepRow row = sweep_row_of(measurement->form, kernel->launches.data[i], target);
        const bool is_made = measurement->made.status == SWEEP_OK;
        row.status = !is_made ? measurement->made.status : !figures.known ? SWEEP_REJECTED : counted[i].status;
        row.reason = !is_made ? measurement->made.reason : !figures.known ? figures.message : counted[i].reason;
        if (figures.known) {
            row.values[SWEEP_REGISTERS] = figures.registers;
            row.values[SWEEP_SPILLS] = (double)figures_spills(&figures);
            row.values[SWEEP_CODE] = (double)figures.instructions;
        }
        if (row.status == SWEEP_OK && not_loaded) {
            row.status = SWEEP_REJECTED;
            row.reason = not_loaded;
        }
        row.reason = row.reason ? row.reason : "-";
        print_row(measurement, target, pair, kernel->launches.data[i], map, &figures, &counted[i], &row, &since, out);
    }
    if (pair)
        sweep_pair_close(pair);
    assembler_judge_forget(judge);
    judge->basis = NULL;
    take_time(&sweep->seconds.mapping, &since);
}

void sweep_measure(Sweep *sweep, const SweepForm *form, Buf *out)
{
    Measurement measurement = {.sweep = sweep, .form = form, .arena = arena_new()};
    double since = seconds_now();
    sweep_make(sweep, form, measurement.arena, &measurement.made);
    SweepMade *made = &measurement.made;
    measurement.placed = made->status == SWEEP_OK ? form_place(measurement.arena, &made->written) : NULL;
    if (made->status == SWEEP_OK && !measurement.placed) {
        made->status = SWEEP_REJECTED;
        made->reason = "the form cannot be read again";
    }
    take_time(&sweep->seconds.coarsening, &since);
    Counted *counted = ARENA_ARRAY(measurement.arena, Counted, form->kernel->launches.count);
    for (size_t i = 0; made->status == SWEEP_OK && i < form->kernel->launches.count; i++)
        counted[i] = count(&measurement, form->kernel->launches.data[i]);
    take_time(&sweep->seconds.counting, &since);
    for (size_t i = 0; i < sweep->target_count; i++)
        measure_on(&measurement, &sweep->targets[i], counted, out);
    kernel_discard(&made->result);
    arena_free(measurement.arena);
}
