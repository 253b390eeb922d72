/* Cache hits of loads, from the sectors that blocks and the grid touch, and from how soon sectors are accessed again.
 *
 * A warp that loads a sector again after d other lines needs a cache that keeps d lines for each of the warps that
 * share it: those of an SM for L1, those of all SMs for L2. A cache keeps lines, so threads that walk through rows
 * of their own fill it with four times as many bytes as they use. A sector that another warp of the block has
 * loaded is near if both have come as far. One that most blocks load, such as weights, is in L1 for those that come
 * later, as far as the SM's blocks fit. L2 keeps the share of the grid's sectors that fits, which serves data that
 * several blocks load. Stores go through L1 to L2, against the stream of loads; a sector that is stored in parts
 * and leaves L2 in between costs DRAM a reading and a writing each time. L1 is what the blocks' shared memory
 * leaves. */
#include "cost/internal.h"

#include <math.h>

/* Sectors that DRAM moves at once: L2 asks for both, and for both before it writes a part of them. */
enum { DRAM_SECTORS = 2 };

/* passes of L2 for a sector that is stored */
static const double store_passes = 2;
/* The share of the stores to a sector right after others of the same warp that join these on their way to L2, and the
 * most lines between two of them, as a class of distances. From forms whose threads store neighbouring words one after
 * the other: four or eight such stores to a sector take about as long as one. */
static const double joined_share = 0.8;
enum { JOINED_DISTANCE = 3 };
/* More passes for a sector of which other warps have stored another part: columns of a matrix. */
static const double part_passes = 0.8;
/* The share of accesses to the stack that L2 sees although they hit in L1, which writes through. */
static const double written_through = 0.75;
/* The share of L2 that keeps lines which a thread comes back to: each half of an H100's has lines of the other one. */
static const double l2_share = 0.75;
/* The share of the sectors that several blocks load, but not most, which these load so far apart in time that L2 can
 * have lost them: from the counters of an H100. Most are those of neighbours, which run together. */
static const double far_share = 0.1;

static double at_most_one(double value)
{
    return value < 1 ? value : 1;
}

/* The accesses to what has been accessed before that miss in a cache of 'size' bytes. All resident warps together
 * move 'bytes' from one line of the distance to the next, but no more than 'most' at all. */
static double far_accesses(const double distances[REUSE_DISTANCES], double size, double bytes, double most)
{
    double misses = 0;
    for (unsigned k = 0; k < REUSE_DISTANCES; k++) {
        const double distance = 1.5 * (double)(UINT64_C(1) << k); /* the middle of the class */
        misses += distances[k] * (1 - at_most_one(size / fmin(distance * bytes, most)));
    }
    return misses;
}

/* Rounds of a loop that the assembler has put together load what they share right after each other; the next ones
 * come as many times later. */
static double rounds_together(const Profile *profile)
{
    return profile->sm ? fmax(profile->sm->rounds, 1) : 1;
}

/* Between 1, if accesses touch but one sector of a line, and 4. */
static double sectors_per_line(double sectors, double lines)
{
    return lines > 0 ? fmax(sectors / lines, 1) : 1;
}

/* The same for L2, of loads or of stores, of which the launch makes 'lines': between two of them, warps move lines of
 * the other kind, too. 'missing' is the share of loads that miss in L1. */
static double far_in_l2(const Profile *profile, const double distances[REUSE_DISTANCES], double lines, double missing,
                        const Device *device, double warps)
{
    if (!(lines > 0))
        return 0;
    const double moved = SECTOR_BYTES * (profile->load_sectors * missing + profile->store_sectors) / lines;
    const double footprint = SECTOR_BYTES * (profile->load_footprint + profile->store_footprint);
    return far_accesses(distances, l2_share * device->l2_size, moved * warps * device->multiprocessors, footprint);
}

/* The least share of L1 that is left beside shared memory, and, of that, for global data beside the threads' stacks. */
static const double least_left = 0.05, least_share = 0.25;

/* Loads and stores of local memory, in sectors; those that L1 passes on, and those that miss in L2, too. Each thread
 * has its own stack, which stays in a cache to the share to which the stacks of all fit. */
typedef struct LocalTraffic {
    double passed_on, l2_misses, miss_share;
} LocalTraffic;

static LocalTraffic local_traffic(const Profile *profile, const Device *device, double l1_size, double stacks)
{
    const double accesses = profile->sm ? profile->sm->pipe[PIPE_LOCAL] : profile->pipe[PIPE_LOCAL];
    const double sectors = accesses * WARP_THREADS * WORD_BYTES / SECTOR_BYTES;
    LocalTraffic local = {.miss_share = stacks > l1_size ? 1 - l1_size / stacks : 0};
    const double all = stacks * device->multiprocessors;
    local.passed_on = sectors * (local.miss_share + written_through * (1 - local.miss_share));
    local.l2_misses = all > device->l2_size ? sectors * local.miss_share * (1 - device->l2_size / all) : 0;
    return local;
}

