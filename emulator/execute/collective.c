/* Operations that the lanes of a warp execute together: shfl, vote, match, redux, elect, bar.warp.sync, matrices.
 *
 * A .sync form waits until all of its members that have not exited have arrived. Members in other splits must be at
 * the same op of the same frame, except that bar.warp.sync matches any other bar.warp.sync with the same members. The
 * last split to arrive executes the operation for all of them.
 *
 * Lanes of a split may name different members. Each set of members is an operation of its own: if one of them must
 * wait, the split divides, and its parts meet at the run_reconverge op after this one. */
#include "emulator/execute/execute.h"

static bool is_partner(const Split *split, const Split *other, const Op *op, uint32_t members)
{
    if (other->wait != WAIT_WARP || other->members != members || other->warp_kind != op->warp.kind)
        return false;
    return op->warp.kind == WARP_SYNC || (other->pc == split->pc && other->frame == split->frame);
}

/* The lanes at the operation: those of the mask and of the splits that wait there. *missing: the members that have yet
 * to come. */
static uint32_t gather(const Warp *warp, const Split *split, const Op *op, uint32_t mask, uint32_t members,
                       uint32_t *missing)
{
    uint32_t together = mask, awaited = warp->live | (split->wait == WAIT_WARP ? split->called : 0);
    for (unsigned i = 0; i < warp->blocked_count; i++)
        if (is_partner(split, warp->blocked[i], op, members)) {
            together |= warp->blocked[i]->mask;
            awaited |= warp->blocked[i]->called;
        }
    *missing = members & awaited & ~together;
    return together;
}

uint32_t split_lanes_together(const Warp *warp, const Split *split, uint32_t *missing)
{
    return gather(warp, split, &split->frame->code->ops.data[split->pc], split->mask, split->members, missing);
}

static void release(Exec *x, const Op *op, uint32_t members)
{
    Warp *warp = x->warp;
    for (unsigned i = 0; i < warp->blocked_count;) {
        Split *other = warp->blocked[i];
        if (!is_partner(x->split, other, op, members)) {
            i++;
            continue;
        }
        other->pc++;
        split_wake(warp, other);
    }
    /* The running split stays on top. */
    for (unsigned i = 0; i < warp->runnable_count; i++)
        if (warp->runnable[i] == x->split) {
            warp->runnable[i] = warp->runnable[warp->runnable_count - 1];
            warp->runnable[warp->runnable_count - 1] = x->split;
            break;
        }
}

static void result_set(Exec *x, const Op *op, unsigned lane, uint64_t value)
{
    if (op->dest != NO_ROW)
        row_set(x->frame->registers + op->dest, op->dest_bytes, lane, value);
}

static void predicate_set(Exec *x, const Op *op, unsigned lane, bool value)
{
    if (op->warp.dest_predicate != NO_ROW)
        row_set(x->frame->registers + op->warp.dest_predicate, 0, lane, value);
}

static Step execute_shfl(Exec *x, const Op *op, uint32_t mask)
{
    uint32_t values[LANES];
    const uint32_t *offsets = source_row(x, op->sources[1]), *controls = source_row(x, op->sources[2]);
    uint32_t amounts[LANES], clamps[LANES];
    memcpy(values, source_row(x, op->sources[0]), sizeof values);
    memcpy(amounts, offsets, sizeof amounts);
    memcpy(clamps, controls, sizeof clamps);
    EACH_ACTIVE(lane, mask)
    {
        uint32_t segment = clamps[lane] >> 8 & 31, clamp = clamps[lane] & 31, amount = amounts[lane] & 31;
        uint32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
        int64_t from = 0;
        bool fits = false;
        switch (op->warp.mode) {
        case SHFL_UP:
            from = (int64_t)lane - amount;
            fits = from >= (int64_t)most;
            break;
        case SHFL_DOWN:
            from = (int64_t)lane + amount;
            fits = from <= (int64_t)most;
            break;
        case SHFL_BFLY:
            from = lane ^ amount;
            fits = from <= (int64_t)most;
            break;
        default: from = least | (amount & ~segment); fits = from <= (int64_t)most;
        }
        if (!fits)
            from = lane;
        /* Reading a lane that does not take part is undefined; here it gives the reader's own value. */
        if (!(mask >> (from & 31) & 1) && x->emulator->options.check_registers)
            return fault_at(x, op, lane, FAULT_SHUFFLE,
                            "reads lane %u, which is not among the participating lanes 0x%08x", (unsigned)from & 31,
                            mask);
        result_set(x, op, lane, values[mask >> (from & 31) & 1 ? from & 31 : lane]);
        predicate_set(x, op, lane, fits);
    }
    return STEP_NEXT;
}

static void execute_vote(Exec *x, const Op *op, uint32_t mask)
{
    uint32_t votes = source_mask(x, op->sources[0]) & mask, result = 0;
    switch (op->warp.mode) {
    case VOTE_ALL: result = votes == mask; break;
    case VOTE_ANY: result = votes != 0; break;
    case VOTE_UNI: result = votes == mask || votes == 0; break;
    default: result = votes;
    }
    EACH_ACTIVE(lane, mask)
    {
        result_set(x, op, lane, result);
    }
}

