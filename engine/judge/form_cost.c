#include "engine/judge/form_cost.h"

#include <string.h>

#include "engine/launch.h"

/* Without a launch, this many original blocks for each place that the device has for blocks. */
enum { ESTIMATED_WAVES = 8 };

CostBasis cost_basis(Arena *arena, const SmLimits *sm, const Device *device, const Launch *launch,
                     const unsigned block[3], uint64_t dynamic_shared)
{
    CostBasis basis = {.arena = arena, .sm = sm, .device = *device, .launch = launch,
                       .dynamic_shared = dynamic_shared};
    memcpy(basis.block, launch ? launch->block : block, sizeof basis.block);
    if (launch) {
        basis.blocks = (double)launch->grid[0] * launch->grid[1] * launch->grid[2];
        basis.dynamic_shared = launch->dynamic_shared;
        basis.jobs = launch_jobs(launch);
    }
    return basis;
}

static Profile *make_profile(const CostBasis *basis, const FunctionForm *form, const LaunchChange *change,
                             const char **error)
{
    if (basis->launch)
        return profile_count(basis->arena, form, basis->launch, change, basis->jobs, basis->stop, error);
    unsigned threads = basis->block[0] * basis->block[1] * basis->block[2];
    double places = basis->device.multiprocessors * sm_occupancy(basis->sm, threads, 0, 0).blocks;
    const AssumedLaunch launch = {
        .block = {basis->block[0], basis->block[1], basis->block[2]},
        .blocks = basis->blocks > 0 ? basis->blocks : places * ESTIMATED_WAVES,
        .trips = basis->trips,
    };
    return profile_estimate(basis->arena, form, &launch, change, error);
}

Time form_time(const CostBasis *basis, const FormCost *cost)
{
    return time_predict(cost->profile, basis->sm, &basis->device, cost->figures.registers,
                        cost->figures.shared + launch_change_shared(&cost->change, basis->dynamic_shared));
}

FormCost form_cost(const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                   const LaunchChange *change)
{
    FormCost cost = {.figures = *figures};
    if (change)
        cost.change = *change;
    cost.profile = make_profile(basis, form, change, &cost.error);
    if (!cost.profile)
        return cost;
    cost.time = form_time(basis, &cost);
    cost.known = cost.time.known;
    if (!cost.known)
        cost.error = "an SM cannot hold one of its blocks";
    return cost;
}

double cost_speedup(const FormCost *before, const FormCost *after)
{
    return before->time.cycles / after->time.cycles;
}

/* A figure that a verdict can name. */
typedef struct Factor {
    double before, after;
    const char *words; /* "shared memory accesses" */
} Factor;

static double per_thread(const FormCost *cost, double value)
{
    return value / cost->profile->original_threads;
}

/* The count that a resource depends on. */
static Factor resource_factor(const FormCost *before, const FormCost *after, Resource resource)
{
    const Profile *x = before->profile, *y = after->profile;
    switch (resource) {
    case RESOURCE_SHARED:
        return (Factor){x->shared_accesses + x->bank_conflicts, y->shared_accesses + y->bank_conflicts,
                        "the cycles of shared memory"};
    case RESOURCE_L1:
        return (Factor){x->load_sectors + x->store_sectors, y->load_sectors + y->store_sectors, "the global sectors"};
    case RESOURCE_L2:
        return (Factor){before->time.demand[RESOURCE_L2], after->time.demand[RESOURCE_L2], "the sectors that miss L1"};
    case RESOURCE_DRAM: return (Factor){before->time.dram_sectors, after->time.dram_sectors, "the sectors from DRAM"};
    case RESOURCE_ISSUE: return (Factor){profile_executed(x), profile_executed(y), "the instructions"};
    case RESOURCE_LATENCY:
        return (Factor){before->time.demand[resource], after->time.demand[resource], "the latency that is exposed"};
    case RESOURCE_LAUNCH: return (Factor){x->blocks, y->blocks, "the blocks to start"};
    default:
        return (Factor){before->time.demand[resource], after->time.demand[resource],
                        resource == RESOURCE_INTEGER ? "the integer instructions" : "the arithmetic"};
    }
}

