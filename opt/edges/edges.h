/* Edges: threads beyond the edge of the data, or beside a diagonal, go along with the others of their block, and store
 * nothing. */
#ifndef PTXOPT_OPT_EDGES_H
#define PTXOPT_OPT_EDGES_H

#include "opt/common/refusal.h"

typedef struct EdgesRequest {
    unsigned blocks[3];   /* along x, y, z: those that are merged later; 0 counts as 1 */
    bool are_neighbours;  /* which are neighbours; else a part of the grid apart, as with STRIDE_BLOCK */
    bool shrinks_grid;    /* and a part of the blocks is launched; else some merged ones may be beyond the grid */
} EdgesRequest;

typedef struct EdgesResult {
    Span span;       /* of the guard's branch; 0,0: none was found */
    bool has_all;    /* done: blocks that are merged later, and beyond the grid, may execute all of the kernel: they do
                      * nothing but what threads beyond the edge do */
    Span diagonal;   /* of the branch that threads beside a diagonal pass; 0,0: none was found */
    Refusal refusal; /* edges were not done */
} EdgesResult;

#endif
