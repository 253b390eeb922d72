/* The address of a variable, taken from a register wherever code names the variable. */
#ifndef PTXOPT_OPT_COMMON_VARIABLE_ADDRESS_H
#define PTXOPT_OPT_COMMON_VARIABLE_ADDRESS_H

#include "ir/ir.h"

/* True if a register can be in the place of the variable that the operand names. */
bool variable_is_replaceable(const Inst *inst, const Operand *operand);
/* Makes the operand, which names the variable and is replaceable, read the address from the 32-bit register; adds the
 * instructions that this takes before it. */
void variable_replace(Body *body, Inst *inst, unsigned index, const Variable *variable, RegId address);

#endif
