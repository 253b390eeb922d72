/* Runs of whole launches, over the layers in the folders below: semantics, state, execute, decode. */
#ifndef PTXOPT_EMULATOR_RUN_H
#define PTXOPT_EMULATOR_RUN_H

#include "emulator/decode/decode.h"

/* prepare.c: everything up to the first instruction.  False with a fault. */
bool machine_prepare(Machine *machine);
/* A machine as ready as 'primary' that shares its global memory. */
Machine *machine_new_worker(const Machine *primary);

/* blocks.c */
bool machine_run(Machine *machine);

/* parallel.c */
bool parallel_possible(const Machine *machine);
/* False if all has to be run again on one core; nothing is reported then. */
bool parallel_run(Machine *machine);

#endif
