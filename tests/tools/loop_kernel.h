/* Random loops that update words of memory while they read and write others. */
#ifndef PTXOPT_TESTS_LOOP_KERNEL_H
#define PTXOPT_TESTS_LOOP_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. 'arena' owns the launch. */
void loop_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
