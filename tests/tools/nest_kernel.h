/* Random kernels with a loop inside of another whose loads may or may not be staged in shared memory. */
#ifndef PTXOPT_TESTS_NEST_KERNEL_H
#define PTXOPT_TESTS_NEST_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. Only what the kernel reads counts as written: with
 * check_unwritten, a load of anything else faults. 'arena' owns the launch. */
void nest_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
