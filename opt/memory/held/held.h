/* Rows of a thread's own that stay in shared memory while several loops read them: the code (phases.c). */
#ifndef PTXOPT_OPT_MEMORY_HELD_HELD_H
#define PTXOPT_OPT_MEMORY_HELD_HELD_H

#include "opt/common/sums.h"

enum {
    HELD_BYTES = 36864, /* of shared memory, by default: six blocks fit on an SM with 227 KB, each with 32 rows of
                         * 1 KB */
    HELD_LEAST = 8,     /* rows at a time */
    HELD_LANES = 32,    /* of a warp */
    HELD_ADDRESS = 8,   /* bytes */
    HELD_WORD = 4,      /* bytes: the least that a lane copies, so rows of smaller elements must be whole words */
    HELD_ROWS = 4,      /* of a thread, at most */
    HELD_OUT = HELD_ROWS, /* as the place of an access: where a row is stored that is not one of these */
};

/* An access that goes to shared memory. */
typedef struct HeldAccess {
    Inst *inst;
    RegId base;       /* the register that its address counts from, and */
    int64_t constant; /* how far */
    bool is_store;
    bool is_partial;  /* a load of what nothing writes, which may be outside of the row */
    unsigned place;   /* the row whose address it counts from, or HELD_OUT */
} HeldAccess;

typedef struct HeldPlan {
    Body *body;
    Block *at;        /* all threads of the block that have not ended get to its end, once */
    unsigned threads; /* of a block: whole warps */
    bool tests_block; /* launches may have blocks of another size */
    unsigned bytes;   /* of shared memory, a multiple of 16 */
    unsigned element; /* bytes */
    RegId begin[HELD_ROWS];  /* of the rows, at the end of the place: 64 bits */
    RegId end;               /* of the first one; the others are as long */
    bool varies;             /* there is but one, which may be shorter, in some threads, than what is stored: */
    RegId own_end;           /* its end; else the same */
    bool stores[HELD_ROWS];  /* in place */
    unsigned row_count;
    RegId out;               /* where one is stored that is not one of these; REG_NONE: there is none */
    unsigned host;           /* the row whose elements it replaces in shared memory */
    RegId holds;      /* a predicate: what the accesses need is so; REG_NONE: always */
    Variable *array;  /* in shared memory */
    VEC(HeldAccess) accesses;
} HeldPlan;

/* Adds the test and both versions. Cannot fail. */
void held_rewrite(HeldPlan *plan, const SumPlace *place);

#endif
