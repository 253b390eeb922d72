/* Random kernels of flattened grids: one index, of which each thread takes quotients and remainders. */
#ifndef PTXOPT_TESTS_FLAT_KERNEL_H
#define PTXOPT_TESTS_FLAT_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. 'arena' owns the launch. */
void flat_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
