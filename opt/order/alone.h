/* Kernels whose threads do nothing together, so that they may have each other's places. */
#ifndef PTXOPT_OPT_ORDER_ALONE_H
#define PTXOPT_OPT_ORDER_ALONE_H

#include "ir/ir.h"

/* True if threads that execute the instruction do nothing together: no shared memory, barrier, atomic, or instruction
 * of a warp, nor a branch that a warp is said to take as one. It may read one component of a thread's place, or of the
 * sizes of the block and the grid, but no other special register. */
bool inst_is_alone(const Inst *inst);

#endif
