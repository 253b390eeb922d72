/* Loops in a simple shape: a block before a loop, for code that is executed once, and an end that leads back itself. */
#ifndef PTXOPT_OPT_COMMON_PREHEADER_H
#define PTXOPT_OPT_COMMON_PREHEADER_H

#include "analysis/analysis.h"

/* Gives the loop a block that is its only way in, and leads nowhere else. Keeps SSA form; changes blocks and edges. */
void loop_add_preheader(Body *body, const LoopForest *loops, const Loop *loop);
/* The same for all innermost loops that have none; false if all have one. */
bool loops_add_preheaders(Body *body, Analyses *analyses);
/* The same for all outermost loops. */
bool loops_add_outer_preheaders(Body *body, Analyses *analyses);
/* Removes a block at the loop's end that does nothing but lead back, as clang writes "@%p bra OUT; bra LOOP;": the
 * block before is then the loop's end. True if there was one; blocks and edges have changed. Keeps SSA form. */
bool loop_remove_empty_latch(Body *body, const Loop *loop);
/* The same for all innermost loops. */
bool loops_remove_empty_latches(Body *body, Analyses *analyses);

#endif
