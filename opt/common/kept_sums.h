/* Sums that loops keep in memory, in registers: several passes need that before they look at loops. */
#ifndef PTXOPT_OPT_COMMON_KEPT_SUMS_H
#define PTXOPT_OPT_COMMON_KEPT_SUMS_H

#include "opt/pass.h"

/* Runs the accumulator pass with those that it needs before and after it. A sum that each round stores to one place,
 * because arrays may be the same memory, becomes one that nothing in the loop stores, in a version of the loop for
 * arrays that are not. Gives the body as it was, which the caller owns; NULL, and the body is as it was, if there is no
 * such sum. */
Body *sums_keep(PassContext *context);

#endif
