/* Small passes that others are built from. */
#ifndef PTXOPT_OPT_PASSES_H
#define PTXOPT_OPT_PASSES_H

#include "ir/ir.h"

/* Removes instructions and phis whose results nobody reads and which have no other effect (SSA).  Returns how many. */
unsigned remove_dead_code(Body *body);

/* Replaces values by equal earlier ones that dominate them: pure instructions with the same spelling, constants and
 * operands, and phis with the same arguments (SSA; dominator-tree hash of Briggs, Cooper and Simpson, 1997).  Copies
 * are followed.  Returns how many. */
unsigned merge_equal_values(Body *body);

#endif
