/* The moves of the register search: which orders, sinks and recomputations are proposed, and what becomes of each. */
#include <string.h>

#include "opt/registers_internal.h"

enum {
    BLOCKS_VARIED = 4,  /* blocks whose order is tried apart from the others' */
    SLACK_DIVISOR = 24, /* a walk may spill this part of the best form's bytes more for a while */
    TRIES_BY_MODEL = 6, /* neighbours of which the one with the lowest modelled pressure is assembled */
};

/* ---- Judging ----------------------------------------------------------------------------------------------------- */

unsigned search_excess(const Search *search, const Figures *figures)
{
    return figures->registers > search->target ? figures->registers - search->target : 0;
}

int search_compare(const Search *search, const Figures *a, const Figures *b)
{
    if (a->known != b->known)
        return a->known ? -1 : 1;
    if (!a->known)
        return 0;
    unsigned x = search_excess(search, a), y = search_excess(search, b);
    if (x != y)
        return x < y ? -1 : 1;
    uint64_t p = figures_spills(a), q = figures_spills(b);
    if (p != q)
        return p < q ? -1 : 1;
    if (a->instructions != b->instructions)
        return a->instructions < b->instructions ? -1 : 1;
    return a->registers < b->registers ? -1 : a->registers > b->registers;
}

bool search_is_over(const Search *search)
{
    return search->used >= search->request->effort;
}

bool search_is_reached(const Search *search)
{
    const Figures *best = &search->best_figures, *before = &search->result->before;
    return best->known && !search_excess(search, best) && figures_spills(best) <= figures_spills(before) &&
           best->instructions <= search->most_instructions;
}

bool search_should_stop(const Search *search)
{
    return search_is_over(search) || search_is_reached(search);
}

Figures search_measure(Search *search, const Body *body)
{
    Figures figures = {0};
    search->used++;
    if (!search->judge->measure(search->judge->context, search->kernel, body, &figures))
        figures.known = false;
    return figures;
}

void search_record(Search *search, const char *what, const Figures *figures, bool kept)
{
    VEC_PUSH(search->arena, search->steps, (RegistersStep){what, *figures, kept});
}

bool search_accepts(const Search *search, const Figures *figures)
{
    return figures->known && figures->instructions <= search->most_instructions;
}

bool search_consider(Search *search, const Body *body, const char *what, uint64_t slack, bool silent)
{
    if (search_is_over(search))
        return false;
    Figures figures = search_measure(search, body);
    bool fits = search_accepts(search, &figures);
    int order = fits ? search_compare(search, &figures, &search->current_figures) : 1;
    bool best = fits && search_compare(search, &figures, &search->best_figures) < 0;
    if (best) {
        Body *copy = body_clone(body);
        body_free(search->best);
        search->best = copy;
        search->best_figures = figures;
    }
    bool taken = !search->current || order < 0 || (slack && order == 0);
    if (!taken && slack > 1 && fits &&
        search_excess(search, &figures) <= search_excess(search, &search->current_figures))
        taken = figures_spills(&figures) < figures_spills(&search->current_figures) + slack;
    if (taken) {
        Body *copy = body_clone(body);
        body_free(search->current);
        search->current = copy;
        search->current_figures = figures;
    }
    if (best || !silent)
        search_record(search, what, &figures, best);
    return taken;
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
        for (unsigned r = 0; r < schedule_rule_count && !search_should_stop(search); r++) {
            uint32_t id = blocks[b]->block->id;
            ScheduleRule rule = rule_for(search, schedule_rules[r]);
            scheduler_choose(scheduler, blocks[b], &rule, trial->blocks[id]);
            if (!scheduler_apply(scheduler, blocks[b], trial->blocks[id]))
                continue;
            const char *what = arena_printf(search->arena, "schedule one block: %s", rule.name);
            if (search_consider(search, scheduler->body, what, 0, true))
                orders_save(scheduler, kept);
            else
                scheduler_apply(scheduler, blocks[b], kept->blocks[id]);
        }
}

