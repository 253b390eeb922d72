/* Inputs of a kernel: a launch for the emulator and the same for the machine code, each with memory of its own. */
#ifndef PTXOPT_MACHINE_INPUT_H
#define PTXOPT_MACHINE_INPUT_H

#include "machine/machine.h"

typedef struct Input {
    Launch launch; /* for the emulator; its device has 'expected' */
    EmulatorDevice device;
    EmulatorHeap heap; /* of malloc; size 0: there is none */
    EmulatorMemory *expected, *actual; /* the pieces of memory, for the emulator and for the machine code */
    size_t count;
    MachineLaunch machine;
} Input;

/* A random input. 'number' selects it. */
Input *input_random(Arena *arena, const Module *module, const Function *kernel, uint64_t seed, unsigned number);
/* That of a launch file; NULL, with *problem, if it needs what the interpreter does not have. */
Input *input_of_launch(Arena *arena, const Module *module, const Function *kernel, const Launch *launch,
                       const char **problem);
/* "2 x 1 x 1 blocks of 32 x 1 x 1 threads, n = 5": the parts of a random input that are not in memory. */
void input_print(const Input *input, const Function *kernel, Buf *out);

#endif
