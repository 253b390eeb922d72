/* The time model: docs/time.md.
 *
 * Each resource of an SM (issue slots, pipes, shared memory, L1) and of the device (L2, DRAM) would be busy for some
 * number of cycles; a launch takes about as long as the busiest, and a little more if several are nearly as busy.
 * Latency is a resource too: the path of one warp, times the number of blocks that follow each other on a place of an
 * SM. It is hidden to the extent that other warps keep the resources busy. Blocks are started beside all that. Launch
 * overhead is added. */
#include "cost/internal.h"

#include <math.h>

/* The exponents of the norms that combine resources, throughput with latency, and both with the start of blocks;
 * infinity would give the maximum. L2 and DRAM serve one stream of accesses, so one rarely waits for the other. */
static const double throughput_norm = 4, memory_norm = 8, latency_norm = 2, start_norm = 8;
/* From the calibration in docs/time.md: the shares of their bandwidths that accesses to DRAM and to the data banks of
 * L1 and shared memory reach. */
static const double dram_efficiency = 0.96, bank_efficiency = 0.94;
static const double update_cycles = 1.35; /* from one update of a word in L2 to the next, on an H100 */
static const double slow_passes = 2; /* passes of the special function units for a division or root */

const char *resource_name(Resource resource)
{
    static const char *const names[RESOURCE_COUNT] = {
        [RESOURCE_ISSUE] = "issue slots", [RESOURCE_FP32] = "the FP32 units",
        [RESOURCE_INTEGER] = "the integer units", [RESOURCE_SPECIAL] = "the special function units",
        [RESOURCE_FP64] = "the FP64 units", [RESOURCE_TENSOR] = "the tensor cores",
        [RESOURCE_SHARED] = "shared memory", [RESOURCE_L1] = "L1", [RESOURCE_L2] = "L2",
        [RESOURCE_DRAM] = "DRAM", [RESOURCE_LAUNCH] = "launching blocks", [RESOURCE_LATENCY] = "latency",
    };
    return (unsigned)resource < RESOURCE_COUNT ? names[resource] : "unknown";
}

/* Divisions and roots take several passes. */
static double special_warps(const Profile *profile)
{
    double sum = 0;
    for (size_t i = 0; i < profile->instruction_count; i++)
        if (profile->instructions[i].unit.pipe == PIPE_SPECIAL)
            sum += profile->instructions[i].warps * (profile->instructions[i].unit.is_slow ? slow_passes : 1);
    return sum;
}

/* The passes of the data banks for shared memory. The assembler makes one access of 16 bytes out of four words; how
 * many accesses are gone shows in the machine code. The emulator counts how many passes accesses of 16 bytes take. In
 * an estimate, one whose lanes all load the same words takes two passes instead of four (counters of an H100); if lanes
 * load different ones, the words had conflicts, and nothing is gained. */
static double shared_passes(const Profile *profile)
{
    enum { MERGED = 4, MERGED_PASSES = 2 };
    const double few_conflicts = 0.05;
    const double passes = profile->shared_wavefronts + (profile->sm ? profile->sm->shared_spills : 0);
    const double gone = profile->sm ? profile->shared_accesses - profile->sm->pipe[PIPE_SHARED] : 0;
    if (gone <= 0)
        return passes;
    if (profile->shared_words > 0) {
        const double joined = fmin(gone / (MERGED - 1), profile->shared_words / MERGED);
        return passes - joined * (MERGED * profile->word_passes - profile->joined_passes) / profile->shared_words;
    }
    if (profile->bank_conflicts >= few_conflicts * profile->shared_accesses)
        return passes;
    return passes - gone * (MERGED - MERGED_PASSES) / (MERGED - 1);
}

/* L1 and shared memory are one array of data banks, so the demands of both add up. */
static void data_bank_demands(const Profile *profile, const Device *device, double share, double *demand)
{
    double spills = profile->sm ? profile->sm->spills : 0; /* a word for each thread of the warp */
    double passes = profile_l1_passes(profile, device->l1_lines) + spills;
    share /= bank_efficiency;
    double shared = share * shared_passes(profile) * WARP_THREADS * 4 / device->shared_bytes;
    double global = share * passes * LINE_BYTES / device->l1_bytes;
    demand[RESOURCE_SHARED] = shared >= global ? shared + global : shared;
    demand[RESOURCE_L1] = shared >= global ? global : shared + global;
}

