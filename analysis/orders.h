/* How many registers a block of lowered instructions needs in the orders that an assembler might choose. */
#ifndef PTXOPT_ANALYSIS_ORDERS_H
#define PTXOPT_ANALYSIS_ORDERS_H

#include "analysis/lowered/lowered.h"

/* The highest number of registers that are live at once. */
typedef struct OrderPeaks {
    int32_t source;   /* in the body's order */
    int32_t least;    /* in the best of this order and two greedy ones */
    int32_t plenty;   /* where what takes long starts early as long as 'limit' registers suffice, and four iterations of
                       * a loop of one block at once */
    int32_t spread;   /* in that order, where the operands of an instruction are in both banks of registers */
    int32_t across;   /* in the greedy order from the top, live where a subroutine may be called; 0: there is none */
    int32_t around;   /* the same where a function is called */
    uint32_t peak;    /* in the body's order, the index of the instruction with the most registers live */
} OrderPeaks;

/* O(n * w) for n instructions, of which w may be next at once.  'memory' tells what may be exchanged. */
OrderPeaks order_peaks(const Lowered *lowered, const LoweredBlock *block, const MemoryModel *memory, int32_t limit);

/* How far the body's own order is above 'limit': registers, summed over its instructions; and its peak.  O(n). */
typedef struct OrderLoad {
    int32_t peak;
    uint32_t index; /* of the first instruction with that peak */
    int64_t above;
} OrderLoad;
OrderLoad order_load(const Lowered *lowered, const LoweredBlock *block, int32_t limit);

/* The values that are live after an instruction of the block, in the body's order, with its results; in 'arena'. */
uint32_t order_live(Arena *arena, const Lowered *lowered, const LoweredBlock *block, uint32_t index, RegId **out);

/* How many iterations of the loop that the block begins assemblers put side by side; 1 if it does not begin a loop that
 * they unroll. */
unsigned orders_unrolled(const LoweredBlock *block);

#endif
