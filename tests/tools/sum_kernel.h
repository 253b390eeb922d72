/* Random kernels whose threads update one address in all rounds of loops, and several times side by side. */
#ifndef PTXOPT_TESTS_SUM_KERNEL_H
#define PTXOPT_TESTS_SUM_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. 'arena' owns the launch. */
void sum_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
