/* The shape of the control flow that regions need: one block where the kernel ends, and an entry that does not end in a
 * branch table.
 *
 * Requires and keeps SSA form; to be run once for each body, before its first dimension. */
#include "opt/coarsen_internal.h"

#include <string.h>

static bool is_exit(const Inst *inst)
{
    return inst_is_terminator(inst) && inst->target_count == 0;
}

void coarsening_unify_exits(Body *body)
{
    Block *last = VEC_LAST(body->blocks);
    Block *exit = body_add_block(body, last);
    Inst *ret = NULL;
    size_t count = body->blocks.count - 1;
    for (size_t i = 0; i < count; i++) {
        Block *block = body->blocks.data[i];
        Inst *inst = block->last;
        if (inst && is_exit(inst)) {
            if (!ret && inst->guard == REF_NONE) {
                ret = inst_clone(body, inst);
                exit->label = block->first == inst ? block->label : NULL;
            }
            RegId predicate = inst->guard == REF_NONE ? REG_NONE : inst->refs[inst->guard].reg;
            bool inverted = inst->guard_inverted;
            Inst *branch = NULL;
            if (predicate != REG_NONE) {
                branch = inst_build_branch(body, exit, predicate, inverted);
                branch->span = inst->span;
                branch->loc = inst->loc;
            }
            inst_remove(inst);
            if (branch)
                inst_append(block, branch);
            else
                block->fall = exit;
        } else if (!block->fall && (!inst || inst_falls_through(inst)))
            block->fall = exit;
        if (exit->label && block->label == exit->label)
            block->label = NULL;
    }
    inst_append(exit, ret ? ret : inst_build(body, "ret", ""));
    body_update_preds(body);
}

void coarsening_separate_entry(Body *body)
{
    Block *entry = body->blocks.data[0];
    if (!entry->last || entry->last->target_count < 2)
        return;
    Block *first = body_add_block(body, NULL);
    memmove(body->blocks.data + 1, body->blocks.data, (body->blocks.count - 1) * sizeof *body->blocks.data);
    body->blocks.data[0] = first;
    first->fall = entry;
    body_renumber(body);
    body_update_preds(body);
}
