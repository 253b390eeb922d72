/* Random PTX kernels, free of data races, in the shapes of control flow that thread coarsening must handle. */
#ifndef PTXOPT_TESTS_RANDOM_KERNEL_H
#define PTXOPT_TESTS_RANDOM_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* The same seed gives the same kernel, named "k", and the same launch.  'arena' owns the launch. */
void random_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
