/* The interface between the files that estimate a profile from the code alone. */
#ifndef PTXOPT_COST_ESTIMATE_H
#define PTXOPT_COST_ESTIMATE_H

#include "cost/internal.h"

/* The edges that leave a loop. */
typedef struct LoopExits {
    unsigned count;
    bool uneven; /* threads take some of them for reasons other than a counted number of trips */
    bool counted; /* at one of them, threads leave after equally many trips, or count to the same bound */
} LoopExits;

/* The values that differ between lanes: differing.c. */
typedef struct Differing {
    bool is_known;
    BitSet values;       /* by RegId */
    BitSet uneven_loops; /* by Loop.index: lanes leave them at different times */
} Differing;

enum { ALONG_BLOCKS = 3 };

/* A form being estimated: its body in SSA form, and the known facts about the launch. */
typedef struct Estimate {
    Arena *arena;
    const Body *body;
    Analyses *analyses;
    double block[3]; /* threads, after coarsening */
    double blocks;
    double assumed_trips; /* of loops whose trip counts are not known; some are if ... */
    bool assumes_trips;
    double *frequency; /* by Block.id: the share of the warps that execute it, times the executions by each */
    double *present;   /* by Block.id: the share of the thread blocks that reach it; others may be surplus */
    double *trips;     /* by Loop.index */
    LoopExits *exits;  /* by Loop.index */
    Map seen;          /* keys of the accesses that have been estimated: coalescing.c */
    Map objects;       /* from pointers to numbers of the objects in these keys */
    Differing differing[4]; /* along x, y, z, and from block to block */
} Estimate;

static inline double estimate_warps(const Estimate *estimate)
{
    return (double)divide_up((uint64_t)(estimate->block[0] * estimate->block[1] * estimate->block[2]), WARP_THREADS);
}

/* frequency.c: fills in 'trips', 'exits', 'present' and 'frequency'. */
void estimate_frequencies(Estimate *estimate);

/* continued.c: the loop that this one continues; NULL: it begins anew. */
const Loop *estimate_continued(const Estimate *estimate, const Loop *loop);

/* True if threads leave some loop for reasons other than a counted number of trips: warps then differ in length, by an
 * amount that the estimate does not know. After estimate_frequencies(). */
bool estimate_is_uneven(const Estimate *estimate);

/* differing.c: true if a value differs between the lanes that use it together in the block. 'along' is 0 to 2 for lanes
 * whose indices differ in x, y or z, or ALONG_BLOCKS for the threads of different blocks. */
bool estimate_differs(Estimate *estimate, unsigned along, RegId reg, const Block *block);

/* coalescing.c: the traffic of one access by a whole warp. */
typedef struct AccessShape {
    double sectors, lines; /* global */
    double wavefronts;     /* passes of the data banks */
    double bank_conflicts; /* of these, those beyond one for each group of lanes that is served together */
    double distinct;       /* sectors that the access touches in a block, over all its executions there; 0: those of an
                            * earlier access whose address differs by a constant */
    bool differs_by_block; /* else all blocks touch the same sectors */
} AccessShape;

AccessShape estimate_access(Estimate *estimate, const Inst *inst, const Access *access);

/* copies.c: makes the reads of copies that are hidden from the assembler read the originals. The body is in SSA
 * form. */
void estimate_see_through_copies(Body *body);

/* values.c: the sources that a value is computed from. */
typedef enum ValueSource {
    SOURCE_THREAD = 1 << 0, /* %tid */
    SOURCE_MEMORY = 1 << 1, /* a load, other than of a parameter */
    SOURCE_LOOP = 1 << 2,   /* a phi */
} ValueSource;

/* The set of sources of a register, as far as a bounded walk sees them. */
unsigned value_sources(const Estimate *estimate, RegId reg);

#endif
