/* Control flow: dominators, post-dominators, frontiers, control dependence, natural loops. */
#ifndef PTXOPT_ANALYSIS_FLOW_H
#define PTXOPT_ANALYSIS_FLOW_H

#include "ir/ir.h"
#include "support/support.h"

/* True if control may leave the function at the end of this block: by ret or exit, guarded or not, or because there
 * is nowhere to go. */
bool block_leaves(const Block *block);
/* True if control has more than one way to go on from this block, leaving the function being one. */
bool block_chooses(const Block *block);

/* ---- Dominance --------------------------------------------------------------------------------------------------- */

#define BLOCK_NONE UINT32_MAX

/* A dominator tree, or, with 'post', a post-dominator tree whose root is a virtual exit. Every
 * block that leaves the function has an edge to the virtual exit, and so has every block from which no exit can be
 * reached: each block of an infinite loop counts as one where control might stop, so that what such a loop decides
 * stays decided by it.
 *
 * A block that the root does not reach has no parent and dominates itself only. */
typedef struct Dominance {
    const Body *body;
    bool post;
    uint32_t node_count; /* blocks, and the virtual exit */
    uint32_t root;       /* 0, or the virtual exit: node_count - 1 */
    uint32_t *parent;    /* by node: the immediate (post)dominator, or BLOCK_NONE */
    uint32_t *depth;     /* by node: 0 for the root */
    uint32_t *enter, *leave;    /* by node: preorder interval of its subtree, [enter, leave) */
    uint32_t *order;            /* the reached nodes in preorder of the tree */
    uint32_t order_count;
    uint32_t *edge_start, *edges; /* into each node in the tree's direction: edges[edge_start[n] .. edge_start[n+1]) */
} Dominance;

/* Semi-NCA (Georgiadis, 2005), a simplification of Lengauer and Tarjan (1979). O(E log B); no recursion. */
Dominance *dominance_compute(Arena *arena, const Body *body);
Dominance *postdominance_compute(Arena *arena, const Body *body);

/* a (post)dominates b; every block dominates itself. O(1). */
bool dominance_has(const Dominance *dominance, const Block *a, const Block *b);
/* The immediate (post)dominator; NULL for the root, for an unreachable block, and where it is the virtual exit. */
Block *dominance_parent(const Dominance *dominance, const Block *block);
/* The nearest common (post)dominator; NULL if it is the virtual exit or if there is none. O(depth). */
Block *dominance_common(const Dominance *dominance, const Block *a, const Block *b);

/* For each block a list of blocks. */
typedef struct BlockLists {
    uint32_t *start; /* by Block.id, one more at the end */
    Block **items;
} BlockLists;
static inline uint32_t block_list_count(const BlockLists *lists, const Block *block)
{
    return lists->start[block->id + 1] - lists->start[block->id];
}
static inline Block **block_list(const BlockLists *lists, const Block *block)
{
    return lists->items + lists->start[block->id];
}

/* Dominance frontiers (Cytron et al., 1991, with the walk of Cooper, Harvey and Kennedy, 2001). Of a post-dominance
 * these are the blocks whose branch decides whether the block is executed: what it is control dependent on (Ferrante
 * et al., 1987). Size and time O(B * depth) at worst. */
BlockLists *dominance_frontiers(Arena *arena, const Dominance *dominance);
/* The other way round: the blocks that are control dependent on each block's branch. */
BlockLists *control_dependents(Arena *arena, const Dominance *postdominance);

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

typedef struct Loop Loop;
typedef struct LoopExit {
    Block *from; /* in the loop */
    Block *to;   /* outside; NULL: control leaves the function */
} LoopExit;

/* A natural loop: all back edges to one header. */
struct Loop {
    uint32_t index;   /* in LoopForest.loops, preorder: a loop comes before those inside it */
    uint32_t end;     /* its inner loops are loops[index + 1 .. end) */
    Block *header;
    Loop *parent;     /* NULL: outermost */
    unsigned depth;   /* 1: outermost */
    Block **blocks;   /* the header first; those of inner loops are included */
    uint32_t block_count;
    Block **latches;  /* sources of the back edges */
    uint32_t latch_count;
    Block *preheader; /* the only way in, and it leads nowhere else; NULL if there is none */
};

typedef struct LoopForest {
    const Body *body;
    Loop *loops;
    uint32_t loop_count;
    Loop **innermost;     /* by Block.id: NULL outside loops */
    BitSet irreducible;   /* by Block.id: lies on a cycle that is no natural loop */
    bool has_irreducible;
} LoopForest;

/* O(E + B * depth) time, O(B) memory; no recursion. */
LoopForest *loops_compute(Arena *arena, const Dominance *dominance);
static inline Loop *loop_of(const LoopForest *forest, const Block *block) { return forest->innermost[block->id]; }
static inline unsigned loop_depth(const LoopForest *forest, const Block *block)
{
    return forest->innermost[block->id] ? forest->innermost[block->id]->depth : 0;
}
bool loop_contains(const LoopForest *forest, const Loop *loop, const Block *block); /* O(1) */
/* The edges out of the loop, in the order of its blocks. Returns how many; at most 'capacity' are written. */
uint32_t loop_exits(const LoopForest *forest, const Loop *loop, LoopExit *out, uint32_t capacity);

#endif
