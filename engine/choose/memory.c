/* -memory auto: see memory.h. */
#include "engine/choose/memory.h"

#include <string.h>

#include "engine/choose/memory_search.h"
#include "engine/progress.h"
#include "engine/report/trial_words.h"

enum {
    WARP = 32,
    MOST_FIRST = 2, /* of the fastest forms, before others are made */
    MOST_STAGED = 8,
    MOST_WIDENED = 3,
};

/* Bytes of a row in a tile that are tried beside STAGE_DEPTH. */
static const unsigned depths[] = {STAGE_DEPTH_MOST, 64, STAGE_DEPTH_LEAST};

/* The parent's loops staged. */
static MemoryTrial staged_trial(const MemorySearch *search, const Parent *parent)
{
    return (MemoryTrial){.coarsens = parent->request.coarsen,
                         .coarsening = parent->request.coarsening,
                         .edges = search->edges_pay || parent->crosses_edges,
                         .stages = true,
                         .vectors = parent->vectors_first,
                         .vectors_first = parent->vectors_first,
                         .unrolls = parent->is_nest,
                         .before_vectors = parent->before_vectors};
}

/* Adds a trial and weighs it, unless the time is over. */
static const MemoryTrial *trial_add(MemorySearch *search, const MemoryTrial *wanted)
{
    VEC_PUSH(search->arena, search->trials, *wanted);
    MemoryTrial *trial = &search->trials.data[search->trials.count - 1];
    trial->speedup = 0;
    trial->verdict = (TrialVerdict){.state = TRIAL_NOT_REACHED};
    progress_form(search->context->progress, memory_trial_text(search->arena, wanted));
    progress_step(search->context->progress, (unsigned)search->trials.count, 0);
    if (!memory_is_over(search))
        memory_trial_weigh(search, trial);
    return trial;
}

static bool is_tried(const MemorySearch *search, const MemoryTrial *wanted)
{
    const KernelRequest request = memory_trial_request(search, wanted);
    bool is_known = false;
    for (size_t i = 0; i < search->trials.count; i++) {
        const MemoryTrial *trial = &search->trials.data[i];
        const KernelRequest other = memory_trial_request(search, trial);
        is_known |= trial->stages && trial->edges == wanted->edges && trial->depth == wanted->depth &&
                    trial->vectors == wanted->vectors && trial->vectors_first == wanted->vectors_first &&
                    memory_requests_match(&other, &request) && trial->before_vectors == wanted->before_vectors &&
                    trial->holds_rows == wanted->holds_rows;
    }
    return is_known;
}

/* Tries the best staged form with other depths: deeper tiles first, and shallow ones as long as that helps. */
static void deepen(MemorySearch *search)
{
    const MemoryTrial *best = memory_best_trial(search, TRIALS_STAGED);
    if (!best || best->only_exchanges || best->holds_rows)
        return;
    MemoryTrial wanted = *best;
    double last = best->speedup;
    for (unsigned d = 0; d < COUNT_OF(depths); d++) {
        wanted.depth = depths[d];
        if (is_tried(search, &wanted))
            continue;
        const double speedup = trial_add(search, &wanted)->speedup;
        if (depths[d] < STAGE_DEPTH && !time_is_longer(speedup, last))
            break;
        last = speedup;
    }
}

/* Tries the first parents from 'begin' on that have not been tried. */
static void try_staged(MemorySearch *search, size_t begin, unsigned most)
{
    for (size_t i = begin; most && i < search->parents.count; i++) {
        Parent *parent = &search->parents.data[i];
        if (parent->is_tried || !(parent->work > 0))
            continue;
        parent->is_tried = true;
        const MemoryTrial wanted = staged_trial(search, parent);
        trial_add(search, &wanted);
        most--;
    }
}

/* Tries the best staged form (or the first, if all are rejected: perhaps for their edges) with threads beyond the edge
 * going along, or without; further ones are made as is faster. False if the kernel has no such edge. */
