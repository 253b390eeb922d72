/* -uj auto: choosing, by predicted time, the loops whose iterations are interleaved. */
#ifndef PTXOPT_ENGINE_CHOOSE_LOOPS_H
#define PTXOPT_ENGINE_CHOOSE_LOOPS_H

#include "engine/choose/choose.h"

/* Tries 2, 4 and 8 iterations of each loop, outer loops first, with the coarsening of the request; each loop is tried
 * with the choices for those before it. A form is chosen if it is predicted to be at least 3% faster and spills no
 * more, by the machine instructions that are executed, which are counted if the kernel has a launch, else estimated for
 * its block size. Changes nothing: the choice is a value, in the arena. */
LoopsChoice choose_jams(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                        const ChoiceContext *context);

#endif
