/* Code that computes affine sums at the end of a block. */
#ifndef PTXOPT_OPT_SUMS_H
#define PTXOPT_OPT_SUMS_H

#include "analysis/analysis.h"

/* Where code is added: to the end of a block, before the branch that ends it. The analyses are of the body as it was
 * before anything was added. */
typedef struct SumPlace {
    Body *body;
    Block *block;
    const Affine *affine;
    const Values *values;
    const Dominance *dominance;
} SumPlace;

SumPlace sum_place_new(Body *body, Block *block, Analyses *analyses);
/* Adds the instruction. */
void sum_put(const SumPlace *place, Inst *inst);
/* A new register of this type. */
RegId sum_reg(const SumPlace *place, Type type, Name base);
/* A 64-bit register with the 64-bit sum, from registers that are available, with the code that it takes; REG_NONE, and
 * perhaps some dead code, if that is not possible. */
RegId sum_build(const SumPlace *place, const AffineForm *form);

#endif