/* Tries the rules, all blocks alike and then the heaviest blocks one by one, on a clone of the current form. */
void search_orders(Search *search, bool each_block)
{
    if (!search->request->use_schedule || search_should_stop(search))
        return;
    Arena *arena = arena_new();
    Body *body = body_clone(search->current);
    Scheduler *scheduler = scheduler_new(arena, body);
    Orders kept = orders_new(arena, scheduler), trial = orders_new(arena, scheduler);
    orders_save(scheduler, &kept);
    for (unsigned r = 0; r < schedule_rule_count && !search_should_stop(search); r++) {
        ScheduleRule rule = rule_for(search, schedule_rules[r]);
        orders_choose(scheduler, &rule, &trial);
        if (!orders_apply(scheduler, &trial))
            continue;
        body_verify(body, "schedule");
        if (search_consider(search, body, arena_printf(search->arena, "schedule: %s", rule.name), 0, false))
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
void search_wander(Search *search, unsigned assemblies)
{
    if (!search->request->use_schedule || search_should_stop(search))
        return;
    Arena *arena = arena_new();
    Body *body = body_clone(search->current);
    Scheduler *scheduler = scheduler_new(arena, body);
    Orders kept = orders_new(arena, scheduler), trial = orders_new(arena, scheduler),
           spare = orders_new(arena, scheduler);
    orders_save(scheduler, &kept);
    ScheduleRule lucky = {0};
    for (unsigned i = 0, idle = 0; i < assemblies && idle < 50 && !search_should_stop(search); idle++) {
        unsigned kind = random_below(&search->random, 8);
        ScheduleRule rule = lucky.name && random_below(&search->random, 2) ? schedule_rule_near(&search->random, &lucky)
                                                                           : schedule_rule_random(&search->random);
        rule = rule_for(search, rule);
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
        if (search_consider(search, body, what, slack, true)) {
            orders_save(scheduler, &kept);
            if (kind < 5)
                lucky = rule;
        } else {
            orders_apply(scheduler, &kept);
        }
    }
    body_free(body);
    arena_free(arena);
}

/* ---- Moves between blocks, and recomputation --------------------------------------------------------------------- */

void search_sinks(Search *search)
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
    for (size_t i = 0; i < COUNT_OF(ways) && search->request->use_sink && !search_should_stop(search); i++) {
        Body *body = body_clone(search->current);
        unsigned moved = sink_values(body, ways[i].mode, ways[i].loads);
        if (moved) {
            body_verify(body, "sink");
            search_consider(search, body, arena_printf(search->arena, "%s: %u", ways[i].what, moved), 0, false);
        }
        body_free(body);
    }
}

static size_t body_length(const Body *body)
{
    size_t count = 0;
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            count++;
    return count;
}

/* What has grown so far in PTX is not worth assembling: assemblers take minutes over tens of thousands of
 * instructions. */
static bool has_exploded(const Search *search, const Body *body)
{
    return body_length(body) > 2 * body_length(search->current) + 200;
}

static bool batch_try(Search *search, const RematerializeRequest *request, const RematerializeCandidate *values,
                      uint32_t count)
{
    Body *body = body_clone(search->current);
    bool taken = false;
    if (rematerialize_values(body, request, values, count) && !has_exploded(search, body)) {
        body_verify(body, "rematerialize");
        const char *what = arena_printf(search->arena, "rematerialize %u value%s%s", count, count == 1 ? "" : "s",
                                        request->opaque ? " from opaque copies" : "");
        taken = search_consider(search, body, what, 0, false);
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
    while (at < count && size && search->used - begun < most && !search_should_stop(search)) {
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

void search_rematerialization(Search *search, unsigned most)
{
    int32_t limit = search->target > 8 ? (int32_t)search->target - 8 : 1;
    /* Opaque copies first: plain recomputations look as good to the model, and the assembler merges them again. */
    const RematerializeRequest ways[] = {
        {.limit = limit, .cost = 2, .opaque = true, .distance = 24},
        {.limit = limit, .cost = 5, .opaque = true, .distance = 12, .extend = true},
        {.limit = limit, .cost = 3, .opaque = false, .distance = 24},
        {.limit = limit, .cost = 1, .opaque = false, .distance = 6, .extend = true},
        {.limit = limit, .cost = 6, .opaque = false, .distance = 12, .extend = true, .ignore_pressure = true},
    };
    for (size_t i = 0; i < COUNT_OF(ways) && search->request->use_rematerialize && !search_should_stop(search); i++)
        batches_try(search, &ways[i], most);
}

/* A walk may end below where it has been. */
void search_restore(Search *search)
{
    if (!search->best->ssa || !search_compare(search, &search->best_figures, &search->current_figures))
        return;
    Body *copy = body_clone(search->best);
    body_free(search->current);
    search->current = copy;
    search->current_figures = search->best_figures;
}
