/* The order of instructions within blocks, chosen for few registers.
 *
 * Requires SSA form.
 *
 * The list scheduler's rules come from the literature: operand trees depth first, the needier first (Sethi and Ullman,
 * 1970); the greedy choice of instructions that free registers; the source's order until pressure is high and the
 * greedy choice from there on (Goodman and Hsu, 1988). How the assembler allocates registers for an order cannot be
 * predicted, so the register search measures it. */
#include "opt/pass.h"
#include "opt/registers/moves/schedule.h"

#include <string.h>

enum {
    READY_LOOKED_AT = 192, /* ready instructions that one step compares, in very wide blocks */
    LARGEST_BLOCK = 20000, /* instructions; larger blocks keep their order */
};

/* In the order in which they helped most often, over kernels of CUB and Thrust at a cap of 32. */
const ScheduleRule schedule_rules[] = {
    {.name = "depth first", .recent = 1000, .need = 100, .source = 1},
    {.name = "least pressure from the top", .top_down = true, .pressure = 1000, .source = 1},
    {.name = "loads late, stores early", .top_down = true, .store = 100000, .load = -100000, .source = 1},
    {.name = "least pressure, then depth first", .pressure = 1000, .recent = 400, .need = 20, .source = 1},
    {.name = "least pressure from the top, then depth first",
     .top_down = true,
     .pressure = 1000,
     .recent = 400,
     .source = 1},
    {.name = "source order below the limit", .top_down = true, .pressure = 1000, .source = 1, .limit = 1},
    {.name = "least pressure, then source order", .pressure = 1000, .source = 1},
    {.name = "loads late", .load = 100000, .source = 1},
    {.name = "source order below the limit, bottom up", .pressure = 1000, .source = 1, .limit = 1},
    {.name = "least pressure, then longest path", .pressure = 1000, .chain = 4, .source = 1},
};
const unsigned schedule_rule_count = COUNT_OF(schedule_rules);

ScheduleRule schedule_rule_random(Random *random)
{
    static const int32_t pressures[] = {0, 200, 1000, 1000, 2000}, recents[] = {0, 0, 100, 400, 1000};
    static const int32_t needs[] = {0, 10, 40, 100}, loads[] = {0, 0, 0, 300, -300}, stores[] = {0, 0, 500, 2000};
    static const int32_t sources[] = {1, 1, 4, 16}, chains[] = {0, 0, 4, 20, -4}, noises[] = {1, 30, 200, 800};
    return (ScheduleRule){
        .name = "random weights",
        .top_down = random_below(random, 3) == 0,
        .pressure = pressures[random_below(random, COUNT_OF(pressures))],
        .recent = recents[random_below(random, COUNT_OF(recents))],
        .need = needs[random_below(random, COUNT_OF(needs))],
        .load = loads[random_below(random, COUNT_OF(loads))],
        .store = stores[random_below(random, COUNT_OF(stores))],
        .source = sources[random_below(random, COUNT_OF(sources))],
        .chain = chains[random_below(random, COUNT_OF(chains))],
        .noise = noises[random_below(random, COUNT_OF(noises))],
        .limit = random_below(random, 3) == 0 ? 1 : 0,
        .seed = random_next(random),
    };
}

ScheduleRule schedule_rule_near(Random *random, const ScheduleRule *rule)
{
    ScheduleRule drawn = schedule_rule_random(random), near = *rule;
    switch (random_below(random, 8)) {
    case 0: near.pressure = drawn.pressure; break;
    case 1: near.recent = drawn.recent; break;
    case 2: near.need = drawn.need; break;
    case 3: near.load = drawn.load; break;
    case 4: near.store = drawn.store; break;
    case 5: near.source = drawn.source; break;
    case 6: near.chain = drawn.chain; break;
    default: near.noise = drawn.noise; break;
    }
    near.name = drawn.name;
    near.seed = drawn.seed;
    return near;
}

static bool is_true_edge(const Dependence *edge)
{
    return edge->kind == DEPENDENCE_TRUE;
}

/* The registers needed to compute a node's operand tree, the needier operand first, while each finished operand holds
 * its result. On a graph that is not a tree this is only an estimate. */