/* The cycles for which each resource is busy, on the SM that gets the share 'share' of the launch. */
static void demands(const Profile *profile, const Device *device, const Traffic *traffic, double share, Time *time)
{
    double *demand = time->demand;
    const double *pipe = profile->sm ? profile->sm->pipe : profile->pipe;
    double special = profile->sm ? pipe[PIPE_SPECIAL] : special_warps(profile);
    demand[RESOURCE_ISSUE] = share * profile_executed(profile) / device->schedulers;
    /* The pipe of FP32 makes integer products, 64 in a cycle even where it is twice as wide. */
    const double products = share * pipe[PIPE_MULTIPLY] * WARP_THREADS;
    demand[RESOURCE_FP32] = fmax((share * pipe[PIPE_FP32] * WARP_THREADS + products) / device->fp32,
                                 products / fmin(device->fp32, device->integer));
    demand[RESOURCE_INTEGER] = share * (pipe[PIPE_INTEGER] + pipe[PIPE_MOVE]) * WARP_THREADS / device->integer;
    demand[RESOURCE_SPECIAL] = share * special * WARP_THREADS / device->special;
    demand[RESOURCE_FP64] = share * pipe[PIPE_FP64] * WARP_THREADS / device->fp64;
    demand[RESOURCE_TENSOR] = share * pipe[PIPE_TENSOR] * 2048 / device->tensor;
    data_bank_demands(profile, device, share, demand);
    demand[RESOURCE_L2] =
        fmax(traffic->l2_sectors * SECTOR_BYTES / device->l2_bytes, update_cycles * profile->most_updates);
    demand[RESOURCE_DRAM] = traffic->dram_sectors * SECTOR_BYTES / device->dram_bytes / dram_efficiency;
    demand[RESOURCE_LAUNCH] = profile->blocks / device->blocks_per_cycle;
}

static double join(double a, double b, double exponent)
{
    return pow(pow(a, exponent) + pow(b, exponent), 1 / exponent);
}

static void find_binding(Time *time, double latency)
{
    double most = 0, next = 0;
    time->demand[RESOURCE_LATENCY] = latency;
    for (unsigned i = 0; i < RESOURCE_COUNT; i++) {
        if (time->demand[i] > most) {
            next = most;
            most = time->demand[i];
            time->binding = (Resource)i;
        } else if (time->demand[i] > next) {
            next = time->demand[i];
        }
    }
    time->margin = next > 0 ? most / next : 1;
}

/* Sets the time from the demands. */
static void add_up(Time *time, const Device *device, double latency)
{
    double work = join(time->demand[RESOURCE_L2], time->demand[RESOURCE_DRAM], memory_norm);
    for (unsigned i = 0; i < RESOURCE_LAUNCH; i++)
        if (i != RESOURCE_L2 && i != RESOURCE_DRAM)
            work = join(work, time->demand[i], throughput_norm);
    work = join(work, latency, latency_norm);
    time->cycles = join(work, time->demand[RESOURCE_LAUNCH], start_norm) + device->launch_cycles;
    time->microseconds = time->cycles / device->clock_mhz;
    find_binding(time, latency);
}

/* How much of the differences between the lengths of blocks is in their paths: all of it, if some blocks are idle. */
static double lengths_spread(const Profile *profile, const WarpPath *warp)
{
    return profile->working_blocks < 0.99 * profile->blocks ? 1 : path_spread(warp);
}

/* How long a block keeps its place after its last instruction, in the mean. Blocks without work store nothing. */
static double store_wait(const Profile *profile, const Device *device)
{
    return profile->stores > 0 ? device->store_wait * working_share(profile) : 0;
}

void time_raise_latency(Time *time, const Device *device, double latency)
{
    if (time->known && latency > time->demand[RESOURCE_LATENCY])
        add_up(time, device, latency);
}

Time time_predict(const Profile *profile, const SmLimits *sm, const Device *device, const SmUse *use)
{
    Time time = {0};
    unsigned threads = (unsigned)profile->block_threads, block_warps = (unsigned)divide_up(threads, WARP_THREADS);
    Occupancy occupancy = sm_occupancy(sm, threads, use->registers, use->shared);
    if (!occupancy.blocks || profile->blocks < 1)
        return time;
    const double most = blocks_of_busiest(profile, device);
    double resident = occupancy.blocks < most ? occupancy.blocks : most;
    double warps = profile->blocks * block_warps;
    const Residents residents = {.blocks = resident,
                                 .block_warps = block_warps,
                                 .shared = (double)occupancy.shared_allocated,
                                 .local = (double)use->local};
    const Traffic traffic = traffic_predict(profile, device, &residents);
    time.busiest = busiest_share(profile, device);
    demands(profile, device, &traffic, time.busiest, &time);
    const double uneven = scheduler_share(profile, device, resident);
    for (unsigned i = RESOURCE_ISSUE; i <= RESOURCE_TENSOR; i++)
        time.demand[i] *= uneven;
    time.known = true;
    time.on_fitted_device = device->is_fitted;
    time.resident_blocks = (unsigned)resident;
    time.resident_warps = (unsigned)resident * block_warps;
    time.waves = most / resident;
    time.l1_hits = traffic.l1_hits;
    time.dram_sectors = traffic.dram_sectors;
    time.merge_share = traffic.merge_share;
    time.load_latency = traffic.latency.global;
    const WarpPath warp = profile->sm ? sass_path(profile, device, traffic.latency, warps)
                                      : warp_path(profile, device, traffic.latency, warps);
    time.path = warp.cycles;
    double path = fmax(time.path + store_wait(profile, device), 1);
    double latency = path * blocks_makespan(profile, occupancy.blocks * device->multiprocessors,
                                            device->block_start / path, lengths_spread(profile, &warp));
    add_up(&time, device, latency);
    return time;
}
