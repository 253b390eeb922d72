/* Barriers of the block, fences, and mbarrier objects: PTX ISA, "Parallel Synchronization and Communication
 * Instructions". */
#include "emulator/execute/execute.h"

/* ---- Barriers --------------------------------------------------------------------------------------------------- */

static void result_write(Frame *frame, const Op *op, const Barrier *barrier, uint32_t mask)
{
    uint32_t truth = op->barrier.kind == BARRIER_RED_AND ? barrier->all : barrier->any;
    EACH_ACTIVE(lane, mask)
    {
        row_set(frame->registers + op->dest, op->dest_bytes, lane,
                op->barrier.kind == BARRIER_RED_POPC ? barrier->count : truth);
    }
}

/* All have arrived: those that wait go on. */
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
            return fault_at(x, op, lane, FAULT_BARRIER, "barrier %llu for %llu threads, which is not a multiple of 32",
                            (unsigned long long)id, (unsigned long long)count);
    }
    Barrier *barrier = &x->block->barriers[id];
    if (barrier->in_use && barrier->expected != count)
        return fault_at(x, op, lane, FAULT_BARRIER, "barrier %llu for %llu threads, but other threads gave %llu",
                        (unsigned long long)id, (unsigned long long)count, (unsigned long long)barrier->expected);
    if (!barrier->in_use) {
        barrier->in_use = true;
        barrier->expected = count;
        barrier->all = 1;
    }
    clock_join(x, barrier->clock);
    unsigned threads = (unsigned)__builtin_popcount(mask);
    /* An aligned barrier counts whole warps where it counts for itself. */
    barrier->arrived += op->barrier.has_count && op->barrier.aligned ? LANES : threads;
    x->machine->result->counters.barriers++;
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
    /* All threads of the warp execute an aligned barrier together.  Those that are missing may yet come or exit. */
    if (op->barrier.aligned) {
        mask = split_lanes_beside(x->warp, x->split);
        if (mask != x->warp->live) {
            split_block(x, WAIT_ALIGNED);
            return STEP_SWITCH;
        }
    }
    return op->barrier.cluster ? cluster_arrive(x, op, mask) : barrier_arrive(x, op, mask);
}

bool warp_resolve(Exec *x)
{
    Warp *warp = x->warp;
    for (unsigned i = 0; i < warp->blocked_count; i++)
        if (warp->blocked[i]->wait == WAIT_BARRIER)
            return true;
    for (unsigned i = 0; i < warp->blocked_count; i++) {
        Split *split = warp->blocked[i];
        if (split->wait == WAIT_ALIGNED && split_lanes_beside(warp, split) == warp->live) {
            split_wake(warp, split);
            return true;
        }
        /* Members that have exited are not waited for. */
        if (split->wait == WAIT_WARP && !(split->members & warp->live & ~split->mask)) {
            split_wake(warp, split);
            return true;
        }
    }
    Split *split = warp->blocked[0];
    x->split = split;
    x->frame = split->frame;
    const Op *op = &split->frame->code->ops.data[split->pc];
    uint32_t missing = (split->wait == WAIT_ALIGNED ? warp->live : split->members & warp->live) & ~split->mask;
    if (split->wait == WAIT_ALIGNED)
        fault_at(x, op, (unsigned)__builtin_ctz(missing), FAULT_BARRIER,
                 "lanes 0x%08x of the warp are at the barrier, but lanes 0x%08x are not", split->mask, missing);
    else
        fault_at(x, op, (unsigned)__builtin_ctz(missing ? missing : split->mask), FAULT_WARP_SYNC,
                 "lanes 0x%08x wait for lanes 0x%08x, which wait elsewhere", split->mask, missing);
    return false;
}

Step run_fence(Exec *x, const Op *op, uint32_t mask)
{
    if (mask)
        order_fence(x, (FenceScope)op->value);
    return STEP_NEXT;
}

/* ---- mbarrier --------------------------------------------------------------------------------------------------- */

/* The object is opaque to programs.  Here: bit 63 the phase, 62-42 expected arrivals, 41-21 pending arrivals, 20-0 the
 * transaction count with a bias that makes it non-negative. */
#define MBARRIER_FIELD ((UINT64_C(1) << 21) - 1)
#define MBARRIER_BIAS (INT64_C(1) << 20)

typedef struct MbarrierState {
    unsigned phase;
    uint64_t expected, pending;
    int64_t transactions;
} MbarrierState;

static MbarrierState mbarrier_unpack(uint64_t bits)
{
    return (MbarrierState){
        .phase = (unsigned)(bits >> 63),
        .expected = bits >> 42 & MBARRIER_FIELD,
        .pending = bits >> 21 & MBARRIER_FIELD,
        .transactions = (int64_t)(bits & MBARRIER_FIELD) - MBARRIER_BIAS,
    };
}

