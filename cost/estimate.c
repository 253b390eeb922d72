/* Profiles estimated without a launch: frequencies of blocks, and the shapes of accesses. */
#include "cost/estimate.h"

#include <math.h>

typedef struct Totals {
    Profile profile;
    Returns returns;
} Totals;

static void add_traffic(Profile *totals, InstProfile *profile, double in_blocks, double in_grid, double near_share,
                        bool is_hot)
{
    const double near = near_share * profile->sectors;
    if (profile->unit.is_store) {
        totals->store_lines += profile->lines;
        totals->block_store_sectors += in_blocks;
        totals->store_footprint += in_grid;
        return;
    }
    profile->fresh = fmin(in_blocks, profile->sectors);
    totals->load_lines += profile->lines;
    totals->block_load_sectors += in_blocks;
    totals->hot_load_sectors += is_hot ? in_blocks : 0;
    totals->load_footprint += in_grid;
    totals->near_loads += near;
    totals->shared_unknown += fmax(0, profile->sectors - in_blocks - near);
}

/* Textures and surfaces: neighbouring lanes are taken to access neighbouring texels of a word, and all instructions the
 * same texels. */
static void estimate_image(Estimate *estimate, const Inst *inst, InstProfile *profile, Profile *totals)
{
    enum { WARP_SECTORS = WARP_THREADS * WORD_BYTES / SECTOR_BYTES, LANES_A_CYCLE = 4 };
    bool *touched = &estimate->touches_images[profile->unit.is_store];
    const double warps = estimate_warps(estimate) * estimate->blocks * estimate->present[inst->block->id];
    const double fresh = *touched ? 0 : WARP_SECTORS * fmin(warps, profile->warps);
    *touched = true;
    profile->sectors = WARP_SECTORS * profile->warps;
    profile->lines = profile->warps;
    profile->wavefronts = profile->warps * WARP_THREADS / LANES_A_CYCLE;
    add_traffic(totals, profile, fresh, fresh, 0, false);
}

static bool accesses_image(const Inst *inst)
{
    const Category category = form_category(inst->form);
    return (category == CATEGORY_TEXTURE || category == CATEGORY_SURFACE) &&
           (inst->effects & (EFFECT_READ | EFFECT_WRITE));
}

static void estimate_inst(Estimate *estimate, const Inst *inst, InstProfile *profile, Totals *totals)
{
    const Flow *flow = &estimate->flow[inst->block->id];
    const double warps = estimate_warps(estimate) * estimate->blocks;
    const double threads = estimate->block[0] * estimate->block[1] * estimate->block[2] * estimate->blocks;
    const bool is_guarded = inst_is_guarded(inst) && !inst_is_terminator(inst);
    const Share share =
        is_guarded ? estimate_share(estimate, inst_predicate(inst), !inst->guard_inverted, inst->block) : (Share){1, 1};
    Access access;
    profile->warps = flow->warps * warps; /* a warp issues it even if none of its threads executes it */
    profile->threads = flow->threads * share.threads * threads;
    if (accesses_image(inst))
        estimate_image(estimate, inst, profile, &totals->profile);
    if ((profile->unit.pipe != PIPE_GLOBAL && profile->unit.pipe != PIPE_SHARED) || !inst_access(inst, &access) ||
        access.kind == ACCESS_OTHER || !(flow->warps > 0)) /* else what others touch later would not be new to them */
        return;
    const AccessShape shape = estimate_access(estimate, inst, &access);
    const double accessing = profile->warps * share.warps;
    if (profile->unit.pipe == PIPE_SHARED) {
        profile->bank_conflicts = accessing * shape.bank_conflicts;
        profile->wavefronts = accessing * shape.wavefronts;
        return;
    }
    profile->sectors = accessing * shape.sectors;
    profile->lines = accessing * shape.lines;
    profile->wavefronts = accessing * shape.wavefronts;
    double blocks = estimate->blocks * estimate->present[inst->block->id];
    double in_blocks = shape.distinct * share.warps * blocks;
    double in_grid = shape.distinct * share.warps * (shape.differs_by_block ? blocks * shape.new_share : 1);
    add_traffic(&totals->profile, profile, in_blocks, in_grid, shape.near_share, !shape.differs_by_block);
    if (profile->unit.is_store)
        return;
    const double far = fmin(shape.far * share.warps * blocks, profile->sectors);
    const Loop *loop = loop_of(analyses_loops(estimate->analyses), inst->block);
    totals->profile.far_unknown += far;
    if (loop)
        totals->returns.lines[loop->index] += profile->lines;
    if (shape.returns)
        returns_add(estimate->arena, &totals->returns, &shape, accessing, fmax(0, profile->sectors - in_blocks - far));
}

/* The share of the blocks that reach every place: the others exit at once. */
static double least_present(const Estimate *estimate)
{
    double least = 1;
    for (size_t b = 0; b < estimate->body->blocks.count; b++)
        if (estimate->present[b] > 0)
            least = fmin(least, estimate->present[b]);
    return least;
}

/* The instructions of a warp of an idle block, relative to the mean warp of the launch. */
static double idle_length(const Estimate *estimate, const Profile *profile, double least)
{
    double idle = 0;
    for (size_t i = 0, b = 0; b < estimate->body->blocks.count; b++)
        for (const Inst *inst = estimate->body->blocks.data[b]->first; inst; inst = inst->next, i++)
            idle += estimate->present[b] > least ? profile->instructions[i].warps : 0;
    return idle > 0 ? idle / profile->warp_instructions : 0;
}

