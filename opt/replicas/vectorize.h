/* Vectors of neighbouring loads and stores. */
#ifndef PTXOPT_OPT_REPLICAS_VECTORIZE_H
#define PTXOPT_OPT_REPLICAS_VECTORIZE_H

#include "analysis/analysis.h"
#include "opt/common/vector_list.h"

/* How many accesses vectors could save in the body, in SSA form, whatever their alignment takes: on slow sides, or
 * elsewhere. 'everywhere' as for body_vectorize. */
unsigned vectors_count(Body *body, Analyses *analyses, bool on_slow_sides, bool everywhere);

/* Joins neighbouring accesses of each block, in SSA form. Everywhere: also those that coarsened code is not given
 * (vectorize.c); else it changes blocks and edges only to test alignments of coarsened code. Adds
 * notes to the list, in the arena; NULL: none are wanted. True if it changed anything but blocks. */
bool body_vectorize(Body *body, Analyses *analyses, bool everywhere, Arena *arena, VectorList *list);

#endif
