/* Barriers of the block, and fences: PTX ISA, "Parallel Synchronization and Communication Instructions". */
#include "emulator/execute/execute.h"

static void result_write(Frame *frame, const Op *op, const Barrier *barrier, uint32_t mask)
{
    uint32_t truth = op->barrier.kind == BARRIER_RED_AND ? barrier->all : barrier->any;
    EACH_ACTIVE(lane, mask)
    {
        row_set(frame->registers + op->dest, op->dest_bytes, lane,
                op->barrier.kind == BARRIER_RED_POPC ? barrier->count : truth);
    }
}

/* All threads have arrived: wakes those that wait. */
static void barrier_complete(BlockState *block, unsigned id)
{
    Barrier *barrier = &block->barriers[id];
    for (unsigned i = 0; i < block->warp_count; i++) {
        Warp *warp = &block->warps[i];
        bool took = false;
        for (unsigned k = 0; k < warp->blocked_count;) {
            Split *split = warp->blocked[k];
            if (split->wait != WAIT_BARRIER || split->barrier != id) {
                k++;
                continue;
            }
            const Op *op = &split->frame->code->ops.data[split->pc];
            if (op->barrier.kind != BARRIER_SYNC)
                result_write(split->frame, op, barrier, split->mask);
            split->pc++;
            split_wake(warp, split);
            warp->idle_steps = 0;
            block->emulator->effects++;
            if (!took)
                clock_take(warp, barrier->clock);
            took = true;
        }
    }
    uint32_t *clock = barrier->clock;
    if (clock)
        memset(clock, 0, block->clock_size * sizeof *clock);
    *barrier = (Barrier){.clock = clock};
}

static bool barrier_is_full(const BlockState *block, const Barrier *barrier)
{
    return barrier->in_use && barrier->arrived >= (barrier->expected ? barrier->expected : block->live_threads);
}

void barrier_recheck(BlockState *block)
{
    for (unsigned i = 0; i < BARRIER_COUNT; i++)
        if (barrier_is_full(block, &block->barriers[i]))
            barrier_complete(block, i);
    cluster_recheck(block);
}

static Step barrier_arrive(Exec *x, const Op *op, uint32_t mask)
{
    unsigned lane = (unsigned)__builtin_ctz(mask);
    uint64_t id = row_get(source_row(x, op->barrier.id), 4, lane), count = 0;
    if (id >= BARRIER_COUNT)
        return fault_at(x, op, lane, FAULT_BARRIER, "there is no barrier %llu", (unsigned long long)id);
    if (op->barrier.has_count) {
        count = row_get(source_row(x, op->barrier.count), 4, lane);
        if (!count || count % LANES)
            return fault_at(x, op, lane, FAULT_BARRIER, "barrier %llu for %llu thread%s, which is not a multiple of 32",
                            (unsigned long long)id, (unsigned long long)count, plural(count));
    }
    Barrier *barrier = &x->block->barriers[id];
    if (barrier->in_use && barrier->expected != count)
        return fault_at(x, op, lane, FAULT_BARRIER, "barrier %llu for %llu thread%s, but other threads gave %llu",
                        (unsigned long long)id, (unsigned long long)count, plural(count),
                        (unsigned long long)barrier->expected);
    if (!barrier->in_use) {
        barrier->in_use = true;
        barrier->expected = count;
        barrier->all = 1;
    }
    clock_join(x, barrier->clock);
    x->emulator->effects++;
    unsigned threads = (unsigned)__builtin_popcount(mask);
    /* An aligned barrier with a thread count counts whole warps. */
    barrier->arrived += op->barrier.has_count && op->barrier.aligned ? LANES : threads;
    x->emulator->result->counters.barriers++;
    if (op->barrier.kind >= BARRIER_RED_POPC) {
        uint32_t predicate = source_mask(x, op->barrier.predicate);
        barrier->count += (uint32_t)__builtin_popcount(predicate & mask);
        barrier->any |= (predicate & mask) != 0;
        barrier->all &= (predicate & mask) == mask;
    }
    x->split->barrier = (unsigned)id;
    if (op->barrier.aligned)
        partners_arrive(x, op, (unsigned)id);
    if (op->barrier.kind == BARRIER_ARRIVE) {
        if (x->warp->clocks)
            x->warp->clocks[x->warp->index]++;
        x->split->pc++;
        if (barrier_is_full(x->block, barrier))
            barrier_complete(x->block, (unsigned)id);
        return STEP_JUMP;
    }
    split_block(x, WAIT_BARRIER);
    if (barrier_is_full(x->block, barrier))
        barrier_complete(x->block, (unsigned)id);
    return STEP_SWITCH;
}

