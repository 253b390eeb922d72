/* The functions that a kernel may call. */
#ifndef PTXOPT_ANALYSIS_CALLEES_H
#define PTXOPT_ANALYSIS_CALLEES_H

#include "ir/ir.h"
#include "support/support.h"

typedef VEC(const Function *) FunctionVec;

/* The function and all that it may call, directly or not: their definitions, or declarations of those that the module
 * does not define. An indirect call may be one of any function of the module that is not a kernel. The kernel comes
 * first; the order is the same for equal modules. */
FunctionVec functions_called(Arena *arena, const Function *kernel);

#endif