static bool try_edges(MemorySearch *search)
{
    const MemoryTrial *best = memory_best_trial(search, TRIALS_STAGED);
    if (!best && !(search->parents.data[0].work > 0))
        return false;
    MemoryTrial wanted = best ? *best : staged_trial(search, &search->parents.data[0]);
    const double last = best ? best->speedup : 0;
    wanted.edges = !wanted.edges;
    const MemoryTrial *trial = trial_add(search, &wanted);
    search->edges_pay = time_is_longer(trial->speedup, last) == wanted.edges;
    return trial->verdict.state != TRIAL_UNCHANGED;
}

/* Merged threads alone gain by it, too. */
static void try_merged_edges(MemorySearch *search)
{
    const KernelRequest *own = &search->parents.data[0].request;
    const MemoryTrial wanted = {.coarsens = own->coarsen, .coarsening = own->coarsening, .edges = true};
    if (own->coarsen)
        trial_add(search, &wanted);
}

/* Whether forms with larger blocks, and so a smaller grid, may be tried. */
static bool may_grow(const MemorySearch *search)
{
    return search->scope->factors && search->scope->shrinks_grid;
}

/* The form, so that its shape can say how blocks grow. */
static MemoryTrial growing_trial(const MemoryTrial *form)
{
    MemoryTrial growing = *form;
    if (!growing.coarsens)
        growing.coarsening = (CoarsenRequest){.guards = GUARDS_AUTO};
    growing.coarsens = growing.coarsening.shrinks_grid = true;
    growing.coarsening.shape = shape_complete(&growing.coarsening.shape);
    return growing;
}

/* Tries the form with blocks that have grown along x, so that a warp is in one row: its loads then meet in fewer lines,
 * and neither tiles nor merged threads change that where blocks are as narrow. */
static void try_widened(MemorySearch *search, const MemoryTrial *form)
{
    const unsigned width = search->bases.of[0].basis.block[0];
    MemoryTrial wanted = growing_trial(form);
    unsigned *grown = wanted.coarsening.shape.grown;
    if (!may_grow(search) || !search->bases.of[0].basis.launch || width >= WARP || WARP % width || grown[0] > 1 ||
        wanted.refining.threads)
        return;
    grown[0] = WARP / width;
    trial_add(search, &wanted);
}

/* Tries that for the form that was chosen, and for others that are about as fast: which of them gains most by it is not
 * known before. */
static void widen_fastest(MemorySearch *search, const FactorChoice *factors)
{
    KernelRequest widened[MOST_WIDENED];
    widened[0] = search->parents.data[0].request;
    const unsigned others = memory_fastest(search, factors, MOST_WIDENED - 1, widened + 1);
    for (unsigned i = 0; i <= others; i++)
        try_widened(search, &(MemoryTrial){.coarsens = widened[i].coarsen, .coarsening = widened[i].coarsening});
}

/* The speedup of the parent's coarsening alone, the kernel's own or none, over the kernel's own. */
static double parent_speedup(const MemorySearch *search, const Parent *parent)
{
    const FactorChoice *factors = search->scope->factors;
    const bool is_plain = parent->request.coarsen != search->parents.data[0].request.coarsen;
    return is_plain && factors && factors->speedup > 0 ? 1 / factors->speedup : 1;
}

/* Tries four neighbours in each thread, whose accesses become vectors, with blocks merged along an axis, more of them
 * as long as that helps: a product whose loops have no tiles needs both. One alone may be slow, and -coarsen auto goes
 * on with the fastest of either kind. */