/* The resource whose change explains the most: weighted by how busy it is. RESOURCE_COUNT: none changes. */
static Resource cause_of(const FormCost *before, const FormCost *after, bool is_faster)
{
    Resource cause = RESOURCE_COUNT;
    double most = 0;
    for (unsigned i = 0; i < RESOURCE_COUNT; i++) {
        double change = before->time.demand[i] - after->time.demand[i];
        double weight = is_faster ? before->time.demand[i] : after->time.demand[i];
        double score = (is_faster ? change : -change) * weight;
        if (score > most) {
            most = score;
            cause = (Resource)i;
        }
    }
    return cause;
}

/* True if exposed latency is due to fewer warps, and not to more instructions. */
static bool loses_warps(const FormCost *before, const FormCost *after)
{
    double warps = (double)before->time.resident_warps / after->time.resident_warps;
    double executed = profile_executed(before->profile);
    return warps > 1 && (!(executed > 0) || warps >= profile_executed(after->profile) / executed);
}

const char *cost_verdict(Arena *arena, const FormCost *before, const FormCost *after)
{
    double speedup = cost_speedup(before, after);
    bool is_faster = speedup >= 1;
    const char *grade = time_is_longer(speedup, 1)   ? "x faster"
                        : time_is_longer(1, speedup) ? "x"
                                                     : "x, no difference";
    const Resource cause = cause_of(before, after, is_faster);
    if (!is_faster && cause == RESOURCE_LATENCY && loses_warps(before, after))
        return arena_printf(arena, "%.2f%s: %u warp%s on an SM instead of %u", speedup, grade,
                            after->time.resident_warps, plural(after->time.resident_warps),
                            before->time.resident_warps);
    if (!is_faster && after->time.busiest > threshold(THRESHOLD_CROWDED) * before->time.busiest)
        return arena_printf(arena, "%.2f%s: one SM has %.3g%% of the work instead of %.3g%%", speedup, grade,
                            100 * after->time.busiest, 100 * before->time.busiest);
    if (cause == RESOURCE_COUNT)
        return arena_printf(arena, "%.2f%s", speedup, grade);
    const Factor factor = resource_factor(before, after, cause);
    if (!(factor.before > 0))
        return arena_printf(arena, "%.2f%s", speedup, grade);
    return arena_printf(arena, "%.2f%s: %.2f times %s", speedup, grade, factor.after / factor.before, factor.words);
}

double cost_sectors(const FormCost *before, const FormCost *after)
{
    double sectors = before->profile->load_sectors + before->profile->store_sectors;
    return sectors > 0 ? (after->profile->load_sectors + after->profile->store_sectors) / sectors : 1;
}

const char *cost_warning(Arena *arena, const FormCost *before, const FormCost *after, unsigned index)
{
    const Profile *x = before->profile, *y = after->profile;
    unsigned found = 0;
    if (y->block_threads < 32 && x->block_threads >= 32 && found++ == index)
        return arena_printf(arena, "blocks of %.0f thread%s waste %.0f lane%s of each warp", y->block_threads,
                            plural((uint64_t)y->block_threads), 32 - y->block_threads,
                            plural((uint64_t)(32 - y->block_threads)));
    if (after->time.resident_warps < before->time.resident_warps && found++ == index)
        return arena_printf(arena, "%u warp%s on an SM instead of %u", after->time.resident_warps,
                            plural(after->time.resident_warps), before->time.resident_warps);
    if (cost_sectors(before, after) > threshold(THRESHOLD_SECTORS_WARNING) && found++ == index)
        return arena_printf(arena, "%.2f times the global sectors", cost_sectors(before, after));
    return NULL;
}

