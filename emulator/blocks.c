/* Blocks and clusters: their start, their turns, and their end. */
#include "emulator/run.h"

enum { POLL_STEPS = 65536 };

static void special_fill(Warp *warp, unsigned row, uint32_t value)
{
    uint32_t *cells = (uint32_t *)(warp->special + row * SPECIAL_ROW_BYTES);
    for (unsigned lane = 0; lane < LANES; lane++)
        cells[lane] = value;
}

/* Makes what the warp keeps when its place in memory starts another block of the grid. */
static void warp_prepare(const Emulator *emulator, BlockState *block, Warp *warp, unsigned index)
{
    uint32_t *rows = (uint32_t *)warp->special;
    warp->block = block;
    warp->index = index;
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned thread[3];
        thread_position(warp, lane, thread);
        for (unsigned i = 0; i < 3; i++)
            rows[(SPECIAL_TID_X + i) * LANES + lane] = thread[i];
        rows[SPECIAL_LANEID * LANES + lane] = lane;
        rows[SPECIAL_MASK_EQ * LANES + lane] = 1u << lane;
        rows[SPECIAL_MASK_LT * LANES + lane] = (1u << lane) - 1;
        rows[SPECIAL_MASK_LE * LANES + lane] = (1u << lane) - 1 + (1u << lane);
        rows[SPECIAL_MASK_GE * LANES + lane] = ~((1u << lane) - 1);
        rows[SPECIAL_MASK_GT * LANES + lane] = ~((1u << lane) - 1 + (1u << lane));
    }
    special_fill(warp, SPECIAL_WARPID, index);
    const unsigned *size = emulator->cluster;
    const unsigned place[3] = {block->rank % size[0], block->rank / size[0] % size[1], block->rank / size[0] / size[1]};
    for (unsigned i = 0; i < 3; i++)
        special_fill(warp, SPECIAL_CLUSTER_CTAID_X + i, place[i]);
    special_fill(warp, SPECIAL_CLUSTER_CTARANK, block->rank);
}

static void warp_start(Emulator *emulator, BlockState *block, Warp *warp, unsigned index)
{
    warp->runnable_count = warp->blocked_count = 0;
    warp->idle_steps = warp->steps = 0;
    warp->moved[0] = warp->moved[1] = 0;
    warp->repeats = 0;
    warp->cluster_arrived = 0;
    warp->registers = emulator->launch_registers;
    unsigned threads = emulator->block_threads - index * LANES;
    warp->live = threads >= LANES ? ALL_LANES : (1u << threads) - 1;
    for (unsigned i = 0; i < 3; i++) {
        special_fill(warp, SPECIAL_CTAID_X + i, block->id[i]);
        special_fill(warp, SPECIAL_CLUSTERID_X + i, block->id[i] / emulator->cluster[i]);
    }
    Frame *frame = frame_new(emulator, emulator->entry, NULL);
    warp->root = frame;
    warp_push(warp, split_new(emulator, NULL, frame, 0, warp->live, PC_EXIT));
}

static void block_start(Emulator *emulator, BlockState *block)
{
    const unsigned *grid = emulator->grid;
    block->index = ((uint64_t)block->id[2] * grid[1] + block->id[1]) * grid[0] + block->id[0];
    block->live_threads = emulator->block_threads;
    block->active = true;
    block->free_registers = 0;
    memset(block->shared.bytes, 0, (size_t)block->shared.size);
    if (block->shared.written)
        memset(block->shared.written, 0, (size_t)block->shared.size);
    race_clear(&block->shared);
    pending_clear(block);
    order_clear(&block->syncs);
    for (unsigned i = 0; i < BARRIER_COUNT; i++) {
        uint32_t *clock = block->barriers[i].clock;
        block->barriers[i] = (Barrier){.clock = clock};
        if (clock)
            memset(clock, 0, block->clock_size * sizeof *clock);
    }
    for (uint32_t a = 0; a < emulator->entry->agreement_count; a++)
        block->agreements[a].taken.count = 0;
    if (block->mbarrier_clock) {
        memset(block->mbarrier_clock, 0, block->clock_size * sizeof *block->mbarrier_clock);
        memset(block->cluster_clock, 0, block->clock_size * sizeof *block->cluster_clock);
        memset(block->cluster_done, 0, block->clock_size * sizeof *block->cluster_done);
    }
    for (unsigned i = 0; i < block->warp_count; i++) {
        Warp *warp = &block->warps[i];
        warp_start(emulator, block, warp, i);
        warp->epoch = 0;
        if (warp->decided)
            memset(warp->decided, 0, emulator->entry->agreement_count * LANES * sizeof *warp->decided);
        if (!warp->clocks)
            continue;
        memset(warp->clocks, 0, block->clock_size * sizeof *warp->clocks);
        memset(warp->fence_clocks, 0, block->clock_size * sizeof *warp->fence_clocks);
        warp->clocks[i] = 1;
        warp->fence_tick = 0;
    }
}

