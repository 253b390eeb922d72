/* Division by a constant without the instruction "div", of which assemblers make a division. */
#ifndef PTXOPT_OPT_COMMON_QUOTIENT_H
#define PTXOPT_OPT_COMMON_QUOTIENT_H

#include "ir/ir.h"

/* Inserts code after the place that divides the number, which is less than 2^31. Returns the last instruction. */
Inst *inst_insert_quotient(Body *body, Inst *place, RegId quotient, RegId number, unsigned divisor);

#endif