static void needs_compute(BlockOrder *block, const Body *body)
{
    const DependenceGraph *graph = block->graph;
    for (uint32_t n = 0; n < graph->count; n++) {
        uint32_t needs[8], count = 0, results = 0;
        for (uint32_t e = graph->pred_start[n]; e < graph->pred_start[n + 1]; e++) {
            if (!is_true_edge(&graph->preds[e]))
                continue;
            uint32_t need = block->need[graph->preds[e].node], place = count < COUNT_OF(needs) ? count++ : count - 1;
            if (place == count - 1 && count == COUNT_OF(needs) && need < needs[place])
                continue;
            while (place > 0 && needs[place - 1] < need) {
                needs[place] = needs[place - 1];
                place--;
            }
            needs[place] = need;
        }
        for (unsigned r = 0; r < graph->insts[n]->ref_count; r++)
            if (ref_writes(&graph->insts[n]->refs[r]))
                results += (uint32_t)pressure_of_reg(body, graph->insts[n]->refs[r].reg).regs32;
        uint32_t need = results;
        for (uint32_t i = 0; i < count; i++)
            if (needs[i] + i > need)
                need = needs[i] + i;
        block->need[n] = need;
    }
}

static void paths_compute(BlockOrder *block)
{
    const DependenceGraph *graph = block->graph;
    for (uint32_t n = 0; n < graph->count; n++)
        for (uint32_t e = graph->pred_start[n]; e < graph->pred_start[n + 1]; e++)
            if (block->depth[graph->preds[e].node] + 1 > block->depth[n])
                block->depth[n] = block->depth[graph->preds[e].node] + 1;
    for (uint32_t n = graph->count; n-- > 0;)
        for (uint32_t e = graph->succ_start[n]; e < graph->succ_start[n + 1]; e++)
            if (block->height[graph->succs[e].node] + 1 > block->height[n])
                block->height[n] = block->height[graph->succs[e].node] + 1;
}

Scheduler *scheduler_new(Arena *arena, Body *body, Analyses *analyses)
{
    require(body->ssa);
    Scheduler *scheduler = ARENA_NEW(arena, Scheduler);
    const MemoryModel *memory = analyses_memory(analyses);
    scheduler->arena = arena;
    scheduler->body = body;
    scheduler->liveness = analyses_liveness(analyses);
    scheduler->tracker = pressure_tracker_new(arena, scheduler->liveness);
    scheduler->block_count = body->blocks.count;
    scheduler->blocks = ARENA_ARRAY(arena, BlockOrder, scheduler->block_count);
    for (size_t i = 0; i < scheduler->block_count; i++) {
        BlockOrder *block = &scheduler->blocks[i];
        block->block = body->blocks.data[i];
        uint32_t count = 0;
        for (const Inst *inst = block->block->first; inst && count <= LARGEST_BLOCK; inst = inst->next)
            count++;
        block->fixed = count < 3 || count > LARGEST_BLOCK;
        if (block->fixed)
            continue;
        block->graph = block_dependences(arena, memory, block->block);
        block->order = ARENA_ARRAY(arena, uint32_t, count);
        block->need = ARENA_ARRAY(arena, uint32_t, count);
        block->height = ARENA_ARRAY(arena, uint32_t, count);
        block->depth = ARENA_ARRAY(arena, uint32_t, count);
        for (uint32_t n = 0; n < count; n++)
            block->order[n] = n;
        needs_compute(block, body);
        paths_compute(block);
        block->peak = scheduler_cost(scheduler, block, block->order, 0).peak;
    }
    return scheduler;
}

/* Top down, edges lead to successors; bottom up, to predecessors: the nodes that a choice may make ready. */
typedef struct ListState {
    Scheduler *scheduler;
    const BlockOrder *block;
    const ScheduleRule *rule;
    uint32_t *waits; /* by node: edges from nodes that are not chosen yet */
    uint32_t
        *fresh; /* by node: the step, from 1, that last read its result (top down: made an operand of it); 0: none */
    uint32_t *ready; /* in source order from the end at which the order is built */
    uint32_t ready_count;
    uint32_t step;
    Random random;
} ListState;

static void ready_insert(ListState *state, uint32_t node)
{
    uint32_t place = state->ready_count++;
    bool down = state->rule->top_down;
    while (place > 0 && (down ? state->ready[place - 1] > node : state->ready[place - 1] < node)) {
        state->ready[place] = state->ready[place - 1];
        place--;
    }
    state->ready[place] = node;
}

static int32_t pressure_now(const ListState *state)
{
    return state->scheduler->tracker.current.regs32;
}

