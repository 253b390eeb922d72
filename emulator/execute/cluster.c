/* The barrier of a cluster: PTX ISA, "Cluster of Cooperative Thread Arrays", barrier.cluster. */
#include "emulator/execute/execute.h"

static bool is_complete(const Cluster *cluster)
{
    bool arrived = false;
    for (unsigned i = 0; i < cluster->count; i++) {
        const BlockState *block = cluster->blocks[i];
        for (unsigned k = 0; block->active && k < block->warp_count; k++) {
            const Warp *warp = &block->warps[k];
            if (warp->live & ~warp->cluster_arrived)
                return false;
            arrived |= warp->cluster_arrived != 0;
        }
    }
    return arrived;
}

static void warp_release(Warp *warp)
{
    bool took = false;
    warp->cluster_arrived = 0;
    for (unsigned i = 0; i < warp->blocked_count;) {
        Split *split = warp->blocked[i];
        if (split->wait != WAIT_BARRIER || split->barrier != BARRIER_CLUSTER) {
            i++;
            continue;
        }
        split->pc++;
        split_wake(warp, split);
        warp->idle_steps = 0;
        warp->block->emulator->effects++;
        if (!took)
            clock_take(warp, warp->block->cluster_done);
        took = true;
    }
}

/* All live threads have arrived: wakes those that wait. */
static void complete(Cluster *cluster)
{
    for (unsigned i = 0; i < cluster->count; i++) {
        BlockState *block = cluster->blocks[i];
        if (!block->active)
            continue;
        if (block->cluster_clock) {
            memcpy(block->cluster_done, block->cluster_clock, block->clock_size * sizeof *block->cluster_done);
            block->cluster_done[block->warp_count] = block->emulator->tick; /* for the other blocks */
        }
        for (unsigned k = 0; k < block->warp_count; k++)
            warp_release(&block->warps[k]);
    }
}

void cluster_recheck(BlockState *block)
{
    if (is_complete(block->cluster))
        complete(block->cluster);
}

Step cluster_arrive(Exec *x, const Op *op, uint32_t mask)
{
    uint32_t again = mask & x->warp->cluster_arrived;
    if (again)
        return fault_at(x, op, (unsigned)__builtin_ctz(again), FAULT_BARRIER,
                        "the thread arrives at the cluster's barrier twice without waiting in between");
    x->warp->cluster_arrived |= mask;
    x->emulator->effects++;
    x->emulator->result->counters.barriers++;
    clock_join(x, x->block->cluster_clock);
    if (x->warp->clocks)
        x->warp->clocks[x->warp->index]++;
    if (!op->barrier.relaxed)
        order_fence(x, FENCE_DEVICE);
    if (op->barrier.aligned)
        partners_arrive(x, op, BARRIER_CLUSTER);
    x->split->pc++;
    cluster_recheck(x->block);
    return STEP_JUMP;
}

Step cluster_wait(Exec *x, uint32_t mask)
{
    if (mask & x->warp->cluster_arrived) {
        x->split->barrier = BARRIER_CLUSTER;
        split_block(x, WAIT_BARRIER);
        return STEP_SWITCH;
    }
    clock_take(x->warp, x->block->cluster_done);
    return STEP_NEXT;
}

void cluster_publish(Exec *x, const Translation *at, uint32_t mask)
{
    if (!x->emulator->block_fences)
        return;
    EACH_ACTIVE(lane, mask)
    {
        if (at->region[lane] && at->region[lane] != &x->block->shared) {
            order_fence(x, FENCE_DEVICE);
            return;
        }
    }
}
