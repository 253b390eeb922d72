/* The rows of a cubin. */
#include "sass/sass.h"
#include "stats/internal.h"

/* Occupancy, where the block size is known. */
static void set_occupancy(StatsRow *row, const SmLimits *sm, const unsigned block[3])
{
    const unsigned threads = block[0] * block[1] * block[2];
    const unsigned registers = (unsigned)row->values[STATS_REGISTERS];
    const uint64_t shared = (uint64_t)row->values[STATS_SHARED];
    if (!threads || !sm)
        return;
    const unsigned boundary = sm_boundary_below(sm, threads, shared, registers);
    row->values[STATS_BLOCK] = threads;
    row->values[STATS_WARPS] = sm_occupancy(sm, threads, registers, shared).warps;
    if (boundary)
        row->values[STATS_BOUNDARY] = boundary;
}

/* Code of architectures that are not decoded has no counts. */
static void set_counts(Arena *arena, StatsRow *row, const void *bytes, size_t size)
{
    const char *error = NULL;
    const SassCode *code = sass_code_read(arena, bytes, size, row->kernel, &error);
    if (!code)
        return;
    const SassTally tally = sass_tally(arena, code);
    row->values[STATS_LOCAL] = tally.local;
    row->values[STATS_LOOPED] = tally.looped_local;
}

static void set_resources(StatsRow *row, const Resources *resources)
{
    row->values[STATS_REGISTERS] = resources->registers;
    row->values[STATS_STACK] = (double)resources->stack;
    row->values[STATS_SHARED] = (double)resources->shared;
    row->values[STATS_INSTRUCTIONS] = (double)resources->instructions;
    row->values[STATS_CODE] = (double)resources->code_size;
    if (resources->milliseconds > 0)
        row->values[STATS_ASSEMBLY] = resources->milliseconds;
    /* Code that does not touch local memory does not spill. */
    if (resources->knows_spills)
        stats_set_spills(row, (double)resources->spill_stores, (double)resources->spill_loads);
    else if (row->values[STATS_LOCAL] == 0)
        stats_set_spills(row, 0, 0);
}

bool stats_add_cubin(Stats *stats, const StatsRequest *request, const char *file, const void *bytes, size_t size,
                     const char *log)
{
    Arena *scratch = arena_new();
    const Arch arch = sass_arch(scratch, bytes, size);
    const char *name = arena_printf(stats->arena, "%s", arch_names(arch).real);
    Assembly assembly;
    const bool is_cubin = arch.number && assembly_read(scratch, name, bytes, size, log, &assembly);
    for (size_t i = 0; is_cubin && i < assembly.resource_count; i++) {
        const Resources *resources = &assembly.resources[i];
        if (!resources->is_entry)
            continue;
        StatsRow row = stats_row_new(file, arena_strndup(stats->arena, resources->name, strlen(resources->name)), name);
        set_counts(scratch, &row, bytes, size);
        set_resources(&row, resources);
        set_occupancy(&row, sm_limits_for(name), resources->block[0] ? resources->block : request->block);
        VEC_PUSH(stats->arena, stats->rows, row);
    }
    arena_free(scratch);
    return is_cubin;
}
