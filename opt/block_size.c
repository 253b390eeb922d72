#include "opt/block_size.h"

#include <string.h>

enum { ASSUMED_THREADS = 256 };

static BlockSize from_directive(BlockOrigin origin, const unsigned numbers[3], unsigned count)
{
    BlockSize block = {.origin = origin};
    for (unsigned d = 0; d < 3; d++)
        block.threads[d] = d < count ? numbers[d] : 1;
    return block;
}

BlockSize block_size_resolve(const Tuning *tuning, const unsigned given[3])
{
    if (tuning->reqntid_count)
        return from_directive(BLOCK_REQUIRED, tuning->reqntid, tuning->reqntid_count);
    if (given[0])
        return from_directive(BLOCK_GIVEN, given, 3);
    if (tuning->maxntid_count)
        return from_directive(BLOCK_BOUNDED, tuning->maxntid, tuning->maxntid_count);
    return (BlockSize){.origin = BLOCK_UNKNOWN};
}

BlockSize block_size_exact(const BlockSize *block)
{
    bool is_exact = block->origin == BLOCK_REQUIRED || block->origin == BLOCK_GIVEN;
    return is_exact ? *block : (BlockSize){.origin = BLOCK_UNKNOWN};
}

unsigned block_size_total(const BlockSize *block)
{
    uint64_t total = 1;
    for (unsigned d = 0; d < 3 && total <= UINT32_MAX; d++)
        total *= block->threads[d];
    return total <= UINT32_MAX ? (unsigned)total : 0;
}

unsigned block_size_total_assumed(const BlockSize *block, unsigned launched, ThreadsOrigin *origin)
{
    unsigned total = block_size_total(block);
    if (!total)
        *origin = launched ? THREADS_LAUNCHED : THREADS_ASSUMED;
    else
        *origin = block->origin == BLOCK_BOUNDED ? THREADS_BOUNDED : THREADS_KNOWN;
    return total ? total : launched ? launched : ASSUMED_THREADS;
}

BlockSize block_size_coarsened(const BlockSize *block, const unsigned factor[3], const Tuning *tuning)
{
    unsigned given[3] = {0};
    for (unsigned d = 0; d < 3 && block->origin == BLOCK_GIVEN; d++)
        given[d] = (unsigned)divide_up(block->threads[d], factor[d]);
    return block_size_resolve(tuning, given);
}

void block_size_declare(const BlockSize *block, Tuning *tuning)
{
    memcpy(tuning->maxntid, block->threads, sizeof tuning->maxntid);
    tuning->maxntid_count = block->threads[2] > 1 ? 3 : block->threads[1] > 1 ? 2 : 1;
}