/* Warps of a block differ in length, and if blocks have been merged, one of 'group' consecutive blocks does the work of
 * all. */
static void set_lengths(Arena *arena, const Estimate *estimate, Profile *profile)
{
    const double least = least_present(estimate);
    const size_t group = (size_t)(1 / least + 0.5), count = (size_t)estimate->blocks;
    const double longest = estimate_longest_warp(estimate);
    profile->working_blocks = estimate->blocks * least;
    if (group < 2 && longest < 1.001)
        return;
    const double idle = group < 2 ? 0 : idle_length(estimate, profile, least);
    const double works = longest * ((double)group - ((double)group - 1) * idle);
    profile->block_lengths = ARENA_ARRAY(arena, double, count + 1);
    for (size_t i = 0; i < count; i++)
        profile->block_lengths[i] = i % group ? idle : works;
}

static Profile *estimate_body(Arena *arena, Estimate *estimate)
{
    ProfileBuilder all = {.arena = arena};
    Totals gathered = {
        .returns = {.lines = ARENA_ARRAY(estimate->arena, double, analyses_loops(estimate->analyses)->loop_count + 1),
                    .places = {.arena = estimate->arena}}};
    profile_add_body(&all, estimate->body);
    estimate_frequencies(estimate);
    for (size_t i = 0; i < all.instructions.count; i++)
        estimate_inst(estimate, all.places.data[i], &all.instructions.data[i], &gathered);
    Profile *profile = profile_finish(&all), totals = gathered.profile;
    returns_set(estimate, &gathered.returns, profile);
    profile->uneven = estimate_is_uneven(estimate);
    profile->assumes_trips = estimate->assumes_trips;
    profile->load_lines = totals.load_lines;
    profile->store_lines = totals.store_lines;
    profile->block_load_sectors = totals.block_load_sectors;
    profile->hot_load_sectors = totals.hot_load_sectors;
    profile->block_store_sectors = totals.block_store_sectors;
    profile->load_footprint = totals.load_footprint;
    profile->store_footprint = totals.store_footprint;
    profile->near_loads = totals.near_loads;
    profile->shared_unknown = fmax(0, totals.shared_unknown - returns_total(profile));
    profile->far_unknown = totals.far_unknown;
    return profile;
}

Profile *profile_estimate(Arena *arena, const FunctionForm *form, const AssumedLaunch *launch,
                          const LaunchChange *change, const char **error)
{
    const LaunchChange none = {0};
    Arena *scratch = arena_new();
    Body *body = form->body ? body_clone(form->body) : body_build((Function *)form->function, error);
    if (!body) {
        *error = arena_printf(arena, "the kernel has %s", *error);
        arena_free(scratch);
        return NULL;
    }
    if (!body->ssa)
        body_to_ssa(body);
    estimate_see_through_copies(body);
    Estimate estimate = {
        .arena = scratch,
        .body = body,
        .analyses = analyses_new(body),
        .blocks = launch->blocks,
        .at_edge = launch->at_edge,
        .splits_warps = launch->splits_warps,
        .assumed_trips = launch->trips > 0 ? launch->trips : ESTIMATED_TRIPS,
        .seen = {.arena = scratch},
        .objects = {.arena = scratch},
    };
    double threads = 1, original = 1;
    change = change ? change : &none;
    for (unsigned i = 0; i < 3; i++) {
        unsigned extent = launch->block[i] ? launch->block[i] : 1;
        estimate.block[i] = (double)launch_change_block(change, i, extent);
        estimate.blocks *= change->spread[i] ? change->spread[i] : 1;
        estimate.blocks /= change->grid[i] ? change->grid[i] : 1;
        threads *= estimate.block[i];
        original *= extent;
    }
    estimate.original_threads = original;
    estimate.values = analyses_affine(estimate.analyses);
    if (launch->known.count)
        estimate.values =
            affine_compute(scratch, body, analyses_dominance(estimate.analyses), &launch->known);
    Profile *profile = estimate_body(arena, &estimate);
    profile->blocks = estimate.blocks;
    set_lengths(arena, &estimate, profile);
    profile->block_threads = threads;
    profile->original_threads = launch->blocks * original;
    analyses_free(estimate.analyses);
    body_free(body);
    arena_free(scratch);
    return profile;
}

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

void profile_take_footprint(const Profile *counted, Profile *estimate)
{
    const double threads = estimate->original_threads / counted->original_threads;
    estimate->load_footprint = fmin(threads * counted->load_footprint, estimate->block_load_sectors);
    estimate->store_footprint = fmin(threads * counted->store_footprint, estimate->block_store_sectors);
}

void profile_keep_data(const Profile *original, Profile *form)
{
    if (original->counted || form->counted)
        return;
    form->load_footprint = original->load_footprint;
    form->store_footprint = original->store_footprint;
    const bool merges_blocks = form->working_blocks < 0.99 * original->working_blocks;
    if (merges_blocks) {
        form->block_load_sectors =
            within(form->block_load_sectors, original->load_footprint, original->block_load_sectors);
        form->block_store_sectors =
            within(form->block_store_sectors, original->store_footprint, original->block_store_sectors);
    } else {
        form->block_load_sectors = original->block_load_sectors;
        form->block_store_sectors = original->block_store_sectors;
    }
    form->hot_load_sectors = fmin(form->hot_load_sectors, form->block_load_sectors);
    form->shared_unknown = fmax(0, form->load_sectors - form->block_load_sectors - form->near_loads -
                                        returns_total(form));
    form->far_unknown = fmin(form->far_unknown, form->shared_unknown);
}
