/* Warps that do nothing visible: lanes that wait for lanes of their own warp, and loops that repeat without a change.
 *
 * A split whose registers return to what they were, at the same jump of the same turn, loops until something else
 * changes memory. A warp whose splits return to what they were, with all their registers, does the same: such a loop
 * may diverge, call functions, or give way to others at a poll. Emulator.effects tells whether anything has changed in
 * between. Until something does, such a warp is not run. If no other can run, lanes that wait to reconverge go on
 * alone; if there are none, the launch never ends.
 *
 * States are compared as in Brent's search for cycles: with one that is kept, and replaced at each power of two. */
#include "emulator/execute/execute.h"

/* The first state is kept after this many looks: most polls succeed before, and most loops have an effect. */
#define WARP_LOOKS 16
#define LOOP_LOOKS 16

struct IdleProbe {
    uint64_t effects; /* Emulator.effects when the counting began */
    uint64_t looks;
    uint8_t *state;
    size_t length, capacity;
    /* the current look keeps the state, or compares it; a difference has been found */
    bool keeps, differs;
    size_t at;
    /* for a split: the place of its registers in the state, and the first that differed at the last look */
    size_t registers, differed;
};

#define PIECE_BYTES 64 /* frames are a multiple of it */

/* Keeps or compares a part of the state. */
static void probe_part(Emulator *emulator, IdleProbe *probe, const void *bytes, size_t count)
{
    if (probe->keeps) {
        if (probe->at + count > probe->capacity) {
            probe->capacity = 2 * (probe->at + count);
            probe->state = emulator_realloc(emulator, probe->state, probe->capacity);
        }
        memcpy(probe->state + probe->at, bytes, count);
        probe->length = probe->at + count;
    } else if (!probe->differs) {
        probe->differs = probe->at + count > probe->length || memcmp(probe->state + probe->at, bytes, count) != 0;
    }
    probe->at += count;
}

static void probe_number(Emulator *emulator, IdleProbe *probe, uint64_t number)
{
    probe_part(emulator, probe, &number, sizeof number);
}

static void probe_frame(Emulator *emulator, IdleProbe *probe, const Frame *frame)
{
    probe_number(emulator, probe, (uintptr_t)frame);
    probe_number(emulator, probe, frame->carry);
    probe_part(emulator, probe, frame->registers, frame->code->frame_bytes);
    probe_part(emulator, probe, frame->local, (size_t)frame->code->local_bytes * LANES);
}

static bool uses_frame(const Split *split, const Frame *frame)
{
    for (const Frame *at = split->frame; at; at = at->parent)
        if (at == frame)
            return true;
    return split->callee == frame;
}

static const Split *warp_split(const Warp *warp, unsigned index)
{
    return index < warp->runnable_count ? warp->runnable[index] : warp->blocked[index - warp->runnable_count];
}

static void probe_split(Exec *x, IdleProbe *probe)
{
    probe_number(x->emulator, probe, x->split->pc);
    probe_number(x->emulator, probe, (uintptr_t)x->frame);
    probe_number(x->emulator, probe, x->frame->carry);
    probe->registers = probe->at;
    for (size_t i = 0; i < x->frame->code->frame_bytes && !probe->differs; i += PIECE_BYTES) {
        probe->differed = i;
        probe_part(x->emulator, probe, x->frame->registers + i, PIECE_BYTES);
    }
}

/* True if the register that differed last differs still: the usual case of a loop that counts. */
static bool differs_still(const Exec *x, const IdleProbe *probe)
{
    size_t at = probe->registers + probe->differed;
    return at + PIECE_BYTES <= probe->length &&
           memcmp(probe->state + at, x->frame->registers + probe->differed, PIECE_BYTES) != 0;
}

/* The names of splits and frames are part of the state, so equal states have equal trees. */
static void probe_warp(Exec *x, IdleProbe *probe)
{
    const Warp *warp = x->warp;
    Emulator *emulator = x->emulator;
    unsigned count = warp->runnable_count + warp->blocked_count;
    probe_number(emulator, probe, (uint64_t)warp->runnable_count << 32 | warp->blocked_count);
    for (unsigned i = 0; i < count && !probe->differs; i++) {
        for (const Split *split = warp_split(warp, i); split; split = split->parent) {
            const uint64_t fields[] = {(uintptr_t)split,     (uintptr_t)split->frame, (uintptr_t)split->callee,
                                       split->pc,            split->mask,             split->reconvergence,
                                       split->children,      split->wait,             split->barrier,
                                       split->members,       split->warp_kind};
            probe_part(emulator, probe, fields, sizeof fields);
            if (split->callee)
                probe_frame(emulator, probe, split->callee);
        }
        for (const Frame *frame = warp_split(warp, i)->frame; frame && !probe->differs; frame = frame->parent) {
            bool seen = false;
            for (unsigned k = 0; k < i && !seen; k++)
                seen = uses_frame(warp_split(warp, k), frame);
            if (!seen)
                probe_frame(emulator, probe, frame);
        }
    }
}

