/* The parts of the clean-up pass. */
#ifndef PTXOPT_OPT_COMMON_CLEANUP_H
#define PTXOPT_OPT_COMMON_CLEANUP_H

#include "analysis/analysis.h"

/* All work on bodies in SSA form with current Block.ids and preds, and leave it to the caller to invalidate what
 * depends on instructions. */

/* Removes instructions and phis without readers and without other effects. Returns how many. */
unsigned remove_dead_code(Body *body, Analyses *analyses);

/* Replaces values by equal earlier ones that dominate them: repeatable instructions with the same spelling, constants
 * and operands, and phis with the same arguments. Follows copies. Returns how many. */
unsigned merge_equal_values(Body *body, Analyses *analyses);

/* Makes the instruction, which writes this register of 32 or 64 bits, set it to a number. */
void inst_become_constant(Body *body, Inst *inst, RegId reg, int64_t number);

/* Replaces integers of 32 and 64 bits that are computed from constants by these. Returns how many. */
unsigned fold_constants(Body *body, Analyses *analyses);

/* Makes old values that guarded instructions keep undefined where nothing can see them. Returns how many. */
unsigned forget_kept_values(Body *body, Analyses *analyses);

/* Lets guarded instructions keep the old values that guarded copies of their results keep. Returns how many copies are
 * gone. */
unsigned fold_kept_copies(Body *body, Analyses *analyses);

#endif
