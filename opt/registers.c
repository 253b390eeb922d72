/* The search for a form of a kernel that takes fewer registers.
 *
 * Takes a body in any form, works on SSA clones of it, gives one back that is not in SSA form.  Each pass only proposes; what the
 * judge finds worse is dropped and the form before it stays ("save the order, measure again, put it back").  The moves are those of
 * Nugteren, Mesman and Corporaal, "Analyzing CUDA's Compiler through the Visualization of Decoded GPU Binaries" (SCOPES 2010,
 * section 5.4): reordering, rematerialization, and a target at a virtual register boundary. */
#include "opt/registers.h"

#include <string.h>

#include "opt/registers_internal.h"

enum {
    LOWEST_CAP = 24,       /* assemblers raise a lower .maxnreg to this, with a warning */
    ASSUMED_BLOCK = 256,   /* threads, where nobody says how many there are */
    BLOCKS_VARIED = 4,     /* blocks whose order is tried apart from the others' */
    BATCHES_MOST = 16,     /* assemblies for one way of rematerializing */
    SLACK_DIVISOR = 24,     /* a walk may spill this part of the best form's bytes more for a while */
    TRIES_BY_MODEL = 6,    /* neighbours of which the one with the lowest modelled pressure is assembled */
};

typedef struct Search {
    Arena *arena; /* of the result */
    Function *kernel;
    const RegistersRequest *request;
    const Judge *judge;
    RegistersResult *result;
    VEC(RegistersStep) steps;
    unsigned used;               /* assemblies so far */
    unsigned target;
    uint64_t most_instructions;  /* what a candidate may grow to */
    Body *best;                  /* owned; SSA or not */
    Figures best_figures;
    Body *current;               /* owned, SSA: what moves start from; never better than 'best' */
    Figures current_figures;
    Random random;
} Search;

/* ---- Judging ----------------------------------------------------------------------------------------------------- */

static unsigned excess(const Search *search, const Figures *figures)
{
    return figures->registers > search->target ? figures->registers - search->target : 0;
}

/* -1: a is better; 0: as good; 1: worse. */
static int figures_compare(const Search *search, const Figures *a, const Figures *b)
{
    if (a->known != b->known)
        return a->known ? -1 : 1;
    if (!a->known)
        return 0;
    unsigned x = excess(search, a), y = excess(search, b);
    if (x != y)
        return x < y ? -1 : 1;
    uint64_t p = figures_spills(a), q = figures_spills(b);
    if (p != q)
        return p < q ? -1 : 1;
    if (a->instructions != b->instructions)
        return a->instructions < b->instructions ? -1 : 1;
    return a->registers < b->registers ? -1 : a->registers > b->registers;
}

static bool is_over(const Search *search)
{
    return search->used >= search->request->effort;
}

/* The target is met, with no more spilled than the input spills uncapped, and the code has not grown too far. */
static bool is_reached(const Search *search)
{
    const Figures *best = &search->best_figures, *before = &search->result->before;
    return best->known && !excess(search, best) && figures_spills(best) <= figures_spills(before) &&
           best->instructions <= search->most_instructions;
}

static bool should_stop(const Search *search)
{
    return is_over(search) || is_reached(search);
}

static Figures body_measure(Search *search, const Body *body)
{
    Figures figures = {0};
    search->used++;
    if (!search->judge->measure(search->judge->context, search->kernel, body, &figures))
        figures.known = false;
    return figures;
}

static void step_record(Search *search, const char *what, const Figures *figures, bool kept)
{
    VEC_PUSH(search->arena, search->steps, (RegistersStep){what, *figures, kept});
}

static bool is_acceptable(const Search *search, const Figures *figures)
{
    return figures->known && figures->instructions <= search->most_instructions;
}

typedef enum Verdict { DROPPED, NOT_BETTER, BETTER } Verdict;

/* Measures 'body' (in SSA form, not taken over).  Where it is better than the current form it becomes that, and the best if it is
 * better than the best.  With 'slack' a form that spills at most so many bytes less one more becomes the current one too (1: one
 * that is as good).  'silent': only success is recorded. */
