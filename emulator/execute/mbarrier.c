/* mbarrier objects: PTX ISA, "Parallel Synchronization and Communication Instructions". */
#include "emulator/execute/execute.h"

/* The object is opaque to programs. Here, bit 63 is the phase, bits 62-42 are the expected and bits 41-21 the pending
 * arrivals, and bits 20-0 hold the transaction count plus a bias that makes it non-negative. */
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

/* Performs one lane's operation on *object. */
static bool mbarrier_step(Exec *x, const Op *op, unsigned lane, uint64_t *object, uint64_t operand, uint64_t *result)
{
    MbarrierState state = mbarrier_unpack(*object);
    *result = *object;
    switch (op->mbarrier.kind) {
    case MBARRIER_INIT:
        if (!operand || operand > MBARRIER_FIELD >> 1)
            return fault_at(x, op, lane, FAULT_BARRIER, "an mbarrier cannot expect %llu arrivals",
                            (unsigned long long)operand) != STEP_FAULT;
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
    effect_note(x);
    clock_join(x, x->block->mbarrier_clock);
    cluster_publish(x, at, mask);
    return STEP_NEXT;
}

/* sources[0] is the operand: a count, bytes, a state or a parity. */
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
            effect_note(x);
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
