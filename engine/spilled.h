/* A kernel's spills to local memory, counted in its machine code. */
#ifndef PTXOPT_ENGINE_SPILLED_H
#define PTXOPT_ENGINE_SPILLED_H

#include "assembler/assembler.h"
#include "opt/opt.h"

/* True if the figures of the log may be wrong for this PTX: ptxas 13.0 subtracts spills to shared memory from them if
 * helpers are called (-32 bytes of stores instead of 36). The assembly then needs its cubin. */
bool spills_need_counting(const char *ptx, size_t size);
/* Sets the bytes of spills to those of the loads and stores of local memory in the kernel's code, helpers included. */
void spills_count(const Assembly *assembly, const char *kernel, Figures *figures);

#endif
