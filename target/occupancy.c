/* Occupancy and register boundaries: Nugteren et al., "Analyzing CUDA's Compiler through the Visualization of Decoded
 * GPU Binaries" (SCOPES 2010), equation 1,
 *     blocks = floor(total registers / (registers per thread * threads per block)),
 * adapted to current machines: registers are allocated to warps in units, and each warp's come from the one partition
 * of the SM that it runs in. */
#include "target/target.h"
#include "support/support.h"

static unsigned minimum(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Registers allocated to one warp. */
static unsigned warp_registers(const SmLimits *sm, unsigned registers)
{
    return (unsigned)align_up(registers * sm->warp_size, sm->register_unit);
}

/* The warps for which an SM's registers suffice if it has that many partitions. */
static unsigned warps_by_registers(const SmLimits *sm, unsigned per_warp, unsigned partitions)
{
    return sm->registers_per_sm / partitions / per_warp * partitions;
}

/* Blocks that the registers allow; UINT32_MAX if they are not a limit. 'registers' is at most registers_per_thread. */
static unsigned blocks_by_registers(const SmLimits *sm, unsigned block_warps, unsigned registers)
{
    if (registers == 0)
        return UINT32_MAX;
    unsigned per_warp = warp_registers(sm, registers);
    /* The check at launch assumes that the block's warps are spread evenly over the launch partitions. */
    uint64_t admitted_warps = align_up(block_warps, sm->launch_partitions);
    if (per_warp * admitted_warps > sm->registers_per_block ||
        warps_by_registers(sm, per_warp, sm->launch_partitions) < block_warps)
        return 0;
    return warps_by_registers(sm, per_warp, sm->partitions) / block_warps;
}

/* Blocks that the shared memory allows; UINT32_MAX if it is not a limit. */
static unsigned blocks_by_shared(const SmLimits *sm, uint64_t allocated)
{
    if (allocated == 0)
        return UINT32_MAX;
    if (allocated > sm->shared_per_block_opt_in + sm->shared_reserved)
        return 0;
    return (unsigned)(sm->shared_per_sm / allocated);
}

/* Shared memory allocated to one block; UINT64_MAX if it does not fit in 64 bits. */
static uint64_t shared_allocation(const SmLimits *sm, uint64_t bytes)
{
    uint64_t unit = sm->shared_unit;
    if (bytes > UINT64_MAX - sm->shared_reserved - unit)
        return UINT64_MAX;
    return align_up(bytes + sm->shared_reserved, unit);
}

Occupancy sm_occupancy(const SmLimits *sm, unsigned block_threads, unsigned registers, uint64_t shared_bytes)
{
    Occupancy occupancy = {.shared_allocated = shared_allocation(sm, shared_bytes)};
    if (block_threads == 0) {
        occupancy.limits = LIMIT_WARPS;
        return occupancy;
    }
    bool admissible = block_threads <= sm->threads_per_block;
    unsigned block_warps = (unsigned)divide_up(block_threads, sm->warp_size);
    unsigned by_warps = admissible ? sm->warps_per_sm / block_warps : 0;
    unsigned by_shared = blocks_by_shared(sm, occupancy.shared_allocated);
    unsigned by_registers = 0;
    if (registers <= sm->registers_per_thread) {
        by_registers = blocks_by_registers(sm, block_warps, registers);
        if (admissible)
            occupancy.registers_allocated = warp_registers(sm, registers) * block_warps;
    }
    unsigned blocks = minimum(minimum(by_warps, sm->blocks_per_sm), minimum(by_registers, by_shared));
    occupancy.blocks = blocks;
    occupancy.warps = blocks * block_warps;
    occupancy.fraction = (double)occupancy.warps / sm->warps_per_sm;
    occupancy.limits = (by_warps == blocks ? LIMIT_WARPS : 0) | (sm->blocks_per_sm == blocks ? LIMIT_BLOCKS : 0) |
                       (by_registers == blocks ? LIMIT_REGISTERS : 0) | (by_shared == blocks ? LIMIT_SHARED : 0);
    return occupancy;
}

const char *occupancy_limits_name(unsigned limits)
{
    static const char *const names[16] = {
        [0] = "nothing",
        [LIMIT_WARPS] = "warps",
        [LIMIT_BLOCKS] = "blocks",
        [LIMIT_REGISTERS] = "registers",
        [LIMIT_SHARED] = "shared memory",
        [LIMIT_WARPS | LIMIT_BLOCKS] = "warps and blocks",
        [LIMIT_WARPS | LIMIT_REGISTERS] = "warps and registers",
        [LIMIT_WARPS | LIMIT_SHARED] = "warps and shared memory",
        [LIMIT_BLOCKS | LIMIT_REGISTERS] = "blocks and registers",
        [LIMIT_BLOCKS | LIMIT_SHARED] = "blocks and shared memory",
        [LIMIT_REGISTERS | LIMIT_SHARED] = "registers and shared memory",
        [LIMIT_WARPS | LIMIT_BLOCKS | LIMIT_REGISTERS] = "warps, blocks and registers",
        [LIMIT_WARPS | LIMIT_BLOCKS | LIMIT_SHARED] = "warps, blocks and shared memory",
        [LIMIT_WARPS | LIMIT_REGISTERS | LIMIT_SHARED] = "warps, registers and shared memory",
        [LIMIT_BLOCKS | LIMIT_REGISTERS | LIMIT_SHARED] = "blocks, registers and shared memory",
        [LIMIT_WARPS | LIMIT_BLOCKS | LIMIT_REGISTERS | LIMIT_SHARED] = "warps, blocks, registers and shared memory",
    };
    return names[limits & 15];
}

/* Tries every count: there are only 255, and the answer then always agrees with sm_occupancy(). */
BoundaryList sm_boundaries(const SmLimits *sm, unsigned block_threads, uint64_t shared_bytes)
{
    BoundaryList list = {0};
    unsigned reached = 0;
    for (unsigned registers = sm->registers_per_thread; registers > 0; registers--) {
        Occupancy occupancy = sm_occupancy(sm, block_threads, registers, shared_bytes);
        if (occupancy.blocks > reached) {
            reached = occupancy.blocks;
            list.items[list.count++] = (Boundary){registers, occupancy.blocks, occupancy.warps};
        }
    }
    return list;
}

unsigned sm_boundary_below(const SmLimits *sm, unsigned block_threads, uint64_t shared_bytes,
                                unsigned registers)
{
    unsigned blocks = sm_occupancy(sm, block_threads, registers, shared_bytes).blocks;
    BoundaryList list = sm_boundaries(sm, block_threads, shared_bytes);
    for (unsigned i = 0; i < list.count; i++) {
        if (list.items[i].registers < registers && list.items[i].blocks > blocks)
            return list.items[i].registers;
    }
    return 0;
}

unsigned sm_boundary_above(const SmLimits *sm, unsigned block_threads, uint64_t shared_bytes,
                                unsigned registers)
{
    unsigned blocks = sm_occupancy(sm, block_threads, registers, shared_bytes).blocks;
    BoundaryList list = sm_boundaries(sm, block_threads, shared_bytes);
    for (unsigned i = 0; i < list.count; i++) {
        if (list.items[i].registers >= registers && list.items[i].blocks == blocks)
            return list.items[i].registers;
    }
    return registers;
}

unsigned sm_block_better(const SmLimits *sm, unsigned block_threads, unsigned registers, uint64_t shared_bytes,
                              unsigned *warps)
{
    unsigned best = 0, most = sm_occupancy(sm, block_threads, registers, shared_bytes).warps, nearest = 0;
    unsigned last = minimum(2 * block_threads, sm->threads_per_block);
    for (unsigned threads = sm->warp_size; threads <= last; threads += sm->warp_size) {
        unsigned fits = sm_occupancy(sm, threads, registers, shared_bytes).warps;
        unsigned distance = threads > block_threads ? threads - block_threads : block_threads - threads;
        if (2 * threads < block_threads || fits < most || (fits == most && (!best || distance >= nearest)))
            continue;
        best = threads;
        most = fits;
        nearest = distance;
    }
    *warps = most;
    return best;
}
