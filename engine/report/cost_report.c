#include "engine/report/cost_report.h"

/* The use of a resource, in words. */
static const char *use_text(Resource resource)
{
    switch (resource) {
    case RESOURCE_SHARED: return "the cycles of shared memory";
    case RESOURCE_L1: return "the global sectors";
    case RESOURCE_L2: return "the sectors that miss L1";
    case RESOURCE_DRAM: return "the sectors from DRAM";
    case RESOURCE_ISSUE: return "the instructions";
    case RESOURCE_LATENCY: return "the latency that is exposed";
    case RESOURCE_LAUNCH: return "the blocks to start";
    case RESOURCE_INTEGER: return "the integer instructions";
    default: return "the arithmetic";
    }
}

void cost_verdict_print(const CostVerdict *verdict, Buf *out)
{
    const double speedup = verdict->speedup;
    const char *grade = time_is_longer(speedup, 1)   ? "x faster"
                        : time_is_longer(1, speedup) ? "x"
                                                     : "x, no difference";
    buf_printf(out, "%.2f%s", speedup, grade);
    switch (verdict->cause) {
    case CAUSE_NONE: break;
    case CAUSE_WARPS:
        buf_printf(out, ": %.0f warp%s on an SM instead of %.0f", verdict->after, plural((uint64_t)verdict->after),
                   verdict->before);
        break;
    case CAUSE_CROWDING:
        buf_printf(out, ": one SM has %.3g%% of the work instead of %.3g%%", 100 * verdict->after,
                   100 * verdict->before);
        break;
    case CAUSE_RESOURCE:
        buf_printf(out, ": %.2f times %s", verdict->after / verdict->before, use_text(verdict->resource));
    }
}

void interval_print(const Interval *interval, Buf *out)
{
    buf_printf(out, "%.2fx to %.2fx", interval->low, interval->high);
}

const char *cost_comparison_text(Arena *arena, const FormCost *before, const FormCost *after)
{
    const CostVerdict verdict = cost_verdict(before, after);
    Buf words = {0};
    cost_verdict_print(&verdict, &words);
    return buf_take(arena, &words);
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

static double per_thread(const FormCost *cost, double value)
{
    return value / cost->profile->original_threads;
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
    json_object_set_new(root, "sampled_blocks", json_integer((json_int_t)profile->sampled_blocks));
    set(root, "sample_error", profile->sample_error);
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
    set(root, "updates_of_one_sector", profile->most_updates);
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
    buf_printf(out, "  predicted: %s\n", cost_comparison_text(arena, before, after));
    for (unsigned i = 0; (warning = cost_warning(arena, before, after, i)) != NULL; i++)
        buf_printf(out, "  note: %s\n", warning);
}

json_t *interval_json(const Interval *interval)
{
    json_t *object = json_object();
    set(object, "low", interval->low);
    set(object, "cautious", interval->cautious);
    set(object, "high", interval->high);
    json_object_set_new(object, "kind", json_string(change_kind_name(interval->kind)));
    return object;
}

void cost_print_interval(const FormCost *before, const FormCost *after, Buf *out)
{
    const Interval interval = cost_interval(before, after);
    buf_printf(out, "  nine in ten such changes (%s) are ", change_kind_name(interval.kind));
    interval_print(&interval, out);
    buf_putc(out, '\n');
}

void cost_set_verdict(Arena *arena, const FormCost *before, const FormCost *after, json_t *object)
{
    json_t *warnings = json_array();
    const char *warning;
    for (unsigned i = 0; (warning = cost_warning(arena, before, after, i)) != NULL; i++)
        json_array_append_new(warnings, json_string(warning));
    set(object, "speedup", cost_speedup(before, after));
    const Interval interval = cost_interval(before, after);
    json_object_set_new(object, "interval", interval_json(&interval));
    json_object_set_new(object, "verdict", json_string(cost_comparison_text(arena, before, after)));
    json_object_set_new(object, "warnings", warnings);
}
