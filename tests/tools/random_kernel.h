/* Random PTX kernels, free of data races, in the shapes of control flow that thread coarsening must handle. */
#ifndef PTXOPT_TESTS_RANDOM_KERNEL_H
#define PTXOPT_TESTS_RANDOM_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. 'arena' owns the launch. */
void random_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
