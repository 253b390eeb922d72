/* Registers that the warps of a block pass on: PTX ISA, setmaxnreg.
 *
 * All warps start with the same number of registers for each thread, and together they have all of the block. A warp
 * that releases some leaves them to the others; one that requests more waits until there are enough. The ISA names no
 * other way into the pool, so a warp keeps its registers when it exits. */
#include "emulator/execute/execute.h"

static bool is_beside(const Split *split, const Split *other)
{
    return other->wait == WAIT_ALIGNED && other->pc == split->pc && other->frame == split->frame;
}

/* The other splits that have come to the instruction go on after it, or wait for registers. */
static void partners_follow(Warp *warp, const Split *split, bool go_on)
{
    for (unsigned i = 0; i < warp->blocked_count;) {
        Split *other = warp->blocked[i];
        if (!is_beside(split, other)) {
            i++;
        } else if (go_on) {
            other->pc++;
            split_wake(warp, other);
        } else {
            other->wait = WAIT_POOL;
        }
    }
}

static void waiters_wake(Warp *warp)
{
    for (unsigned i = 0; i < warp->blocked_count;) {
        Split *split = warp->blocked[i];
        if (split->wait != WAIT_POOL) {
            i++;
            continue;
        }
        split->pc++;
        split_wake(warp, split);
    }
}

/* Gives the warp as many registers as it requests; false if the block does not have them. */
static bool take(BlockState *block, Warp *warp, unsigned registers)
{
    unsigned more = registers > warp->registers ? registers - warp->registers : 0;
    if (more > block->free_registers)
        return false;
    block->free_registers -= more;
    warp->registers += more;
    warp->idle_steps = 0;
    block->emulator->effects++;
    return true;
}

static const Split *pool_waiter(const Warp *warp)
{
    for (unsigned i = 0; i < warp->blocked_count; i++)
        if (warp->blocked[i]->wait == WAIT_POOL)
            return warp->blocked[i];
    return NULL;
}

static void serve_waiters(BlockState *block)
{
    for (unsigned i = 0; i < block->warp_count; i++) {
        Warp *warp = &block->warps[i];
        const Split *waiter = pool_waiter(warp);
        if (waiter && take(block, warp, waiter->frame->code->ops.data[waiter->pc].pool.registers))
            waiters_wake(warp);
    }
}

static Step let_go(Exec *x, const Op *op)
{
    Warp *warp = x->warp;
    if (op->pool.registers > warp->registers)
        return fault_at(x, op, (unsigned)__builtin_ctz(x->split->mask), FAULT_POOL,
                        "the warp is to keep %u registers for each thread, but has only %u", op->pool.registers,
                        warp->registers);
    x->block->free_registers += warp->registers - op->pool.registers;
    warp->registers = op->pool.registers;
    effect_note(x);
    partners_follow(warp, x->split, true);
    serve_waiters(x->block);
    return STEP_NEXT;
}

Step run_setmaxnreg(Exec *x, const Op *op, uint32_t mask)
{
    Warp *warp = x->warp;
    if (!mask || !x->emulator->launch_registers)
        return STEP_NEXT;
    if (split_lanes_beside(warp, x->split) != warp->live) {
        split_block(x, WAIT_ALIGNED);
        return STEP_SWITCH;
    }
    if (!op->pool.increases)
        return let_go(x, op);
    if (take(x->block, warp, op->pool.registers)) {
        partners_follow(warp, x->split, true);
        return STEP_NEXT;
    }
    partners_follow(warp, x->split, false);
    split_block(x, WAIT_POOL);
    x->emulator->effects++; /* the warp has gone on up to here */
    return STEP_SWITCH;
}

bool pool_stuck(Exec *x)
{
    const Emulator *emulator = x->emulator;
    for (unsigned i = 0; i < x->block->warp_count; i++) {
        Warp *warp = &x->block->warps[i];
        Split *waiter = (Split *)pool_waiter(warp);
        if (!waiter)
            continue;
        x->warp = warp;
        exec_enter(x, waiter);
        const Op *op = &x->frame->code->ops.data[waiter->pc];
        fault_at(x, op, (unsigned)__builtin_ctz(waiter->mask), FAULT_POOL,
                 "the warp has %u registers for each thread and waits forever for %u: the block, launched with %u for "
                 "each thread of %u warps, has %u left",
                 warp->registers, op->pool.registers, emulator->launch_registers, x->block->warp_count,
                 x->block->free_registers);
        return true;
    }
    return false;
}