static Verdict body_consider(Search *search, const Body *body, const char *what, uint64_t slack, bool silent)
{
    if (is_over(search))
        return DROPPED;
    Figures figures = body_measure(search, body);
    bool fits = is_acceptable(search, &figures);
    int order = fits ? figures_compare(search, &figures, &search->current_figures) : 1;
    bool best = fits && figures_compare(search, &figures, &search->best_figures) < 0;
    if (best) {
        Body *copy = body_clone(body);
        body_free(search->best);
        search->best = copy;
        search->best_figures = figures;
    }
    bool taken = !search->current || order < 0 || (slack && order == 0);
    if (!taken && slack > 1 && fits && excess(search, &figures) <= excess(search, &search->current_figures))
        taken = figures_spills(&figures) < figures_spills(&search->current_figures) + slack;
    if (taken) {
        Body *copy = body_clone(body);
        body_free(search->current);
        search->current = copy;
        search->current_figures = figures;
    }
    if (best || !silent)
        step_record(search, what, &figures, best);
    return !taken ? DROPPED : order < 0 ? BETTER : NOT_BETTER;
}

/* ---- Orders ------------------------------------------------------------------------------------------------------ */

typedef struct Orders {
    uint32_t **blocks; /* by Block.id; NULL: fixed */
} Orders;

static Orders orders_new(Arena *arena, const Scheduler *scheduler)
{
    Orders orders = {ARENA_ARRAY(arena, uint32_t *, scheduler->block_count)};
    for (size_t i = 0; i < scheduler->block_count; i++)
        if (!scheduler->blocks[i].fixed)
            orders.blocks[i] = ARENA_ARRAY(arena, uint32_t, scheduler->blocks[i].graph->count);
    return orders;
}

static void orders_save(const Scheduler *scheduler, Orders *orders)
{
    for (size_t i = 0; i < scheduler->block_count; i++)
        if (orders->blocks[i])
            memcpy(orders->blocks[i], scheduler->blocks[i].order, scheduler->blocks[i].graph->count * sizeof(uint32_t));
}

static unsigned orders_apply(Scheduler *scheduler, const Orders *orders)
{
    unsigned changed = 0;
    for (size_t i = 0; i < scheduler->block_count; i++)
        if (orders->blocks[i])
            changed += scheduler_apply(scheduler, &scheduler->blocks[i], orders->blocks[i]);
    return changed;
}

static void orders_choose(Scheduler *scheduler, const ScheduleRule *rule, Orders *out)
{
    for (size_t i = 0; i < scheduler->block_count; i++)
        if (out->blocks[i])
            scheduler_choose(scheduler, &scheduler->blocks[i], rule, out->blocks[i]);
}

static ScheduleRule rule_for(const Search *search, ScheduleRule rule)
{
    if (rule.limit == 1 && search->target > 4)
        rule.limit = (int32_t)search->target - 4;
    return rule;
}

/* The blocks where most registers are live, up to 'most'; those that cannot matter are left out. */
static unsigned blocks_choose(const Scheduler *scheduler, BlockOrder **out, unsigned most)
{
    unsigned count = 0;
    for (size_t i = 0; i < scheduler->block_count; i++) {
        BlockOrder *block = &scheduler->blocks[i];
        if (block->fixed)
            continue;
        unsigned place = count < most ? count++ : most;
        if (place == most) {
            if (out[most - 1]->peak >= block->peak)
                continue;
            place = most - 1;
        }
        while (place > 0 && out[place - 1]->peak < block->peak) {
            out[place] = out[place - 1];
            place--;
        }
        out[place] = block;
    }
    return count;
}

