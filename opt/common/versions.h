/* Second versions of parts of a body.
 *
 * A *part* is a set of blocks; a version of it is a copy with registers of its own, to which the caller leads edges.
 * The parts of one body are disjoint. Until versions_finish(), which places the new blocks, ids, predecessors and the
 * analyses are those of the body before the first part. */
#ifndef PTXOPT_OPT_COMMON_VERSIONS_H
#define PTXOPT_OPT_COMMON_VERSIONS_H

#include "analysis/analysis.h"

/* Whose values come from a block. */
typedef struct Origin {
    uint32_t part;
    bool is_copy; /* those of the part's version */
} Origin;

/* A value of a part that is used outside it. */
typedef struct Escape {
    RegId reg;
    Block *join; /* where it meets its version's */
} Escape;

typedef struct Versions Versions;
struct Versions {
    Body *body;
    Arena *scratch;
    const Values *values;
    size_t block_count, reg_count; /* before the first part */
    uint32_t part;       /* the current one; the first is 1 */
    uint32_t *parts;     /* by Block.id: its part; 0: none */
    Block **blocks;      /* by Block.id: its copy; NULL: none */
    uint32_t *reg_parts; /* by RegId: the part where it was copied; 0: none */
    RegId *regs;         /* by RegId: its copy */
    PointerMap origins;  /* Block -> Origin *: blocks of parts, and new blocks */
    VEC(RegId) copied;   /* of the current part */
    VEC(Escape) escapes;
    VEC(Block *) *after; /* by Block.id: new blocks to place after it */
};

/* Takes a body in SSA form; 'values' may be NULL if no parts join. */
Versions versions_new(Arena *scratch, Body *body, const Values *values);
/* Begins a part. */
void versions_begin(Versions *v, Block *const *blocks, size_t count);
/* Copies blocks of the current part; the copies are placed after 'place', a block of the old body. Edges and phi
 * arguments lead from copy to copy where there is one, else to where they led before. */
void versions_copy(Versions *v, Block *const *blocks, size_t count, const Block *place);
/* The copy in the current part; the original where there is none. */
Block *versions_block(const Versions *v, Block *block);
RegId versions_reg(const Versions *v, RegId reg);
/* Begins another version of the current part, beside those that were made. Only the last one may be joined. */
void versions_repeat(Versions *v);
/* Makes the version have this register for one of the part, instead of a copy. */
void versions_set_reg(Versions *v, RegId reg, RegId own);
/* A new block after 'place'. If 'is_copy' is set, the values of the current part's version come from it. */
Block *versions_add_block(Versions *v, const Block *place, bool is_copy);
/* Gives the phis of a block outside the part an argument for each edge from a copy. */
void versions_lead(const Versions *v, Block *to);
/* The paths of the current part and its version meet at the block: versions_lead(), and values that are used outside
 * the part are merged there. */
void versions_join(Versions *v, Block *join);
/* Places the new blocks, updates ids and predecessors, and merges values. */
void versions_finish(Versions *v);

/* Replaces an edge. */
void block_retarget(Block *block, const Block *from, Block *to);
/* Makes the block's phi arguments come from another predecessor. */
void block_replace_pred(Block *block, const Block *from, Block *to);
/* A new block on the edge. */
Block *block_between(Body *body, Block *from, Block *to);

#endif
