#include "opt/residency.h"

/* Threads of the form's block where only the original's number of threads is known. */
static unsigned threads_after(const LaunchChange *change, unsigned threads)
{
    for (unsigned d = 0; d < 3; d++)
        threads = (unsigned)launch_change_block(change, d, threads);
    return threads;
}

static unsigned factor_of(const LaunchChange *change)
{
    unsigned factor = 1;
    for (unsigned d = 0; d < 3; d++)
        factor *= change->block[d] ? change->block[d] : 1;
    return factor;
}

/* A number of the form's blocks in those of the original: larger blocks count as the several that they are, and several
 * in the place of one as that one. */
static unsigned original_blocks(const LaunchChange *change, unsigned blocks)
{
    unsigned spread = 1;
    for (unsigned d = 0; d < 3; d++) {
        blocks *= change->grid[d] > 1 && change->grown[d] ? change->grown[d] : 1;
        spread *= change->spread[d] ? change->spread[d] : 1;
    }
    return blocks / spread;
}

static unsigned exact_after(const LaunchChange *change, const BlockSize *block)
{
    unsigned threads = 1;
    for (unsigned d = 0; d < 3; d++)
        threads *= (unsigned)launch_change_block(change, d, block->threads[d]);
    return threads;
}

static ResidencyChange compare(const Residency *residency, const Figures *before, const Figures *after,
                               unsigned threads, unsigned changed)
{
    const SmLimits *sm = residency->sm;
    const uint64_t dynamic = residency->dynamic_shared;
    const uint64_t shared = after->shared + launch_change_shared(&residency->change, dynamic);
    return (ResidencyChange){
        .threads = threads,
        .before = sm_occupancy(sm, threads, before->registers, before->shared + dynamic).blocks,
        .after = original_blocks(&residency->change, sm_occupancy(sm, changed, after->registers, shared).blocks),
    };
}

/* Looks for a block size at which blocks are lost, or won. */
static bool find(const Residency *residency, const Figures *before, const Figures *after, bool lost,
                 ResidencyChange *change)
{
    const BlockSize exact = block_size_exact(&residency->block);
    if (block_size_total(&exact)) {
        *change = compare(residency, before, after, block_size_total(&exact), exact_after(&residency->change, &exact));
        return lost ? change->after < change->before : change->after > change->before;
    }
    const unsigned warp = residency->sm->warp_size, bound = block_size_total(&residency->block);
    const unsigned unit = residency->whole_warps ? warp * factor_of(&residency->change) : warp;
    for (unsigned threads = unit; threads <= (bound ? bound : BLOCK_MOST_THREADS); threads += unit) {
        *change = compare(residency, before, after, threads, threads_after(&residency->change, threads));
        if (lost ? change->after < change->before : change->after > change->before)
            return true;
    }
    return false;
}

bool residency_falls(const Residency *residency, const Figures *before, const Figures *after, ResidencyChange *change)
{
    return find(residency, before, after, true, change);
}

bool residency_rises(const Residency *residency, const Figures *before, const Figures *after, ResidencyChange *change)
{
    return find(residency, before, after, false, change);
}