static void try_neighbours(MemorySearch *search)
{
    enum { NEIGHBOURS = 4, FIRST_BLOCKS = 4, MOST_MERGED = 32 };
    const CostBasis *basis = &search->bases.of[0].basis;
    if (!search->scope->factors || !basis->launch || basis->block[0] % NEIGHBOURS)
        return;
    for (unsigned axis = 0; axis < 2; axis++) {
        MemoryTrial wanted = {.coarsens = true,
                              .coarsening = {.shape.threads = {NEIGHBOURS, 1, 1},
                                             .stride.kind = STRIDE_UNIT,
                                             .guards = GUARDS_AUTO,
                                             .shrinks_grid = search->scope->shrinks_grid}};
        double last = 0;
        for (unsigned blocks = FIRST_BLOCKS;
             NEIGHBOURS * blocks <= MOST_MERGED && basis->launch->grid[axis] % blocks == 0; blocks *= 2) {
            wanted.coarsening.shape.blocks[axis] = blocks;
            wanted.coarsening.shape = shape_complete(&wanted.coarsening.shape);
            const double speedup = trial_add(search, &wanted)->speedup;
            if (!time_is_longer(speedup, last))
                break;
            last = speedup;
        }
    }
}

/* Loops are staged after them in those of the first parents that they make faster, and in other parents if they make
 * the kernel so. */
static void try_vectors(MemorySearch *search, size_t end)
{
    bool pay[2] = {false, false};
    require(end <= COUNT_OF(pay));
    for (size_t i = 0; i < end; i++) {
        const Parent *parent = &search->parents.data[i];
        const MemoryTrial wanted = {
            .coarsens = parent->request.coarsen, .coarsening = parent->request.coarsening, .vectors = true};
        const double speedup = trial_add(search, &wanted)->speedup;
        pay[i] = time_is_longer(speedup, parent_speedup(search, parent));
        search->vectors_pay |= time_is_longer(speedup, 1);
    }
    for (size_t i = 0; i < end; i++)
        if (pay[i] || search->vectors_pay)
            memory_parent_weigh(search, &search->parents.data[i], true);
}

/* Tries rows that stay in shared memory, without coarsening if that is allowed: with vectors before, and without them
 * if there are such rows. Nothing is said of kernels that have none. */
static void try_held_rows(MemorySearch *search, size_t end)
{
    const Parent *parent = &search->parents.data[0];
    for (size_t i = 1; i < end; i++)
        if (!search->parents.data[i].request.coarsen)
            parent = &search->parents.data[i];
    MemoryTrial wanted = {.coarsens = parent->request.coarsen,
                          .coarsening = parent->request.coarsening,
                          .stages = true,
                          .holds_rows = true,
                          .vectors = true,
                          .vectors_first = true};
    if (trial_add(search, &wanted)->verdict.state == TRIAL_UNCHANGED) {
        search->trials.count--;
        return;
    }
    wanted.vectors = wanted.vectors_first = false;
    trial_add(search, &wanted);
}

/* Tries private counters with the coarsening of some parents; false if none has anything to count. */
static bool try_counters(MemorySearch *search, size_t begin, size_t end)
{
    bool counts = false;
    for (size_t i = begin; i < end && i < search->parents.count; i++) {
        const KernelRequest *request = &search->parents.data[i].request;
        const MemoryTrial wanted = {.coarsens = request->coarsen, .coarsening = request->coarsening, .counts = true};
        if (search->parents.data[i].before_vectors)
            continue;
        if (trial_add(search, &wanted)->verdict.state != TRIAL_UNCHANGED)
            counts = true;
    }
    return counts;
}

/* The fastest form that has private counters, if others like it may be tried with a smaller grid; NULL: there is
 * none. */
static const MemoryTrial *counted_to_enlarge(const MemorySearch *search)
{
    const MemoryTrial *best = memory_best_trial(search, TRIALS_COUNTED);
    return best && !best->refining.threads && may_grow(search) && search->bases.of[0].basis.launch ? best : NULL;
}

/* Tries the fastest form that has private counters with more blocks merged along the axis, as long as that helps: each
 * block clears all of its counters and adds them to memory, so few blocks that count much are better. Without counters
 * such forms may be so slow that -coarsen auto does not get to them. */
