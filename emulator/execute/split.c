/* Splits: the lanes of a warp diverge, wait and reconverge. */
#include "emulator/execute/execute.h"

Split *split_new(Emulator *emulator, Split *parent, Frame *frame, uint32_t pc, uint32_t mask, uint32_t reconvergence)
{
    Split *split = emulator->free_splits;
    if (split)
        emulator->free_splits = split->next_free;
    else
        split = ARENA_NEW(emulator->arena, Split);
    *split = (Split){.parent = parent, .frame = frame, .pc = pc, .mask = mask, .reconvergence = reconvergence};
    if (parent)
        parent->children++;
    return split;
}

static void split_free(Emulator *emulator, Split *split)
{
    if (split->callee)
        frame_free(split->callee);
    split->next_free = emulator->free_splits;
    emulator->free_splits = split;
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

/* The split's lanes have reached their reconvergence point or exited. Its parent continues after its last child. */
void split_finish(Warp *warp, Split *split)
{
    Emulator *emulator = warp->block->emulator;
    for (;;) {
        Split *parent = split->parent;
        split_free(emulator, split);
        if (!parent || --parent->children)
            return;
        /* If the lanes reconverge at the end of the function, the parent has finished, too. */
        parent->mask &= warp->live;
        if (parent->mask && parent->pc != PC_EXIT) {
            warp_push(warp, parent);
            return;
        }
        split = parent;
    }
}

/* Makes the lanes of the split continue at 'count' places. Lanes whose place is the reconvergence point wait there. */
Step split_diverge(Exec *x, const uint32_t *pcs, const uint32_t *masks, unsigned count, uint32_t reconvergence)
{
    Split *split = x->split, *parent = split;
    Emulator *emulator = x->emulator;
    Warp *warp = x->warp;
    warp_drop(warp, split);
    /* The parent already waits at this reconvergence point, so this split need not. */
    bool replaced = split->parent && split->reconvergence == reconvergence && split->parent->frame == split->frame;
    if (replaced) {
        parent = split->parent;
    } else {
        split->pc = reconvergence;
        split->wait = WAIT_CHILDREN;
    }
    for (unsigned i = count; i-- > 0;)
        if (pcs[i] != reconvergence)
            warp_push(warp, split_new(emulator, parent, split->frame, pcs[i], masks[i], reconvergence));
    if (replaced)
        split_finish(warp, split);
    else if (!split->children)
        warp_push(warp, split); /* all lanes go to the reconvergence point */
    return STEP_SWITCH;
}

static bool is_beside(const Split *split, const Split *other)
{
    return other->wait == WAIT_ALIGNED && other->pc == split->pc && other->frame == split->frame;
}

uint32_t split_lanes_beside(const Warp *warp, const Split *split)
{
    uint32_t lanes = split->mask;
    for (unsigned i = 0; i < warp->blocked_count; i++)
        if (is_beside(split, warp->blocked[i]))
            lanes |= warp->blocked[i]->mask;
    return lanes;
}

void partners_arrive(Exec *x, const Op *op, unsigned barrier)
{
    Warp *warp = x->warp;
    for (unsigned i = 0; i < warp->blocked_count;) {
        Split *other = warp->blocked[i];
        if (!is_beside(x->split, other)) {
            i++;
            continue;
        }
        if (op->barrier.kind == BARRIER_ARRIVE) {
            other->pc++;
            split_wake(warp, other);
        } else {
            other->wait = WAIT_BARRIER;
            other->barrier = barrier;
        }
    }
}
