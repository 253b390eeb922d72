/* Warps: the loop that executes ops. */
#include "emulator/execute/execute.h"

#define QUANTUM 65536 /* ops a split runs before its siblings and the other warps get a turn */

/* After this many ops without a visible effect, a split is assumed to wait for lanes that wait for it to reconverge:
 * the first limit applies if a poll failed. */
#define IDLE_POLL 4096
#define IDLE_LOOP (16 * QUANTUM)

#define IDLE_LOOK 1024 /* after this many ops, check whether the warp repeats what it did */

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

/* Runs the warp's top split until it stops or its quantum ends; *switched: it stopped. False on a fault. */
static bool split_run(Exec *x, bool *switched)
{
    Emulator *emulator = x->emulator;
    Warp *warp = x->warp;
    Split *split = warp->runnable[warp->runnable_count - 1];
    exec_enter(x, split);
    Code *code = x->frame->code;
    const Op *ops = code->ops.data;
    uint32_t pc = split->pc;
    uint64_t steps = 0;
    Step step = STEP_NEXT;
    uint64_t look_from = warp->idle_steps < IDLE_LOOK ? IDLE_LOOK : 0;
    loop_forget(emulator);

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
            bool is_back = split->pc <= pc;
            pc = split->pc;
            if (is_back && steps >= look_from && loop_look(x))
                break;
            continue;
        }
        break;
    }
    emulator->steps += steps;
    warp->steps += steps;
    warp->idle_steps += steps;
    *switched = step == STEP_SWITCH;
    if (!*switched)
        split->pc = pc;
    return step != STEP_FAULT;
}

/* Puts the split after the others of its warp. */
static void split_defer(Warp *warp, Split *split)
{
    warp_drop(warp, split);
    for (unsigned i = warp->runnable_count++; i > 0; i--)
        warp->runnable[i] = warp->runnable[i - 1];
    warp->runnable[0] = split;
}

/* The top split, or if that only repeats what it did, another one if possible. */
static Split *split_choose(const Emulator *emulator, Warp *warp)
{
    for (unsigned i = 1; i < warp->runnable_count; i++) {
        Split *split = warp->runnable[warp->runnable_count - 1];
        if (split->repeats != emulator->effects + 1)
            return split;
        split_defer(warp, split);
    }
    return warp->runnable[warp->runnable_count - 1];
}

/* Ends a split's turn: the others of its warp go first. */
static bool split_rest(Exec *x, Split *split)
{
    Warp *warp = x->warp;
    uint32_t leaving;
    if (warp->idle_steps > (x->yield ? IDLE_POLL : IDLE_LOOP))
        release_arrived(x->emulator, warp, split, &leaving);
    split_defer(warp, split);
    const EmulatorOptions *options = &x->emulator->options;
    uint64_t limit = options->hang_steps ? options->hang_steps : UINT64_C(1) << 24;
    if (warp->idle_steps <= limit)
        return true;
    exec_enter(x, split);
    return fault_at(x, &x->frame->code->ops.data[split->pc], (unsigned)__builtin_ctz(split->mask), FAULT_HANG,
                    "%llu instruction%s without a visible effect",
                    (unsigned long long)warp->idle_steps, plural(warp->idle_steps)) != STEP_FAULT;
}

bool warp_run(Exec *x, Warp *warp)
{
    uint64_t end = x->emulator->steps + QUANTUM;
    x->warp = warp;
    do {
        bool switched;
        Split *split = split_choose(x->emulator, warp);
        if (!split_run(x, &switched) || (!switched && !split_rest(x, split)))
            return false;
        if (!warp->runnable_count && warp->blocked_count && !warp_resolve(x))
            return false;
        if (!warp->runnable_count)
            return true;
        /* A loop that diverges never uses up a split's quantum. */
        if (switched && warp->idle_steps > IDLE_LOOP && x->emulator->steps >= end &&
            !split_rest(x, warp->runnable[warp->runnable_count - 1]))
            return false;
        if (x->yield || warp->idle_steps >= QUANTUM)
            warp_look(x);
    } while (x->emulator->steps < end && !x->yield && !warp_repeats(x->emulator, warp));
    return true;
}
