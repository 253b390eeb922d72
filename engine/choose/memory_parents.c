/* The coarsening that -memory auto tries tiles with. */
#include <stdlib.h>
#include <string.h>

#include "engine/choose/memory_search.h"

enum { MOST_FASTEST = 6, MOST_PARENTS = 16 /* that stage anything */, MOST_MADE = 48, WARP = 32,
       EXCHANGE_WORK = 32 /* instructions, about */ };

bool memory_is_over(const MemorySearch *search)
{
    const Judge *judge = search->options->judge;
    return judge->is_over && judge->is_over(judge->context);
}

void memory_form_make(const MemorySearch *search, const KernelRequest *request, KernelResult *result)
{
    KernelRequest own = *request;
    own.reduce = false;
    pipeline_run(search->arena, search->kernel, &own, &search->quiet, result);
}

bool memory_requests_match(const KernelRequest *a, const KernelRequest *b)
{
    const CoarsenRequest *x = &a->coarsening, *y = &b->coarsening;
    return a->coarsen == b->coarsen && a->refining.threads == b->refining.threads &&
           a->refining.is_apart == b->refining.is_apart &&
           (!a->coarsen || (memcmp(&x->shape, &y->shape, sizeof x->shape) == 0 && x->stride.kind == y->stride.kind &&
                            x->guards == y->guards && x->shrinks_grid == y->shrinks_grid));
}

static double staged_work(const KernelResult *result)
{
    double work = 0;
    for (size_t i = 0; i < result->staged.loops.count; i++)
        if (result->staged.loops.data[i].done)
            work += result->staged.loops.data[i].work;
    if (result->staged.exchange.done)
        work += EXCHANGE_WORK;
    const bool is_coarse = result->coarsening == OUTCOME_DONE;
    return is_coarse ? work / shape_replicas(&result->contract.shape) : work;
}

static bool has_nest(const KernelResult *result)
{
    for (size_t i = 0; i < result->staged.loops.count; i++)
        if (result->staged.loops.data[i].is_nest)
            return true;
    return false;
}

static bool is_narrow(const BlockSize *block)
{
    return block_size_total(block) && block_size_total(block) < WARP;
}

/* The same with vectors first, or without them. */
static void weigh_parent(MemorySearch *search, Parent *parent, bool vectors_first)
{
    KernelRequest staged = parent->request;
    KernelResult result;
    staged.staging = (StageRequest){.wanted = true, .before_vectors = parent->before_vectors};
    staged.vectors = staged.vectors_first = vectors_first;
    memory_form_make(search, &staged, &result);
    const bool is_usable = !staged.coarsen || (result.coarsening == OUTCOME_DONE && !is_narrow(&result.block_after));
    parent->vectors_first = vectors_first;
    parent->is_nest = has_nest(&result);
    search->is_flat |= result.staged.unflattened.done;
    parent->work = is_usable ? staged_work(&result) : 0;
    if (parent == search->parents.data)
        search->refused = result.staged;
    kernel_discard(&result);
}

void memory_parent_weigh(MemorySearch *search, Parent *parent, bool vectors_pay)
{
    if (vectors_pay)
        weigh_parent(search, parent, true);
    if (!vectors_pay || !(parent->work > 0))
        weigh_parent(search, parent, false);
}

/* Neighbouring blocks are merged along both sides of a tile. */
static bool is_square(const KernelRequest *request)
{
    const CoarsenRequest *coarsening = &request->coarsening;
    return request->coarsen && coarsening->stride.kind == STRIDE_UNIT && coarsening->shape.blocks[0] > 1 &&
           coarsening->shape.blocks[1] > 1;
}

/* Whether the coarsening has been added before the last 'others' parents, as loops are staged then. */
static bool is_known(const MemorySearch *search, const Parent *parent, size_t others)
{
    for (size_t i = 0; i + others < search->parents.count; i++)
        if (memory_requests_match(&search->parents.data[i].request, &parent->request) &&
            search->parents.data[i].before_vectors == parent->before_vectors &&
            search->parents.data[i].vectors_first == parent->vectors_first)
            return true;
    return false;
}

/* Adds the coarsening, with the work that remains if loops are staged, after vectors or without them. */
static void parent_add_with(MemorySearch *search, const KernelRequest *request, bool before_vectors, bool vectors)
{
    const Parent wanted = {.request = *request, .before_vectors = before_vectors, .vectors_first = vectors};
    if (is_known(search, &wanted, 0))
        return;
    VEC_PUSH(search->arena, search->parents, ((Parent){.request = *request, .before_vectors = before_vectors,
                                                       .crosses_edges = search->has_diagonal && is_square(request)}));
    memory_parent_weigh(search, &VEC_LAST(search->parents), vectors);
    if (is_known(search, &VEC_LAST(search->parents), 1)) /* no loop is staged after vectors */
        search->parents.count--;
}