static void merge_counted(MemorySearch *search, unsigned axis)
{
    enum { MOST_MERGED = 64 };
    const MemoryTrial *best = counted_to_enlarge(search);
    if (!best || search->bases.of[0].basis.launch->grid[axis] < 2)
        return;
    MemoryTrial wanted = growing_trial(best);
    double last = wanted.speedup;
    for (bool helps = true; helps && 2 * shape_replicas(&wanted.coarsening.shape) <= MOST_MERGED;) {
        wanted.coarsening.shape.blocks[axis] *= 2;
        const double speedup = trial_add(search, &wanted)->speedup;
        helps = time_is_longer(speedup, last);
        last = speedup;
    }
}

/* The axis along which the most blocks are merged. */
static unsigned most_merged(const Shape *shape)
{
    unsigned most = 0;
    for (unsigned k = 1; k < 3; k++)
        most = shape->blocks[k] > shape->blocks[most] ? k : most;
    return most;
}

/* The same with larger blocks, which need no more registers; if one needs too many for that, with fewer merged ones. */
static void grow_counted(MemorySearch *search)
{
    enum { MOST_THREADS = 1024 };
    const MemoryTrial *best = counted_to_enlarge(search);
    if (!best)
        return;
    MemoryTrial wanted = growing_trial(best);
    Shape *shape = &wanted.coarsening.shape;
    const unsigned *block = search->bases.of[0].basis.block, threads = block[0] * block[1] * block[2];
    double last = wanted.speedup;
    for (bool helps = true; helps && 2 * threads * shape->grown[0] <= MOST_THREADS;) {
        shape->grown[0] *= 2;
        const MemoryTrial *trial = trial_add(search, &wanted);
        if (trial->verdict.state != TRIAL_COMPARED && shape->blocks[most_merged(shape)] > 1) {
            shape->blocks[most_merged(shape)] /= 2;
            trial = trial_add(search, &wanted);
        }
        helps = time_is_longer(trial->speedup, last);
        last = trial->speedup;
    }
}

/* Tries the fastest form that has private counters with blocks merged in the place of threads: its blocks keep as many
 * threads, which clear the counters together. */
static void merge_counting_blocks(MemorySearch *search)
{
    const MemoryTrial *best = counted_to_enlarge(search);
    if (!best)
        return;
    MemoryTrial wanted = growing_trial(best);
    Shape *shape = &wanted.coarsening.shape;
    for (unsigned k = 0; k < 3; k++) {
        shape->blocks[k] *= shape->threads[k];
        shape->threads[k] = 1;
    }
    trial_add(search, &wanted);
}

/* Tries the best form, if it has private counters, with vectors. */
static void join_counted(MemorySearch *search)
{
    const MemoryTrial *best = memory_best_trial(search, TRIALS_ALL);
    if (!best || !best->counts || best->vectors)
        return;
    MemoryTrial wanted = *best;
    wanted.vectors = true;
    trial_add(search, &wanted);
}

/* Tries the form; if it spills, also without accesses joined before they are staged, whose vectors need registers that
 * are next to one another. *wanted is the one that came last. */
static double try_fitting(MemorySearch *search, MemoryTrial *wanted)
{
    const MemoryTrial *trial = trial_add(search, wanted);
    if (trial->verdict.state != TRIAL_SPILLS || wanted->before_vectors)
        return trial->speedup;
    wanted->before_vectors = true;
    return trial_add(search, wanted)->speedup;
}

/* Tries the best staged form with a factor of its shape doubled, as long as that helps: of the blocks that are merged
 * along the axis, or of those that become a larger one. */