static int64_t node_score(ListState *state, uint32_t node, uint32_t place, int32_t limit)
{
    const ScheduleRule *rule = state->rule;
    const BlockOrder *block = state->block;
    const Inst *inst = block->graph->insts[node];
    PressureTracker *tracker = &state->scheduler->tracker;
    int64_t score = 0;
    if (rule->pressure && (!limit || pressure_now(state) >= limit)) {
        Pressure delta = rule->top_down ? pressure_tracker_advance_delta(tracker, inst)
                                        : pressure_tracker_recede_delta(tracker, inst);
        score -= (int64_t)rule->pressure * delta.regs32 + (int64_t)rule->pressure / 8 * delta.predicates;
    }
    if (rule->recent && state->fresh[node]) {
        uint32_t age = state->step - state->fresh[node];
        score += rule->recent / (int64_t)(1 + age);
    }
    if (rule->need)
        score -= (int64_t)rule->need * block->need[node] * (rule->top_down ? -1 : 1);
    if (rule->load && inst->effects & EFFECT_READ)
        score += rule->load;
    if (rule->store && inst->effects & EFFECT_WRITE)
        score += rule->store;
    if (rule->chain)
        score += (int64_t)rule->chain * (rule->top_down ? block->height[node] : block->depth[node]);
    if (rule->noise)
        score += random_below(&state->random, (uint32_t)rule->noise);
    return score - (int64_t)rule->source * (place < 256 ? place : 256);
}

