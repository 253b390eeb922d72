/* The blocks that may be executed after others. */
#ifndef PTXOPT_OPT_COMMON_BLOCKS_AFTER_H
#define PTXOPT_OPT_COMMON_BLOCKS_AFTER_H

#include "ir/ir.h"

/* By Block.id: the blocks that control may reach from the end of one of these 'count' blocks, which are among them only
 * if a cycle leads back. The set is in the arena. */
BitSet blocks_after(Arena *arena, const Body *body, Block *const *from, size_t count);

#endif
