/* -uj auto: choosing the loops whose iterations are put side by side, by predicted time. */
#ifndef PTXOPT_ENGINE_CHOOSE_JAM_H
#define PTXOPT_ENGINE_CHOOSE_JAM_H

#include "engine/choose.h"

/* Tries 2, 4 and 8 iterations of each loop, those that contain others first, with the coarsening that the request
 * asks for; each loop with what was chosen for those before it.  A form is chosen if it is predicted to be at least 3%
 * faster and spills no more, by the machine instructions that are executed: counted where the kernel has a launch, else
 * estimated for its block size.  Changes nothing: the choice is a value, in the arena. */
LoopsChoice choose_jams(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                        const ChoiceContext *context);

#endif
