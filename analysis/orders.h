/* The number of registers that a block of lowered instructions needs in the orders that an assembler might choose. */
#ifndef PTXOPT_ANALYSIS_ORDERS_H
#define PTXOPT_ANALYSIS_ORDERS_H

#include "analysis/lowered/lowered.h"

/* The highest number of registers that are live at once. */
typedef struct OrderPeaks {
    int32_t source;   /* in the body's order */
    int32_t least;    /* in the best of this order and two greedy ones */
    int32_t plenty;   /* if instructions with long latencies start early as long as 'limit' registers suffice, and four
                       * iterations of a loop of one block are interleaved */
    int32_t spread;   /* in that order, with the operands of each instruction in both banks of registers */
    int32_t across;   /* live where a subroutine may be called, in the greedy order from the top; 0: there is none */
    int32_t around;   /* live where a function is called, in the same order */
    uint32_t peak;    /* in the body's order, the index of the instruction with the most registers live */
} OrderPeaks;

/* O(n * w) for n instructions, up to w of which are ready at once. 'memory' tells which may be exchanged. */
OrderPeaks order_peaks(const Lowered *lowered, const LoweredBlock *block, const MemoryModel *memory, int32_t limit);

/* The excess of the body's own order over 'limit': registers, summed over its instructions; and its peak. O(n). */
typedef struct OrderLoad {
    int32_t peak;
    uint32_t index; /* of the first instruction with that peak */
    int64_t above;
} OrderLoad;
OrderLoad order_load(const Lowered *lowered, const LoweredBlock *block, int32_t limit);

/* The values that are live after an instruction of the block, in the body's order, with its results; in 'arena'. */
uint32_t order_live(Arena *arena, const Lowered *lowered, const LoweredBlock *block, uint32_t index, RegId **out);

/* The number of iterations that assemblers interleave in the loop that the block begins; 1 if it does not begin a loop
 * that they unroll. */
unsigned orders_unrolled(const LoweredBlock *block);

#endif