static void try_doubled(MemorySearch *search, bool merged, unsigned axis)
{
    enum { MOST_MERGED = 32 };
    MemoryTrial wanted = growing_trial(memory_best_trial(search, TRIALS_STAGED));
    Shape *shape = &wanted.coarsening.shape;
    unsigned *factor = merged ? &shape->blocks[axis] : &shape->grown[axis];
    double last = wanted.speedup;
    for (bool helps = !merged || *factor > 1; helps && (!merged || 2 * shape_replicas(shape) <= MOST_MERGED);) {
        *factor *= 2;
        const double speedup = try_fitting(search, &wanted);
        helps = time_is_longer(speedup, last);
        last = speedup;
    }
}

/* Larger blocks, because a tile then serves the threads of all of them; more work for each thread, because it reads a
 * tile's element once for all of its results. */
static void try_larger(MemorySearch *search)
{
    for (unsigned axis = 0; axis < 2; axis++)
        try_doubled(search, true, 1 - axis);
    for (unsigned axis = 0; axis < 2; axis++)
        try_doubled(search, false, axis);
}

/* Tries the best staged form with tiles that asynchronous copies fill: with more buffers as long as that helps. */
static void try_async(MemorySearch *search)
{
    MemoryTrial wanted = *memory_best_trial(search, TRIALS_STAGED);
    double last = wanted.speedup;
    wanted.prefetches = false;
    for (wanted.buffers = 2; wanted.buffers <= STAGE_BUFFERS; wanted.buffers++) {
        const double speedup = trial_add(search, &wanted)->speedup;
        if (!time_is_longer(speedup, last))
            break;
        last = speedup;
    }
}

/* Tries the best staged form with more for a tile to serve, the best of these with rounds unrolled, or not, with the
 * next tiles loaded ahead, in both ways, and with vectors, or without those that were made first. */
static void improve_staged(MemorySearch *search)
{
    const MemoryTrial *best = memory_best_trial(search, TRIALS_STAGED);
    if (!best || best->only_exchanges || best->holds_rows)
        return;
    if (may_grow(search))
        try_larger(search);
    MemoryTrial wanted = *memory_best_trial(search, TRIALS_STAGED);
    wanted.unrolls = !wanted.unrolls;
    trial_add(search, &wanted);
    wanted = *memory_best_trial(search, TRIALS_STAGED);
    wanted.prefetches = true;
    trial_add(search, &wanted);
    try_async(search);
    wanted = *memory_best_trial(search, TRIALS_STAGED);
    wanted.vectors = !wanted.vectors;
    wanted.vectors_first = false;
    trial_add(search, &wanted);
}

/* Tries a number of threads in the place of one: with vectors, if any are to be made and the form has some that do not
 * make it spill. */
static const MemoryTrial *try_divided(MemorySearch *search, unsigned threads, bool is_apart)
{
    const RefineRequest refining = {
        .threads = threads, .is_apart = is_apart, .reassociates = search->scope->reassociates};
    MemoryTrial wanted = {.refining = refining, .vectors = search->scope->loads};
    const MemoryTrial *trial = trial_add(search, &wanted);
    if (!wanted.vectors || (trial->verdict.state != TRIAL_UNCHANGED && trial->verdict.state != TRIAL_SPILLS))
        return trial;
    wanted.vectors = false;
    return trial_add(search, &wanted);
}

/* Tries more than these threads in the place of one, or fewer, as long as that helps; true if it did. */
static bool try_numbers(MemorySearch *search, unsigned threads, double speedup, bool is_apart, bool grows)
{
    const unsigned most = is_apart ? REFINE_MOST / 2 : REFINE_MOST; /* all threads of a warp are next to each other */
    bool helps = false, goes_on = true;
    while (goes_on && (grows ? threads < most : threads > 2)) {
        threads = grows ? threads * 2 : threads / 2;
        const double next = try_divided(search, threads, is_apart)->speedup;
        goes_on = time_is_longer(next, speedup);
        helps |= goes_on;
        speedup = next;
    }
    return helps;
}

enum { FIRST_DIVIDED = 8 };

