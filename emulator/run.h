/* Runs of whole launches: the top layer of the emulator, above semantics, state, execute and decode. */
#ifndef PTXOPT_EMULATOR_RUN_H
#define PTXOPT_EMULATOR_RUN_H

#include "emulator/decode/decode.h"

/* prepare.c: everything before the first instruction.  False with a fault. */
bool machine_prepare(Machine *machine);
/* A prepared machine that shares the global memory of 'primary'. */
Machine *machine_new_worker(const Machine *primary);

/* blocks.c */
bool machine_run(Machine *machine);

/* waits.c: reports that nothing that runs can change any more; returns false. */
bool launch_stuck(Machine *machine, Cluster **clusters, unsigned count, uint64_t blocks_left);

/* parallel.c */
bool parallel_possible(const Machine *machine);
/* False, with nothing reported, if the launch must run again on one core. */
bool parallel_run(Machine *machine);

#endif
