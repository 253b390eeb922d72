/* Random kernels whose threads walk along rows, or access neighbours. */
#ifndef PTXOPT_TESTS_ROW_KERNEL_H
#define PTXOPT_TESTS_ROW_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. 'arena' owns the launch. */
void row_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