static void orders_of_blocks(Search *search, Scheduler *scheduler, Orders *kept, Orders *trial)
{
    BlockOrder *blocks[BLOCKS_VARIED];
    unsigned count = blocks_choose(scheduler, blocks, BLOCKS_VARIED);
    for (unsigned b = 0; b < count && count > 1; b++)
        for (unsigned r = 0; r < schedule_rule_count && !should_stop(search); r++) {
            uint32_t id = blocks[b]->block->id;
            ScheduleRule rule = rule_for(search, schedule_rules[r]);
            scheduler_choose(scheduler, blocks[b], &rule, trial->blocks[id]);
            if (!scheduler_apply(scheduler, blocks[b], trial->blocks[id]))
                continue;
            const char *what = arena_printf(search->arena, "schedule one block: %s", rule.name);
            if (body_consider(search, scheduler->body, what, 0, true) != DROPPED)
                orders_save(scheduler, kept);
            else
                scheduler_apply(scheduler, blocks[b], kept->blocks[id]);
        }
}

/* Tries the rules, all blocks alike and then the heaviest blocks one by one, on a clone of the current form. */
static void orders_explore(Search *search, bool each_block)
{
    if (!search->request->use_schedule || should_stop(search))
        return;
    Arena *arena = arena_new();
    Body *body = body_clone(search->current);
    Scheduler *scheduler = scheduler_new(arena, body);
    Orders kept = orders_new(arena, scheduler), trial = orders_new(arena, scheduler);
    orders_save(scheduler, &kept);
    for (unsigned r = 0; r < schedule_rule_count && !should_stop(search); r++) {
        ScheduleRule rule = rule_for(search, schedule_rules[r]);
        orders_choose(scheduler, &rule, &trial);
        if (!orders_apply(scheduler, &trial))
            continue;
        body_verify(body, "schedule");
        if (body_consider(search, body, arena_printf(search->arena, "schedule: %s", rule.name), 0, false) != DROPPED)
            orders_save(scheduler, &kept);
    }
    orders_apply(scheduler, &kept);
    if (each_block)
        orders_of_blocks(search, scheduler, &kept, &trial);
    body_free(body);
    arena_free(arena);
}

/* ---- Local search ------------------------------------------------------------------------------------------------ */

/* A block, the likelier the more registers are live in it and the longer it is. */
static BlockOrder *block_choose(Search *search, Scheduler *scheduler)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < scheduler->block_count; i++) {
        const BlockOrder *block = &scheduler->blocks[i];
        if (!block->fixed)
            sum += (uint64_t)block->peak * (uint64_t)block->peak * (4 + block->graph->count);
    }
    if (!sum)
        return NULL;
    uint64_t at = random_next(&search->random) % sum;
    for (size_t i = 0; i < scheduler->block_count; i++) {
        BlockOrder *block = &scheduler->blocks[i];
        if (block->fixed)
            continue;
        uint64_t weight = (uint64_t)block->peak * (uint64_t)block->peak * (4 + block->graph->count);
        if (at < weight)
            return block;
        at -= weight;
    }
    return NULL;
}

/* The one of several neighbours whose modelled pressure is lowest. */
static void neighbour_choose(Search *search, Scheduler *scheduler, BlockOrder *block, uint32_t *trial, uint32_t *spare)
{
    OrderCost best = {0, 0};
    int32_t limit = search->target > 4 ? (int32_t)search->target - 4 : 4;
    unsigned tries = 1 + random_below(&search->random, TRIES_BY_MODEL);
    for (unsigned i = 0; i < tries; i++) {
        scheduler_mutate(scheduler, block, block->order, &search->random, spare);
        OrderCost cost = scheduler_cost(scheduler, block, spare, limit);
        if (i == 0 || cost.above < best.above || (cost.above == best.above && cost.peak < best.peak)) {
            best = cost;
            memcpy(trial, spare, block->graph->count * sizeof *trial);
        }
    }
}