static void execute_match(Exec *x, const Op *op, uint32_t mask)
{
    const void *row = source_row(x, op->sources[0]);
    uint64_t values[LANES];
    bool all_equal = true;
    unsigned first = (unsigned)__builtin_ctz(mask);
    EACH_ACTIVE(lane, mask)
    {
        values[lane] = row_get(row, op->source_bytes[0], lane);
        all_equal &= values[lane] == values[first];
    }
    EACH_ACTIVE(me, mask)
    {
        uint32_t equal = 0;
        EACH_ACTIVE(lane, mask)
        {
            equal |= (uint32_t)(values[lane] == values[me]) << lane;
        }
        if (op->warp.kind == WARP_MATCH_ANY) {
            result_set(x, op, me, equal);
        } else {
            result_set(x, op, me, all_equal ? mask : 0);
            predicate_set(x, op, me, all_equal);
        }
    }
}

/* The mode is an AtomicKind. Sources are 32 bits wide; floats support only min and max. */
static void execute_redux(Exec *x, const Op *op, uint32_t mask)
{
    const uint32_t *row = source_row(x, op->sources[0]);
    uint32_t control = op->warp.control, result = 0;
    bool first = true;
    EACH_ACTIVE(lane, mask)
    {
        uint32_t value = row[lane];
        if (op->warp.is_float && control & CONTROL_ABS)
            value &= 0x7fffffff;
        if (first) {
            result = value;
            first = false;
            continue;
        }
        switch (op->warp.mode) {
        case ATOMIC_ADD: result += value; break;
        case ATOMIC_AND: result &= value; break;
        case ATOMIC_OR: result |= value; break;
        case ATOMIC_XOR: result ^= value; break;
        default: {
            bool min = op->warp.mode == ATOMIC_MIN;
            if (op->warp.is_float) {
                result = (uint32_t)float_operation(min ? FLOAT_MIN : FLOAT_MAX, FORMAT_ID_F32, result, value,
                                                   control & CONTROL_NAN);
                break;
            }
            bool less = control & CONTROL_SIGNED ? (int32_t)value < (int32_t)result : value < result;
            result = less == min ? value : result;
        }
        }
    }
    EACH_ACTIVE(lane, mask)
    {
        result_set(x, op, lane, result);
    }
}

static Step execute(Exec *x, const Op *op, uint32_t mask)
{
    switch (op->warp.kind) {
    case WARP_SHFL: return execute_shfl(x, op, mask);
    case WARP_VOTE: execute_vote(x, op, mask); break;
    case WARP_MATCH_ANY:
    case WARP_MATCH_ALL: execute_match(x, op, mask); break;
    case WARP_REDUX: execute_redux(x, op, mask); break;
    case WARP_ACTIVEMASK:
    case WARP_ELECT:
        EACH_ACTIVE(lane, mask)
        {
            unsigned leader = (unsigned)__builtin_ctz(mask);
            result_set(x, op, lane, op->warp.kind == WARP_ELECT ? leader : mask);
            predicate_set(x, op, lane, lane == leader);
        }
        break;
    case WARP_SYNC:
        if (x->warp->clocks)
            x->warp->clocks[x->warp->index]++;
        break;
    default: return matrix_execute(x, op, mask);
    }
    return STEP_NEXT;
}

static Step fault_outsider(Exec *x, const Op *op, uint32_t outsiders, uint32_t members)
{
    return fault_at(x, op, (unsigned)__builtin_ctz(outsiders), FAULT_WARP_SYNC,
                    "the lane is not in its own member mask 0x%08x", members);
}

/* The lanes name different members: executes each group of lanes that name the same, or divides the split if a group
 * must wait for lanes of other splits. */
static Step run_groups(Exec *x, const Op *op, uint32_t mask, const uint32_t *members)
{
    Split *split = x->split;
    uint32_t groups[LANES], pcs[LANES];
    unsigned count = 0;
    bool complete = true;
    for (uint32_t rest = mask; rest; rest &= ~groups[count++]) {
        unsigned first = (unsigned)__builtin_ctz(rest);
        groups[count] = 0;
        EACH_ACTIVE(lane, rest)
        {
            groups[count] |= (uint32_t)(members[lane] == members[first]) << lane;
        }
        uint32_t outsiders = groups[count] & ~members[first];
        if (outsiders)
            return fault_outsider(x, op, outsiders, members[first]);
        complete &= !(members[first] & x->warp->live & ~groups[count]);
        pcs[count] = split->pc;
    }
    if (!complete) {
        /* Each part counts its own execution. */
        Code *code = split->frame->code;
        code->executed[split->pc]--;
        code->threads[split->pc] -= (unsigned)__builtin_popcount(split->mask);
        return split_diverge(x, pcs, groups, count, split->pc + 1);
    }
    Step step = STEP_NEXT;
    for (unsigned i = 0; i < count && step == STEP_NEXT; i++)
        step = execute(x, op, groups[i]);
    return step;
}

Step run_collective(Exec *x, const Op *op, uint32_t mask)
{
    if (!mask)
        return STEP_NEXT;
    if (op->warp.members == NO_ROW)
        return execute(x, op, mask);
    const uint32_t *row = source_row(x, op->warp.members);
    uint32_t members = row[__builtin_ctz(mask)];
    if (op->warp.members_differ) {
        uint32_t differ = 0;
        for (unsigned lane = 0; lane < LANES; lane++)
            differ |= mask >> lane & 1 ? row[lane] ^ members : 0;
        if (differ)
            return run_groups(x, op, mask, row);
    }
    if (mask & ~members)
        return fault_outsider(x, op, mask & ~members, members);
    uint32_t missing, together = gather(x->warp, x->split, op, mask, members, &missing);
    if (missing) {
        x->split->members = members;
        x->split->called = 0;
        x->split->warp_kind = op->warp.kind;
        split_block(x, WAIT_WARP);
        return STEP_SWITCH;
    }
    Step step = execute(x, op, together);
    if (step == STEP_NEXT && together != mask)
        release(x, op, members);
    return step;
}
