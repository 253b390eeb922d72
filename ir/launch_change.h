/* How the launch of a transformed kernel differs from that of the original. */
#ifndef PTXOPT_IR_LAUNCH_CHANGE_H
#define PTXOPT_IR_LAUNCH_CHANGE_H

#include <stdint.h>

/* All zero: it does not. */
typedef struct LaunchChange {
    unsigned block[3], grid[3]; /* they are divided by these, rounded up; 0 counts as 1 */
    unsigned shared_factor;     /* so many times the dynamic shared memory of a block ... */
    unsigned shared_unit;       /* ... after it has been rounded up to a multiple of this; 0: it stays */
} LaunchChange;

/* The dynamic shared memory after the change, given the original's bytes. */
static inline uint64_t launch_change_shared(const LaunchChange *change, uint64_t bytes)
{
    uint64_t unit = change->shared_unit;
    return unit ? (bytes + unit - 1) / unit * unit * change->shared_factor : bytes;
}

#endif