static uint64_t mbarrier_pack(MbarrierState state)
{
    if (state.pending == 0 && state.transactions == 0) {
        state.phase ^= 1;
        state.pending = state.expected;
    }
    return (uint64_t)state.phase << 63 | (state.expected & MBARRIER_FIELD) << 42 |
           (state.pending & MBARRIER_FIELD) << 21 | ((uint64_t)(state.transactions + MBARRIER_BIAS) & MBARRIER_FIELD);
}

/* One lane's operation; the new object goes to *object. */
static bool mbarrier_step(Exec *x, const Op *op, unsigned lane, uint64_t *object, uint64_t operand, uint64_t *result)
{
    MbarrierState state = mbarrier_unpack(*object);
    *result = *object;
    switch (op->mbarrier.kind) {
    case MBARRIER_INIT:
        if (!operand || operand > MBARRIER_FIELD >> 1)
            return fault_at(x, op, lane, FAULT_BARRIER, "an mbarrier cannot expect %llu arrivals", (unsigned long long)operand) !=
                   STEP_FAULT;
        *object = mbarrier_pack((MbarrierState){0, operand, operand, 0});
        return true;
    case MBARRIER_INVAL: *object = 0; return true;
    case MBARRIER_TEST: *result = operand >> 63 != state.phase; break;
    case MBARRIER_TEST_PARITY: *result = (operand & 1) != state.phase; break;
    case MBARRIER_EXPECT_TX:
        state.transactions += (int64_t)operand;
        *object = mbarrier_pack(state);
        return true;
    case MBARRIER_COMPLETE_TX:
        state.transactions -= (int64_t)operand;
        *object = mbarrier_pack(state);
        return true;
    default: {
        bool drops = op->mbarrier.kind == MBARRIER_ARRIVE_DROP || op->mbarrier.kind == MBARRIER_ARRIVE_DROP_EXPECT_TX;
        bool expects =
            op->mbarrier.kind == MBARRIER_ARRIVE_EXPECT_TX || op->mbarrier.kind == MBARRIER_ARRIVE_DROP_EXPECT_TX;
        uint64_t count = expects ? 1 : operand;
        if (count > state.pending || (drops && count > state.expected))
            return fault_at(x, op, lane, FAULT_BARRIER, "%llu arrivals at an mbarrier that is waiting for %llu",
                            (unsigned long long)count, (unsigned long long)state.pending) != STEP_FAULT;
        state.pending -= count;
        if (drops)
            state.expected -= count;
        if (expects)
            state.transactions += (int64_t)operand;
        *object = mbarrier_pack(state);
        return true;
    }
    }
    if (!*result)
        x->yield = true;
    return true;
}

Step mbarrier_complete(Exec *x, const Op *op, uint32_t mask, Translation *at, const uint64_t bytes[LANES])
{
    if (!access_translate(x, op, mask, 8, MODE_ATOMIC, true, at))
        return STEP_FAULT;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t object;
        memcpy(&object, at->host[lane], 8);
        MbarrierState state = mbarrier_unpack(object);
        state.transactions -= (int64_t)bytes[lane];
        object = mbarrier_pack(state);
        memcpy(at->host[lane], &object, 8);
    }
    x->warp->idle_steps = 0;
    clock_join(x, x->block->mbarrier_clock);
    cluster_publish(x, at, mask);
    return STEP_NEXT;
}

/* memory-like operation on the object; sources[0]: the operand (count, bytes, state or parity). */
Step run_mbarrier(Exec *x, const Op *op, uint32_t mask)
{
    const MemoryOp *memory = op->mbarrier.memory;
    Translation at;
    if (!mask)
        return STEP_NEXT;
    if (!access_addresses(x, op, memory, mask, &at) || !access_translate(x, op, mask, 8, MODE_ATOMIC, true, &at))
        return STEP_FAULT;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t object, result, operand = 1, before;
        if (op->source_count)
            operand = row_get(source_row(x, op->sources[0]), op->source_bytes[0], lane);
        memcpy(&object, at.host[lane], 8);
        before = object;
        if (!mbarrier_step(x, op, lane, &object, operand, &result))
            return STEP_FAULT;
        memcpy(at.host[lane], &object, 8);
        if (at.written[lane])
            memset(at.written[lane], 1, 8);
        if (object != before) {
            x->warp->idle_steps = 0;
            clock_join(x, x->block->mbarrier_clock);
        } else if (op->dest != NO_ROW && result) {
            clock_take(x->warp, x->block->mbarrier_clock);
            if (x->block->cluster->count > 1)
                order_learn(x);
        }
        if (op->dest != NO_ROW)
            row_set(x->frame->registers + op->dest, op->dest_bytes, lane, result);
    }
    cluster_publish(x, &at, mask);
    return STEP_NEXT;
}
