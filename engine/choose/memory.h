/* -memory auto and -refine auto: choosing, by predicted time, what is staged and joined to vectors, the coarsening to
 * go with it, or how many threads take the place of one. */
#ifndef PTXOPT_ENGINE_CHOOSE_MEMORY_H
#define PTXOPT_ENGINE_CHOOSE_MEMORY_H

#include "engine/choose/choose.h"

/* The forms that are tried. */
typedef struct MemoryScope {
    bool loads;   /* -memory auto: with tiles, private counters and vectors */
    bool refines; /* -refine auto: with several threads in the place of one, and with vectors as well if 'loads' is set,
                   * where there is a launch of the kernel */
    bool reassociates; /* sums of floating point may then be added in another order */
    bool shrinks_grid; /* blocks may grow, in a smaller grid */
    const FactorChoice *factors; /* of -coarsen auto; NULL: it was not asked to choose */
} MemoryScope;

/* Tries vectors, staging, private counters, and several of them, with the coarsening of the request. If there is a
 * launch of the kernel and -coarsen auto chose, staging and counters are also tried with other forms that are sound:
 * tiles alone may lose where merged threads alone gain less than both together. Staged forms are ranked by the
 * instructions of a round for each thread of the original; the first of them are assembled and compared, the best with
 * other depths.
 *
 * A form is chosen if it is predicted to be at least 3% faster than the request's, spills no more than the input and
 * loses nothing in launches that a build cannot rule out (engine/choose/bases.h). The judge's time limit ends the
 * search. Changes nothing: the choice is a value, in the arena. */
MemoryChoice choose_memory(Arena *arena, Function *kernel, const KernelRequest *request,
                           const PipelineOptions *options, const ChoiceContext *context, const MemoryScope *scope);

#endif