static BlockState *block_new(Emulator *emulator, Cluster *cluster, unsigned rank)
{
    BlockState *block = ARENA_NEW(emulator->arena, BlockState);
    block->emulator = emulator;
    block->cluster = cluster;
    block->rank = rank;
    block->warp_count = (unsigned)divide_up(emulator->block_threads, LANES);
    block->clock_size = block->warp_count + 1;
    block->warps = ARENA_ARRAY(emulator->arena, Warp, block->warp_count);
    for (unsigned i = 0; i < block->warp_count; i++) {
        block->warps[i].special = emulator_alloc(emulator, SPECIAL_COUNT, SPECIAL_ROW_BYTES);
        warp_prepare(emulator, block, &block->warps[i], i);
        if (emulator->entry->agreement_count)
            block->warps[i].decided =
                emulator_alloc(emulator, emulator->entry->agreement_count * LANES, sizeof(uint32_t));
        if (emulator->options.check_races) {
            block->warps[i].clocks = emulator_alloc(emulator, block->clock_size, sizeof(uint32_t));
            block->warps[i].fence_clocks = emulator_alloc(emulator, block->clock_size, sizeof(uint32_t));
        }
    }
    if (emulator->options.check_races) {
        block->mbarrier_clock = emulator_alloc(emulator, block->clock_size, sizeof(uint32_t));
        block->cluster_clock = emulator_alloc(emulator, block->clock_size, sizeof(uint32_t));
        block->cluster_done = emulator_alloc(emulator, block->clock_size, sizeof(uint32_t));
        for (unsigned i = 0; i < BARRIER_COUNT; i++)
            block->barriers[i].clock = emulator_alloc(emulator, block->clock_size, sizeof(uint32_t));
    }
    if (emulator->entry->agreement_count)
        block->agreements = ARENA_ARRAY(emulator->arena, Agreement, emulator->entry->agreement_count);
    block->shared =
        (Region){.name = "shared memory", .space = SPACE_SHARED, .base = WINDOW_SHARED, .size = emulator->shared_bytes};
    block->shared.bytes = emulator_alloc(emulator, (size_t)emulator->shared_bytes, 1);
    if (emulator->options.check_unwritten)
        block->shared.written = emulator_alloc(emulator, (size_t)emulator->shared_bytes, 1);
    race_prepare(emulator, &block->shared);
    return block;
}

/* Reports why no warp of the block can continue. */
static bool block_stuck(Emulator *emulator, BlockState *block)
{
    Exec x = {.emulator = emulator, .block = block};
    for (unsigned i = 0; i < block->warp_count; i++) {
        Warp *warp = &block->warps[i];
        if (!warp->blocked_count)
            continue;
        Split *split = warp->blocked[0];
        x.warp = warp;
        exec_enter(&x, split);
        const Op *op = &x.frame->code->ops.data[split->pc];
        if (split->wait == WAIT_BARRIER && split->barrier == BARRIER_CLUSTER) {
            fault_at(&x, op, (unsigned)__builtin_ctz(split->mask), FAULT_BARRIER,
                     "the cluster's barrier waits forever: live threads have not arrived");
            continue;
        }
        const Barrier *barrier = &block->barriers[split->barrier];
        if (split->wait == WAIT_BARRIER)
            fault_at(&x, op, (unsigned)__builtin_ctz(split->mask), FAULT_BARRIER,
                     "barrier %u waits forever: %llu of %llu thread%s arrived", split->barrier,
                     (unsigned long long)barrier->arrived,
                     (unsigned long long)(barrier->expected ? barrier->expected : block->live_threads),
                     plural((barrier->expected ? barrier->expected : block->live_threads)));
        else
            fault_at(&x, op, (unsigned)__builtin_ctz(split->mask), FAULT_WARP_SYNC,
                     "lanes 0x%08x wait forever for the others of 0x%08x", split->mask, split->members);
    }
    return false;
}