/* Changes orders at random and keeps what is not worse. */
static void orders_wander(Search *search, unsigned assemblies)
{
    if (!search->request->use_schedule || should_stop(search))
        return;
    Arena *arena = arena_new();
    Body *body = body_clone(search->current);
    Scheduler *scheduler = scheduler_new(arena, body);
    Orders kept = orders_new(arena, scheduler), trial = orders_new(arena, scheduler), spare = orders_new(arena, scheduler);
    orders_save(scheduler, &kept);
    for (unsigned i = 0, idle = 0; i < assemblies && idle < 50 && !should_stop(search); idle++) {
        unsigned kind = random_below(&search->random, 8);
        ScheduleRule rule = rule_for(search, schedule_rule_random(&search->random));
        const char *what = "change an order at random";
        BlockOrder *block = block_choose(search, scheduler);
        if (!block)
            break;
        uint32_t id = block->block->id;
        bool changed;
        if (kind == 0) {
            orders_choose(scheduler, &rule, &trial);
            changed = orders_apply(scheduler, &trial);
            what = "schedule with weights at random";
        } else if (kind < 5) {
            scheduler_choose(scheduler, block, &rule, trial.blocks[id]);
            changed = scheduler_apply(scheduler, block, trial.blocks[id]);
            what = "schedule one block with weights at random";
        } else {
            neighbour_choose(search, scheduler, block, trial.blocks[id], spare.blocks[id]);
            changed = scheduler_apply(scheduler, block, trial.blocks[id]);
        }
        if (!changed)
            continue;
        idle = 0;
        i++;
        uint64_t slack = 1;
        if (random_below(&search->random, 4) == 0)
            slack += figures_spills(&search->best_figures) / SLACK_DIVISOR + 4;
        if (body_consider(search, body, what, slack, true) != DROPPED)
            orders_save(scheduler, &kept);
        else
            orders_apply(scheduler, &kept);
    }
    body_free(body);
    arena_free(arena);
}

/* ---- Moves between blocks, and recomputation --------------------------------------------------------------------- */

static void sinks_explore(Search *search)
{
    static const struct {
        SinkMode mode;
        bool loads;
        const char *what;
    } ways[] = {
        {SINK_SAVING, true, "sink what saves registers, loads too"},
        {SINK_SAVING, false, "sink what saves registers"},
        {SINK_ALL, true, "sink everything"},
        {SINK_COPIES, false, "sink copies"},
    };
    for (size_t i = 0; i < COUNT_OF(ways) && search->request->use_sink && !should_stop(search); i++) {
        Body *body = body_clone(search->current);
        unsigned moved = sink_values(body, ways[i].mode, ways[i].loads);
        if (moved) {
            body_verify(body, "sink");
            body_consider(search, body, arena_printf(search->arena, "%s: %u", ways[i].what, moved), 0, false);
        }
        body_free(body);
    }
}

static bool batch_try(Search *search, const RematerializeRequest *request, const RematerializeCandidate *values, uint32_t count)
{
    Body *body = body_clone(search->current);
    bool taken = false;
    if (rematerialize_values(body, request, values, count)) {
        body_verify(body, "rematerialize");
        const char *what = arena_printf(search->arena, "rematerialize %u value%s%s", count, count == 1 ? "" : "s",
                                        request->opaque ? " from opaque copies" : "");
        taken = body_consider(search, body, what, 0, false) != DROPPED;
    }
    body_free(body);
    return taken;
}

/* The best candidates together; while that does not help, half as many. */
static void batches_try(Search *search, const RematerializeRequest *request, unsigned most)
{
    Arena *arena = arena_new();
    RematerializeCandidate *values;
    uint32_t count = rematerialize_candidates(arena, search->current, request, &values), at = 0, size = count;
    unsigned begun = search->used;
    while (at < count && size && search->used - begun < most && !should_stop(search)) {
        uint32_t now = size < count - at ? size : count - at;
        if (batch_try(search, request, values + at, now)) {
            at += now;
        } else if (now > 1) {
            size = now / 2;
        } else {
            at++;
            size = count - at < 4 ? 1 : 4;
        }
    }
    arena_free(arena);
}

