/* The flow graph of a body as plain arrays: what the files of this folder that walk it share and nobody else sees. */
#ifndef PTXOPT_ANALYSIS_GRAPH_H
#define PTXOPT_ANALYSIS_GRAPH_H

#include "ir/ir.h"
#include "support/support.h"

typedef struct Graph {
    uint32_t count; /* nodes: the blocks by Block.id, then the virtual exit if there is one */
    uint32_t *succ_start, *succs; /* succs[succ_start[n] .. succ_start[n + 1]) */
    uint32_t *pred_start, *preds;
} Graph;

/* Edges are distinct. With 'virtual_exit' node number count-1 stands for it; see Dominance for the edges it gets. */
Graph graph_build(Arena *arena, const Body *body, bool virtual_exit);
/* The same graph with all edges turned round; shares its arrays. */
static inline Graph graph_reverse(Graph graph)
{
    return (Graph){graph.count, graph.pred_start, graph.preds, graph.succ_start, graph.succs};
}
/* Nodes in depth-first order from 'root': preorder into order[]; number[node] is its place or UINT32_MAX;
 * parent[node] the node it was reached from (a place in the order). Returns how many were reached. */
uint32_t graph_depth_first(const Graph *graph, uint32_t root, uint32_t *order, uint32_t *number, uint32_t *parent,
                           Arena *scratch);

#endif
