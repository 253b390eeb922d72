/* The flow graph of a body as plain arrays, its dominator and post-dominator trees, and frontiers.
 *
 * Everything is indexed by Block.id, which must be the layout index (body_renumber), and Block.preds must be up to date
 * (body_update_preds). */
#ifndef PTXOPT_IR_DOMINANCE_H
#define PTXOPT_IR_DOMINANCE_H

#include "support/support.h"

typedef struct Block Block;
typedef struct Body Body;

#define BLOCK_NONE UINT32_MAX

/* True if control has more than one path from this block; exiting the function counts as one. */
bool block_chooses(const Block *block);

typedef struct BlockEdge {
    uint32_t from, to; /* Block.id */
} BlockEdge;
typedef VEC(BlockEdge) BlockEdgeVec;

/* Each edge once, in the order of the blocks; those of a block to 'fall' first, then to the targets. Block.id must be
 * current. */
BlockEdgeVec body_edges(Arena *arena, const Body *body);

/* The edges are distinct. */
typedef struct FlowGraph {
    uint32_t count;               /* nodes: the blocks, then the virtual exit if there is one */
    uint32_t *succ_start, *succs; /* succs[succ_start[n] .. succ_start[n + 1]) */
    uint32_t *pred_start, *preds;
} FlowGraph;

/* A dominator tree, or, with 'post', a post-dominator tree: that of the reversed graph, rooted at a virtual exit. Every
 * block that exits the function has an edge to the virtual exit, and so has every block from which no exit can be
 * reached: each block of an infinite loop counts as one where control might stop, so that whatever such a loop decides
 * stays decided by it.
 *
 * A block that the root does not reach has no parent and dominates only itself. */
typedef struct Dominance {
    const Body *body;
    bool post;
    uint32_t root;           /* block 0, or the virtual exit: graph.count - 1 */
    FlowGraph graph;         /* with 'post', reversed: the tree's edges lead away from the root */
    uint32_t *parent;        /* by node: the immediate (post)dominator, or BLOCK_NONE */
    uint32_t *first_child;   /* by node, or BLOCK_NONE; children are in reverse postorder of the graph */
    uint32_t *next_sibling;  /* by node, or BLOCK_NONE */
    uint32_t *depth;         /* by node: 0 for the root */
    uint32_t *enter, *leave; /* by node: the places in 'order' of its subtree, [enter, leave) */
    uint32_t *order;         /* the reached nodes in preorder of the tree */
    uint32_t order_count;
} Dominance;

/* Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", TOPLAS 1979, with simple linking:
 * O(E log B) time, no recursion. The tree is in 'arena' and is valid until blocks or edges change. */
Dominance *dominance_compute(Arena *arena, const Body *body);
Dominance *postdominance_compute(Arena *arena, const Body *body);

/* True if node a (post)dominates node b; every node dominates itself. O(1). */
static inline bool dominance_has_id(const Dominance *dominance, uint32_t a, uint32_t b)
{
    return dominance->enter[a] <= dominance->enter[b] && dominance->leave[b] <= dominance->leave[a];
}
bool dominance_has(const Dominance *dominance, const Block *a, const Block *b);
/* True if there is a path from the root to the node. */
static inline bool dominance_reaches(const Dominance *dominance, uint32_t node)
{
    return dominance->enter[node] < dominance->order_count;
}
/* The immediate (post)dominator; NULL for the root, for an unreachable block, and if it is the virtual exit. */
Block *dominance_parent(const Dominance *dominance, const Block *block);
/* The nearest common (post)dominator; NULL if it is the virtual exit or if there is none. O(depth). */
Block *dominance_common(const Dominance *dominance, const Block *a, const Block *b);

/* For each block a list of blocks. */
typedef struct BlockLists {
    uint32_t *start; /* by Block.id, one more at the end */
    Block **items;
} BlockLists;
uint32_t block_list_count(const BlockLists *lists, const Block *block);
Block **block_list(const BlockLists *lists, const Block *block);

/* Dominance frontiers (Cytron and others, 1991, with the walk of Cooper, Harvey and Kennedy, 2001). With a
 * post-dominator tree, a block's frontier is the blocks on which it is control dependent: their branches decide whether
 * it is executed (Ferrante and others, 1987). O(B * depth) time and space at worst. The lists are in 'arena'. */
BlockLists *dominance_frontiers(Arena *arena, const Dominance *dominance);
/* The inverse: the blocks that are control dependent on each block's branch. */
BlockLists *control_dependents(Arena *arena, const Dominance *postdominance);

#endif
