/* The parts of body_build: build.c drives, elements.c splits vector registers, formals.c handles parameters and results
 * in registers, order.c numbers the registers. */
#ifndef PTXOPT_IR_BODY_BUILD_H
#define PTXOPT_IR_BODY_BUILD_H

#include "ir/internal.h"

/* The elements of vector registers. */
typedef struct Elements {
    Arena *scratch;
    const RegVec *parsed; /* the function's registers */
    RegId *rest;          /* by parsed register: the body's register for element 1, the others follow it; NULL: there
                           * are no vector registers */
} Elements;

/* Adds a register for each element to the body, whose registers are still the function's. The registers in 'whole' (an
 * empty set: none) stay whole, because the body does not name them. */
void elements_declare(Elements *elements, Body *body, const BitSet *whole, Arena *scratch);
/* The body's register for an element of a vector register, or for element 0 of any other. */
RegId elements_register(const Elements *elements, RegId parsed, unsigned element);
/* Rewrites an instruction that names vector registers to name their elements. NULL, or the reason why that is
 * impossible. */
const char *elements_replace(const Elements *elements, Body *body, Inst *inst);

/* "mov.v4.u32 {...}, %tid": appends to the block one read for each element that is used. */
bool inst_reads_special_vector(const Inst *inst);
void special_vector_split(Body *body, Block *block, const Inst *inst);

/* Parameters and results of the function that are in registers. */
typedef struct Formals {
    bool has_params, has_results;
    /* By parsed register: the parameter or result that it is, or the variable that represents it in argument lists;
     * NULL for all others. 'variables' is NULL if there are none of these. */
    Variable **variables;
    uint8_t *wrong_side; /* the operand of a mov, from 1, that the formal may not be in a copy: 1, the destination, for
                          * a parameter, 2 for a result; 0: it may be either, as with the variables that calls pass */
    BitSet used;         /* the registers that an instruction names */
    BitSet copied;       /* those of 'variables' that occur only alone, in copies and lists, as in the body form */
} Formals;

/* NULL, or the reason why the body form cannot express them. */
const char *formals_find(Formals *formals, const Function *function, Arena *scratch);
static inline bool formals_is_copied(const Formals *formals, RegId reg)
{
    return reg < formals->copied.bits && bitset_has(&formals->copied, reg);
}
/* Rewrites a copy to or from a formal to name it as the body form does; false if the instruction is not such a copy, or
 * the formal has other uses as well. */
bool formals_rename(const Formals *formals, Body *body, Inst *inst);
/* Append the copies of the parameters, and of the results. */
void formals_enter(const Formals *formals, Body *body, const Elements *elements, Block *block);
void formals_leave(const Formals *formals, Body *body, const Elements *elements, Block *block);
/* Makes a call pass variables instead of vector registers: appends the copies of the arguments, which come before it,
 * and returns in 'results' the copies that come after it. */
typedef VEC(Inst *) InstVec;
void call_vectors_replace(const Formals *formals, Body *body, const Elements *elements, Block *block, Inst *call,
                          InstVec *results);

/* Numbers the registers, and orders the variables that represent vector registers, as the listing first names them. */
void body_order(Body *body);

#endif
