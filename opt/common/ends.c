/* One block where a kernel begins and one where it ends. */
#include "opt/common/ends.h"

#include <string.h>

static bool is_exit(const Inst *inst)
{
    return inst_is_terminator(inst) && inst->target_count == 0;
}

Block *body_unify_exits(Body *body)
{
    Block *last = VEC_LAST(body->blocks);
    Block *exit = body_add_block(body, last);
    Inst *ret = NULL;
    size_t count = body->blocks.count - 1;
    for (size_t i = 0; i < count; i++) {
        Block *block = body->blocks.data[i];
        Inst *inst = block->last;
        if (inst && is_exit(inst)) {
            if (!ret && !inst_is_guarded(inst)) {
                ret = inst_clone(body, inst);
                exit->label = block->first == inst ? block->label : NULL;
            }
            RegId predicate = inst_predicate(inst);
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
    return exit;
}

Block *body_add_entry(Body *body)
{
    Block *entry = body->blocks.data[0], *first = body_add_block(body, NULL);
    memmove(body->blocks.data + 1, body->blocks.data, (body->blocks.count - 1) * sizeof *body->blocks.data);
    body->blocks.data[0] = first;
    first->fall = entry;
    body_renumber(body);
    body_update_preds(body);
    return first;
}
