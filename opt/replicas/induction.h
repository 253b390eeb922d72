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

/* Replaces phis of loop headers by others plus a constant; the phis stay, without readers but their own next values.
 * SSA form. Returns how many; what depends on instructions is then invalidated. */
unsigned join_inductions(Body *body, Analyses *analyses);

#endif