/* Tries several threads in the place of one with other numbers than the first, and threads apart. */
static void try_refined(MemorySearch *search, double speedup)
{
    for (unsigned apart = 0; apart < 2; apart++) {
        if (apart)
            speedup = try_divided(search, FIRST_DIVIDED, true)->speedup;
        if (!try_numbers(search, FIRST_DIVIDED, speedup, apart, true))
            try_numbers(search, FIRST_DIVIDED, speedup, apart, false);
    }
}

/* Tries the coarsening of the request, and none, with all that changes loads. True if there is anything to count. */
static bool try_own_loads(MemorySearch *search)
{
    memory_find_own(search, search->scope->factors);
    const size_t own = search->parents.count;
    try_held_rows(search, own);
    try_vectors(search, own);
    const bool counts = try_counters(search, 0, own);
    try_staged(search, 0, (unsigned)own);
    return counts;
}

/* The same with other coarsenings, and what it takes to make the best form better. */
static void try_other_loads(MemorySearch *search, bool counts)
{
    const FactorChoice *factors = search->scope->factors;
    const size_t own = search->parents.count;
    try_merged_edges(search);
    const bool has_edges = try_edges(search);
    if (!memory_best_trial(search, TRIALS_STAGED))
        try_neighbours(search);
    widen_fastest(search, factors);
    memory_find_parents(search, factors, own, true);
    try_staged(search, own, MOST_FIRST);
    memory_find_parents(search, factors, own, false);
    if (counts)
        try_counters(search, own, own + MOST_STAGED);
    if (counts) {
        merge_counting_blocks(search);
        for (unsigned axis = 0; axis < 3; axis++)
            merge_counted(search, 2 - axis);
        grow_counted(search);
    }
    try_staged(search, own, MOST_STAGED / 2);
    deepen(search);
    try_staged(search, own, MOST_STAGED / 2);
    deepen(search);
    if (has_edges && memory_best_trial(search, TRIALS_STAGED))
        try_edges(search);
    improve_staged(search);
    join_counted(search);
    const MemoryTrial *best = memory_best_trial(search, TRIALS_ALL);
    if (best)
        try_widened(search, best);
}

/* Tries one number of threads in the place of one; a kernel with no loop to share is left alone after that. Others come
 * early only if it gains much, because its threads take time to count. The most promising forms come first, because the
 * time may be over. */
static void try_all(MemorySearch *search)
{
    const double much = 2;
    const MemoryTrial *first = search->scope->refines ? try_divided(search, FIRST_DIVIDED, false) : NULL;
    const bool shares = first && first->verdict.state != TRIAL_UNCHANGED;
    const double speedup = first ? first->speedup : 0;
    const bool counts = search->scope->loads && try_own_loads(search);
    if (shares && speedup >= much)
        try_refined(search, speedup);
    if (search->scope->loads)
        try_other_loads(search, counts);
    if (shares && speedup < much)
        try_refined(search, speedup);
}

/* The decision to change nothing. */
static MemoryChoice decline(const KernelRequest *request, MemoryOutcome outcome)
{
    MemoryChoice choice = {.request = *request, .outcome = outcome};
    choice.request.staging = (StageRequest){0};
    choice.request.edges = choice.request.counters = choice.request.vectors = false;
    return choice;
}

static bool is_any_done(const MemorySearch *search)
{
    for (size_t i = 0; i < search->trials.count; i++)
        if (search->trials.data[i].verdict.state != TRIAL_UNCHANGED)
            return true;
    return false;
}

/* The best form, or the request as it was: the size of a launch's blocks is for forms that rely on it, and would bound
 * other launches for nothing. */
