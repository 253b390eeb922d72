/* The message about a launch that never ends: the threads that wait, and where, once no running thread can change
 * anything any more. */
#include "emulator/run.h"

#include <inttypes.h>

typedef struct Wait {
    const char *place; /* "in the loop" */
    uint32_t line;     /* 0: unknown */
    const char *source; /* loc_place() of it */
    uint64_t threads;
    unsigned block[3], thread[3]; /* of the first */
} Wait;

typedef VEC(Wait) WaitVec;

static const char in_loop[] = "in the loop", at_barrier[] = "at the barrier", at_warp[] = "for lanes of their warp",
                  at_pool[] = "for registers of their block";

static const Op *split_op(const Split *split, uint32_t pc)
{
    return &split->frame->code->ops.data[pc];
}

/* The line of an op of the split's code; 0: unknown. */
static uint32_t line_of(const Emulator *emulator, const Split *split, uint32_t pc)
{
    const Inst *inst = op_instruction(split->frame->code, split_op(split, pc));
    return inst && emulator->module->source ? source_position(emulator->module->source, inst->span.begin).line : 0;
}

static void wait_add(Emulator *emulator, WaitVec *waits, const Warp *warp, const Split *split, const char *place,
                     uint32_t pc)
{
    Wait wait = {.place = place, .threads = (unsigned)__builtin_popcount(split->mask)};
    const Inst *inst = op_instruction(split->frame->code, split_op(split, pc));
    wait.line = line_of(emulator, split, pc);
    wait.source = inst ? loc_place(emulator->arena, emulator->module, inst->loc) : NULL;
    memcpy(wait.block, warp->block->id, sizeof wait.block);
    thread_position(warp, (unsigned)__builtin_ctz(split->mask), wait.thread);
    for (size_t i = 0; i < waits->count; i++)
        if (waits->data[i].place == place && waits->data[i].line == wait.line) {
            waits->data[i].threads += wait.threads;
            return;
        }
    VEC_PUSH(emulator->arena, *waits, wait);
}

/* The beginning of the split's loop, as far as known. */
static uint32_t loop_pc(const Emulator *emulator, const Split *split)
{
    return split->repeats == emulator->effects + 1 ? split->loop : split->pc;
}

static void warp_add(Emulator *emulator, WaitVec *waits, const Warp *warp)
{
    for (unsigned i = 0; i < warp->runnable_count; i++)
        wait_add(emulator, waits, warp, warp->runnable[i], in_loop, loop_pc(emulator, warp->runnable[i]));
    for (unsigned i = 0; i < warp->blocked_count; i++) {
        const Split *split = warp->blocked[i];
        const char *place = split->wait == WAIT_WARP ? at_warp : split->wait == WAIT_POOL ? at_pool : at_barrier;
        wait_add(emulator, waits, warp, split, place, split->pc);
    }
}

static void waits_print(const WaitVec *waits, size_t without, uint64_t blocks_left, Buf *out)
{
    const char *before = ": ";
    for (size_t i = 0; i < waits->count; i++) {
        const Wait *wait = &waits->data[i];
        if (i == without)
            continue;
        buf_printf(out, "%s%" PRIu64 " wait%s %s", before, wait->threads, wait->threads == 1 ? "s" : "", wait->place);
        if (wait->line)
            buf_printf(out, " in line %u", wait->line);
        if (wait->source)
            buf_printf(out, " from %s", wait->source);
        buf_printf(out, " (first block %u,%u,%u, thread %u,%u,%u)", wait->block[0], wait->block[1], wait->block[2],
                   wait->thread[0], wait->thread[1], wait->thread[2]);
        before = ", ";
    }
    if (blocks_left)
        buf_printf(out, "%s%" PRIu64 " block%s when others have ended", before, blocks_left,
                   blocks_left == 1 ? " starts" : "s start");
    else if (before[0] == ':')
        buf_puts(out, ": no other thread is left");
}

static bool report(Emulator *emulator, BlockState *block, Warp *warp, const WaitVec *waits, uint64_t blocks_left)
{
    Exec x = {.emulator = emulator, .block = block, .warp = warp};
    Split *split = warp->runnable[0];
    uint32_t pc = loop_pc(emulator, split);
    size_t own = 0;
    Buf others = {0};
    exec_enter(&x, split);
    while (waits->data[own].place != in_loop || waits->data[own].line != line_of(emulator, split, pc))
        own++;
    waits_print(waits, own, blocks_left, &others);
    fault_at(&x, split_op(split, pc), (unsigned)__builtin_ctz(split->mask), FAULT_HANG,
             "%" PRIu64 " thread%s in this loop for a change that only others could make, but none can%s",
             waits->data[own].threads, waits->data[own].threads == 1 ? " waits" : "s wait", buf_text(&others));
    buf_free(&others);
    return false;
}

bool launch_stuck(Emulator *emulator, Cluster **clusters, unsigned count, uint64_t blocks_left)
{
    WaitVec waits = {0};
    BlockState *first_block = NULL;
    Warp *first = NULL;
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < clusters[i]->count && clusters[i]->active; k++) {
            BlockState *block = clusters[i]->blocks[k];
            for (unsigned w = 0; w < block->warp_count && block->active; w++) {
                Warp *warp = &block->warps[w];
                warp_add(emulator, &waits, warp);
                if (!first && warp->runnable_count) {
                    first = warp;
                    first_block = block;
                }
            }
        }
    return report(emulator, first_block, first, &waits, blocks_left);
}
