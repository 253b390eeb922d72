/* Inlining of calls that coarsening cannot leave as they are. */
#ifndef PTXOPT_OPT_COARSEN_INLINE_H
#define PTXOPT_OPT_COARSEN_INLINE_H

#include "ir/ir.h"

/* Replaces all calls of functions that mind which thread they run in, or in which block, if blocks are to be merged, by
 * the functions' bodies. False, with the body in an unspecified state, if one of them has to stay; also if there are
 * none. */
bool inline_calls(Body *body, bool merges_blocks);

#endif
