/* Vectors of neighbouring loads and stores. */
#ifndef PTXOPT_OPT_REPLICAS_VECTORIZE_H
#define PTXOPT_OPT_REPLICAS_VECTORIZE_H

#include "analysis/analysis.h"
#include "opt/common/vector_list.h"

/* How many accesses vectors could save in the body, in SSA form, whatever their alignment takes: on slow sides, or
 * elsewhere. 'everywhere' as in VectorWish. */
unsigned vectors_count(Body *body, Analyses *analyses, bool on_slow_sides, bool everywhere);

typedef struct VectorWish {
    bool everywhere; /* also those that coarsened code is not given (vectorize.c); else blocks and edges change only to
                      * test alignments of coarsened code */
    bool by_thread;  /* each thread may test where its main loop begins */
} VectorWish;

/* Joins neighbouring accesses of each block, in SSA form. Adds notes to the list, in the arena; NULL: none are wanted.
 * True if it changed anything but blocks. */
bool body_vectorize(Body *body, Analyses *analyses, const VectorWish *wish, Arena *arena, VectorList *list);

#endif
