/* -coarsen auto: choosing a factor. */
#ifndef PTXOPT_CLI_CHOOSE_H
#define PTXOPT_CLI_CHOOSE_H

#include "cli/report.h"

/* Tries factors along one dimension after the other, the largest first, and puts the first good one into
 * kernel->request.  If none is good, nothing is coarsened, and kernel->choice says why; if none could even be tried,
 * kernel->refusal does, too.
 *
 * A factor is good if the coarsened kernel is sound, spills no more than the input, leaves no more lanes of its warps
 * idle, and an SM holds as many of its blocks: then as many of the original threads are in flight, in fewer
 * instructions.  Coarsening too far costs registers and occupancy (Unkule, Shaltz and Qasem, CC'12, section 1).  The
 * figures are the judge's; the kernel does not change. */
void choose_factor(Arena *arena, KernelReport *kernel, const PipelineOptions *options);

#endif
