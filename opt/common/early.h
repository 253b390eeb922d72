/* Values at a place before the one that computes them. */
#ifndef PTXOPT_OPT_COMMON_EARLY_H
#define PTXOPT_OPT_COMMON_EARLY_H

#include "analysis/analysis.h"

/* The end of the block, before the branch that ends it. The analyses are of the body before anything was added. */
typedef struct EarlyPlace {
    Arena *scratch;
    Body *body;
    Block *at;
    const Values *values;
    const Dominance *dominance; /* NULL: nothing has been computed at the place */
    const Loop *loop;           /* whose preheader the place is: values of its first round are meant; NULL: none */
    bool is_first;              /* values of the threads with %tid.x = 0 are meant */
} EarlyPlace;

/* True if the instruction gives the same anywhere: it only computes, or loads a parameter of the kernel. */
bool inst_can_move(const Inst *inst);
/* Whether instructions that do not depend on the path to the place can compute the register's value there. */
bool value_is_early(const EarlyPlace *place, RegId reg);
/* Whether the threads of a block have the value in common, and can compute it where the kernel begins. */
bool value_is_common(Arena *scratch, const Values *values, RegId reg);
/* The same, apart from the threads' own %tid.x. */
bool value_has_x_alone(Arena *scratch, const Values *values, RegId reg);
/* The value there; adds the instructions that it takes. 'values' must still be right for those that it comes from. */
RegId value_hoist(const EarlyPlace *place, RegId reg);

#endif
