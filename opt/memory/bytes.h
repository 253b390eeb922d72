/* Bytes of words that permutations take apart and put together again. */
#ifndef PTXOPT_OPT_MEMORY_BYTES_H
#define PTXOPT_OPT_MEMORY_BYTES_H

#include "ir/ir.h"

/* Makes each permutation of bytes take them from the words that they come from, where these are two at most, and leaves
 * out permutations that are the same for both factors of a dot product of bytes. The body is in SSA form. Returns how
 * many instructions changed; those that are no longer needed stay, for the clean-up. */
unsigned permutes_merge(Body *body);

#endif
