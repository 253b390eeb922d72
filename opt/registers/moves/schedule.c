/* The schedule pass: the orders of instructions that it proposes to the register search. */
#include <string.h>

#include "opt/registers/moves/schedule.h"
#include "opt/registers/moves/schedule_exact.h"
#include "opt/registers/search/search.h"

enum {
    BLOCKS_VARIED = 4,  /* blocks that are ordered one by one */
    SLACK_DIVISOR = 24, /* a walk may for a while spill more by this fraction of the best form's bytes */
    TRIES_BY_MODEL = 6, /* neighbours from which the one with the lowest modelled pressure is assembled */
    NEIGHBOURS = 4,     /* random changes to one form, assembled together */
    EXACT_STEPS = 50000, /* of branch and bound, for one block */
};

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

static void orders_copy(const Scheduler *scheduler, const Orders *from, Orders *to)
{
    for (size_t i = 0; i < scheduler->block_count; i++)
        if (from->blocks[i])
            memcpy(to->blocks[i], from->blocks[i], scheduler->blocks[i].graph->count * sizeof(uint32_t));
}

static void orders_choose(Scheduler *scheduler, const ScheduleRule *rule, Orders *out)
{
    for (size_t i = 0; i < scheduler->block_count; i++)
        if (out->blocks[i])
            scheduler_choose(scheduler, &scheduler->blocks[i], rule, out->blocks[i]);
}

static ScheduleRule rule_for(const Search *search, ScheduleRule rule)
{
    if (rule.limit == 1 && search->target.registers > 4)
        rule.limit = (int32_t)search->target.registers - 4;
    return rule;
}

/* The blocks in which the most registers are live, at most 'most' of them. */
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

static bool orders_of_blocks(Search *search, Scheduler *scheduler, Orders *kept, Orders *trial)
{
    BlockOrder *blocks[BLOCKS_VARIED];
    unsigned count = blocks_choose(scheduler, blocks, BLOCKS_VARIED);
    bool taken = false;
    for (unsigned b = 0; b < count && count > 1; b++)
        for (unsigned r = 0; r < schedule_rule_count && !search_should_stop(search); r++) {
            uint32_t id = blocks[b]->block->id;
            ScheduleRule rule = rule_for(search, schedule_rules[r]);
            scheduler_choose(scheduler, blocks[b], &rule, trial->blocks[id]);
            if (!scheduler_apply(scheduler, blocks[b], trial->blocks[id]))
                continue;
            const Move move = {MOVE_ORDER_BLOCK, .rule = rule.name};
            bool helps = search_consider(search, PASS_SCHEDULE, scheduler->body, move, 0, true);
            taken |= helps;
            if (helps)
                orders_save(scheduler, kept);
            else
                scheduler_apply(scheduler, blocks[b], kept->blocks[id]);
        }
    return taken;
}

/* Assembles the orders by the rules from 'first' on together. */
static void rules_prepare(Search *search, Scheduler *scheduler, unsigned first, Orders *trial)
{
    Arena *arena = arena_new();
    Orders now = orders_new(arena, scheduler);
    orders_save(scheduler, &now);
    Proposals proposals = proposals_new(search, search->turn.budget, schedule_rule_count - first);
    for (unsigned r = first; r < schedule_rule_count && proposals.count < proposals.capacity; r++) {
        ScheduleRule rule = rule_for(search, schedule_rules[r]);
        orders_choose(scheduler, &rule, trial);
        if (orders_apply(scheduler, trial))
            proposals_add(search, &proposals, scheduler->body);
    }
    orders_apply(scheduler, &now);
    arena_free(arena);
}

