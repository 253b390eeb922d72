/* The order of a block with the fewest registers. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_SCHEDULE_EXACT_H
#define PTXOPT_OPT_REGISTERS_MOVES_SCHEDULE_EXACT_H

#include "opt/registers/moves/schedule.h"

/* Starting from 'order', looks for an order of the block with a lower peak, in 32-bit registers, until none exists or
 * the budget of steps is used up; writes the best one found over 'order'. Returns its peak; *proved, unless NULL, says
 * that no order has a lower one. Blocks of more than SCHEDULE_EXACT_LARGEST instructions keep their order. */
int32_t schedule_exact(Scheduler *scheduler, const BlockOrder *block, uint32_t *order, uint32_t budget, bool *proved);

enum { SCHEDULE_EXACT_LARGEST = 600 };

#endif
