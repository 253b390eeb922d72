/* Loops that replicas leave at different times: jointly while all of them stay, then separately.
 *
 *     before -> loop' -> rest -> loop -> after
 *
 * The version loop' is executed while all replicas stay in the loop, so that coarsening treats its control as uniform.
 * When one of them leaves, 'rest' passes each replica's values on to the loop, which is a region as before. If the
 * loop is left at its end, each replica has decided for itself, and 'rest' branches like the loop's end. If it is left
 * at its header, the replicas execute the header again: it must do nothing that counts twice.
 *
 * Requires SSA form, regions, loops. Keeps SSA form. */
#include "opt/coarsen/internal.h"
#include "opt/common/versions.h"

/* True if executing the block's instructions twice in a row is the same as once. */
static bool is_repeatable(const Block *block)
{
    const unsigned harmless = EFFECT_PURE | EFFECT_READ | EFFECT_THREAD | EFFECT_HINT;
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        if (inst == block->last && inst_is_terminator(inst))
            continue;
        Access access;
        if (inst_is_opaque(inst) || inst->sync != SYNC_NONE || inst->effects & ~harmless)
            return false;
        if (inst->effects & EFFECT_READ &&
            (!inst_access(inst, &access) || access.kind != ACCESS_LOAD || !access.weak))
            return false;
    }
    return true;
}

static bool stays(const Facts *facts, const Loop *loop, const Block *block)
{
    return block && loop_contains(facts->loops, loop, block);
}

/* The only block from which the loop is left; NULL if there are several, or if it does not end in a two-way branch. */
static Block *exit_of(const Coarsening *c, const Loop *loop)
{
    Block *exit = NULL;
    for (uint32_t i = 0; i < loop->block_count; i++) {
        Block *block = loop->blocks[i];
        FOR_EACH_SUCC(block, succ) {
            if (stays(&c->facts, loop, succ) || exit == block)
                continue;
            if (exit)
                return NULL;
            exit = block;
        }
    }
    const Inst *branch = exit ? block_two_way_branch(exit) : NULL;
    return branch && stays(&c->facts, loop, branch->targets[0]) != stays(&c->facts, loop, exit->fall) ? exit : NULL;
}

/* The loop that the region begins with, if it is entered from the region's head only. */
static const Loop *first_loop(const Facts *facts, const Region *region)
{
    for (size_t i = 0; i < region->blocks.count; i++) {
        const Loop *loop = loop_of(facts->loops, region->blocks.data[i]);
        if (!loop || loop->header != region->blocks.data[i])
            continue;
        bool from_head = false, from_elsewhere = false;
        for (unsigned p = 0; p < loop->header->pred_count; p++) {
            const Block *pred = loop->header->preds[p];
            from_head |= pred == region->head;
            from_elsewhere |= pred != region->head && !loop_contains(facts->loops, loop, pred);
        }
        if (from_head && !from_elsewhere)
            return loop;
    }
    return NULL;
}

const Loop *coarsening_joint_loop(const Coarsening *c, const Region *region)
{
    const Loop *loop = first_loop(&c->facts, region);
    if (!loop)
        return NULL;
    const Block *exit = exit_of(c, loop);
    if (!exit || !variance_branch(c->facts.variance, exit))
        return NULL;
    for (uint32_t i = 0; i < loop->block_count; i++)
        if (!bitset_has(&c->facts.in_region, loop->blocks[i]->id))
            return NULL;
    bool at_end = exit->fall == loop->header || exit->last->targets[0] == loop->header;
    return at_end || (exit == loop->header && is_repeatable(exit)) ? loop : NULL;
}

/* Ends the version: it goes on if all replicas stay, else to 'rest'. */
static void end_version(Coarsening *c, Versions *v, const Loop *loop, Block *exit, Block *rest)
{
    Block *copy = versions_block(v, exit);
    Inst *last = copy->last;
    bool taken_stays = stays(&c->facts, loop, exit->last->targets[0]);
    bool stay_if = taken_stays != last->guard_inverted;
    RegId agreed = coarsening_agree(c, copy, inst_predicate(last), stay_if);
    Block *on = versions_block(v, taken_stays ? exit->last->targets[0] : exit->fall);
    inst_remove(last);
    inst_append(copy, inst_build_branch(c->body, on, agreed, !stay_if));
    copy->fall = rest;
}

/* The loop is entered from 'rest', with what the version has come to. */
static void enter_from_rest(Versions *v, const Loop *loop, Block *head, Block *rest, bool at_end, const Block *exit)
{
    Block *header = loop->header;
    for (size_t p = 0; p < header->phis.count; p++) {
        Phi *phi = &header->phis.data[p];
        RegId value = versions_reg(v, phi->dst);
        for (size_t a = 0; at_end && a < phi->args.count; a++)
            if (phi->args.data[a].pred == exit)
                value = versions_reg(v, phi->args.data[a].reg);
        for (size_t a = 0; a < phi->args.count; a++)
            if (phi->args.data[a].pred == head)
                phi->args.data[a] = (PhiArg){rest, value};
    }
}

void coarsening_join_loop(Coarsening *c, Versions *v, const Region *region, const Loop *loop)
{
    Block *exit = exit_of(c, loop), *head = region->head, *header = loop->header;
    bool at_end = exit->fall == header || exit->last->targets[0] == header;
    Block *after = stays(&c->facts, loop, exit->fall) ? exit->last->targets[0] : exit->fall;
    versions_begin(v, loop->blocks, loop->block_count);
    versions_copy(v, loop->blocks, loop->block_count, head);
    Block *rest = versions_add_block(v, head, true);
    Inst *decision = inst_clone(c->body, versions_block(v, exit)->last);
    end_version(c, v, loop, exit, rest);
    enter_from_rest(v, loop, head, rest, at_end, exit);
    block_retarget(head, header, versions_block(v, header));
    if (at_end) {
        Block *const target = exit->last->targets[0];
        decision->targets[0] = target;
        inst_append(rest, decision);
        rest->fall = exit->fall;
        versions_join(v, after);
        block_replace_pred(after, versions_block(v, exit), rest);
    } else {
        rest->fall = header;
    }
    rest->is_cold = true;
    for (size_t i = 0; i < region->blocks.count; i++)
        region->blocks.data[i]->is_cold = true;
}
