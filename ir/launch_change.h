/* The difference between the launch of a transformed kernel and that of the original. */
#ifndef PTXOPT_IR_LAUNCH_CHANGE_H
#define PTXOPT_IR_LAUNCH_CHANGE_H

#include <stdint.h>

/* All zero if there is no difference. */
typedef struct LaunchChange {
    unsigned grown[3], spread[3]; /* the block and the grid are multiplied by these first; 0 counts as 1 */
    unsigned block[3], grid[3];   /* then they are divided by these, rounded up; 0 counts as 1 */
    unsigned shared_factor;       /* the dynamic shared memory of a block is multiplied by this ... */
    unsigned merged[3];           /* where the grid stays: one of these neighbouring blocks has the work of all */
    unsigned shared_unit;         /* ... after it has been rounded up to a multiple of this; 0: it does not change */
} LaunchChange;

/* The threads of a block along the axis after the change, given the original's. */
static inline uint64_t launch_change_block(const LaunchChange *change, unsigned axis, unsigned threads)
{
    const uint64_t grown = (uint64_t)threads * (change->grown[axis] ? change->grown[axis] : 1);
    const unsigned divisor = change->block[axis] ? change->block[axis] : 1;
    return (grown + divisor - 1) / divisor;
}

/* The blocks of the grid along the axis after the change, given the original's. No change does both, multiply them and
 * divide. */
static inline uint64_t launch_change_grid(const LaunchChange *change, unsigned axis, unsigned blocks)
{
    const unsigned divisor = change->grid[axis] ? change->grid[axis] : 1;
    return ((uint64_t)blocks * (change->spread[axis] ? change->spread[axis] : 1) + divisor - 1) / divisor;
}

/* The dynamic shared memory after the change, given the original's bytes. */
static inline uint64_t launch_change_shared(const LaunchChange *change, uint64_t bytes)
{
    uint64_t unit = change->shared_unit;
    return unit ? (bytes + unit - 1) / unit * unit * change->shared_factor : bytes;
}

#endif