typedef struct Row {
    const char *name;
    double (*get)(const FormCost *cost);
    const char *format;
} Row;

static double get_instructions(const FormCost *c) { return per_thread(c, c->profile->warp_instructions * 32); }
static double get_machine(const FormCost *c)
{
    return c->profile->sm ? per_thread(c, c->profile->sm->instructions * 32) : 0;
}
static double get_executed_spills(const FormCost *c)
{
    return c->profile->sm ? per_thread(c, c->profile->sm->spills * 32) : 0;
}
static double get_registers(const FormCost *c) { return c->figures.registers; }
static double get_spills(const FormCost *c) { return (double)figures_spills(&c->figures); }
static double get_warps(const FormCost *c) { return c->time.resident_warps; }
static double get_waves(const FormCost *c) { return c->time.waves; }
static double get_load_sectors(const FormCost *c) { return per_thread(c, c->profile->load_sectors); }
static double get_store_sectors(const FormCost *c) { return per_thread(c, c->profile->store_sectors); }
static double get_dram(const FormCost *c) { return per_thread(c, c->time.dram_sectors); }
static double get_shared(const FormCost *c)
{
    const SassProfile *sm = c->profile->sm;
    return per_thread(c, (c->profile->shared_accesses + (sm ? sm->shared_spills : 0)) * 32);
}
static double get_conflicts(const FormCost *c) { return per_thread(c, c->profile->bank_conflicts * 32); }
static double get_barriers(const FormCost *c) { return per_thread(c, c->profile->pipe[PIPE_BARRIER] * 32); }
static double get_time(const FormCost *c) { return c->time.microseconds; }

static const Row rows[] = {
    {"registers", get_registers, "%.0f"},
    {"spilled bytes in the code", get_spills, "%.0f"},
    {"warps on an SM", get_warps, "%.0f"},
    {"waves of blocks", get_waves, "%.2f"},
    {"PTX instructions *", get_instructions, "%.2f"},
    {"machine instructions *", get_machine, "%.2f"},
    {"of these, spills *", get_executed_spills, "%.2f"},
    {"sectors loaded *", get_load_sectors, "%.3f"},
    {"sectors stored *", get_store_sectors, "%.3f"},
    {"sectors from or to DRAM *", get_dram, "%.3f"},
    {"shared accesses *", get_shared, "%.2f"},
    {"bank conflicts *", get_conflicts, "%.2f"},
    {"barriers *", get_barriers, "%.2f"},
    {"predicted microseconds", get_time, "%.2f"},
};

static void print_cell(const FormCost *cost, const Row *row, Buf *out)
{
    char text[40];
    snprintf(text, sizeof text, row->format, row->get(cost));
    buf_printf(out, " %12s", text);
}

static void print_binding(const FormCost *cost, Buf *out)
{
    buf_printf(out, "%s (%.2f times the next)", resource_name(cost->time.binding), cost->time.margin);
}

void cost_print_text(const CostBasis *basis, const FormCost *before, const FormCost *after, bool explains, Buf *out)
{
    buf_printf(out, "  %-26s %12s %12s\n", basis->launch ? "counted" : "estimated", before ? "before" : "",
               before ? "after" : "");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!(rows[i].get(after) > 0) && !(before && rows[i].get(before) > 0))
            continue;
        buf_printf(out, "  %-26s", rows[i].name);
        if (before)
            print_cell(before, &rows[i], out);
        print_cell(after, &rows[i], out);
        buf_putc(out, '\n');
    }
    buf_puts(out, "  limited by: ");
    if (before) {
        print_binding(before, out);
        buf_puts(out, "; after: ");
    }
    print_binding(after, out);
    buf_puts(out, "\n  * per original thread\n");
    if (explains)
        buf_puts(out, "  (a sector is 32 bytes that memory moves at once; a wave is as many blocks as all SMs hold at "
                      "once)\n");
}

