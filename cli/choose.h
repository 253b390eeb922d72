/* -coarsen auto: which factor. */
#ifndef PTXOPT_CLI_CHOOSE_H
#define PTXOPT_CLI_CHOOSE_H

#include "cli/report.h"

/* Tries factors along one dimension, the largest first, and puts the first good one into kernel->request.  None is
 * good: nothing is coarsened, and kernel->choice says why; none could even be weighed: kernel->refusal too.
 *
 * A factor is good where the coarsened kernel is sound, spills no more than the kernel as it came, leaves no more lanes
 * of its warps idle, and an SM holds as many of its blocks: then as many of the original threads are in flight, in
 * fewer instructions.  Registers and occupancy are what coarsening too far costs (Unkule, Shaltz and Qasem, CC'12,
 * section 1). The figures are the judge's; the kernel is left as it came. */
void choose_factor(Arena *arena, KernelReport *kernel, const PipelineOptions *options);

#endif
