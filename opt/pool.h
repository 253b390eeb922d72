/* The registers of a block, and how its warpgroups pass them on with setmaxnreg: a model of the pool.
 *
 * PTX ISA, setmaxnreg: all warps of a warpgroup execute it; .dec gives registers back to the block, .inc waits until
 * the block has as many as are missing. A block has as many registers as it was launched with, and a warp that exits
 * keeps its own, since the ISA names no other way back (the emulator's execute/pool.c says the same).
 *
 * Branches whose conditions the bounds of %tid decide tell which warpgroup executes which; if they do not, the model
 * says so and claims nothing. */
#ifndef PTXOPT_OPT_POOL_H
#define PTXOPT_OPT_POOL_H

#include "opt/block_size.h"

enum {
    WARPGROUP_THREADS = 128,
    POOL_GROUPS = BLOCK_MOST_THREADS / WARPGROUP_THREADS,
    POOL_STEPS = 6,       /* that a warpgroup executes; more are not followed */
    POOL_UNIT = 8,        /* of an immediate, and of registers at launch */
    POOL_LEAST = 24,      /* the least and greatest immediate */
    POOL_MOST = 256,
};

/* A setmaxnreg that a warpgroup executes. */
typedef struct PoolStep {
    Span span;
    bool increases;
    unsigned registers; /* of each thread */
} PoolStep;

/* Why it is not known what a warpgroup executes. */
typedef enum PoolOpen {
    POOL_KNOWN,
    POOL_NO_BODY,       /* the kernel cannot be analysed */
    POOL_NO_BLOCK,      /* the block size is unknown */
    POOL_PART_OF_GROUP, /* the block is not one of whole warpgroups */
    POOL_PATHS,         /* paths that meet, or end, differ in it: their conditions are not decided by %tid */
    POOL_LOOP,          /* a loop repeats it */
    POOL_GUARD,         /* a condition decides it that is not known */
    POOL_CALLED,        /* a function that is called may execute it */
    POOL_MANY,          /* more than POOL_STEPS */
    POOL_NO_LAUNCH,     /* no directive says how many registers there are at launch */
} PoolOpen;

typedef struct PoolGroup {
    unsigned step_count;
    PoolStep steps[POOL_STEPS];
} PoolGroup;

typedef struct Pool {
    PoolOpen open;
    Span place;       /* that this is about */
    unsigned threads; /* of the block */
    unsigned group_count;
    PoolGroup groups[POOL_GROUPS];
} Pool;

/* The steps of the warpgroups of a block of this kernel, whose size is known as far as 'block' says. */
Pool pool_find(Function *kernel, const BlockSize *block);

unsigned pool_most(const Pool *pool);

typedef enum PoolVerdict {
    POOL_SERVED,     /* no warpgroup waits forever, in whatever order they come to their steps */
    POOL_MAY_STICK,  /* in some order one does */
    POOL_STUCK,      /* in every order */
    POOL_TOO_FEW,    /* a .dec leaves more than the warpgroup has */
    POOL_NOT_TRIED,  /* too many orders */
} PoolVerdict;

typedef struct PoolOutcome {
    PoolVerdict verdict;
    unsigned group;   /* that waits, or has too few */
    PoolStep step;    /* at this instruction */
    unsigned has;     /* registers of each of its threads */
    unsigned held[POOL_GROUPS]; /* POOL_STUCK, POOL_MAY_STICK: what each group has then; POOL_SERVED: at the end */
    unsigned left;    /* in the pool then, for each thread of one warpgroup */
} PoolOutcome;

/* Follows the steps of a pool that is known, launched with this many registers for each thread. */
PoolOutcome pool_serve(const Pool *pool, unsigned launch);

/* Whether both execute the same instructions. */
bool pool_groups_match(const PoolGroup *a, const PoolGroup *b);

#endif