/* Orders the blocks in which too many registers are live by branch and bound, from the best of the rules' orders. */
static bool orders_exactly(Search *search, Scheduler *scheduler, Orders *kept, Orders *trial, Orders *spare)
{
    unsigned lowered = 0, proved = 0, changed = 0;
    for (size_t i = 0; i < scheduler->block_count; i++) {
        BlockOrder *block = &scheduler->blocks[i];
        if (block->fixed || block->peak + 4 <= (int32_t)search->target.registers)
            continue;
        OrderCost best = scheduler_cost(scheduler, block, block->order, 0);
        memcpy(trial->blocks[i], block->order, block->graph->count * sizeof *block->order);
        for (unsigned r = 0; r < schedule_rule_count; r++) {
            ScheduleRule rule = rule_for(search, schedule_rules[r]);
            scheduler_choose(scheduler, block, &rule, spare->blocks[i]);
            OrderCost cost = scheduler_cost(scheduler, block, spare->blocks[i], 0);
            if (cost.peak < best.peak || (cost.peak == best.peak && cost.above < best.above)) {
                best = cost;
                memcpy(trial->blocks[i], spare->blocks[i], block->graph->count * sizeof *block->order);
            }
        }
        bool is_least;
        lowered += schedule_exact(scheduler, block, trial->blocks[i], EXACT_STEPS, &is_least) < best.peak;
        proved += is_least;
        changed += scheduler_apply(scheduler, block, trial->blocks[i]);
    }
    const Move move = {MOVE_ORDER_EXACT, changed, .lowered = lowered, .proved = proved};
    bool taken = changed && search_consider(search, PASS_SCHEDULE, scheduler->body, move, 0, false);
    if (taken)
        orders_save(scheduler, kept);
    orders_apply(scheduler, kept);
    return taken;
}

/* Tries the rules, for all blocks alike and at the fine stage for the heaviest blocks one by one. */
static bool orders_by_rule(Search *search)
{
    Arena *arena = arena_new();
    Candidate candidate = candidate_new(search);
    Scheduler *scheduler = scheduler_new(arena, candidate.body, candidate.analyses);
    Orders kept = orders_new(arena, scheduler), trial = orders_new(arena, scheduler),
           spare = orders_new(arena, scheduler);
    orders_save(scheduler, &kept);
    unsigned width = search->passes.judge->width > 1 ? search->passes.judge->width : 1;
    unsigned begun = search->spent.used;
    bool taken = false;
    for (unsigned r = 0; r < schedule_rule_count && search->spent.used - begun < search->turn.assemblies &&
                         !search_should_stop(search);
         r++) {
        if (r % width == 0)
            rules_prepare(search, scheduler, r, &trial);
        ScheduleRule rule = rule_for(search, schedule_rules[r]);
        orders_choose(scheduler, &rule, &trial);
        if (!orders_apply(scheduler, &trial))
            continue;
        const Move move = {MOVE_ORDER, .rule = rule.name};
        if (!search_consider(search, PASS_SCHEDULE, candidate.body, move, 0, false))
            continue;
        orders_save(scheduler, &kept);
        taken = true;
    }
    orders_apply(scheduler, &kept);
    if (!search_should_stop(search))
        taken |= orders_exactly(search, scheduler, &kept, &trial, &spare);
    if (search->turn.stage == STAGE_FINE)
        taken |= orders_of_blocks(search, scheduler, &kept, &trial);
    candidate_free(&candidate);
    arena_free(arena);
    return taken;
}

/* A random block; one with many live registers and many instructions is likelier. */
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

