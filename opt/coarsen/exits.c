/* The shape of the control flow that regions need: one block where the kernel ends, and an entry that does not end in a
 * branch table.
 *
 * Requires and keeps SSA form. To be run once for each body, before its first dimension; coarsening_restore_exits()
 * after the last. */
#include "opt/coarsen/internal.h"
#include "opt/common/ends.h"

bool coarsening_only_exits(const Body *body, const Block *block)
{
    for (size_t steps = 0; block && steps <= body->blocks.count; steps++) {
        const Inst *first = block->first;
        if (!first) {
            block = block->fall;
            continue;
        }
        if (!inst_is_terminator(first) || inst_is_guarded(first) || first->target_count > 1)
            return false;
        if (!first->target_count)
            return true;
        block = first->targets[0];
    }
    return false;
}

static bool is_exit(const Inst *inst)
{
    return inst_is_terminator(inst) && inst->target_count == 0;
}

static bool waits_for_threads(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst->sync == SYNC_WARP || inst->sync == SYNC_BLOCK_BARRIER || inst->sync == SYNC_BLOCK_COUNT ||
                inst->sync == SYNC_CLUSTER_BARRIER)
                return true;
    return false;
}

/* The block's edge to the exit becomes a ret or exit of its own. */
static void restore_exit(Body *body, Block *block, Block *exit)
{
    Inst *last = block->last;
    bool chooses = last && inst_is_terminator(last) && inst_is_guarded(last);
    if (last && last->target_count > 1)
        return;
    if (chooses && block->fall == exit && last->targets && last->targets[0] != exit) {
        block->fall = last->targets[0];
        last->targets[0] = exit;
        last->guard_inverted = !last->guard_inverted;
    }
    Inst *ret = inst_clone(body, exit->first);
    if (last && last->target_count == 1 && last->targets[0] == exit) {
        if (chooses)
            inst_set_guard(body, ret, inst_predicate(last), last->guard_inverted);
        inst_remove(last);
    } else if (chooses || block->fall != exit) {
        return;
    } else {
        block->fall = NULL;
    }
    inst_append(block, ret);
}

void coarsening_restore_exits(Body *body)
{
    if (!waits_for_threads(body))
        return;
    Block *exit = NULL;
    for (size_t b = 0; b < body->blocks.count; b++) {
        Block *block = body->blocks.data[b];
        if (block->first && block->first == block->last && is_exit(block->first) && !inst_is_guarded(block->first))
            exit = block;
    }
    if (!exit)
        return;
    for (size_t b = 0; b < body->blocks.count; b++)
        if (body->blocks.data[b] != exit)
            restore_exit(body, body->blocks.data[b], exit);
    body_update_preds(body);
    body_remove_unreachable(body);
}

void coarsening_separate_entry(Body *body)
{
    const Block *entry = body->blocks.data[0];
    if (entry->last && entry->last->target_count >= 2)
        body_add_entry(body);
}

Block *coarsening_exit(const Body *body)
{
    for (size_t b = body->blocks.count; b-- > 0;) {
        const Inst *first = body->blocks.data[b]->first;
        if (first && inst_is_terminator(first) && !first->target_count && !inst_is_guarded(first))
            return body->blocks.data[b];
    }
    bug("no block ends the kernel");
}
