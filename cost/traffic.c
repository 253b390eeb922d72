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

/* The share of the stores to a sector right after others of the same warp that join these on their way to L2, and the
 * most lines between two of them, as a class of distances. From forms whose threads store neighbouring words one after
 * the other: four or eight such stores to a sector take about as long as one. */
static const double joined_share = 0.8;
enum { JOINED_DISTANCE = 3 };
/* Parts that a warp stores after at least as many lines, as a class of distances, come too late to meet in L2. */
enum { LATE_DISTANCE = 5 };
/* The share of accesses to the stack that L2 sees although they hit in L1, which writes through. */
static const double written_through = 0.75;
/* The share of L2 that keeps lines which a thread comes back to: each half of an H100's has lines of the other one. */
static const double l2_share = 0.75;
/* How fast L1 loses lines once it fills: of what is loaded again after n times its bytes, n^4 / (1 + n^4) miss. Sets
 * fill unevenly, and what is stored passes through. From counters and times of softmax and layer norm on an H100. */
static const double loss_exponent = 4;
/* The share of the sectors that several blocks load, but not most, which these load so far apart in time that L2 can
 * have lost them: from the counters of an H100. Most are those of neighbours, which run together. */
static const double far_share = 0.1;

static double at_most_one(double value)
{
    return value < 1 ? value : 1;
}

/* The bytes that all resident warps together move within a class of distances, if that is 'bytes' from one line to the
 * next, and no more than 'most' at all. */
static double moved_within(unsigned distance, double bytes, double most)
{
    return fmin(1.5 * (double)(UINT64_C(1) << distance) * bytes, most); /* the middle of the class */
}

/* The share of what is loaded again that misses in a cache of 'size' bytes, if 'bytes' have been moved in between. */
static double lost_share(double bytes, double size)
{
    const double fill = pow(bytes / size, loss_exponent);
    return fill / (1 + fill);
}

/* The accesses to what has been accessed before that miss in L1, of which 'size' bytes are left. */
static double lost_accesses(const double distances[REUSE_DISTANCES], double size, double bytes, double most)
{
    double misses = 0;
    for (unsigned k = 0; k < REUSE_DISTANCES; k++)
        misses += distances[k] * lost_share(moved_within(k, bytes, most), size);
    return misses;
}

/* The same in L2, which keeps the share that fits. */
static double far_accesses(const double distances[REUSE_DISTANCES], double size, double bytes, double most)
{
    double misses = 0;
    for (unsigned k = 0; k < REUSE_DISTANCES; k++)
        misses += distances[k] * (1 - at_most_one(size / moved_within(k, bytes, most)));
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

/* In estimates, the loads of what the block has loaded before that miss in L1. Those in another loop come after all
 * that the blocks of an SM load there; data that all blocks load are there once. The others may come sooner, and L1
 * keeps the share 'kept' of the block's data. */
static double lost_of_unknown(const Profile *profile, double size, double resident, double kept)
{
    const double hot = profile->hot_load_sectors, own = profile->block_load_sectors - hot;
    const double moved = SECTOR_BYTES * (own * resident + hot) / fmax(profile->blocks, 1);
    return profile->far_unknown * lost_share(moved, size) +
           (profile->shared_unknown - profile->far_unknown) * (1 - kept);
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

/* The share of the sectors that are stored which no store fills. */
static double hole_share(const Profile *profile)
{
    if (!profile->counted || !(profile->store_footprint > 0))
        return 0;
    return 1 - at_most_one(profile->stored / (SECTOR_BYTES * profile->store_footprint));
}

/* The sectors that DRAM moves in addition for sectors of which the launch stores a part and leaves the rest. The more
 * holes there are, the more often only one of the two that it moves at once is stored; and it reads those that have
 * not been loaded. */
static double hole_traffic(const Profile *profile)
{
    const double holes = hole_share(profile);
    const double moved = 1 + holes / DRAM_SECTORS;
    return holes * ((moved - 1) * profile->store_footprint + moved * profile->unread_footprint);
}

/* The sectors that all that is stored would fill, where one that is stored anew counts again. */
static double whole_sectors(const Profile *profile)
{
    return fmax(profile->store_footprint, profile->stored / SECTOR_BYTES);
}

/* Sectors of which L2 merges parts: those with holes, where words are missing at random, and those that other warps, or
 * the same one much later, have stored another part of. A sector that is stored anew counts again. */
static double merged_sectors(const Profile *profile, double own, double late)
{
    enum { SECTOR_WORDS = SECTOR_BYTES / WORD_BYTES };
    if (!profile->counted)
        return 0;
    const double whole = whole_sectors(profile);
    const double others = fmax(profile->store_sectors - profile->store_footprint - own, 0);
    const double parts = fmin(others + late, fmax(profile->store_sectors - whole, 0));
    const double with_holes = profile->store_footprint * (1 - pow(1 - hole_share(profile), SECTOR_WORDS));
    return fmin(parts + with_holes, whole);
}

typedef struct StoreDemand {
    double passes, merged; /* all; those to merge parts */
} StoreDemand;

/* The passes of L2 for the sectors that the launch stores. Those that are stored in parts which do not join, or with
 * holes, have to be read and merged. */
static StoreDemand store_demand(const Profile *profile, const Device *device)
{
    double own = 0, joined = 0, late = 0;
    for (unsigned k = 0; k < REUSE_DISTANCES; k++) {
        own += profile->own_rewrites[k];
        joined += k <= JOINED_DISTANCE ? joined_share * profile->own_rewrites[k] : 0;
        late += k >= LATE_DISTANCE ? profile->own_rewrites[k] : 0;
    }
    if (profile->counted) /* what is stored moves to L2 even if all parts join */
        joined = fmin(joined, fmax(profile->store_sectors - whole_sectors(profile), 0));
    const double merged = device->merge_passes * merged_sectors(profile, own, late);
    return (StoreDemand){device->store_passes * (profile->store_sectors - joined) + merged, merged};
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
    double repeats = lost_of_unknown(profile, l1_size, residents->blocks, kept) +
                     lost_accesses(profile->own_reuse, l1_size, rounds * LINE_BYTES * warps, block_bytes) / rounds +
                     lost_accesses(profile->shared_reuse, l1_size, LINE_BYTES * warps, block_bytes);
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
    const StoreDemand stores = store_demand(profile, device);
    return (Traffic){
        .l2_sectors = misses + stores.passes + local.passed_on,
        .merge_share = stores.merged / fmax(misses + stores.passes + local.passed_on, 1),
        .dram_sectors = reads + writes + local.l2_misses,
        .latency = latency,
        .l1_hits = profile->load_sectors > 0 ? 1 - misses / profile->load_sectors : 0,
    };
}
