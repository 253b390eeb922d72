/* Natural loops. */
#ifndef PTXOPT_ANALYSIS_LOOPS_H
#define PTXOPT_ANALYSIS_LOOPS_H

#include "ir/ir.h"
#include "support/support.h"

typedef struct Loop Loop;
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
    Block *preheader; /* the only block outside that enters the loop, which leads nowhere else; NULL if there is none */
};

typedef struct LoopForest {
    const Body *body;
    Loop *loops;
    uint32_t loop_count;
    Loop **innermost;     /* by Block.id: NULL outside loops */
    BitSet irreducible;   /* by Block.id: the blocks on a cycle that is not a natural loop */
    bool has_irreducible;
} LoopForest;

/* O(E + B * depth) time, O(B) memory; no recursion. */
LoopForest *loops_compute(Arena *arena, const Dominance *dominance);
static inline Loop *loop_of(const LoopForest *forest, const Block *block) { return forest->innermost[block->id]; }
/* The loop that begins with the block, or NULL. */
static inline Loop *loop_headed(const LoopForest *forest, const Block *block)
{
    Loop *loop = forest->innermost[block->id];
    return loop && loop->header == block ? loop : NULL;
}
static inline unsigned loop_depth(const LoopForest *forest, const Block *block)
{
    return forest->innermost[block->id] ? forest->innermost[block->id]->depth : 0;
}
/* The number of executions of a block for each execution of the body, by a rule of thumb: a factor of eight for each
 * loop around it, up to four loops. */
uint64_t loop_weight(const LoopForest *forest, const Block *block);
bool loop_contains(const LoopForest *forest, const Loop *loop, const Block *block); /* O(1) */

#endif