/* True if the caller ends the run, who is asked now and then. */
static bool is_stopped(Emulator *emulator)
{
    const EmulatorPoll *poll = emulator->options.poll;
    if (emulator->primary)
        return __atomic_load_n(&emulator->primary->is_stopped, __ATOMIC_RELAXED);
    if (poll && emulator->steps >= emulator->next_poll) {
        emulator->next_poll = emulator->steps + POLL_STEPS;
        if (poll->is_over(poll->context, (double)emulator->begun / (double)emulator->blocks))
            __atomic_store_n(&emulator->is_stopped, true, __ATOMIC_RELAXED);
    }
    return emulator->is_stopped;
}

static bool block_run_turn(Emulator *emulator, BlockState *block, bool *moved)
{
    Exec x = {.emulator = emulator, .block = block};
    uint64_t limit = emulator_step_limit(emulator);
    for (unsigned i = 0; i < block->warp_count; i++) {
        Warp *warp = &block->warps[i];
        if (!warp->runnable_count)
            continue;
        *moved = true;
        if (warp_repeats(emulator, warp))
            continue;
        if (!warp_run(&x, warp))
            return false;
        if (is_stopped(emulator))
            return fault_at(&x, NULL, 0, FAULT_STOPPED, "%llu instruction%s were executed",
                            (unsigned long long)emulator->steps, plural(emulator->steps)) != STEP_FAULT;
        if (emulator->steps > limit)
            return fault_at(&x, NULL, 0, FAULT_HANG, "the launch executed more than %llu instruction%s",
                            (unsigned long long)limit, plural(limit)) != STEP_FAULT;
    }
    return true;
}

/* Notes the work of a block that has ended. */
static void block_count(const BlockState *block, EmulatorBlock *work)
{
    for (unsigned i = 0; i < block->warp_count; i++) {
        uint64_t steps = block->warps[i].steps;
        work->all_warps += steps;
        work->every_fourth[i % WARP_PLACES] += steps;
        if (steps > work->longest_warp)
            work->longest_warp = steps;
    }
}

static void block_end(BlockState *block)
{
    if (block->emulator->options.count_blocks)
        block_count(block, &block->emulator->result->blocks[block->index]);
    for (unsigned i = 0; i < block->warp_count; i++)
        frame_free(block->warps[i].root);
    block->active = false;
    block->emulator->skips_reads = block->emulator->can_skip_reads;
}

static Cluster *cluster_new(Emulator *emulator)
{
    Cluster *cluster = ARENA_NEW(emulator->arena, Cluster);
    cluster->count = emulator->cluster[0] * emulator->cluster[1] * emulator->cluster[2];
    cluster->blocks = ARENA_ARRAY(emulator->arena, BlockState *, cluster->count);
    for (unsigned i = 0; i < cluster->count; i++)
        cluster->blocks[i] = block_new(emulator, cluster, i);
    return cluster;
}

/* Starts cluster number 'index' of the grid, counted along x first. */
static void cluster_start(Emulator *emulator, Cluster *cluster, uint64_t index)
{
    const unsigned *size = emulator->cluster;
    uint64_t across = emulator->grid[0] / size[0], down = emulator->grid[1] / size[1];
    unsigned first[3] = {(unsigned)(index % across) * size[0], (unsigned)(index / across % down) * size[1],
                         (unsigned)(index / across / down) * size[2]};
    cluster->active = true;
    for (unsigned i = 0; i < cluster->count; i++) {
        BlockState *block = cluster->blocks[i];
        block->id[0] = first[0] + i % size[0];
        block->id[1] = first[1] + i / size[0] % size[1];
        block->id[2] = first[2] + i / size[0] / size[1];
        block_start(emulator, block);
    }
}

