/* Refinement: several threads take the place of one and share the rounds of its loops. The reverse of coarsening.
 *
 *     thread i:                               threads (i, 0) .. (i, n - 1):
 *     for (k = 0; k < m; k++)                 for (k = lane; k < m; k += n)
 *         sum += a[i * m + k] * b[k];    ->       part += a[i * m + k] * b[k];
 *                                             sum = the parts of all lanes, by shuffles
 *     c[i] = sum;                             if (lane == 0) c[i] = sum;
 *
 * The n threads, a group, are in one warp. Everything outside of these loops is executed by all of them, alike. Blocks
 * become n times as large or, where their threads do not meet, n times as many. */
#ifndef PTXOPT_OPT_REFINE_H
#define PTXOPT_OPT_REFINE_H

#include "opt/block_size.h"
#include "opt/common/refusal.h"

enum { REFINE_MOST = 32 };

typedef struct RefineRequest {
    unsigned threads;   /* in place of one: a power of two, 2 to REFINE_MOST */
    bool is_apart;      /* a group's threads are 32 / threads apart, so that neighbours stay neighbours; else they are
                         * next to each other */
    bool reassociates;  /* sums of floating point may be added in another order */
    BlockSize block;    /* of the original */
} RefineRequest;

typedef struct RefineResult {
    unsigned loops;        /* whose rounds are shared */
    unsigned reassociated; /* sums of floating point that are added in another order */
    unsigned spread; /* what multiplies the grid along x; the rest of the request's threads multiply the block */
    unsigned unit;   /* what the threads of a block along x must then be a multiple of */
} RefineResult;

#endif
