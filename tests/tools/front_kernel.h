/* Random kernels with loops of which the fronts alone may be interleaved, as in triangular nests. */
#ifndef PTXOPT_TESTS_FRONT_KERNEL_H
#define PTXOPT_TESTS_FRONT_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. The outer loop begins at LOOP. 'arena' owns the
 * launch. */
void front_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
