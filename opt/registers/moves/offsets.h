/* Pointers of a loop that are a uniform distance apart. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_OFFSETS_H
#define PTXOPT_OPT_REGISTERS_MOVES_OFFSETS_H

#include "analysis/analysis.h"

/* Replaces pointers that a loop advances together by one of them plus distances that are computed before the loop;
 * without dead code. SSA form; blocks and edges stay. Returns how many. */
unsigned offset_pointers(Body *body, Analyses *analyses);

#endif
