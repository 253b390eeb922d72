/* Minimum cuts of directed graphs with capacities. */
#ifndef PTXOPT_SUPPORT_MIN_CUT_H
#define PTXOPT_SUPPORT_MIN_CUT_H

#include "support/bitset.h"
#include "support/memory.h"

/* More than any sum of finite capacities may reach: an edge that no cut goes through. */
#define CUT_NEVER (UINT64_C(1) << 60)

typedef struct CutEdge {
    uint32_t to, next; /* the next edge of the same node, + 1 */
    uint64_t capacity; /* that is left */
} CutEdge;

/* A graph; nodes are numbers below 'nodes'. */
typedef struct MinCut {
    Arena *arena;
    VEC(CutEdge) edges; /* each with its reverse after it */
    VEC(uint32_t) first; /* by node: its last edge + 1 */
    uint32_t source, sink;
    uint32_t *level, *at; /* by node, while solving */
} MinCut;

/* An empty graph in 'arena'. */
MinCut min_cut_new(Arena *arena);
/* Adds a node; returns its number. */
uint32_t min_cut_node(MinCut *graph);
/* Adds an edge; of two edges between the same nodes the capacities add up. */
void min_cut_edge(MinCut *graph, uint32_t from, uint32_t to, uint64_t capacity);

/* The capacity of the cheapest set of edges that separates the sink from the source; CUT_NEVER or more if every cut has
 * an edge of that capacity. O(V^2 E) at worst, after Dinic (1970). Call it once. */
uint64_t min_cut_solve(MinCut *graph, uint32_t source, uint32_t sink);
/* Which side of the cut each node is on; of the cuts that are equally cheap, the one nearest the sink. By node, in the
 * graph's arena: the nodes from which the sink can still be reached. After min_cut_solve. */
BitSet min_cut_sink_side(const MinCut *graph);

#endif
