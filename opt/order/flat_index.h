/* The number %ctaid.x * %ntid.x + %tid.x, by which a kernel with a flattened grid knows its threads. */
#ifndef PTXOPT_OPT_ORDER_FLAT_INDEX_H
#define PTXOPT_OPT_ORDER_FLAT_INDEX_H

#include "analysis/analysis.h"

typedef struct FlatIndex {
    Body *body;
    const Values *values;
    Inst *inst; /* computes it, in 32 bits */
    RegId reg;  /* its result */
} FlatIndex;

/* False if the body, in SSA form, has no such instruction. */
bool flat_index_find(Body *body, const Values *values, FlatIndex *flat);
/* True if the number is all that the kernel learns of a thread's place along x, and threads do nothing together: no
 * shared memory, barrier, atomic, or instruction of a warp. Then threads may have each other's numbers. */
bool flat_index_is_all(const FlatIndex *flat);

#endif
