/* Loop-carried values that stay a constant apart. */
#ifndef PTXOPT_OPT_REPLICAS_INDUCTION_H
#define PTXOPT_OPT_REPLICAS_INDUCTION_H

#include "analysis/analysis.h"

/* A phi of a loop's header that grows by a sum each time round. */
typedef struct Induction {
    RegId reg;
    AffineForm start, step;
    AffineTerm terms[AFFINE_TERMS]; /* of the step */
} Induction;

/* False if the phi is not one. Not to be copied: out->step points into it. */
bool induction_find(const Loop *loop, const Phi *phi, const Affine *affine, Induction *out);
/* True if both grow by the same sum. */
bool inductions_step_alike(const Induction *first, const Induction *second);

enum {
    ROW_FACTOR_MOST = 64,        /* of the common value in a difference */
    ROW_CONSTANT_MOST = 1 << 20,
};

/* The terms of a - b, which are 32-bit sums: their number, at most 2 * AFFINE_TERMS. */
unsigned row_difference(const AffineForm *a, const AffineForm *b, AffineTerm *terms, int64_t *constant);
bool row_is_near(int64_t value, int64_t most);

/* The block may be the header of a loop: then replaces 32-bit phis by others plus a multiple of one value that is there
 * before the loop, and a constant, as the rows of replicas are apart: sums modulo 2^32 in both. Returns how many; what
 * depends on instructions is then invalidated. SSA form. */
unsigned join_row_phis(Body *body, Analyses *analyses, Block *block);

/* Replaces phis of loop headers by others plus a constant; the phis stay, without readers but their own next values.
 * SSA form. Returns how many; what depends on instructions is then invalidated. */
unsigned join_inductions(Body *body, Analyses *analyses);

#endif
