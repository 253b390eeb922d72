/* Random kernels with loops whose iterations may or may not be interleaved. */
#ifndef PTXOPT_TESTS_JAM_KERNEL_H
#define PTXOPT_TESTS_JAM_KERNEL_H

#include "emulator/emulator.h"
#include "support/support.h"

/* Equal seeds give equal kernels, named "k", and equal launches. The outer loop begins at LOOP. 'arena' owns the
 * launch. */
void jam_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch);

#endif
