/* Branches, returns and exits. */
#include "emulator/execute/execute.h"

static void lanes_exit(Exec *x, uint32_t mask)
{
    x->warp->live &= ~mask;
    effect_note(x);
    x->block->live_threads -= (unsigned)__builtin_popcount(mask);
    barrier_recheck(x->block);
}

/* Lanes that reach the end of a function. In the kernel they exit; in a device function they wait for the other lanes
 * of their call. */
static Step split_exit(Exec *x, uint32_t mask)
{
    Split *split = x->split;
    if (!x->frame->parent)
        lanes_exit(x, mask);
    warp_drop(x->warp, split);
    split_finish(x->warp, split);
    return STEP_SWITCH;
}

static void count_divergence(Exec *x, const Op *op)
{
    const Code *code = x->frame->code;
    x->emulator->result->counters.divergent_branches++;
    if (code->costs)
        code->costs[op - code->ops.data].divergent_branches++;
}

/* Compares the lanes' decisions with those that others of the block have made the same number of times before. */
static bool check_agreement(Exec *x, const Op *op, uint32_t mask, uint32_t taken)
{
    uint32_t number = op->branch.agreement - 1;
    Agreement *agreement = &x->block->agreements[number];
    uint32_t *decided = x->warp->decided + number * LANES;
    EACH_ACTIVE(lane, mask)
    {
        uint8_t decision = taken >> lane & 1;
        if (decided[lane] == agreement->taken.count)
            VEC_PUSH(x->emulator->arena, agreement->taken, decision);
        if (agreement->taken.data[decided[lane]++] != decision) {
            fault_at(x, op, lane, FAULT_BARRIER, "the threads of the block do not agree on this branch, which decides "
                     "whether they get to a barrier");
            return false;
        }
    }
    return true;
}

Step run_branch(Exec *x, const Op *op, uint32_t taken)
{
    Split *split = x->split;
    uint32_t others = split->mask & ~taken;
    if (op->branch.agreement && !check_agreement(x, op, split->mask, taken))
        return STEP_FAULT;
    x->emulator->result->counters.branches += op->guard != NO_ROW;
    if (!taken) {
        split->pc = op->branch.fall;
        return STEP_JUMP;
    }
    if (!others) {
        if (op->branch.target == PC_EXIT)
            return split_exit(x, taken);
        split->pc = op->branch.target;
        return STEP_JUMP;
    }
    count_divergence(x, op);
    if (op->branch.target == PC_EXIT && !x->frame->parent) {
        /* Exiting threads do not reconverge. */
        lanes_exit(x, taken);
        split->mask = others;
        split->pc = op->branch.fall;
        return STEP_SWITCH;
    }
    uint32_t pcs[2] = {op->branch.fall, op->branch.target}, masks[2] = {others, taken};
    return split_diverge(x, pcs, masks, 2, op->branch.reconvergence);
}

Step run_jump(Exec *x, const Op *op, uint32_t mask)
{
    (void)mask;
    x->split->pc = op->branch.target;
    return STEP_JUMP;
}

Step run_table_branch(Exec *x, const Op *op, uint32_t mask)
{
    const void *index = source_row(x, op->sources[0]);
    uint32_t pcs[LANES], masks[LANES];
    unsigned count = 0;
    x->emulator->result->counters.branches++;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t which = row_get(index, 4, lane);
        if (which >= op->table.count)
            return fault_at(x, op, lane, FAULT_BOUNDS, "index %llu into a branch table of %u %s",
                            (unsigned long long)which, op->table.count, plural_of(op->table.count, "entry", "entries"));
        uint32_t pc = op->table.targets[which];
        unsigned i = 0;
        while (i < count && pcs[i] != pc)
            i++;
        if (i == count) {
            pcs[count] = pc;
            masks[count++] = 0;
        }
        masks[i] |= 1u << lane;
    }
    if (count == 1) {
        x->split->pc = pcs[0];
        return STEP_JUMP;
    }
    count_divergence(x, op);
    return split_diverge(x, pcs, masks, count, op->table.reconvergence);
}

/* The first op of every block where lanes reconverge. */
Step run_reconverge(Exec *x, const Op *op, uint32_t mask)
{
    Split *split = x->split;
    (void)op;
    (void)mask;
    if (split->reconvergence != split->pc)
        return STEP_NEXT;
    warp_drop(x->warp, split);
    split_finish(x->warp, split);
    return STEP_SWITCH;
}

Step run_return(Exec *x, const Op *op, uint32_t mask)
{
    (void)op;
    return split_exit(x, mask);
}

/* exit ends threads inside device functions, too. */
Step run_exit(Exec *x, const Op *op, uint32_t mask)
{
    (void)op;
    lanes_exit(x, mask);
    warp_drop(x->warp, x->split);
    split_finish(x->warp, x->split);
    return STEP_SWITCH;
}

Step run_trap(Exec *x, const Op *op, uint32_t mask)
{
    return mask ? fault_at(x, op, (unsigned)__builtin_ctz(mask), FAULT_TRAP, "the kernel executed a trap") : STEP_NEXT;
}

Step run_yield(Exec *x, const Op *op, uint32_t mask)
{
    (void)op;
    (void)mask;
    x->yield = true;
    return STEP_NEXT;
}
