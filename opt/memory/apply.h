/* The passes that change how a kernel reads memory, each with the passes that clean up after it. */
#ifndef PTXOPT_OPT_MEMORY_APPLY_H
#define PTXOPT_OPT_MEMORY_APPLY_H

#include "opt/pass.h"

/* Stages what can be staged; context->staged says what was, and why the rest was not. */
bool memory_stage(PassContext *context, const StageRequest *request);
/* Adds up in registers what threads update atomically at one address; context->summed says what, after all calls.
 * 'rolls': rolls loops up first. */
bool memory_sums(PassContext *context, bool rolls);
/* Counts in shared memory what blocks update atomically; context->counted says what, and why the rest is not. Blocks
 * have 'dynamic_shared' bytes of dynamic shared memory at launch. */
bool memory_counters(PassContext *context, uint64_t dynamic_shared);
/* Joins accesses of each thread to vectors, those of the rounds of a loop included; context->vectors lists them. False
 * if there are none or, with *is_slower, if the result is predicted to take longer: the body then stays as it is.
 * 'is_slower' NULL: they are made whatever they cost, in loops that are staged later. */
bool memory_vectors(PassContext *context, bool *is_slower);

#endif
