/* Loops that observe other threads and yet need none of the merged ones to go on.
 *
 * Coarsening changes only the time at which a replica is executed: a region's copies run one after the other, so the
 * replica that waits holds up the others of its merged thread in that region, and in what follows it up to the next
 * barrier, which they could not pass without it anyway. All replicas have already done everything else, in particular
 * the code before the region. So a loop is harmless
 *   - outside regions: there, all replicas take each turn together;
 *   - if every turn that it continues has failed to swap the value that the turn before found: another thread has then
 *     changed it, and what all others do is finite unless it is infinite in the original, too (a lock-free loop:
 *     Herlihy and Shavit, "The Art of Multiprocessor Programming", 3.7);
 *   - if the replicas that are held up do nothing that another thread could learn of. Then the thread that the loop
 *     waits for does not wait for them. If replica 0 alone executes the loop, blocks that it alone executes do not
 *     count: of the other threads in them, only those of its own warp are held up, as they are in the original.
 *
 * Requires SSA form, dominators, loops, variance and regions. Changes nothing. */
#include "opt/coarsen/internal.h"

/* True if another thread may learn that the instruction was executed. */
static bool tells(const Inst *inst)
{
    if (inst_is_opaque(inst) || inst_is_call(inst))
        return true;
    switch ((SyncKind)inst->sync) {
    case SYNC_NONE:
    case SYNC_FENCE:
    case SYNC_STRONG:
        break;
    case SYNC_WARP:
    case SYNC_CONVERGED: return inst->effects & EFFECT_WRITE; /* the replica's own warp, which is held up with it */
    default: return true;
    }
    Access access;
    if (!(inst->effects & EFFECT_WRITE))
        return inst->effects & EFFECT_ASYNC;
    return !inst_access(inst, &access) || (access.space != SPACE_LOCAL && access.space != SPACE_PARAM);
}

/* True if a replica that is held up would tell something in the block; *on: whether it then goes on to the next.
 * 'alone': replica 0 is not held up. */
static bool block_tells(const Coarsening *c, const Block *block, bool alone, bool *on)
{
    bool others = !alone || !coarsening_is_exclusive(c, block);
    *on = others;
    for (const Inst *inst = block->first; inst && others; inst = inst->next) {
        if (coarsening_is_meeting(&c->step, inst)) {
            *on = false;
            return false;
        }
        if (tells(inst))
            return true;
    }
    return false;
}

/* True if the replicas that the loop holds up tell other threads something before the next barrier. */
static bool held_up_tell(Coarsening *c, const Loop *loop, const Region *region)
{
    bool alone = coarsening_is_exclusive(c, loop->header);
    BitSet seen = bitset_new(c->scratch, c->body->blocks.count);
    VEC(const Block *) pending = {0};
    for (size_t i = 0; i < region->blocks.count; i++)
        VEC_PUSH(c->scratch, pending, region->blocks.data[i]);
    VEC_PUSH(c->scratch, pending, region->join);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        bool on;
        if (bitset_has(&seen, block->id))
            continue;
        bitset_add(&seen, block->id);
        if (block_tells(c, block, alone, &on))
            return true;
        FOR_EACH_SUCC(block, succ)
            if (on)
                VEC_PUSH(c->scratch, pending, succ);
    }
    return false;
}

/* The compare-and-swap whose success the loop's latches have not had; its result decides. */
typedef struct Swap {
    const Inst *inst;
    RegId found, expected;
} Swap;

static bool is_invariant(const Facts *facts, const Loop *loop, const Operand *address, const Inst *inst)
{
    const Values *values = analyses_values(facts->analyses);
    if (!address || address->kind != OPERAND_ADDRESS || !address->item_count)
        return false;
    RegId base = address_base(inst, address);
    if (base == REG_NONE)
        return address->items[0].kind == OPERAND_SYMBOL || address->items[0].kind == OPERAND_CONSTANT;
    const Block *made = values->defs[base].block;
    return made && !loop_contains(facts->loops, loop, made);
}

