/* A block before a loop, for code that is executed once. */
#ifndef PTXOPT_OPT_COMMON_PREHEADER_H
#define PTXOPT_OPT_COMMON_PREHEADER_H

#include "analysis/analysis.h"

/* Gives the loop a block that is its only way in, and leads nowhere else. Keeps SSA form; changes blocks and edges. */
void loop_add_preheader(Body *body, const LoopForest *loops, const Loop *loop);
/* The same for all innermost loops that have none; false if all have one. */
bool loops_add_preheaders(Body *body, Analyses *analyses);

#endif
