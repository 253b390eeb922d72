/* Minimum-register orders by branch and bound.
 *
 * The question "is there an order within K registers?" is asked for falling K. It is answered by going through the
 * sets of instructions that can have been executed: what is live depends on the set alone, not on how it was reached,
 * so a set that led nowhere is not entered again. An instruction that fits and frees as much as it takes is executed
 * at once: whatever order comes later, moving it to the front needs no more registers. After Kessler, "Scheduling
 * Expression DAGs for Minimal Register Need" (1998). */
#include "opt/registers/moves/schedule_exact.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES_MOST = 64 }; /* distinct registers of one instruction; a block with more of them keeps its order */

/* The values that an instruction reads or writes, each once. */
typedef struct Node {
    uint32_t *reads, *writes;
    uint32_t read_count, write_count;
    uint64_t mark; /* random: a set's hash is the sum of those of its nodes */
} Node;

/* A decision: which of the instructions that might come next has been tried. */
typedef struct Frame {
    uint32_t *choices;
    uint32_t count, next;
} Frame;

typedef struct Exact {
    Arena *arena;
    const DependenceGraph *graph;
    Node *nodes;
    int32_t *width;   /* by value */
    uint32_t *left;   /* by value: nodes that are still to read it */
    bool *kept;       /* by value: live at the end */
    uint32_t *waits;  /* by node: predecessors that are not executed */
    bool *done;       /* by node */
    uint32_t *place;  /* by node: in the order to start from; ties go to the earlier */
    uint32_t *order;  /* what is executed, in order */
    uint32_t depth;
    Frame *frames;    /* by depth */
    uint32_t *spare;  /* choices of all frames */
    int32_t now, limit;
    uint64_t hash;
    Map failed; /* sets that led nowhere, under this limit */
    uint32_t budget;
} Exact;

static uint32_t value_find(Exact *exact, Map *numbers, const Body *body, RegId reg, uint32_t *count)
{
    const uint64_t *found = map_get(numbers, (uint64_t)reg + 1);
    if (found)
        return (uint32_t)*found;
    map_put(numbers, (uint64_t)reg + 1, *count);
    exact->width[*count] = pressure_of_reg(body, reg).regs32;
    return (*count)++;
}

static bool has_value(const uint32_t *values, uint32_t count, uint32_t value)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i] == value)
            return true;
    return false;
}

/* False if an instruction has too many registers. */
static bool nodes_read(Exact *exact, Scheduler *scheduler, Map *numbers, uint32_t *count)
{
    for (uint32_t n = 0; n < exact->graph->count; n++) {
        const Inst *inst = exact->graph->insts[n];
        Node *node = &exact->nodes[n];
        if (inst->ref_count > VALUES_MOST)
            return false;
        node->reads = ARENA_ARRAY(exact->arena, uint32_t, inst->ref_count);
        node->writes = ARENA_ARRAY(exact->arena, uint32_t, inst->ref_count);
        for (unsigned r = 0; r < inst->ref_count; r++) {
            const RegRef *ref = &inst->refs[r];
            if (ref->reg == REG_NONE || live_is_undefined(scheduler->liveness, ref->reg))
                continue;
            uint32_t value = value_find(exact, numbers, scheduler->body, ref->reg, count);
            if (ref_reads(ref) && !has_value(node->reads, node->read_count, value)) {
                node->reads[node->read_count++] = value;
                exact->left[value]++;
            }
            if (ref_writes(ref) && !has_value(node->writes, node->write_count, value))
                node->writes[node->write_count++] = value;
        }
    }
    return true;
}

/* Reads which values are live at the top, and which at the end. */
static void ends_read(Exact *exact, Scheduler *scheduler, const BlockOrder *block, Map *numbers, uint32_t *count)
{
    LiveSet out = live_out(scheduler->liveness, block->block);
    for (uint32_t i = 0; i < out.count; i++)
        exact->kept[value_find(exact, numbers, scheduler->body, out.regs[i], count)] = true;
    bool *made = ARENA_ARRAY(exact->arena, bool, *count + 1);
    for (uint32_t n = 0; n < exact->graph->count; n++)
        for (uint32_t w = 0; w < exact->nodes[n].write_count; w++)
            made[exact->nodes[n].writes[w]] = true;
    for (uint32_t v = 0; v < *count; v++)
        if (!made[v] && (exact->left[v] || exact->kept[v]))
            exact->now += exact->width[v];
}

static bool exact_start(Exact *exact, Arena *arena, Scheduler *scheduler, const BlockOrder *block,
                        const uint32_t *order)
{
    const DependenceGraph *graph = block->graph;
    uint32_t count = graph->count, values = 0, most = live_out(scheduler->liveness, block->block).count;
    Random random = {count};
    Map numbers = {.arena = arena};
    for (uint32_t n = 0; n < count; n++)
        most += graph->insts[n]->ref_count;
    *exact = (Exact){.arena = arena, .graph = graph};
    exact->nodes = ARENA_ARRAY(arena, Node, count);
    exact->width = ARENA_ARRAY(arena, int32_t, most + 1);
    exact->left = ARENA_ARRAY(arena, uint32_t, most + 1);
    exact->kept = ARENA_ARRAY(arena, bool, most + 1);
    exact->waits = ARENA_ARRAY(arena, uint32_t, count);
    exact->done = ARENA_ARRAY(arena, bool, count);
    exact->place = ARENA_ARRAY(arena, uint32_t, count);
    exact->order = ARENA_ARRAY(arena, uint32_t, count);
    exact->frames = ARENA_ARRAY(arena, Frame, count + 1);
    exact->spare = ARENA_ARRAY(arena, uint32_t, ((size_t)count + 1) * count);
    for (uint32_t i = 0; i < count; i++) {
        exact->place[order[i]] = i;
        exact->waits[i] = graph->pred_start[i + 1] - graph->pred_start[i];
        exact->nodes[i].mark = random_next(&random);
    }
    if (!nodes_read(exact, scheduler, &numbers, &values))
        return false;
    ends_read(exact, scheduler, block, &numbers, &values);
    return true;
}

