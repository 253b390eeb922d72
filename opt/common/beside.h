/* Code right before an access, which is executed where the access is: if this is guarded, what its guard keeps from
 * being read may be undefined. */
#ifndef PTXOPT_OPT_COMMON_BESIDE_H
#define PTXOPT_OPT_COMMON_BESIDE_H

#include "ir/ir.h"

/* Adds a computation, with the access's guard. */
void access_insert(Body *body, Inst *access, Inst *inst);
/* Adds an instruction that makes a predicate, and gives it; false where the access is not executed. */
RegId access_insert_test(Body *body, Inst *access, Inst *test);
/* The address of the access, whose base is a 64-bit register, with its constant; a new register is named after
 * 'name'. */
RegId access_whole_address(Body *body, Inst *inst, const Access *access, const char *name);

#endif
