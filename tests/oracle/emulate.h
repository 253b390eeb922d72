/* A probe's kernel in the emulator. */
#ifndef PTXOPT_TESTS_ORACLE_EMULATE_H
#define PTXOPT_TESTS_ORACLE_EMULATE_H

#include "emulator/emulator.h"
#include "tests/oracle/oracle.h"

enum { PROBE_BLOCK = 64 }; /* threads; the number of inputs is a multiple of it */

/* Runs the kernel that probe_write_kernel() wrote on the inputs that probe_inputs() made; the results are the buffer
 * "out". NULL, with messages on standard error, if the text does not parse. The arena owns everything. */
EmulatorResult *probe_emulate(Arena *arena, const Probe *probe, const Buf *text, uint64_t *inputs, unsigned count,
                              Module **module);

#endif
