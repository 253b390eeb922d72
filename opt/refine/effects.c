/* Refinement: of each group, one thread stores.
 *
 * The threads of a group may run apart. So they wait for one another before a store that follows a load, which one of
 * them may not have made yet, and before a load that follows a store: a warp barrier also makes what its threads have
 * stored visible to the others (PTX ISA, "bar.warp.sync"). */
#include "opt/refine/internal.h"

Inst *refine_build_wait(const Refine *r)
{
    return inst_build(r->body, "bar.warp.sync", "r", r->members);
}

static bool ends_kernel(const Inst *inst)
{
    return inst && inst_is_terminator(inst) && !inst_is_branch(inst) && !inst_is_guarded(inst);
}

/* Whether the threads of a group have loaded and stored since they met last. */
typedef struct Since {
    bool read, wrote;
} Since;

static void wait_before(const Refine *r, Inst *inst, Since *since)
{
    inst_insert_before(inst, refine_build_wait(r));
    *since = (Since){false, false};
}

static void follow_access(const Refine *r, Inst *inst, const Access *access, Since *since)
{
    if (access->read_only || access->space == SPACE_LOCAL)
        return;
    if (access->kind == ACCESS_LOAD) {
        if (since->wrote)
            wait_before(r, inst, since);
        since->read = true;
        return;
    }
    if (since->read)
        wait_before(r, inst, since);
    since->wrote = true;
    if (!inst_is_guarded(inst)) {
        inst_set_guard(r->body, inst, r->is_first, false);
        return;
    }
    RegId both = refine_reg(r, TYPE_PRED, "%first");
    const RegId guard = inst_predicate(inst);
    inst_insert_before(inst, inst_build_conjunction(r->body, both, r->is_first, guard, inst->guard_inverted));
    inst->refs[inst->guard].reg = both;
    inst->guard_inverted = false;
}

static void block_effects(const Refine *r, Block *block)
{
    Since since = {.read = true}; /* before it */
    for (Inst *inst = block->first; inst; inst = inst->next) {
        Access access;
        if (inst->sync == SYNC_BLOCK_BARRIER)
            since = (Since){false, false};
        else if (inst_access(inst, &access))
            follow_access(r, inst, &access, &since);
    }
    if (!since.wrote || ends_kernel(block->last))
        return;
    if (block->last && inst_is_terminator(block->last))
        inst_insert_before(block->last, refine_build_wait(r));
    else
        inst_append(block, refine_build_wait(r));
}

void refine_effects(Refine *r)
{
    for (size_t b = 0; b < r->body->blocks.count; b++)
        if (!pointer_map_get(&r->shared, r->body->blocks.data[b]))
            block_effects(r, r->body->blocks.data[b]);
}
