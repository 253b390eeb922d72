/* Random kernels with atomic updates that may or may not be counted in shared memory. */
#ifndef PTXOPT_TESTS_COUNT_KERNEL_H
#define PTXOPT_TESTS_COUNT_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. The results do not depend on the order of the threads.
 * The arrays of counters end where the last update may be. 'arena' owns the launch. */
void count_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
