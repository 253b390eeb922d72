/* Profiles counted by the emulator. */
#include "cost/internal.h"

#include <string.h>

/* Assigns the counts of one function, in 'counts' up to 'end', to its instructions in the profile, from 'first' on.
 * Both are in code order; the emulator leaves out instructions that never ran. */
static void assign_counts(ProfileBuilder *all, size_t first, const EmulatorInst *counts, const EmulatorInst *end)
{
    for (size_t i = first; i < all->instructions.count && counts < end; i++) {
        const Inst *inst = all->places.data[i];
        bool is_same = counts->inst ? counts->inst == inst
                                    : counts->span.begin == inst->span.begin && counts->span.end == inst->span.end;
        if (!is_same)
            continue;
        InstProfile *profile = &all->instructions.data[i];
        profile->warps = (double)counts->warps;
        profile->threads = (double)counts->threads;
        profile->sectors = (double)counts->sectors;
        profile->lines = (double)counts->lines;
        profile->wavefronts = (double)counts->wavefronts;
        profile->bank_conflicts = (double)counts->bank_conflicts;
        profile->fresh = (double)counts->fresh;
        counts++;
    }
}

/* Adds the function that counts[0] belongs to; returns the first count of the next one. */
static const EmulatorInst *add_function(ProfileBuilder *all, const FunctionForm *form, const EmulatorInst *counts,
                                        const EmulatorInst *end)
{
    const Function *function = counts->function;
    const EmulatorInst *next = counts;
    const char *reason;
    size_t first = all->instructions.count;
    while (next < end && next->function == function)
        next++;
    Body *own = NULL;
    const Body *body = form->function == function ? form->body : NULL;
    if (!body)
        body = own = body_build((Function *)function, &reason);
    profile_add_body(all, body);
    assign_counts(all, first, counts, next);
    body_free(own);
    return next;
}

/* The share of the loaded sectors whose loads look for them in L1. */
static double l1_share(const Profile *profile)
{
    static const char *const past_l1[] = {".cg", ".cv", ".volatile", ".relaxed", ".acquire"};
    double all = 0, past = 0;
    for (size_t i = 0; i < profile->instruction_count; i++) {
        const InstProfile *inst = &profile->instructions[i];
        bool is_past = false;
        if (inst->unit.pipe != PIPE_GLOBAL || inst->unit.is_store)
            continue;
        for (size_t k = 0; k < COUNT_OF(past_l1) && inst->spelling; k++)
            is_past |= strstr(inst->spelling, past_l1[k]) != NULL;
        all += inst->sectors;
        past += is_past ? inst->sectors : 0;
    }
    return all > 0 ? 1 - past / all : 1;
}

static bool works_are_alike(const EmulatorResult *result)
{
    for (size_t i = 0; i < result->block_count; i++)
        if (memcmp(result->blocks[i].every_fourth, result->blocks[0].every_fourth,
                   sizeof result->blocks[0].every_fourth) != 0)
            return false;
    return true;
}

/* Sets the lengths of blocks, and the work of their warps. */
static void set_blocks(Arena *arena, Profile *profile, const EmulatorResult *result)
{
    const double warps = profile->blocks * (double)divide_up((uint64_t)profile->block_threads, 32);
    double work = 0;
    for (size_t i = 0; i < result->block_count; i++)
        work += (double)result->blocks[i].all_warps;
    profile->block_lengths = ARENA_ARRAY(arena, double, result->block_count + 1);
    for (size_t i = 0; i < result->block_count; i++)
        profile->block_lengths[i] = work > 0 ? (double)result->blocks[i].longest_warp * warps / work : 1;
    if (works_are_alike(result))
        return;
    float(*shares)[WARP_PLACES] = arena_alloc(arena, result->block_count * sizeof *shares);
    for (size_t i = 0; i < result->block_count; i++)
        for (unsigned place = 0; place < WARP_PLACES; place++)
            shares[i][place] = (float)((double)result->blocks[i].every_fourth[place] / work);
    profile->place_work = shares;
}