static void set(json_t *object, const char *name, double value)
{
    json_object_set_new(object, name, json_real(value));
}

json_t *cost_json(const FormCost *cost)
{
    json_t *root = json_object();
    if (!cost->known) {
        json_object_set_new(root, "error", json_string(cost->error ? cost->error : "unknown"));
        return root;
    }
    const Profile *profile = cost->profile;
    json_object_set_new(root, "counted", json_boolean(profile->counted));
    json_object_set_new(root, "uneven", json_boolean(profile->uneven));
    set(root, "cycles", cost->time.cycles);
    set(root, "microseconds", cost->time.microseconds);
    json_object_set_new(root, "binding", json_string(resource_name(cost->time.binding)));
    set(root, "margin", cost->time.margin);
    set(root, "waves", cost->time.waves);
    set(root, "path_cycles", cost->time.path);
    set(root, "load_latency", cost->time.load_latency);
    set(root, "l1_hits", cost->time.l1_hits);
    json_object_set_new(root, "warps_per_sm", json_integer(cost->time.resident_warps));
    json_object_set_new(root, "blocks_per_sm", json_integer(cost->time.resident_blocks));
    json_object_set_new(root, "registers", json_integer(cost->figures.registers));
    json_t *thread = json_object(), *demand = json_object(), *pipes = json_object();
    set(thread, "instructions", get_instructions(cost));
    if (profile->sm) {
        json_t *sm = json_object();
        for (unsigned i = 0; i < PIPE_COUNT; i++)
            if (profile->sm->pipe[i] > 0)
                set(sm, pipe_name((Pipe)i), per_thread(cost, profile->sm->pipe[i] * 32));
        set(thread, "machine_instructions", get_machine(cost));
        set(thread, "machine_instructions_in_loops", per_thread(cost, profile->sm->looped * 32));
        set(thread, "executed_spills", get_executed_spills(cost));
        json_object_set_new(thread, "machine_by_pipe", sm);
    }
    set(thread, "sectors_loaded", get_load_sectors(cost));
    set(thread, "sectors_stored", get_store_sectors(cost));
    set(thread, "sectors_dram", get_dram(cost));
    set(thread, "wavefronts", per_thread(cost, 32 * (profile->load_wavefronts + profile->store_wavefronts)));
    set(thread, "shared_accesses", get_shared(cost));
    set(thread, "bank_conflicts", get_conflicts(cost));
    set(thread, "barriers", get_barriers(cost));
    json_object_set_new(root, "per_original_thread", thread);
    for (unsigned i = 0; i < PIPE_COUNT; i++)
        if (profile->pipe[i] > 0)
            set(pipes, pipe_name((Pipe)i), per_thread(cost, profile->pipe[i] * 32));
    json_object_set_new(thread, "by_pipe", pipes);
    for (unsigned i = 0; i < RESOURCE_COUNT; i++)
        if (cost->time.demand[i] > 0)
            set(demand, resource_name((Resource)i), cost->time.demand[i]);
    json_object_set_new(root, "busy_cycles", demand);
    return root;
}

void cost_print_verdict(Arena *arena, const FormCost *before, const FormCost *after, Buf *out)
{
    const char *warning;
    buf_printf(out, "  predicted: %s\n", cost_verdict(arena, before, after));
    for (unsigned i = 0; (warning = cost_warning(arena, before, after, i)) != NULL; i++)
        buf_printf(out, "  note: %s\n", warning);
}

void cost_set_verdict(Arena *arena, const FormCost *before, const FormCost *after, json_t *object)
{
    json_t *warnings = json_array();
    const char *warning;
    for (unsigned i = 0; (warning = cost_warning(arena, before, after, i)) != NULL; i++)
        json_array_append_new(warnings, json_string(warning));
    set(object, "speedup", cost_speedup(before, after));
    json_object_set_new(object, "verdict", json_string(cost_verdict(arena, before, after)));
    json_object_set_new(object, "warnings", warnings);
}