Step run_barrier(Exec *x, const Op *op, uint32_t mask)
{
    if (op->barrier.cluster_wait)
        return cluster_wait(x, mask);
    /* All threads of the warp execute an aligned barrier together. Missing threads may still arrive or exit. */
    if (op->barrier.aligned) {
        mask = split_lanes_beside(x->warp, x->split);
        if (mask != x->warp->live) {
            split_block(x, WAIT_ALIGNED);
            return STEP_SWITCH;
        }
    }
    return op->barrier.cluster ? cluster_arrive(x, op, mask) : barrier_arrive(x, op, mask);
}

/* Releases lanes that wait to reconverge, because the warp-level operation in which others wait for them may come after
 * that point. They must then come to it, unless they have nothing left to do. */
static bool call_members(Exec *x, Split *split)
{
    if (split->wait != WAIT_WARP)
        return false;
    uint32_t leaving, released = release_arrived(x->emulator, x->warp, split, &leaving);
    split->called |= released & split->members & ~leaving;
    return released != 0;
}

static void fault_waiting(Exec *x, Split *split)
{
    x->split = split;
    x->frame = split->frame;
    const Op *op = &split->frame->code->ops.data[split->pc];
    if (split->wait == WAIT_ALIGNED) {
        uint32_t missing = x->warp->live & ~split->mask;
        fault_at(x, op, (unsigned)__builtin_ctz(missing), FAULT_BARRIER,
                 "lanes 0x%08x of the warp are at the %s, but lanes 0x%08x are not", split->mask,
                 op->inst->sync == SYNC_REGISTERS ? "setmaxnreg" : "barrier", missing);
        return;
    }
    uint32_t missing, together = split_lanes_together(x->warp, split, &missing);
    fault_at(x, op, (unsigned)__builtin_ctz(missing ? missing : split->mask), FAULT_WARP_SYNC,
             "lanes 0x%08x wait for lanes 0x%08x, which %s", together, missing,
             missing & x->warp->live ? "wait elsewhere" : "exit without coming");
}

/* Lets lanes exit that wait to reconverge only to exit, because barriers do not wait for exited threads. */
static bool let_leave(Exec *x)
{
    Warp *warp = x->warp;
    for (unsigned i = 0; i < warp->blocked_count; i++) {
        const Split *split = warp->blocked[i];
        if ((split->wait == WAIT_BARRIER || split->wait == WAIT_ALIGNED) &&
            release_leaving(x->emulator, warp, split))
            return true;
    }
    return false;
}

bool warp_resolve(Exec *x)
{
    Warp *warp = x->warp;
    if (let_leave(x))
        return true;
    for (unsigned i = 0; i < warp->blocked_count; i++)
        if (warp->blocked[i]->wait == WAIT_BARRIER || warp->blocked[i]->wait == WAIT_POOL)
            return true;
    for (unsigned i = 0; i < warp->blocked_count; i++) {
        Split *split = warp->blocked[i];
        if (split->wait == WAIT_ALIGNED && split_lanes_beside(warp, split) == warp->live) {
            split_wake(warp, split);
            return true;
        }
        /* exited members are not waited for */
        uint32_t missing;
        if (split->wait == WAIT_WARP && (split_lanes_together(warp, split, &missing), !missing)) {
            split_wake(warp, split);
            return true;
        }
    }
    for (unsigned i = 0; i < warp->blocked_count; i++)
        if (call_members(x, warp->blocked[i]))
            return true;
    fault_waiting(x, warp->blocked[0]);
    return false;
}

Step run_fence(Exec *x, const Op *op, uint32_t mask)
{
    if (mask)
        order_fence(x, (FenceScope)op->value);
    return STEP_NEXT;
}