static void rematerialization_explore(Search *search, unsigned most)
{
    int32_t limit = search->target > 8 ? (int32_t)search->target - 8 : 1;
    const RematerializeRequest ways[] = {
        {.limit = limit, .cost = 3, .opaque = false, .distance = 24},
        {.limit = limit, .cost = 2, .opaque = true, .distance = 24},
        {.limit = limit, .cost = 5, .opaque = true, .distance = 12, .extend = true},
        {.limit = limit, .cost = 1, .opaque = false, .distance = 6, .extend = true},
        {.limit = limit, .cost = 6, .opaque = false, .distance = 12, .extend = true, .ignore_pressure = true},
    };
    for (size_t i = 0; i < COUNT_OF(ways) && search->request->use_rematerialize && !should_stop(search); i++)
        batches_try(search, &ways[i], most);
}

/* ---- One target -------------------------------------------------------------------------------------------------- */

static unsigned cap_of(unsigned target)
{
    return target < LOWEST_CAP ? LOWEST_CAP : target;
}

/* Whether a word on the block's size, which the caller knows, is worth saying: it is measured. */
static void bounds_try(Search *search)
{
    const RegistersRequest *request = search->request;
    const Tuning *tuning = &search->best->tuning;
    if (!request->use_launch_bounds || !request->block_threads || tuning->maxntid_count || tuning->reqntid_count ||
        is_over(search))
        return;
    Body *body = body_clone(search->best);
    body->tuning.maxntid[0] = request->block_threads;
    body->tuning.maxntid[1] = body->tuning.maxntid[2] = 1;
    body->tuning.maxntid_count = 1;
    Figures figures = body_measure(search, body);
    bool better = is_acceptable(search, &figures) && figures_compare(search, &figures, &search->best_figures) < 0;
    step_record(search, arena_printf(search->arena, ".maxntid %u", request->block_threads), &figures, better);
    if (better) {
        body_free(search->best);
        search->best = body;
        search->best_figures = figures;
    } else {
        body_free(body);
    }
}

static void ssa_start(Search *search)
{
    Body *body = body_clone(search->best);
    body_to_ssa(body);
    body_verify(body, "ssa");
    search->current = NULL;
    search->current_figures = (Figures){0};
    body_consider(search, body, "leave SSA form again", 0, false);
    if (!search->current)
        search->current = body_clone(body);
    body_free(body);
}

/* A walk may end below where it has been. */
static void best_restore(Search *search)
{
    if (!search->best->ssa || !figures_compare(search, &search->best_figures, &search->current_figures))
        return;
    Body *copy = body_clone(search->best);
    body_free(search->current);
    search->current = copy;
    search->current_figures = search->best_figures;
}

