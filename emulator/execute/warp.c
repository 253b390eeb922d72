/* Warps: the loop that executes ops. */
#include "emulator/execute/execute.h"

#define QUANTUM 65536 /* ops a split runs before its siblings and the other warps get a turn */

/* After so many ops without a visible effect, a split is assumed to wait for lanes that wait for it to reconverge: the
 * first limit applies if a poll failed. */
#define IDLE_POLL 4096
#define IDLE_LOOP (16 * QUANTUM)

/* The lanes of a waiting split that are in none of its children: they have reached the reconvergence point. */
static uint32_t lanes_arrived(const Warp *warp, const Split *waiting)
{
    uint32_t away = 0;
    for (unsigned i = 0; i < warp->runnable_count + warp->blocked_count; i++) {
        const Split *at = i < warp->runnable_count ? warp->runnable[i] : warp->blocked[i - warp->runnable_count];
        while (at->parent && at->parent != waiting)
            at = at->parent;
        if (at->parent == waiting)
            away |= at->mask;
    }
    return waiting->mask & warp->live & ~away;
}

/* Lets lanes that wait to reconverge with the split continue without it: it may be waiting for them, as at a lock. */
static void release_arrived(Machine *machine, Warp *warp, const Split *split)
{
    for (Split *waiting = split->parent; waiting; waiting = waiting->parent) {
        /* The lanes of a call return together. */
        if (waiting->callee || waiting->pc == PC_EXIT)
            continue;
        uint32_t arrived = lanes_arrived(warp, waiting);
        if (!arrived)
            continue;
        waiting->mask &= ~arrived;
        machine->result->counters.warp_waits++;
        warp_push(warp,
                  split_new(machine, waiting->parent, waiting->frame, waiting->pc, arrived, waiting->reconvergence));
    }
}

void exec_enter(Exec *x, Split *split)
{
    x->split = split;
    x->frame = split->frame;
    x->banks[BANK_FRAME] = split->frame->registers;
    x->banks[BANK_CONSTANTS] = split->frame->code->constants;
    x->banks[BANK_SPECIAL] = x->warp->special;
}

static inline void execute_row(Exec *x, const Op *op, uint32_t mask)
{
    const void *rows[4];
    for (unsigned i = 0; i < op->source_count; i++)
        rows[i] = source_row(x, op->sources[i]);
    void *dest = x->frame->registers + op->dest;
    if (mask == ALL_LANES) {
        op->row(dest, rows);
    } else {
        _Alignas(64) uint64_t result[LANES];
        op->row(result, rows);
        row_blend(dest, result, mask, op->dest_bytes);
    }
}

/* Runs the warp's top split until it stops or its quantum ends.  False on a fault. */
static bool split_run(Exec *x)
{
    Machine *machine = x->machine;
    Warp *warp = x->warp;
    Split *split = warp->runnable[warp->runnable_count - 1];
    exec_enter(x, split);
    Code *code = x->frame->code;
    const Op *ops = code->ops.data;
    uint32_t pc = split->pc;
    uint64_t steps = 0;
    Step step = STEP_NEXT;

    x->yield = false;
    while (steps < QUANTUM) {
        const Op *op = &ops[pc];
        uint32_t mask = split->mask;
        if (op->guard != NO_ROW) {
            uint32_t guard = *(const uint32_t *)(x->frame->registers + op->guard);
            mask &= op->guard_inverted ? ~guard : guard;
        }
        steps++;
        code->executed[pc]++;
        code->threads[pc] += mask == ALL_LANES ? LANES : (unsigned)__builtin_popcount(mask);
        if (op->watched && !track_registers(x, op, mask))
            return false;
        if (op->row) {
            if (mask)
                execute_row(x, op, mask);
            pc++;
            continue;
        }
        split->pc = pc;
        x->steps = steps;
        step = op->run(x, op, mask);
        if (step == STEP_NEXT) {
            split->pc = ++pc;
            if (x->yield)
                break;
            continue;
        }
        if (step == STEP_JUMP) {
            pc = split->pc;
            continue;
        }
        break;
    }
    machine->steps += steps;
    warp->steps += steps;
    warp->idle_steps += steps;
    if (step == STEP_FAULT)
        return false;
    if (step == STEP_SWITCH)
        return true;
    split->pc = pc;
    if (warp->idle_steps > (x->yield ? IDLE_POLL : IDLE_LOOP))
        release_arrived(machine, warp, split);
    /* The quantum has ended: the other splits go first. */
    if (warp->runnable_count > 1) {
        warp_drop(warp, split);
        for (unsigned i = warp->runnable_count++; i > 0; i--)
            warp->runnable[i] = warp->runnable[i - 1];
        warp->runnable[0] = split;
    }
    uint64_t limit = machine->options.hang_steps ? machine->options.hang_steps : UINT64_C(1) << 24;
    if (warp->idle_steps > limit)
        return fault_at(x, &ops[pc], (unsigned)__builtin_ctz(split->mask), FAULT_HANG,
                        "%llu instructions without a visible effect",
                        (unsigned long long)warp->idle_steps) != STEP_FAULT;
    return true;
}

bool warp_run(Exec *x, Warp *warp)
{
    uint64_t end = x->machine->steps + QUANTUM;
    x->warp = warp;
    do {
        if (!split_run(x))
            return false;
        if (!warp->runnable_count && warp->blocked_count && !warp_resolve(x))
            return false;
    } while (warp->runnable_count && x->machine->steps < end && !x->yield);
    return true;
}
