/* Parts of a kernel with one way in and one way out, of which there can be two versions. */
#ifndef PTXOPT_OPT_EDGES_REGION_H
#define PTXOPT_OPT_EDGES_REGION_H

#include "analysis/analysis.h"

typedef struct Region {
    Block **blocks; /* the entry first */
    size_t count;
    Block *before;  /* leads to the entry alone */
    Block *join;    /* where all edges out of the region lead */
    const Loop *loop; /* the region is this loop; NULL: it is in none */
    BitSet inside;  /* by Block.id */
} Region;

/* The region of an outermost loop with a preheader. False if it leads to several blocks. */
bool region_of_loop(Arena *scratch, const LoopForest *loops, const Loop *loop, Region *out);
/* The region that begins with the instruction, which is in no loop, and goes on to where anything is written, threads
 * meet or the kernel ends, or to the last place before that which all paths come to. False, with nothing changed, if
 * there is none; else blocks have been split, and the analyses are those of the body as it was. */
bool region_split(Arena *scratch, Body *body, Analyses *analyses, Inst *at, Region *out);

#endif