/* True if the state is the one that was kept, and nothing has happened since. */
static bool probe_look(Exec *x, IdleProbe *probe, void (*visit)(Exec *x, IdleProbe *probe), uint64_t first)
{
    if (probe->effects != x->emulator->effects) {
        probe->effects = x->emulator->effects;
        probe->looks = probe->length = 0;
    }
    if (probe->length && !(visit == probe_split && differs_still(x, probe))) {
        probe->keeps = probe->differs = false;
        probe->at = 0;
        visit(x, probe);
        if (!probe->differs && probe->at == probe->length)
            return true;
    }
    probe->looks++;
    if (probe->looks >= first && (probe->looks & (probe->looks - 1)) == 0) {
        probe->keeps = true;
        probe->differs = false;
        probe->at = probe->length = 0;
        visit(x, probe);
    }
    return false;
}

void loop_forget(Emulator *emulator)
{
    if (!emulator->loop)
        emulator->loop = ARENA_NEW(emulator->arena, IdleProbe);
    emulator->loop->looks = emulator->loop->length = emulator->loop->differed = 0;
}

bool loop_look(Exec *x)
{
    if (!probe_look(x, x->emulator->loop, probe_split, LOOP_LOOKS))
        return false;
    x->split->repeats = x->emulator->effects + 1;
    x->split->loop = x->split->pc;
    return true;
}

void warp_look(Exec *x)
{
    Warp *warp = x->warp;
    if (warp->repeats == x->emulator->effects + 1)
        return;
    if (!warp->idle)
        warp->idle = ARENA_NEW(x->emulator->arena, IdleProbe);
    if (probe_look(x, warp->idle, probe_warp, WARP_LOOKS))
        warp->repeats = x->emulator->effects + 1;
}

/* The lanes of a waiting split that are in none of its children: they have reached the reconvergence point. */
static uint32_t lanes_arrived(const Warp *warp, const Split *waiting)
{
    uint32_t away = 0;
    for (unsigned i = 0; i < warp->runnable_count + warp->blocked_count; i++) {
        const Split *at = warp_split(warp, i);
        while (at->parent && at->parent != waiting)
            at = at->parent;
        if (at->parent == waiting)
            away |= at->mask;
    }
    return waiting->mask & warp->live & ~away;
}

/* The lanes that wait to reconverge and could go on alone. The lanes of a call return together. */
static uint32_t lanes_held(const Warp *warp, const Split *waiting)
{
    return waiting->callee || waiting->pc == PC_EXIT ? 0 : lanes_arrived(warp, waiting);
}

/* True if only the end of the kernel follows. */
static bool is_end(const Code *code, uint32_t pc)
{
    const Op *op = &code->ops.data[pc];
    if (!op->inst) /* run_reconverge */
        op++;
    return op->inst && !inst_is_guarded(op->inst) &&
           (inst_op(op->inst) == OP_EXIT || (inst_op(op->inst) == OP_RET && code->is_entry));
}

static void release(Emulator *emulator, Warp *warp, Split *waiting, uint32_t held)
{
    waiting->mask &= ~held;
    emulator->effects++;
    warp_push(warp, split_new(emulator, waiting->parent, waiting->frame, waiting->pc, held, waiting->reconvergence));
}

uint32_t release_arrived(Emulator *emulator, Warp *warp, const Split *split, uint32_t *leaving)
{
    uint32_t released = 0;
    *leaving = 0;
    for (Split *waiting = split->parent; waiting; waiting = waiting->parent) {
        uint32_t held = lanes_held(warp, waiting);
        if (!held)
            continue;
        emulator->result->counters.warp_waits++;
        released |= held;
        *leaving |= is_end(waiting->frame->code, waiting->pc) ? held : 0;
        release(emulator, warp, waiting, held);
    }
    return released;
}

bool release_leaving(Emulator *emulator, Warp *warp, const Split *split)
{
    bool released = false;
    for (Split *waiting = split->parent; waiting; waiting = waiting->parent) {
        uint32_t held = lanes_held(warp, waiting);
        if (!held || !is_end(waiting->frame->code, waiting->pc))
            continue;
        release(emulator, warp, waiting, held);
        released = true;
    }
    return released;
}

bool warp_repeats(const Emulator *emulator, const Warp *warp)
{
    unsigned i = 0;
    while (i < warp->runnable_count && warp->runnable[i]->repeats == emulator->effects + 1)
        i++;
    return i == warp->runnable_count || warp->repeats == emulator->effects + 1;
}