static uint32_t ready_choose(ListState *state, int32_t limit)
{
    uint32_t best = 0, looked_at = state->ready_count < READY_LOOKED_AT ? state->ready_count : READY_LOOKED_AT;
    int64_t best_score = INT64_MIN;
    for (uint32_t i = 0; i < looked_at; i++) {
        int64_t score = node_score(state, state->ready[i], i, limit);
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    uint32_t node = state->ready[best];
    memmove(state->ready + best, state->ready + best + 1, (state->ready_count - best - 1) * sizeof *state->ready);
    state->ready_count--;
    return node;
}

static void node_take(ListState *state, uint32_t node)
{
    const DependenceGraph *graph = state->block->graph;
    bool down = state->rule->top_down;
    const Dependence *edges = down ? graph->succs : graph->preds;
    uint32_t begin = down ? graph->succ_start[node] : graph->pred_start[node];
    uint32_t end = down ? graph->succ_start[node + 1] : graph->pred_start[node + 1];
    state->step++;
    if (down)
        pressure_tracker_advance(&state->scheduler->tracker, graph->insts[node]);
    else
        pressure_tracker_recede(&state->scheduler->tracker, graph->insts[node]);
    for (uint32_t e = begin; e < end; e++) {
        uint32_t next = edges[e].node;
        if (is_true_edge(&edges[e]))
            state->fresh[next] = state->step;
        if (--state->waits[next] == 0)
            ready_insert(state, next);
    }
}

void scheduler_choose(Scheduler *scheduler, const BlockOrder *block, const ScheduleRule *rule, uint32_t *out)
{
    const DependenceGraph *graph = block->graph;
    Arena *scratch = arena_new();
    uint32_t count = graph->count;
    ListState state = {
        .scheduler = scheduler,
        .block = block,
        .rule = rule,
        .waits = ARENA_ARRAY(scratch, uint32_t, count),
        .fresh = ARENA_ARRAY(scratch, uint32_t, count),
        .ready = ARENA_ARRAY(scratch, uint32_t, count),
        .random = {rule->seed + block->block->id},
    };
    const uint32_t *starts = rule->top_down ? graph->pred_start : graph->succ_start;
    for (uint32_t i = 0; i < count; i++)
        state.waits[i] = starts[i + 1] - starts[i];
    for (uint32_t i = 0; i < count; i++)
        if (!state.waits[i])
            ready_insert(&state, i);
    if (rule->top_down)
        pressure_tracker_start_top(&scheduler->tracker, block->block);
    else
        pressure_tracker_start_bottom(&scheduler->tracker, block->block);
    int32_t limit = rule->limit > 1 ? rule->limit : rule->limit == 1 ? block->peak * 3 / 4 : 0;
    for (uint32_t i = 0; i < count; i++) {
        require(state.ready_count);
        uint32_t node = ready_choose(&state, limit);
        out[rule->top_down ? i : count - 1 - i] = node;
        node_take(&state, node);
    }
    arena_free(scratch);
}

OrderCost scheduler_cost(Scheduler *scheduler, const BlockOrder *block, const uint32_t *order, int32_t limit)
{
    PressureTracker *tracker = &scheduler->tracker;
    OrderCost cost = {0, 0};
    pressure_tracker_start_bottom(tracker, block->block);
    for (uint32_t i = block->graph->count; i-- > 0;) {
        pressure_tracker_recede(tracker, block->graph->insts[order[i]]);
        if (tracker->current.regs32 > limit)
            cost.above += tracker->current.regs32 - limit;
    }
    cost.peak = tracker->peak.regs32;
    return cost;
}

bool scheduler_apply(Scheduler *scheduler, BlockOrder *block, const uint32_t *order)
{
    uint32_t count = block->graph->count;
    if (block->order != order && memcmp(block->order, order, count * sizeof *order) == 0)
        return false;
    memmove(block->order, order, count * sizeof *order);
    Inst *previous = NULL;
    for (uint32_t i = 0; i < count; i++) {
        Inst *inst = block->graph->insts[order[i]];
        inst->prev = previous;
        inst->next = NULL;
        if (previous)
            previous->next = inst;
        else
            block->block->first = inst;
        previous = inst;
    }
    block->block->last = previous;
    block->peak = scheduler_cost(scheduler, block, block->order, 0).peak;
    return true;
}

/* The lowest and highest place in the order to which the node at 'place' may move. */
static void range_find(const BlockOrder *block, const uint32_t *order, const uint32_t *place_of, uint32_t place,
                       uint32_t *low, uint32_t *high)
{
    const DependenceGraph *graph = block->graph;
    uint32_t node = order[place];
    *low = 0;
    *high = graph->count - 1;
    for (uint32_t e = graph->pred_start[node]; e < graph->pred_start[node + 1]; e++)
        if (place_of[graph->preds[e].node] + 1 > *low)
            *low = place_of[graph->preds[e].node] + 1;
    for (uint32_t e = graph->succ_start[node]; e < graph->succ_start[node + 1]; e++)
        if (place_of[graph->succs[e].node] - 1 < *high)
            *high = place_of[graph->succs[e].node] - 1;
}

static void node_move(uint32_t *order, uint32_t *place_of, uint32_t from, uint32_t to)
{
    uint32_t node = order[from];
    if (from < to)
        memmove(order + from, order + from + 1, (to - from) * sizeof *order);
    else
        memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = node;
    for (uint32_t i = from < to ? from : to, end = from < to ? to : from; i <= end; i++)
        place_of[order[i]] = i;
}

/* Moves the operands of the node at 'place' down to it, as far as dependences allow, and then their operands, so that
 * the tree ends up in one piece. */
static void tree_pull(const BlockOrder *block, uint32_t *order, uint32_t *place_of, uint32_t place, unsigned moves)
{
    const DependenceGraph *graph = block->graph;
    uint32_t queue[32], head = 0, tail = 0;
    queue[tail++] = order[place];
    while (head < tail && moves) {
        uint32_t node = queue[head++];
        for (uint32_t e = graph->pred_start[node]; e < graph->pred_start[node + 1] && moves; e++) {
            if (!is_true_edge(&graph->preds[e]))
                continue;
            uint32_t pred = graph->preds[e].node, low, high;
            range_find(block, order, place_of, place_of[pred], &low, &high);
            if (high > place_of[pred]) {
                node_move(order, place_of, place_of[pred], high);
                moves--;
            }
            if (tail < COUNT_OF(queue))
                queue[tail++] = pred;
        }
    }
}

void scheduler_mutate(Scheduler *scheduler, const BlockOrder *block, const uint32_t *from, Random *random,
                      uint32_t *out)
{
    (void)scheduler;
    uint32_t count = block->graph->count;
    Arena *scratch = arena_new();
    uint32_t *place_of = ARENA_ARRAY(scratch, uint32_t, count);
    memcpy(out, from, count * sizeof *out);
    for (uint32_t i = 0; i < count; i++)
        place_of[out[i]] = i;
    uint32_t most = 1 + count / 16, moves = 1 + random_below(random, most < 24 ? most : 24);
    for (uint32_t i = 0; i < moves; i++) {
        uint32_t place = random_below(random, count), low, high;
        if (random_below(random, 4) == 0) {
            tree_pull(block, out, place_of, place, 1 + random_below(random, 12));
            continue;
        }
        range_find(block, out, place_of, place, &low, &high);
        uint32_t to;
        switch (random_below(random, 4)) {
        case 0: to = low; break;
        case 1: to = high; break;
        default: to = low + random_below(random, high - low + 1); break;
        }
        node_move(out, place_of, place, to);
    }
    arena_free(scratch);
}

unsigned schedule_body(Body *body, Analyses *analyses, const ScheduleRule *rule)
{
    Arena *arena = arena_new();
    Scheduler *scheduler = scheduler_new(arena, body, analyses);
    unsigned changed = 0;
    for (size_t i = 0; i < scheduler->block_count; i++) {
        BlockOrder *block = &scheduler->blocks[i];
        if (block->fixed)
            continue;
        uint32_t *order = ARENA_ARRAY(arena, uint32_t, block->graph->count);
        scheduler_choose(scheduler, block, rule, order);
        changed += scheduler_apply(scheduler, block, order);
    }
    arena_free(arena);
    return changed;
}