/* The registers that the node adds, and in *during those that it needs beyond what is live now. */
static int32_t node_delta(const Exact *exact, uint32_t n, int32_t *during)
{
    const Node *node = &exact->nodes[n];
    int32_t delta = 0, unread = 0;
    for (uint32_t r = 0; r < node->read_count; r++)
        if (exact->left[node->reads[r]] == 1 && !exact->kept[node->reads[r]])
            delta -= exact->width[node->reads[r]];
    for (uint32_t w = 0; w < node->write_count; w++) {
        bool lives = exact->left[node->writes[w]] || exact->kept[node->writes[w]];
        delta += lives ? exact->width[node->writes[w]] : 0;
        unread += lives ? 0 : exact->width[node->writes[w]];
    }
    *during = delta + unread;
    return delta;
}

static void node_enter(Exact *exact, uint32_t n)
{
    const DependenceGraph *graph = exact->graph;
    int32_t during;
    exact->now += node_delta(exact, n, &during);
    for (uint32_t r = 0; r < exact->nodes[n].read_count; r++)
        exact->left[exact->nodes[n].reads[r]]--;
    for (uint32_t e = graph->succ_start[n]; e < graph->succ_start[n + 1]; e++)
        exact->waits[graph->succs[e].node]--;
    exact->done[n] = true;
    exact->hash += exact->nodes[n].mark;
    exact->order[exact->depth++] = n;
}

static void node_leave(Exact *exact)
{
    const DependenceGraph *graph = exact->graph;
    uint32_t n = exact->order[--exact->depth];
    int32_t during;
    exact->hash -= exact->nodes[n].mark;
    exact->done[n] = false;
    for (uint32_t e = graph->succ_start[n]; e < graph->succ_start[n + 1]; e++)
        exact->waits[graph->succs[e].node]++;
    for (uint32_t r = 0; r < exact->nodes[n].read_count; r++)
        exact->left[exact->nodes[n].reads[r]]++;
    exact->now -= node_delta(exact, n, &during);
}

/* The instructions that may come next and fit, best first; only one, if it is free. */
static void frame_fill(Exact *exact)
{
    Frame *frame = &exact->frames[exact->depth];
    int32_t deltas[SCHEDULE_EXACT_LARGEST];
    *frame = (Frame){.choices = exact->spare + (size_t)exact->depth * exact->graph->count};
    for (uint32_t n = 0; n < exact->graph->count; n++) {
        int32_t during, delta;
        if (exact->done[n] || exact->waits[n])
            continue;
        delta = node_delta(exact, n, &during);
        if (exact->now + during > exact->limit || exact->now + delta > exact->limit)
            continue;
        if (delta <= 0) {
            frame->choices[0] = n;
            frame->count = 1;
            return;
        }
        uint32_t at = frame->count++;
        for (; at > 0; at--) {
            uint32_t other = frame->choices[at - 1];
            if (deltas[at - 1] < delta || (deltas[at - 1] == delta && exact->place[other] < exact->place[n]))
                break;
            frame->choices[at] = other;
            deltas[at] = deltas[at - 1];
        }
        frame->choices[at] = n;
        deltas[at] = delta;
    }
}

typedef enum Answer { ANSWER_YES, ANSWER_NO, ANSWER_UNKNOWN } Answer;

/* Searches an order within the limit; if there is one, it is in exact->order. */
static Answer exact_ask(Exact *exact, int32_t limit)
{
    while (exact->depth)
        node_leave(exact);
    exact->limit = limit;
    exact->failed = (Map){.arena = exact->arena};
    if (exact->now > limit)
        return ANSWER_NO;
    frame_fill(exact);
    for (;;) {
        Frame *frame = &exact->frames[exact->depth];
        if (exact->depth == exact->graph->count)
            return ANSWER_YES;
        if (frame->next < frame->count) {
            uint32_t n = frame->choices[frame->next++];
            if (map_get(&exact->failed, (exact->hash + exact->nodes[n].mark) | 1))
                continue;
            if (!exact->budget)
                return ANSWER_UNKNOWN;
            exact->budget--;
            node_enter(exact, n);
            frame_fill(exact);
            continue;
        }
        map_put(&exact->failed, exact->hash | 1, 1);
        if (!exact->depth)
            return ANSWER_NO;
        node_leave(exact);
    }
}

int32_t schedule_exact(Scheduler *scheduler, const BlockOrder *block, uint32_t *order, uint32_t budget, bool *proved)
{
    int32_t peak = scheduler_cost(scheduler, block, order, 0).peak;
    Answer answer = ANSWER_UNKNOWN;
    Arena *arena = arena_new();
    Exact exact;
    bool fits = block->graph->count <= SCHEDULE_EXACT_LARGEST && exact_start(&exact, arena, scheduler, block, order);
    if (fits) {
        exact.budget = budget;
        while ((answer = exact_ask(&exact, peak - 1)) == ANSWER_YES) {
            memcpy(order, exact.order, exact.graph->count * sizeof *order);
            peak = scheduler_cost(scheduler, block, order, 0).peak;
        }
    }
    arena_free(arena);
    if (proved)
        *proved = answer == ANSWER_NO;
    return peak;
}
