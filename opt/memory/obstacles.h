/* Properties of a kernel that keep its blocks from sharing memory by barriers that a pass adds. */
#ifndef PTXOPT_OPT_MEMORY_OBSTACLES_H
#define PTXOPT_OPT_MEMORY_OBSTACLES_H

#include "opt/common/refusal.h"

enum { SHARED_MOST = 49152 /* bytes that a kernel can declare, on every architecture */ };

/* An instruction that is in the way, and why; REFUSAL_NONE: there is none. */
typedef struct Obstacle {
    const Inst *inst; /* NULL: the kernel as a whole */
    RefusalReason reason;
} Obstacle;

/* Finds the first obstacle of the kernel; sums up the bytes of shared memory that it has. */
Obstacle kernel_obstacle(Arena *scratch, const Body *body, uint64_t *shared);
/* Whether threads of other blocks could learn by the instruction what has been written before it, or it waits for
 * them. Barriers of the block and instructions of warps do not count. */
bool inst_orders_blocks(const Inst *inst);

#endif
