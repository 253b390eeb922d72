/* The declarations that the files of growing blocks share. */
#ifndef PTXOPT_OPT_GROW_INTERNAL_H
#define PTXOPT_OPT_GROW_INTERNAL_H

#include "opt/coarsen/internal.h"

/* The thread's old place along one axis, and its new one. */
typedef struct GrowAxis {
    unsigned by;      /* how many blocks become one; 1: nothing changes along the axis, and the rest is not set */
    unsigned threads; /* of the original block; 0: unknown */
    RegId thread, block; /* %tid and %ctaid */
    RegId size;       /* threads of the original block */
    RegId part;       /* which of the original blocks the thread is from: %tid / size */
    RegId index;      /* the thread's index there: %tid % size */
    RegId group;      /* the index of that block: %ctaid * by + part */
    RegId grid;       /* blocks of the original grid */
} GrowAxis;

typedef struct Grow {
    Coarsening c;  /* the body, and the findings about it: those of merging the blocks */
    GrowAxis axes[3];
    unsigned total; /* blocks that become one */
} Grow;

/* meet.c */
/* Refuses barriers that the threads of the original blocks do not all come to together. May set c.needs_whole_warps. */
bool grow_check_barriers(Grow *g);

/* place.c */
/* Makes all code read the old place and the old sizes, which are computed where the kernel begins. Returns the last of
 * these instructions. */
Inst *grow_place(Grow *g);
/* Sums that only say where the thread is in the grid are computed from its new place. */
void grow_simplify(Grow *g);

/* parts.c */
/* Refuses shared variables that cannot be split. */
bool grow_check_shared(Grow *g);
/* Gives each original block its own part of shared memory; the addresses are computed after 'place'. */
void grow_split_shared(Grow *g, Inst *place);

#endif
