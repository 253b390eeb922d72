/* -coarsen auto: which factor. */
#ifndef PTXOPT_CLI_CHOOSE_H
#define PTXOPT_CLI_CHOOSE_H

#include "cli/report.h"

/* Tries factors along one dimension, the largest first, and puts the first good one into kernel->request; none is good:
 * nothing is coarsened, and kernel->choice says why.
 *
 * A factor is good where the coarsened kernel is sound, spills no more than the kernel as it came, and an SM holds as
 * many of its blocks: then at least as many of the original threads are in flight, in fewer instructions (Magni, Dubach
 * and O'Boyle, SC'13, section 6, find occupancy and spilled registers to be what coarsening too far costs).  The
 * figures are the judge's; the kernel is left as it came. */
void choose_factor(Arena *arena, KernelReport *kernel, const PipelineOptions *options);

#endif
