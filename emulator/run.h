/* Runs of whole launches: the top layer of the emulator, above semantics, state, execute and decode. */
#ifndef PTXOPT_EMULATOR_RUN_H
#define PTXOPT_EMULATOR_RUN_H

#include "emulator/decode/decode.h"

/* prepare.c: everything before the first instruction. False with a fault. */
bool emulator_prepare(Emulator *emulator);
/* A prepared Emulator that shares the global memory of 'primary'. */
Emulator *emulator_new_worker(const Emulator *primary);

/* blocks.c */
bool emulator_run_launch(Emulator *emulator);

/* waits.c: reports that no running thread can change anything any more; returns false. */
bool launch_stuck(Emulator *emulator, Cluster **clusters, unsigned count, uint64_t blocks_left);

/* sample.c */
/* Chooses blocks that stand for the whole grid (EmulatorOptions.sample_box); 'more': a larger sample. False if the grid
 * is too small, or the order of its blocks can be observed. */
bool sample_prepare(Emulator *emulator, bool more);
/* Takes the next block of the sample; false if all have run. */
bool sample_take(Emulator *emulator, uint64_t *index);
/* Scales the counts to the grid; false if the blocks differ so much that more have to run. */
bool sample_end(Emulator *emulator);

/* unordered.c: true if nothing depends on the order in which blocks run */
bool blocks_are_unordered(const Emulator *emulator);
/* The same, and the launch can run again after a run that was given up: memory is restored, and nothing was printed. */
bool run_is_repeatable(const Emulator *emulator);

/* parallel.c */
bool parallel_possible(const Emulator *emulator);
/* False, with nothing reported, if the launch must run again on one core. */
bool parallel_run(Emulator *emulator);

#endif
