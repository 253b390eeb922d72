/* Warps: splits, frames, and the loop that executes. */
#include "emulator/state/state.h"

#define QUANTUM 65536 /* ops a split runs before its siblings and the other warps get a turn */

/* After so many ops without a visible effect a split is taken to wait for lanes that wait to meet it: where a poll
 * failed, and elsewhere. */
#define IDLE_POLL 4096
#define IDLE_LOOP (16 * QUANTUM)

/* ---- Splits and frames ------------------------------------------------------------------------------------------ */

Split *split_new(Machine *machine, Split *parent, Frame *frame, uint32_t pc, uint32_t mask, uint32_t reconvergence)
{
    Split *split = machine->free_splits;
    if (split)
        machine->free_splits = split->next_free;
    else
        split = ARENA_NEW(machine->arena, Split);
    *split = (Split){.parent = parent, .frame = frame, .pc = pc, .mask = mask, .reconvergence = reconvergence};
    if (parent)
        parent->children++;
    return split;
}

static void split_free(Machine *machine, Split *split)
{
    if (split->callee)
        frame_free(split->callee);
    split->next_free = machine->free_splits;
    machine->free_splits = split;
}

void warp_push(Warp *warp, Split *split)
{
    split->wait = WAIT_NONE;
    require(warp->runnable_count < LANES);
    warp->runnable[warp->runnable_count++] = split;
}

void warp_drop(Warp *warp, Split *split)
{
    unsigned i = 0;
    while (i < warp->runnable_count && warp->runnable[i] != split)
        i++;
    require(i < warp->runnable_count);
    for (warp->runnable_count--; i < warp->runnable_count; i++)
        warp->runnable[i] = warp->runnable[i + 1];
}

void split_block(Exec *x, WaitKind wait)
{
    warp_drop(x->warp, x->split);
    x->split->wait = wait;
    require(x->warp->blocked_count < LANES);
    x->warp->blocked[x->warp->blocked_count++] = x->split;
}

void split_wake(Warp *warp, Split *split)
{
    unsigned i = 0;
    while (i < warp->blocked_count && warp->blocked[i] != split)
        i++;
    require(i < warp->blocked_count);
    warp->blocked[i] = warp->blocked[--warp->blocked_count];
    warp_push(warp, split);
}

/* The split's lanes have arrived where they meet again (or are gone): its parent goes on when all its children have. */
void split_finish(Warp *warp, Split *split)
{
    Machine *machine = warp->block->machine;
    for (;;) {
        Split *parent = split->parent;
        split_free(machine, split);
        if (!parent || --parent->children)
            return;
        /* A parent whose lanes all meet at the end of the function has arrived there, too. */
        parent->mask &= warp->live;
        if (parent->mask && parent->pc != PC_EXIT) {
            warp_push(warp, parent);
            return;
        }
        split = parent;
    }
}

/* The lanes of a waiting split that none of its children has. */
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

