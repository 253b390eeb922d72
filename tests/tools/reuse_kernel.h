/* Random kernels that load and store the same places in many ways. */
#ifndef PTXOPT_TESTS_REUSE_KERNEL_H
#define PTXOPT_TESTS_REUSE_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. 'arena' owns the launch. */
void reuse_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