/* Chooses, among several neighbours, the one with the lowest modelled pressure. */
static void neighbour_choose(Search *search, Scheduler *scheduler, BlockOrder *block, uint32_t *trial, uint32_t *spare)
{
    OrderCost best = {0, 0};
    int32_t limit = search->target.registers > 4 ? (int32_t)search->target.registers - 4 : 4;
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

/* A random change to the orders that are kept, and the rule that made it. */
typedef struct Neighbour {
    Orders orders;
    ScheduleRule rule;
    MoveKind kind;
    bool by_rule, changed;
} Neighbour;

static void neighbour_draw(Search *search, Scheduler *scheduler, const Orders *kept, const ScheduleRule *lucky,
                           Orders *spare, Neighbour *out)
{
    unsigned kind = random_below(&search->random, 8);
    ScheduleRule rule = lucky->name && random_below(&search->random, 2) ? schedule_rule_near(&search->random, lucky)
                                                                        : schedule_rule_random(&search->random);
    BlockOrder *block = block_choose(search, scheduler);
    out->rule = rule_for(search, rule);
    out->by_rule = kind < 5;
    out->kind = kind == 0 ? MOVE_WEIGHTS : kind < 5 ? MOVE_WEIGHTS_BLOCK : MOVE_ORDER_RANDOM;
    orders_copy(scheduler, kept, &out->orders);
    if (!block)
        return;
    uint32_t id = block->block->id;
    if (kind == 0)
        orders_choose(scheduler, &out->rule, &out->orders);
    else if (kind < 5)
        scheduler_choose(scheduler, block, &out->rule, out->orders.blocks[id]);
    else
        neighbour_choose(search, scheduler, block, out->orders.blocks[id], spare->blocks[id]);
}

/* Draws as many neighbours of the form as are assembled together; returns how many differ from it. */
static unsigned neighbours_draw(Search *search, Scheduler *scheduler, const Orders *kept, const ScheduleRule *lucky,
                                Orders *spare, Neighbour *neighbours)
{
    Proposals proposals = proposals_new(search, search->turn.budget, NEIGHBOURS);
    unsigned changed = 0;
    for (unsigned i = 0; i < NEIGHBOURS; i++) {
        neighbour_draw(search, scheduler, kept, lucky, spare, &neighbours[i]);
        neighbours[i].changed = orders_apply(scheduler, &neighbours[i].orders) > 0;
        changed += neighbours[i].changed;
        if (neighbours[i].changed)
            proposals_add(search, &proposals, scheduler->body);
        orders_apply(scheduler, kept);
    }
    return changed;
}

/* Changes orders at random and keeps those that are not worse. A few neighbours of one form are drawn before any of
 * them is judged, however many the judge assembles at once, so that the result does not depend on that. */
static bool orders_at_random(Search *search)
{
    Arena *arena = arena_new();
    Candidate candidate = candidate_new(search);
    Scheduler *scheduler = scheduler_new(arena, candidate.body, candidate.analyses);
    Orders kept = orders_new(arena, scheduler), spare = orders_new(arena, scheduler);
    Neighbour neighbours[NEIGHBOURS];
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        neighbours[i].orders = orders_new(arena, scheduler);
    orders_save(scheduler, &kept);
    ScheduleRule lucky = {0};
    bool taken = false;
    for (unsigned i = 0, idle = 0; i < search->turn.assemblies && idle < 50 && !search_should_stop(search);) {
        unsigned changed = neighbours_draw(search, scheduler, &kept, &lucky, &spare, neighbours);
        idle = changed ? 0 : idle + NEIGHBOURS;
        i += changed;
        for (unsigned n = 0; n < NEIGHBOURS && !search_should_stop(search); n++) {
            const Neighbour *neighbour = &neighbours[n];
            if (!neighbour->changed)
                continue;
            uint64_t slack = 1;
            if (random_below(&search->random, 4) == 0)
                slack += figures_spills(&search->best.figures) / SLACK_DIVISOR + 4;
            orders_apply(scheduler, &neighbour->orders);
            if (!search_consider(search, PASS_SCHEDULE, candidate.body, move_of(neighbour->kind, 0), slack, true))
                continue;
            taken = true;
            orders_save(scheduler, &kept);
            if (neighbour->by_rule)
                lucky = neighbour->rule;
        }
        orders_apply(scheduler, &kept);
    }
    candidate_free(&candidate);
    arena_free(arena);
    return taken;
}

bool pass_schedule(PassContext *context)
{
    Search *search = context->search;
    return search->turn.stage == STAGE_WALK ? orders_at_random(search) : orders_by_rule(search);
}
