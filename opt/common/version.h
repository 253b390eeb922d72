/* Two versions of a part of a kernel, for passes whose result is right only under a condition that is known when the
 * kernel runs. */
#ifndef PTXOPT_OPT_COMMON_VERSION_H
#define PTXOPT_OPT_COMMON_VERSION_H

#include "analysis/analysis.h"

/* True if body_version may make two versions of the code that follows: nothing there needs the threads of a warp or of
 * a block together, and there are at most 'most' instructions. */
bool body_may_version(const Body *body, const Dominance *dominance, const Block *block, const Inst *at, size_t most);

/* The same of one instruction, and of some blocks alone. */
bool inst_may_version(const Inst *inst);
bool blocks_may_version(Block *const *blocks, size_t count, size_t most);

/* Whether the body has code for what few threads need, such as the copies that versions make. */
bool body_has_cold(const Body *body);

/* Moves everything from 'at' on to a block of its own, which the rest leads to. Gives that block. */
Block *body_split(Body *body, Inst *at);
/* The same with nothing but where the block, which must not end in a branch, leads to. */
Block *body_split_end(Body *body, Block *block);

/* Splits the block before 'at' (NULL: at its end) and makes a copy of everything from there on that the place
 * dominates. The original is executed where the predicate holds, the copy elsewhere. Keeps SSA form; changes blocks,
 * edges and phis. Gives the block that begins with 'at'. */
Block *body_version(Body *body, Block *block, Inst *at, RegId predicate);

/* Makes a copy of some blocks, of which 'before' leads to the first alone, and all of whose edges to others lead to
 * 'join'. The originals are executed where the predicate, which is there at the end of 'before', holds, the copies
 * elsewhere; values that are used later are merged in 'join'. 'values' is of the body without code for the test. Keeps
 * SSA form; changes blocks, edges and phis. 'copies' gets the copies in the order of the originals, whose instructions
 * are in the same order; NULL: they are not wanted. */
void blocks_version(Body *body, const Values *values, Block *const *blocks, size_t count, Block *before, Block *join,
                    RegId predicate, Block **copies);

#endif
