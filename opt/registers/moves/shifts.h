/* Offsets of addresses as shifts. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_SHIFTS_H
#define PTXOPT_OPT_REGISTERS_MOVES_SHIFTS_H

#include "analysis/analysis.h"

/* Which of the offsets, in layout order. */
typedef enum ShiftPart { SHIFT_ALL, SHIFT_FIRST_HALF, SHIFT_SECOND_HALF } ShiftPart;

/* Extends and shifts 32-bit indices instead of multiplying them, where the product is only added to something. SSA
 * form; blocks and edges stay. Returns how many; what depends on instructions is then outdated. */
unsigned shift_offsets(Body *body, const Values *values, ShiftPart part);

#endif
