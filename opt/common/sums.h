/* Sums: what instructions add, and code that computes affine ones at the end of a block. */
#ifndef PTXOPT_OPT_COMMON_SUMS_H
#define PTXOPT_OPT_COMMON_SUMS_H

#include "analysis/analysis.h"

/* The other operand of an addition of two 64-bit registers, without a guard, of which one is 'reg'; REG_NONE if the
 * instruction is not that, or NULL. */
RegId sum_other(const Body *body, const Inst *inst, RegId reg);
/* By how many bits a multiplication without a guard shifts the 32-bit register that it extends to 64 bits; 0: the
 * instruction does something else. */
unsigned product_shift(const Body *body, const Inst *inst);

/* The place where code is added: the end of a block, before the branch that ends it. The analyses are of the body as it
 * was before anything was added. */
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
/* The instruction after which code is added, NULL at the top of the block; and the removal of all that was added after
 * it, so that the analyses are of the body again. */
Inst *sum_place_end(const SumPlace *place);
void sum_place_undo(const SumPlace *place, Inst *end);
/* A new register of this type. */
RegId sum_reg(const SumPlace *place, Type type, Name base);
/* A 64-bit register with the 32-bit one extended, with the code that it takes. */
RegId sum_extend(const SumPlace *place, RegId narrow, bool is_signed, Name base);
/* A 64-bit register with the 64-bit sum, from registers that are available, with the code that it takes; REG_NONE, and
 * perhaps some dead code, if that is not possible. */
RegId sum_build(const SumPlace *place, const AffineForm *form);

#endif
