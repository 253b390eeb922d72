/* Loop-carried values that stay a constant apart. */
#ifndef PTXOPT_OPT_INDUCTION_H
#define PTXOPT_OPT_INDUCTION_H

#include "analysis/analysis.h"

/* Replaces phis of loop headers by others plus a constant; the phis stay, without readers but their own next values.
 * SSA form. Returns how many; what depends on instructions is then to be invalidated by the caller. */
unsigned join_inductions(Body *body, Analyses *analyses);

#endif
