/* Random kernels whose loops load and store rows that belong to one thread each. */
#ifndef PTXOPT_TESTS_STORE_KERNEL_H
#define PTXOPT_TESTS_STORE_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. 'arena' owns the launch. */
void store_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