/* Gives each block a turn. The cluster ends with its last block, because a block's shared memory serves the others. */
static bool cluster_run_turn(Emulator *emulator, Cluster *cluster, bool *moved)
{
    bool active = false;
    for (unsigned i = 0; i < cluster->count; i++) {
        BlockState *block = cluster->blocks[i];
        if (!block->active)
            continue;
        if (!block_run_turn(emulator, block, moved))
            return false;
        if (!block->live_threads) {
            block_end(block);
            *moved = true;
        }
        active |= block->active;
    }
    cluster->active = active;
    return true;
}

static bool cluster_stuck(Emulator *emulator, Cluster *cluster)
{
    /* A warp that waits for registers may be the one that the others wait for. */
    for (unsigned i = 0; i < cluster->count; i++) {
        Exec x = {.emulator = emulator, .block = cluster->blocks[i]};
        if (cluster->blocks[i]->active && pool_stuck(&x))
            return false;
    }
    for (unsigned i = 0; i < cluster->count; i++)
        if (cluster->blocks[i]->active)
            return block_stuck(emulator, cluster->blocks[i]);
    return false;
}

/* Takes the next cluster that has not started; false if there is none. */
static bool cluster_take(Emulator *emulator, uint64_t *next, uint64_t total, uint64_t *index)
{
    if (emulator->sample)
        return sample_take(emulator, index);
    *index = emulator->next_block ? __atomic_fetch_add(emulator->next_block, 1, __ATOMIC_RELAXED) : (*next)++;
    emulator->begun = *index;
    emulator->blocks = total;
    return *index < total;
}

static bool always_repeats(Emulator *emulator, Warp *warp)
{
    return warp_repeats(emulator, warp);
}

/* Releases the lanes of the warp that wait to reconverge; true if there were none. */
static bool keeps_lanes(Emulator *emulator, Warp *warp)
{
    bool released = false;
    uint32_t leaving;
    for (unsigned i = 0, count = warp->runnable_count; i < count; i++)
        released |= release_arrived(emulator, warp, warp->runnable[i], &leaving) != 0;
    return !released;
}

/* Asks every warp; true if all say so. */
static bool warps_all(Emulator *emulator, Cluster *const *clusters, unsigned count,
                      bool (*ask)(Emulator *emulator, Warp *warp))
{
    bool all = true;
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < clusters[i]->count && clusters[i]->active; k++) {
            BlockState *block = clusters[i]->blocks[k];
            for (unsigned w = 0; w < block->warp_count && block->active; w++)
                all &= ask(emulator, &block->warps[w]);
        }
    return all;
}

bool emulator_run_launch(Emulator *emulator)
{
    unsigned size = emulator->cluster[0] * emulator->cluster[1] * emulator->cluster[2];
    uint64_t total = (uint64_t)emulator->grid[0] * emulator->grid[1] * emulator->grid[2] / size, next = 0, index;
    unsigned resident = emulator->options.resident_blocks / size;
    if (!resident)
        resident = 1;
    if (resident > total)
        resident = (unsigned)total;
    Cluster **clusters = ARENA_ARRAY(emulator->arena, Cluster *, resident);
    for (unsigned i = 0; i < resident; i++) {
        clusters[i] = cluster_new(emulator);
        if (!cluster_take(emulator, &next, total, &index))
            return true;
        cluster_start(emulator, clusters[i], index);
    }
    for (unsigned active = resident; active;) {
        bool moved = false;
        uint64_t effects = emulator->effects;
        active = 0;
        for (unsigned i = 0; i < resident; i++) {
            Cluster *cluster = clusters[i];
            if (!cluster->active)
                continue;
            if (!cluster_run_turn(emulator, cluster, &moved))
                return false;
            if (!cluster->active && cluster_take(emulator, &next, total, &index))
                cluster_start(emulator, cluster, index);
            active += cluster->active;
        }
        if (active && !moved)
            for (unsigned i = 0; i < resident; i++)
                if (clusters[i]->active)
                    return cluster_stuck(emulator, clusters[i]);
        if (active && moved && effects == emulator->effects &&
            warps_all(emulator, clusters, resident, always_repeats) &&
            warps_all(emulator, clusters, resident, keeps_lanes))
            return launch_stuck(emulator, clusters, resident, next < total ? (total - next) * size : 0);
    }
    return true;
}
