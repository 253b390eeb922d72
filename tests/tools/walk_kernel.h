/* Random kernels with atomic updates in loops that walk along what may be counted. */
#ifndef PTXOPT_TESTS_WALK_KERNEL_H
#define PTXOPT_TESTS_WALK_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. 'arena' owns the launch. */
void walk_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
