/* Minimum cuts by Dinic's algorithm: shortest augmenting paths, found level by level. */
#include "support/min_cut.h"

#include <string.h>

#include "support/diag.h"

MinCut min_cut_new(Arena *arena)
{
    return (MinCut){.arena = arena};
}

uint32_t min_cut_node(MinCut *graph)
{
    VEC_PUSH(graph->arena, graph->first, 0);
    return (uint32_t)graph->first.count - 1;
}

static void half_edge(MinCut *graph, uint32_t from, uint32_t to, uint64_t capacity)
{
    VEC_PUSH(graph->arena, graph->edges, (CutEdge){to, graph->first.data[from], capacity});
    graph->first.data[from] = (uint32_t)graph->edges.count;
}

void min_cut_edge(MinCut *graph, uint32_t from, uint32_t to, uint64_t capacity)
{
    require(from < graph->first.count && to < graph->first.count && capacity <= CUT_NEVER);
    half_edge(graph, from, to, capacity);
    half_edge(graph, to, from, 0);
}

/* The distances from the source along edges with capacity left, + 1; false if the sink is not reached. */
static bool levels_find(MinCut *graph, uint32_t *queue)
{
    size_t head = 0, tail = 0;
    for (size_t i = 0; i < graph->first.count; i++)
        graph->level[i] = 0;
    graph->level[graph->source] = 1;
    queue[tail++] = graph->source;
    while (head < tail && !graph->level[graph->sink]) {
        uint32_t node = queue[head++];
        for (uint32_t e = graph->first.data[node]; e; e = graph->edges.data[e - 1].next) {
            const CutEdge *edge = &graph->edges.data[e - 1];
            if (edge->capacity && !graph->level[edge->to]) {
                graph->level[edge->to] = graph->level[node] + 1;
                queue[tail++] = edge->to;
            }
        }
    }
    return graph->level[graph->sink] != 0;
}

static bool leads_on(const MinCut *graph, uint32_t node, const CutEdge *edge)
{
    return edge->capacity && graph->level[edge->to] == graph->level[node] + 1;
}

/* Sends as much as one path takes, by levels; 0 if there is none left. 'path': the edges from the source on. */
static uint64_t path_send(MinCut *graph, uint32_t *path)
{
    uint32_t node = graph->source, length = 0;
    while (node != graph->sink) {
        uint32_t *at = &graph->at[node];
        while (*at && !leads_on(graph, node, &graph->edges.data[*at - 1]))
            *at = graph->edges.data[*at - 1].next;
        if (*at) {
            path[length++] = *at - 1;
            node = graph->edges.data[*at - 1].to;
        } else if (length) {
            uint32_t back = path[--length];
            node = graph->edges.data[back ^ 1].to;
            graph->at[node] = graph->edges.data[back].next;
        } else {
            return 0;
        }
    }
    uint64_t least = CUT_NEVER;
    for (uint32_t i = 0; i < length; i++)
        least = graph->edges.data[path[i]].capacity < least ? graph->edges.data[path[i]].capacity : least;
    for (uint32_t i = 0; i < length; i++) {
        graph->edges.data[path[i]].capacity -= least;
        graph->edges.data[path[i] ^ 1].capacity += least;
    }
    return least;
}

uint64_t min_cut_solve(MinCut *graph, uint32_t source, uint32_t sink)
{
    size_t nodes = graph->first.count;
    uint32_t *scratch = ARENA_ARRAY(graph->arena, uint32_t, nodes);
    uint64_t cut = 0;
    graph->source = source;
    graph->sink = sink;
    graph->level = ARENA_ARRAY(graph->arena, uint32_t, nodes);
    graph->at = ARENA_ARRAY(graph->arena, uint32_t, nodes);
    while (cut < CUT_NEVER && levels_find(graph, scratch)) {
        memcpy(graph->at, graph->first.data, nodes * sizeof *graph->at);
        for (uint64_t sent; cut < CUT_NEVER && (sent = path_send(graph, scratch)) != 0;)
            cut += sent;
    }
    return cut;
}

BitSet min_cut_sink_side(const MinCut *graph)
{
    BitSet side = bitset_new(graph->arena, graph->first.count);
    uint32_t *stack = ARENA_ARRAY(graph->arena, uint32_t, graph->first.count);
    size_t depth = 0;
    bitset_add(&side, graph->sink);
    stack[depth++] = graph->sink;
    while (depth) {
        uint32_t node = stack[--depth];
        for (uint32_t e = graph->first.data[node]; e; e = graph->edges.data[e - 1].next) {
            uint32_t from = graph->edges.data[e - 1].to;
            if (graph->edges.data[(e - 1) ^ 1].capacity && !bitset_has(&side, from)) {
                bitset_add(&side, from);
                stack[depth++] = from;
            }
        }
    }
    return side;
}