/* The sectors that DRAM moves in addition for sectors of which the launch stores a part and leaves the rest. The more
 * holes there are, the more often only one of the two that it moves at once is stored; and it reads those that have
 * not been loaded. */
static double hole_traffic(const Profile *profile)
{
    if (!profile->counted || !(profile->store_footprint > 0))
        return 0;
    const double holes = 1 - at_most_one(profile->stored / (SECTOR_BYTES * profile->store_footprint));
    const double moved = 1 + holes / DRAM_SECTORS;
    return holes * ((moved - 1) * profile->store_footprint + moved * profile->unread_footprint);
}

/* The passes of L2 for the sectors that the launch stores. */
static double store_demand(const Profile *profile)
{
    double own = 0, joined = 0;
    for (unsigned k = 0; k < REUSE_DISTANCES; k++) {
        own += profile->own_rewrites[k];
        joined += k <= JOINED_DISTANCE ? joined_share * profile->own_rewrites[k] : 0;
    }
    const double parts = profile->counted ? fmax(profile->store_sectors - profile->store_footprint - own, 0) : 0;
    return store_passes * (profile->store_sectors - joined) + part_passes * parts;
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
    const double load_density = sectors_per_line(profile->load_sectors, profile->load_lines);
    const double store_density = sectors_per_line(profile->store_sectors, profile->store_lines);
    const double block_bytes = working_set * LINE_BYTES / SECTOR_BYTES / load_density;
    const double rounds = rounds_together(profile);
    double repeats = profile->shared_unknown * (1 - kept) +
                     far_accesses(profile->own_reuse, l1_size, rounds * LINE_BYTES * warps, block_bytes) / rounds +
                     far_accesses(profile->shared_reuse, l1_size, LINE_BYTES * warps, block_bytes);
    /* The first block of an SM loads what is hot, too. */
    double later = fmax(1 - device->multiprocessors / profile->blocks, 0);
    double misses = profile->block_load_sectors - kept * later * profile->hot_load_sectors + repeats;
    double footprint = profile->load_footprint + profile->store_footprint;
    double evicted = footprint > 0 ? 1 - at_most_one(device->l2_size / SECTOR_BYTES / footprint) : 0;
    double cold = profile->block_load_sectors - profile->hot_load_sectors;
    const double missing = profile->load_sectors > 0 ? at_most_one(misses / profile->load_sectors) : 1;
    const double again =
        fmin(far_in_l2(profile, profile->own_reuse, profile->load_lines, missing, device, warps), repeats);
    const double rewritten =
        far_in_l2(profile, profile->own_rewrites, profile->store_lines, missing, device, warps);
    double reads = profile->load_footprint + far_share * evicted * fmax(cold - profile->load_footprint, 0) +
                   again * fmax(DRAM_SECTORS / load_density, 1);
    double writes = profile->store_footprint + evicted * (profile->block_store_sectors - profile->store_footprint) +
                    rewritten * (store_density < DRAM_SECTORS ? 2 * DRAM_SECTORS : 1) +
                    hole_traffic(profile);
    /* A load waits for the slowest of its lines; the sectors of one come together, and to all rounds. */
    const double sectors = profile->loads * load_density;
    const double fresh = profile->block_load_sectors, others = fmax(profile->load_sectors - fresh, 0);
    double dram_share = misses > 0 ? at_most_one(reads / misses) : 0;
    /* The second of two sectors that DRAM moves at once is in L2 when its turn comes. */
    if (profile->load_lines > 0)
        dram_share *= at_most_one(load_density / DRAM_SECTORS);
    LoadLatency latency = {.hit = device->l1_latency,
                           .miss = device->l2_latency + dram_share * (device->dram_latency - device->l2_latency),
                           .local = device->l1_latency + local.miss_share * (device->l2_latency - device->l1_latency),
                           .fresh_misses = fresh > 0 ? at_most_one((misses - repeats) / fresh) : 0,
                           .other_misses = others > 0 ? at_most_one(rounds * repeats / others) : 0};
    latency.global = latency.hit + (sectors > 0 ? at_most_one(misses / sectors) : 0) * (latency.miss - latency.hit);
    return (Traffic){
        .l2_sectors = misses + store_demand(profile) + local.passed_on,
        .dram_sectors = reads + writes + local.l2_misses,
        .latency = latency,
        .l1_hits = profile->load_sectors > 0 ? 1 - misses / profile->load_sectors : 0,
    };
}