/* Looks for a form with at most search->target registers.  best: the input under its cap. */
static void target_search(Search *search)
{
    unsigned effort = search->request->effort;
    bounds_try(search);
    if (should_stop(search))
        return;
    ssa_start(search);
    orders_explore(search, false);
    sinks_explore(search);
    rematerialization_explore(search, effort / 24 < 3 ? 3 : effort / 24 < BATCHES_MOST ? effort / 24 : BATCHES_MOST);
    orders_explore(search, true);
    while (!should_stop(search)) {
        unsigned used = search->used, left = effort - used;
        orders_wander(search, left < 60 ? left : left / 3 > 40 ? left / 3 : 40);
        best_restore(search);
        rematerialization_explore(search, left / 40 < 2 ? 2 : left / 40);
        if (search->used == used)
            break;
    }
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static unsigned tuning_threads(const unsigned size[3], unsigned count)
{
    uint64_t product = count ? 1 : 0;
    for (unsigned i = 0; i < count && i < 3 && product <= UINT32_MAX; i++)
        product *= size[i] ? size[i] : 1;
    return product <= UINT32_MAX ? (unsigned)product : 0;
}

/* The threads of a block for boundaries, and how they are known. */
static unsigned block_threads_find(const Search *search, const Tuning *tuning, const char **known)
{
    unsigned threads = tuning_threads(tuning->reqntid, tuning->reqntid_count);
    *known = "";
    if (search->request->block_threads)
        return search->request->block_threads;
    if (threads)
        return threads;
    threads = tuning_threads(tuning->maxntid, tuning->maxntid_count);
    *known = threads ? " (the most that .maxntid allows)" : " (assumed: say -block)";
    return threads ? threads : ASSUMED_BLOCK;
}

static Body *input_clone(const Body *body)
{
    Body *input = body_clone(body);
    if (input->ssa)
        body_from_ssa(input);
    return input;
}

/* The input with the cap that the target asks for becomes the best form so far. */
static void capped_start(Search *search, const Body *input)
{
    RegistersResult *result = search->result;
    search->best = body_clone(input);
    bool caps = search->request->use_launch_bounds && result->before.registers > cap_of(search->target);
    if (caps)
        search->best->tuning.maxnreg = cap_of(search->target);
    result->capped = caps ? body_measure(search, search->best) : result->before;
    if (caps)
        step_record(search, arena_printf(search->arena, ".maxnreg %u", cap_of(search->target)), &result->capped,
                    result->capped.known);
    search->best_figures = result->capped;
    /* No growth beyond a few percent over the longer of the two forms that cost nothing to make; where nobody asked for this
     * target, over the uncapped one. */
    uint64_t longest = result->before.instructions > result->capped.instructions ? result->before.instructions
                                                                                 : result->capped.instructions;
    if (search->request->is_auto)
        longest = result->before.instructions;
    search->most_instructions = longest + longest / 16 + 4;
}

/* Gives the best form to the caller. */
static void best_install(Search *search, Body **body)
{
    RegistersResult *result = search->result;
    if (search->best->ssa)
        body_from_ssa(search->best);
    body_verify(search->best, "registers");
    if (search->kernel->body == *body)
        search->kernel->body = search->best;
    body_free(*body);
    *body = search->best;
    search->best = NULL;
    result->after = search->best_figures;
    result->changed = true;
}

static void nothing_changed(Search *search, Body **body, const char *explanation)
{
    if ((*body)->ssa)
        body_from_ssa(*body);
    search->result->after = search->result->before;
    search->result->explanation = explanation;
}

static void target_explain(Search *search)
{
    RegistersResult *result = search->result;
    const Figures *after = &result->after, *capped = &result->capped;
    unsigned target = search->target;
    result->reached = after->known && after->registers <= target;
    const char *low = target < LOWEST_CAP && !result->reached ? "; assemblers take no cap below 24" : "";
    if (result->reached && !figures_spills(after))
        result->explanation = arena_printf(search->arena, "%u registers, nothing spilled", after->registers);
    else if (result->reached)
        result->explanation = arena_printf(search->arena, "%u registers, %llu bytes spilled (%llu under the cap alone)",
                                           after->registers, (unsigned long long)figures_spills(after),
                                           (unsigned long long)(capped->known ? figures_spills(capped) : 0));
    else
        result->explanation = arena_printf(search->arena, "%u registers: no form with %u was found in %u assemblies%s",
                                           after->registers, target, search->used, low);
}

static void target_fixed(Search *search, const Body *input, Body **body)
{
    RegistersResult *result = search->result;
    search->target = result->target = search->request->target;
    if (result->before.registers <= search->target) {
        result->reached = true;
        result->capped = result->before;
        nothing_changed(search, body,
                        arena_printf(search->arena, "it takes %u registers as it is", result->before.registers));
        return;
    }
    capped_start(search, input);
    if (!result->capped.known) {
        nothing_changed(search, body, arena_printf(search->arena, "under the cap it could not be assembled: %s",
                                                   result->capped.message ? result->capped.message : "no reason given"));
        return;
    }
    target_search(search);
    if (figures_compare(search, &search->best_figures, &result->before) < 0)
        best_install(search, body);
    else
        nothing_changed(search, body, NULL);
    target_explain(search);
}

/* Lower boundaries that come for free: neither spills nor instructions more than the form that was found. */
static void boundaries_below(Search *search, unsigned threads, uint64_t shared, Occupancy *now)
{
    const Machine *machine = search->request->machine;
    for (;;) {
        unsigned next = machine_boundary_below(machine, threads, shared, search->target);
        if (next < LOWEST_CAP || is_over(search))
            return;
        Body *body = body_clone(search->best);
        body->tuning.maxnreg = next;
        Figures figures = body_measure(search, body);
        bool taken = figures.known && figures.registers <= next && figures_spills(&figures) <= figures_spills(&search->best_figures) &&
                     figures.instructions <= search->best_figures.instructions;
        step_record(search, arena_printf(search->arena, ".maxnreg %u", next), &figures, taken);
        if (!taken) {
            body_free(body);
            return;
        }
        body_free(search->best);
        search->best = body;
        search->best_figures = figures;
        search->target = search->result->target = next;
        *now = machine_occupancy(machine, threads, next, shared);
    }
}

static void target_auto(Search *search, const Body *input, Body **body)
{
    RegistersResult *result = search->result;
    const Machine *machine = search->request->machine;
    const Figures *before = &result->before;
    const char *known;
    unsigned threads = block_threads_find(search, &input->tuning, &known);
    uint64_t shared = before->shared + search->request->shared_bytes;
    Occupancy now = machine_occupancy(machine, threads, before->registers, shared);
    unsigned boundary = machine_boundary_below(machine, threads, shared, before->registers);
    result->capped = *before;
    if (!boundary) {
        const char *limits = occupancy_limits_name(now.limits);
        nothing_changed(search, body,
                        arena_printf(search->arena, "with %u threads a block%s an SM holds %u blocks, limited by %s: fewer registers "
                                                    "than %u gain nothing", threads, known, now.blocks, limits, before->registers));
        return;
    }
    search->target = result->target = boundary;
    Occupancy then = machine_occupancy(machine, threads, boundary, shared);
    capped_start(search, input);
    if (result->capped.known)
        target_search(search);
    if (!is_reached(search)) {
        result->target = 0;
        const Figures *best = &search->best_figures;
        nothing_changed(search, body,
                        !best->known ? "under the cap it could not be assembled"
                        : excess(search, best)
                            ? arena_printf(search->arena, "the next boundary, %u registers with %u threads a block%s, was not reached: "
                                                          "%u at best", boundary, threads, known, best->registers)
                            : arena_printf(search->arena, "the next boundary, %u registers with %u threads a block%s, costs %llu bytes "
                                                          "of spills at best", boundary, threads, known,
                                           (unsigned long long)figures_spills(best)));
        return;
    }
    if (search->request->use_launch_bounds)
        boundaries_below(search, threads, shared, &then);
    best_install(search, body);
    result->reached = true;
    result->explanation = arena_printf(search->arena, "%u registers: with %u threads a block%s an SM holds %u blocks instead of %u",
                                       result->after.registers, threads, known, then.blocks, now.blocks);
}

void registers_reduce(Arena *arena, Function *kernel, Body **body, const RegistersRequest *request, const Judge *judge,
                      RegistersResult *result)
{
    require(request->machine && judge && judge->measure);
    *result = (RegistersResult){0};
    Search search = {
        .arena = arena,
        .kernel = kernel,
        .request = request,
        .judge = judge,
        .result = result,
        .most_instructions = UINT64_MAX,
        .random = {0x7074786f7074u},
    };
    Body *input = input_clone(*body);
    result->before = body_measure(&search, input);
    if (!result->before.known)
        nothing_changed(&search, body, arena_printf(arena, "it could not be assembled: %s",
                                                    result->before.message ? result->before.message : "no reason given"));
    else if (request->is_auto)
        target_auto(&search, input, body);
    else
        target_fixed(&search, input, body);
    body_free(input);
    body_free(search.best);
    body_free(search.current);
    result->steps = search.steps.data;
    result->step_count = (unsigned)search.steps.count;
}