/* Lanes that wait for others to meet them go on without: those others may wait for them, as at a lock. */
static void release_arrived(Machine *machine, Warp *warp, const Split *split)
{
    for (Split *waiting = split->parent; waiting; waiting = waiting->parent) {
        /* Calls return together. */
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

Frame *frame_new(Machine *machine, Code *code, Frame *parent)
{
    Frame *frame = code->free_frames;
    if (frame) {
        code->free_frames = frame->next_free;
        memset(frame->registers, 0, code->frame_bytes);
        if (code->local_bytes)
            memset(frame->local, 0, (size_t)code->local_bytes * LANES);
        if (frame->local_written)
            memset(frame->local_written, 0, (size_t)code->local_bytes * LANES);
        if (frame->defined)
            memset(frame->defined, 0, code->body->regs.count * sizeof *frame->defined);
    } else {
        frame = ARENA_NEW(machine->arena, Frame);
        frame->code = code;
        uint8_t *memory = machine_alloc(machine, (size_t)code->frame_bytes + 64, 1);
        frame->registers = (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
        frame->local = machine_alloc(machine, (size_t)code->local_bytes, LANES);
        if (machine->options.check_unwritten)
            frame->local_written = machine_alloc(machine, (size_t)code->local_bytes, LANES);
        if (machine->options.check_registers)
            frame->defined = machine_alloc(machine, code->body->regs.count, sizeof *frame->defined);
    }
    frame->parent = parent;
    frame->carry = 0;
    frame->depth = parent ? parent->depth + 1 : 0;
    frame->local_base = parent ? (parent->local_base + parent->code->local_bytes + 15) & ~UINT64_C(15) : 0;
    if (code->stack_row != NO_ROW)
        stack_reset(frame);
    return frame;
}

void frame_free(Frame *frame)
{
    frame->next_free = frame->code->free_frames;
    frame->code->free_frames = frame;
}

void lanes_exit(Exec *x, uint32_t mask)
{
    x->warp->live &= ~mask;
    x->warp->idle_steps = 0;
    x->block->live_threads -= (unsigned)__builtin_popcount(mask);
    barrier_recheck(x->block);
}

/* ---- Control flow ----------------------------------------------------------------------------------------------- */

/* The lanes of the split go to up to 'count' places.  Lanes that go where all meet again just wait there. */
Step split_diverge(Exec *x, const uint32_t *pcs, const uint32_t *masks, unsigned count, uint32_t reconvergence)
{
    Split *split = x->split, *parent = split;
    Machine *machine = x->machine;
    Warp *warp = x->warp;
    warp_drop(warp, split);
    /* A split that waits for this very place already has a parent doing so. */
    bool replaced = split->parent && split->reconvergence == reconvergence && split->parent->frame == split->frame;
    if (replaced) {
        parent = split->parent;
    } else {
        split->pc = reconvergence;
        split->wait = WAIT_CHILDREN;
    }
    for (unsigned i = count; i-- > 0;)
        if (pcs[i] != reconvergence)
            warp_push(warp, split_new(machine, parent, split->frame, pcs[i], masks[i], reconvergence));
    if (replaced)
        split_finish(warp, split);
    else if (!split->children)
        warp_push(warp, split); /* all places are that one */
    return STEP_SWITCH;
}

/* Lanes at the exit of the function: the kernel's are gone, a device function's wait for the others of their call. */
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
    x->machine->result->counters.divergent_branches++;
    if (code->costs)
        code->costs[op - code->ops.data].divergent_branches++;
}

Step run_branch(Exec *x, const Op *op, uint32_t taken)
{
    Split *split = x->split;
    uint32_t others = split->mask & ~taken;
    x->machine->result->counters.branches += op->guard != NO_ROW;
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
        /* Threads that end need nobody to wait for. */
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
    x->machine->result->counters.branches++;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t which = row_get(index, 4, lane);
        if (which >= op->table.count)
            return fault_at(x, op, lane, FAULT_BOUNDS, "index %llu of a branch table of %u", (unsigned long long)which,
                            op->table.count);
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

/* Stands at the head of every block where lanes meet again. */
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

/* exit, which also ends threads inside device functions. */
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

/* ---- The loop --------------------------------------------------------------------------------------------------- */

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

/* Runs the warp's top split until it stops or its time is up.  False on a fault. */
static bool split_run(Exec *x)
{
    Machine *machine = x->machine;
    Warp *warp = x->warp;
    Split *split = warp->runnable[warp->runnable_count - 1];
    exec_enter(x, split);
    Code *code = x->frame->code;
    const Op *ops = code->ops.data;
    bool checks_registers = machine->options.check_registers;
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
        if (checks_registers && op->first && !track_registers(x, op, mask))
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
    warp->idle_steps += steps;
    if (step == STEP_FAULT)
        return false;
    if (step == STEP_SWITCH)
        return true;
    split->pc = pc;
    if (warp->idle_steps > (x->yield ? IDLE_POLL : IDLE_LOOP))
        release_arrived(machine, warp, split);
    /* Its time is up: the others first. */
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