static MemoryChoice decide(const MemorySearch *search, const KernelRequest *request)
{
    const MemoryTrial *best = memory_best_trial(search, TRIALS_ALL);
    MemoryChoice choice = decline(request, is_any_done(search) ? MEMORY_NO_GAIN : MEMORY_NONE);
    choice.best = best;
    choice.counted = counted_part(&search->bases.of[0].basis, &search->bases.of[0].before);
    choice.refused = search->refused;
    choice.trials = search->trials.data;
    choice.trial_count = (unsigned)search->trials.count;
    for (unsigned i = 0; i < choice.trial_count; i++)
        choice.left_out += choice.trials[i].verdict.state == TRIAL_NOT_REACHED ||
                           choice.trials[i].verdict.state == TRIAL_NOT_COMPARED;
    if (!best || speedup_judge(best->speedup, THRESHOLD_MEMORY_GAIN) != VERDICT_TAKE)
        return choice;
    choice.request = memory_trial_request(search, best);
    choice.coarsens_otherwise = !memory_requests_match(&choice.request, search->request);
    choice.trials[best - choice.trials].chosen = true;
    choice.outcome = MEMORY_CHOSEN;
    return choice;
}

/* Measures the form without on every basis; false, with the verdict, if its time is unknown. */
static bool weigh_without(MemorySearch *search, TrialVerdict *verdict)
{
    const Judge *judge = search->options->judge;
    const FunctionForm input = {.function = search->kernel};
    const MemoryTrial without = {.coarsens = search->request->coarsen, .coarsening = search->request->coarsening};
    const KernelRequest request = memory_trial_request(search, &without);
    FormCost costs[MOST_BASES];
    Figures figures = {0};
    KernelResult result;
    if (!judge->measure(judge->context, &input, &search->input)) {
        *verdict = (TrialVerdict){.state = TRIAL_BROKEN, .message = search->input.message};
        return false;
    }
    memory_form_make(search, &request, &result);
    const bool is_known = memory_form_weigh(search, &result, &figures, costs, verdict);
    for (unsigned i = 0; is_known && i < search->bases.count; i++) {
        search->bases.of[i].before = costs[i];
        basis_set_jobs(&search->bases.of[i].basis, &costs[i]);
    }
    kernel_discard(&result);
    return is_known;
}

MemoryChoice choose_memory(Arena *arena, Function *kernel, const KernelRequest *request,
                           const PipelineOptions *options, const ChoiceContext *context, const MemoryScope *scope)
{
    const Launch *launch = choice_launch(context, kernel->name);
    MemoryScope own_scope = *scope;
    own_scope.refines &= launch != NULL;
    KernelRequest *own = ARENA_NEW(arena, KernelRequest);
    *own = *request;
    if (launch)
        memcpy(own->block, launch->block, sizeof own->block);
    const BlockSize block = block_size_resolve(&kernel->tuning, own->block);
    if (!options->judge || !options->sm)
        return decline(request, MEMORY_NO_ASSEMBLER);
    if (!launch && !block_size_total(&block))
        return decline(request, MEMORY_NO_BLOCK);
    MemoryChoice declined = decline(request, MEMORY_UNKNOWN);
    declined.without = (TrialVerdict){.state = TRIAL_UNKNOWN, .message = ENDS_BY_CLOCK};
    Span reading;
    if (loops_end_by_clock(kernel, &reading))
        return declined;
    MemorySearch search = {.arena = arena,
                           .kernel = kernel,
                           .request = own,
                           .quiet = pipeline_quiet(options),
                           .options = options,
                           .context = context,
                           .scope = &own_scope,
                           .bases = bases_new(arena, options->sm, &context->device, kernel, launch, &block,
                                              request->dynamic_shared,
                                              context->launch_decides ? DECIDES_BY_GRID : DECIDES_NOTHING, FOR_LARGE)};
    for (unsigned i = 0; i < search.bases.count; i++)
        basis_follow(&search.bases.of[i].basis, context);
    if (!weigh_without(&search, &declined.without))
        return declined;
    bases_drop_alike(&search.bases);
    try_all(&search);
    progress_form(context->progress, NULL);
    return decide(&search, request);
}
