/* Random kernels with loops whose loads may or may not be staged in shared memory. */
#ifndef PTXOPT_TESTS_STAGE_KERNEL_H
#define PTXOPT_TESTS_STAGE_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. The buffers end where the last thread reads that gets
 * to the loop: a load of anything else faults. 'arena' owns the launch. */
void stage_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
