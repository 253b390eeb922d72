/* Two versions of a part of a kernel, for passes whose result is right only under a condition that is known when the
 * kernel runs. */
#ifndef PTXOPT_OPT_COMMON_VERSION_H
#define PTXOPT_OPT_COMMON_VERSION_H

#include "analysis/analysis.h"

/* True if body_version may make two versions of the code that follows: nothing there needs the threads of a warp or of
 * a block together, and there are at most 'most' instructions. */
bool body_may_version(const Body *body, const Dominance *dominance, const Block *block, const Inst *at, size_t most);

/* Moves everything from 'at' on to a block of its own, which the rest leads to. Gives that block. */
Block *body_split(Body *body, Inst *at);

/* Splits the block before 'at' (NULL: at its end) and makes a copy of everything from there on that the place
 * dominates. The original is executed where the predicate holds, the copy elsewhere. Keeps SSA form; changes blocks,
 * edges and phis. Gives the block that begins with 'at'. */
Block *body_version(Body *body, Block *block, Inst *at, RegId predicate);

#endif