static void set_totals(Arena *arena, Profile *profile, const EmulatorResult *result)
{
    const EmulatorCounters *counters = &result->counters;
    profile->counted = true;
    profile->sampled_blocks = (double)result->sampled_blocks;
    profile->sample_error = result->sample_error;
    profile->branches = (double)counters->branches;
    profile->divergent_branches = (double)counters->divergent_branches;
    profile->block_load_sectors = (double)counters->block_load_sectors;
    profile->block_store_sectors = (double)counters->block_store_sectors;
    profile->hot_load_sectors = l1_share(profile) * (double)counters->hot_load_sectors;
    profile->load_footprint = (double)counters->load_footprint;
    profile->store_footprint = (double)counters->store_footprint;
    profile->unread_footprint = (double)counters->unread_footprint;
    profile->stored = (double)counters->stored;
    profile->shared_words = (double)counters->shared_words;
    profile->word_passes = (double)counters->word_passes;
    profile->joined_passes = (double)counters->joined_passes;
    for (unsigned i = 0; i < REUSE_DISTANCES; i++) {
        profile->own_reuse[i] = (double)counters->own_reuse[i];
        profile->shared_reuse[i] = (double)counters->shared_reuse[i];
        profile->own_rewrites[i] = (double)counters->own_rewrites[i];
    }
    profile->load_lines = (double)counters->load_lines;
    profile->store_lines = (double)counters->store_lines;
    profile->load_sectors = (double)counters->load_sectors;
    profile->most_updates = (double)counters->most_updates;
    profile->store_sectors = (double)counters->store_sectors;
    set_blocks(arena, profile, result);
}

static double product(const unsigned values[3])
{
    double all = 1;
    for (unsigned i = 0; i < 3; i++)
        all *= values[i] ? values[i] : 1;
    return all;
}

Profile *profile_of_run(Arena *arena, const FunctionForm *form, const Launch *launch, double original_threads,
                        const EmulatorResult *result)
{
    ProfileBuilder all = {.arena = arena};
    const EmulatorInst *counts = result->instructions, *end = counts + result->instruction_count;
    while (counts < end)
        counts = add_function(&all, form, counts, end);
    Profile *profile = profile_finish(&all);
    profile->blocks = profile->working_blocks = product(launch->grid);
    profile->block_threads = product(launch->block);
    profile->original_threads = original_threads;
    set_totals(arena, profile, result);
    return profile;
}

/* The blocks along x of a changed grid that a sample's boxes have: those with the work of some original ones. */
static unsigned sample_box(const Launch *launch, const Launch *changed)
{
    enum { ORIGINAL_BLOCKS = 16 };
    const unsigned grid = launch->grid[0] ? launch->grid[0] : 1;
    const unsigned blocks = (unsigned)((uint64_t)ORIGINAL_BLOCKS * changed->grid[0] / grid);
    return blocks > 1 ? blocks : 1;
}

Profile *profile_count(Arena *arena, const FunctionForm *form, const Launch *launch, const LaunchChange *change,
                       const CountOptions *count, const char **error)
{
    Body *own = NULL;
    FunctionForm whole = *form;
    if (!whole.body && !(whole.body = own = body_build((Function *)form->function, error))) {
        *error = arena_printf(arena, "the kernel has %s", *error);
        return NULL;
    }
    Arena *scratch = arena_new();
    const Module *module = form->function->module;
    Launch *changed = launch_changed(scratch, launch, change);
    const EmulatorOptions options = {
        .count_memory = true,
        .count_reuse = true,
        .count_blocks = true,
        .count_instructions = true,
        .drops_buffers = true,
        .jobs = count->jobs,
        .poll = count->poll,
        .sample_box = count->samples ? sample_box(launch, changed) : 0,
        .sample_cell = {change ? change->merged[0] : 1, change ? change->merged[1] : 1, change ? change->merged[2] : 1},
        .forms = &whole,
        .form_count = 1,
    };
    Profile *profile = NULL;
    EmulatorResult *result = emulator_run(scratch, module, changed, &options);
    if (result->fault.kind != FAULT_NONE) {
        *error = fault_text(arena, module, &result->fault);
    } else {
        profile = profile_of_run(arena, &whole, changed, product(launch->grid) * product(launch->block), result);
        profile->working_blocks /= change ? product(change->merged) : 1;
    }
    arena_free(scratch);
    body_free(own);
    return profile;
}