/* The register is the last value found: a phi of the header that takes it from every latch. */
static bool is_last_found(const Facts *facts, const Loop *loop, const Swap *swap)
{
    const Values *values = analyses_values(facts->analyses);
    const ValueDef *def = &values->defs[swap->expected];
    if (def->inst || def->block != loop->header)
        return false;
    const Phi *phi = &loop->header->phis.data[def->phi];
    for (size_t a = 0; a < phi->args.count; a++)
        if (loop_contains(facts->loops, loop, phi->args.data[a].pred) &&
            value_copied_from(values, phi->args.data[a].reg) != swap->found)
            return false;
    return true;
}

static bool is_swap(const Coarsening *c, const Loop *loop, const Inst *inst, Swap *swap)
{
    Access access;
    RegId found = inst_reg(inst, 0), expected = inst_reg(inst, 2);
    if (inst_op(inst) != OP_ATOM || !inst_has(inst, MOD_CAS) || !inst_is_plain(inst) || inst->operand_count != 4 ||
        found == REG_NONE || expected == REG_NONE || loop_of(c->facts.loops, inst->block) != loop ||
        !inst_access(inst, &access) || !is_invariant(&c->facts, loop, access.address, inst))
        return false;
    *swap = (Swap){inst, found, value_copied_from(analyses_values(c->facts.analyses), expected)};
    return is_last_found(&c->facts, loop, swap);
}

/* True if the predicate compares all bits of what the swap found and expected; *if_equal: what it is then. */
static bool compares(const Coarsening *c, const Swap *swap, RegId predicate, bool *if_equal)
{
    const Values *values = analyses_values(c->facts.analyses);
    const Inst *inst = value_inst(values, predicate);
    Computation compare;
    if (!inst || !computation_of(c->body, inst, &compare) ||
        !computation_is_comparison(&compare, type_bits(swap->inst->signature->types[0])) ||
        compare.sources[0].reg == REG_NONE || compare.sources[1].reg == REG_NONE)
        return false;
    RegId a = value_copied_from(values, compare.sources[0].reg), b = value_copied_from(values, compare.sources[1].reg);
    *if_equal = compare.relation == RELATION_EQUAL;
    return ((a == swap->found && b == swap->expected) || (a == swap->expected && b == swap->found)) &&
           (*if_equal || compare.relation == RELATION_NOT_EQUAL);
}

/* True if the edge from 'from' to 'to' is taken only after the swap has failed. */
static bool has_failed(const Coarsening *c, const Swap *swap, const Block *from, const Block *to)
{
    const Inst *last = block_two_way_branch(from);
    bool if_equal;
    if (!last || !compares(c, swap, inst_predicate(last), &if_equal))
        return false;
    bool taken_if_equal = if_equal != last->guard_inverted;
    return to == (taken_if_equal ? from->fall : last->targets[0]);
}

/* True if every way from the swap to the latch, which it dominates since its result gets there, takes an edge on which
 * it has failed. */
static bool latch_has_failed(const Coarsening *c, const Loop *loop, const Swap *swap, const Block *latch)
{
    if (has_failed(c, swap, latch, loop->header))
        return true;
    for (const Block *at = latch; at != swap->inst->block; at = dominance_parent(c->facts.dominance, at)) {
        const Block *over = dominance_parent(c->facts.dominance, at);
        if (at->pred_count == 1 && has_failed(c, swap, over, at))
            return true;
    }
    return false;
}

bool coarsening_is_lock_free(const Coarsening *c, const Loop *loop)
{
    for (uint32_t b = 0; b < loop->block_count; b++)
        for (const Inst *inst = loop->blocks[b]->first; inst; inst = inst->next) {
            Swap swap;
            if (!is_swap(c, loop, inst, &swap))
                continue;
            bool failed = loop->latch_count > 0;
            for (uint32_t l = 0; l < loop->latch_count && failed; l++)
                failed = latch_has_failed(c, loop, &swap, loop->latches[l]);
            if (failed)
                return true;
        }
    return false;
}

bool coarsening_needs_nobody(Coarsening *c, const Loop *loop)
{
    if (c->step.merges_blocks) /* a barrier holds replicas up that the loop does not */
        return coarsening_is_lock_free(c, loop);
    const Region *region = coarsening_region_of(&c->facts, loop->header);
    return !region || coarsening_is_lock_free(c, loop) || !held_up_tell(c, loop, region);
}
