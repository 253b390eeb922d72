/* One block where a kernel begins and one where it ends. */
#ifndef PTXOPT_OPT_COMMON_ENDS_H
#define PTXOPT_OPT_COMMON_ENDS_H

#include "ir/ir.h"

/* Turns every ret and exit into a branch to one block, which is returned. In an entry function ret and exit mean the
 * same. */
Block *body_unify_exits(Body *body);
/* Puts an empty block before the entry. */
Block *body_add_entry(Body *body);

#endif
