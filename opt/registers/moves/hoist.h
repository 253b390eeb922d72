/* Moving computations up to where their operands are. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_HOIST_H
#define PTXOPT_OPT_REGISTERS_MOVES_HOIST_H

#include "analysis/analysis.h"

/* Moves computations to blocks above where that leaves fewer registers live in between. SSA form; blocks and edges
 * stay. Returns how many. */
unsigned hoist_values(Body *body, Analyses *analyses);

#endif
