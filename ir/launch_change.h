/* The difference between the launch of a transformed kernel and that of the original. */
#ifndef PTXOPT_IR_LAUNCH_CHANGE_H
#define PTXOPT_IR_LAUNCH_CHANGE_H

#include <stdint.h>

/* All zero if there is no difference. */
typedef struct LaunchChange {
    unsigned block[3], grid[3]; /* the block and the grid are divided by these, rounded up; 0 counts as 1 */
    unsigned shared_factor;     /* the dynamic shared memory of a block is multiplied by this ... */
    unsigned merged[3];         /* where the grid stays: one of these neighbouring blocks has the work of all */
    unsigned shared_unit;       /* ... after it has been rounded up to a multiple of this; 0: it does not change */
} LaunchChange;

/* The dynamic shared memory after the change, given the original's bytes. */
static inline uint64_t launch_change_shared(const LaunchChange *change, uint64_t bytes)
{
    uint64_t unit = change->shared_unit;
    return unit ? (bytes + unit - 1) / unit * unit * change->shared_factor : bytes;
}

#endif
