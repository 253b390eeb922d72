/* Cache hits of loads, from the sectors that blocks and the grid touch, and from how soon warps come back to a sector.
 *
 * A warp that loads a sector again after d others needs a cache that keeps d sectors for each of the warps that share
 * it: those of an SM for L1, those of all SMs for L2. A sector that another warp of the block has loaded is in L1 as
 * long as the sectors of the SM's blocks fit, and beyond that to the share that fits; so is one that most blocks load,
 * such as weights, for those that come later. L2 keeps the share of the grid's
 * sectors that fits, which serves data that several blocks load. Stores go through L1 to L2, against the stream of
 * loads. L1 is what the blocks' shared memory leaves. */
#include "cost/internal.h"

#include <math.h>

/* passes of L2 for a sector that is stored */
static const double store_passes = 2;
/* The share of the sectors that several blocks load, but not most, which these load so far apart in time that L2 can
 * have lost them: from the counters of an H100. Most are those of neighbours, which run together. */
static const double far_share = 0.1;

static double at_most_one(double value)
{
    return value < 1 ? value : 1;
}

/* The warps' own repeated loads that miss in a cache of 'size' bytes that 'warps' warps share. */
static double own_misses(const Profile *profile, double size, double warps)
{
    double misses = 0;
    for (unsigned k = 0; k < REUSE_DISTANCES; k++) {
        double distance = 1.5 * (double)(UINT64_C(1) << k); /* the middle of the class */
        misses += profile->own_reuse[k] * (1 - at_most_one(2 * size / (distance * SECTOR_BYTES * warps)));
    }
    return misses;
}

/* The least share of L1 that is left beside shared memory, and, of that, for global data beside the threads' stacks. */
static const double least_left = 0.05, least_share = 0.25;

/* Loads and stores of local memory, in sectors; those that miss in L1, and those that miss in L2, too. Each thread has
 * its own stack, which stays in a cache to the share to which the stacks of all fit. */
typedef struct LocalTraffic {
    double misses, l2_misses, miss_share;
} LocalTraffic;

static LocalTraffic local_traffic(const Profile *profile, const Device *device, double l1_size, double stacks)
{
    const double accesses = profile->sm ? profile->sm->pipe[PIPE_LOCAL] : profile->pipe[PIPE_LOCAL];
    const double sectors = accesses * WARP_THREADS * WORD_BYTES / SECTOR_BYTES;
    LocalTraffic local = {.miss_share = stacks > l1_size ? 1 - l1_size / stacks : 0};
    const double all = stacks * device->multiprocessors;
    local.misses = sectors * local.miss_share;
    local.l2_misses = all > device->l2_size ? local.misses * (1 - device->l2_size / all) : 0;
    return local;
}

Traffic traffic_predict(const Profile *profile, const Device *device, const Residents *residents)
{
    double warps = residents->blocks * residents->block_warps;
    double l1_size = fmax(device->l1_size - residents->blocks * residents->shared, least_left * device->l1_size);
    double stacks = residents->local * warps * WARP_THREADS;
    const LocalTraffic local = local_traffic(profile, device, l1_size, stacks);
    l1_size = fmax(l1_size - stacks, least_share * l1_size);
    double block_sectors = profile->blocks > 0 ? profile->block_load_sectors / profile->blocks : 0;
    double working_set = block_sectors * SECTOR_BYTES * residents->blocks;
    double kept = working_set > 0 ? at_most_one(l1_size / working_set) : 1;
    double repeats = profile->shared_reuse * (1 - kept) + own_misses(profile, l1_size, warps);
    /* The first block of an SM loads what is hot, too. */
    double later = fmax(1 - device->multiprocessors / profile->blocks, 0);
    double misses = profile->block_load_sectors - kept * later * profile->hot_load_sectors + repeats;
    double footprint = profile->load_footprint + profile->store_footprint;
    double evicted = footprint > 0 ? 1 - at_most_one(device->l2_size / SECTOR_BYTES / footprint) : 0;
    double cold = profile->block_load_sectors - profile->hot_load_sectors;
    double reads = profile->load_footprint + far_share * evicted * fmax(cold - profile->load_footprint, 0) +
                   own_misses(profile, device->l2_size, warps * device->multiprocessors);
    double writes = profile->store_footprint + evicted * (profile->block_store_sectors - profile->store_footprint);
    /* A load waits for the slowest of its sectors. */
    double miss_share = profile->loads > 0 ? at_most_one(misses / profile->loads) : 0;
    double dram_share = misses > 0 ? at_most_one(reads / misses) : 0;
    double miss_latency = device->l2_latency + dram_share * (device->dram_latency - device->l2_latency);
    return (Traffic){
        .l2_sectors = misses + store_passes * profile->store_sectors + local.misses,
        .dram_sectors = reads + writes + local.l2_misses,
        .latency = {.global = device->l1_latency + miss_share * (miss_latency - device->l1_latency),
                    .local = device->l1_latency + local.miss_share * (device->l2_latency - device->l1_latency)},
        .l1_hits = profile->load_sectors > 0 ? 1 - misses / profile->load_sectors : 0,
    };
}
