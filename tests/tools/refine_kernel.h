/* Random kernels whose loops several threads can share. */
#ifndef PTXOPT_TESTS_REFINE_KERNEL_H
#define PTXOPT_TESTS_REFINE_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. Sums of floating-point numbers are exact in any order.
 * 'arena' owns the launch. */
void refine_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
