/* Finds where the threads of one block of the original kernel are together: which values differ between them, and to
 * which blocks of merged code either all of them come for a replica, or none.
 *
 * Requires SSA form and variance. Changes nothing. */
#include "opt/coarsen/internal.h"

/* A branch out of the kernel is not one that they must take alike: so a block is not under variant control only if
 * no thread has left before. */
const Variance *coarsening_within_block(const Facts *facts)
{
    VarianceOptions options = {
        .merge_loads = true, .unmerged = &facts->observations, .uniform_branches = &facts->block_branches};
    return analyses_variance(facts->analyses, VARIANCE_ANY, &options);
}

bool coarsening_come_together(const Coarsening *c, const Block *block)
{
    return c->step.merges_blocks && !variance_block(coarsening_within_block(&c->facts), block);
}

bool coarsening_go_together(const Coarsening *c, const Block *block)
{
    return coarsening_come_together(c, block) && !variance_branch(coarsening_within_block(&c->facts), block);
}