static void parent_add(MemorySearch *search, const KernelRequest *request, bool before_vectors)
{
    parent_add_with(search, request, before_vectors, search->vectors_pay);
}

static bool is_launchable(const CoarsenTrial *trial)
{
    const TrialState state = trial->verdict.state;
    return trial->sound && state != TRIAL_UNMET && state != TRIAL_DEMANDING && state != TRIAL_BROKEN;
}

static bool is_spilling(const CoarsenTrial *trial)
{
    return trial->verdict.state == TRIAL_SPILLS || trial->verdict.state == TRIAL_PART_SPILLS;
}

/* Loops in sequential copies are not merged, and a tile is as large of whichever blocks it is. */
static bool is_hopeless(const CoarsenTrial *trial)
{
    return (shape_is_of_blocks(&trial->shape) && trial->stride.kind != STRIDE_BLOCK) ||
           trial->guards == GUARDS_SEQUENTIAL;
}

static int compare_speeds(const void *a, const void *b)
{
    const CoarsenTrial *x = *(const CoarsenTrial *const *)a, *y = *(const CoarsenTrial *const *)b;
    if (x->is_confirmed != y->is_confirmed)
        return x->is_confirmed ? -1 : 1;
    const double speed_x = x->is_compared ? x->speedup : 0, speed_y = y->is_compared ? y->speedup : 0;
    if (speed_x != speed_y)
        return speed_x > speed_y ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The most threads and blocks merged along one axis. */
static unsigned longest_side(const Shape *shape)
{
    unsigned most = 1;
    for (unsigned k = 0; k < 3; k++)
        if (shape->threads[k] * shape->blocks[k] > most)
            most = shape->threads[k] * shape->blocks[k];
    return most;
}

/* Those that merge the most first, and of these the squarest: a tile is shared along both sides. */
static int compare_shapes(const void *a, const void *b)
{
    const CoarsenTrial *x = *(const CoarsenTrial *const *)a, *y = *(const CoarsenTrial *const *)b;
    const unsigned merged_x = shape_replicas(&x->shape), merged_y = shape_replicas(&y->shape);
    const unsigned side_x = longest_side(&x->shape), side_y = longest_side(&y->shape);
    if (merged_x != merged_y)
        return merged_x > merged_y ? -1 : 1;
    if (side_x != side_y)
        return side_x < side_y ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The request of the first parent, with the trial's coarsening in the place of its own. */
static KernelRequest factor_request(const MemorySearch *search, const CoarsenTrial *trial)
{
    KernelRequest request = search->parents.data[0].request;
    request.refused = (Refusal){.reason = REFUSAL_NONE};
    trial_ask(trial, &request);
    return request;
}

static void parent_add_factor(MemorySearch *search, const CoarsenTrial *trial)
{
    const KernelRequest request = factor_request(search, trial);
    parent_add(search, &request, false);
    if (trial->shape.threads[0] > 1 && trial->stride.kind == STRIDE_UNIT)
        parent_add(search, &request, true);
}

/* Adds a coarsening: neighbours along x, and blocks along x and y. With both, what vectors give shows only in tiles, or
 * dot products of bytes, and they may also be in the way of tiles. */
static void add_shape(MemorySearch *search, unsigned neighbours, unsigned across, unsigned blocks, bool before_vectors)
{
    const CoarsenTrial trial = {.shape = {.threads = {neighbours, 1, 1}, .blocks = {across, blocks, 1}},
                                .stride = {.kind = STRIDE_UNIT},
                                .guards = GUARDS_AUTO,
                                .shrinks_grid = across * blocks > 1 && search->scope->shrinks_grid};
    const KernelRequest request = factor_request(search, &trial);
    if (request.block[0] % neighbours || memory_is_over(search))
        return;
    parent_add(search, &request, before_vectors);
    if (neighbours > 1 && blocks > 1)
        parent_add_with(search, &request, before_vectors, !search->vectors_pay);
}

/* Threads of a nest read overlapping lines, so more neighbours in one thread always share more. In a grid with rows of
 * blocks, or if vectors pay, four neighbours read one of each row of a tile, which merged rows share. Blocks of a
 * flattened grid become squares of tiles, and neighbouring blocks squares that a diagonal crosses or not. Without tiles
 * such forms may be so slow that -coarsen auto does not get to them. */
static void add_other_shapes(MemorySearch *search)
{
    enum { NEIGHBOURS = 4, ROWS = 4, SQUARE = 16, SIDE = 4 };
    const unsigned *grid = search->bases.of[0].basis.launch->grid;
    bool is_nest = false;
    for (size_t i = 0; i < search->parents.count; i++)
        is_nest |= search->parents.data[i].is_nest;
    for (unsigned neighbours = 4; is_nest && neighbours <= 8; neighbours *= 2)
        add_shape(search, neighbours, 1, 1, true);
    if (search->vectors_pay || grid[1] >= ROWS)
        add_shape(search, NEIGHBOURS, 1, ROWS, false);
    for (unsigned blocks = SQUARE; search->is_flat && blocks > 1; blocks /= 4)
        if (grid[0] % blocks == 0)
            add_shape(search, 1, blocks, 1, false);
    for (unsigned side = SIDE; search->has_diagonal && side > 1; side /= 2)
        if (grid[0] % side == 0 && grid[1] % side == 0)
            add_shape(search, 1, side, side, false);
}

/* Those with the least work in staged loops first, those without such loops last. */
static int compare_parents(const void *a, const void *b)
{
    const Parent *x = a, *y = b;
    if (!(x->work > 0) != !(y->work > 0))
        return x->work > 0 ? -1 : 1;
    return (x->work > y->work) - (x->work < y->work);
}

void memory_find_own(MemorySearch *search, const FactorChoice *factors)
{
    KernelRequest plain = *search->request;
    plain.staging = (StageRequest){0};
    plain.edges = plain.counters = plain.vectors = false;
    parent_add(search, &plain, false);
    if (!factors || !search->bases.of[0].basis.launch)
        return;
    plain.coarsen = false;
    plain.refused = (Refusal){.reason = REFUSAL_NONE};
    parent_add(search, &plain, false);
}

/* The parents from 'begin' on that stage anything. */
static unsigned count_staging(const MemorySearch *search, size_t begin)
{
    unsigned count = 0;
    for (size_t i = begin; i < search->parents.count; i++)
        count += search->parents.data[i].work > 0;
    return count;
}

/* The forms that loops may be staged in, the fastest first; those that spill, or the others. */
static const CoarsenTrial **list_trials(Arena *arena, const FactorChoice *factors, bool spill, unsigned *count)
{
    const CoarsenTrial **trials = ARENA_ARRAY(arena, const CoarsenTrial *, factors->trial_count + 1);
    *count = 0;
    for (unsigned i = 0; i < factors->trial_count; i++)
        if (is_launchable(&factors->trials[i]) && !is_hopeless(&factors->trials[i]) &&
            is_spilling(&factors->trials[i]) == spill)
            trials[(*count)++] = &factors->trials[i];
    qsort(trials, *count, sizeof *trials, compare_speeds);
    return trials;
}

unsigned memory_fastest(const MemorySearch *search, const FactorChoice *factors, unsigned most, KernelRequest *fastest)
{
    unsigned count, found = 0;
    if (!factors || !search->bases.of[0].basis.launch)
        return 0;
    const CoarsenTrial **trials = list_trials(search->arena, factors, false, &count);
    for (unsigned i = 0; i < count && found < most && trials[i]->is_confirmed; i++) {
        fastest[found] = factor_request(search, trials[i]);
        found += !memory_requests_match(&fastest[found], &search->parents.data[0].request);
    }
    return found;
}

static void add_factors(MemorySearch *search, const FactorChoice *factors, size_t own, bool fastest_only, bool spill)
{
    unsigned count;
    const CoarsenTrial **trials = list_trials(search->arena, factors, spill, &count);
    const unsigned fastest = count < MOST_FASTEST ? count : MOST_FASTEST;
    qsort(trials + fastest, count - fastest, sizeof *trials, compare_shapes);
    const unsigned wanted = fastest_only ? fastest : count;
    for (unsigned i = 0; i < wanted && search->parents.count < own + MOST_MADE &&
                         count_staging(search, own) < MOST_PARENTS && !memory_is_over(search); i++)
        parent_add_factor(search, trials[i]);
}

/* Forms that spill may not do so with tiles, whose addresses take fewer registers. They are the last resort. */
void memory_find_parents(MemorySearch *search, const FactorChoice *factors, size_t own, bool fastest_only)
{
    if (!factors || !search->bases.of[0].basis.launch)
        return;
    add_factors(search, factors, own, fastest_only, false);
    add_other_shapes(search);
    if (!count_staging(search, own))
        add_factors(search, factors, own, fastest_only, true);
    qsort(search->parents.data + own, search->parents.count - own, sizeof *search->parents.data, compare_parents);
}
