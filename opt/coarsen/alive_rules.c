/* Whether code can be executed by merged threads some of whose replicas have left the kernel, and by which of them
 * (alive.c).
 *
 * A dead replica has no values from the regions and sections that it does not enter. So what all replicas would have
 * alike there, and what is computed from it, becomes each replica's own. */
#include "opt/coarsen/internal.h"

bool coarsening_is_missing(const Coarsening *c, RegId reg)
{
    return reg < c->exits.missing.bits && bitset_has(&c->exits.missing, reg);
}

static bool reads_missing(const Coarsening *c, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && inst->refs[r].reg != REG_NONE && coarsening_is_missing(c, inst->refs[r].reg))
            return true;
    return false;
}

Share coarsening_share(const Coarsening *c, const Inst *inst)
{
    if (pointer_map_get(&c->exits.parted, inst))
        return SHARE_ALIVE;
    Access access;
    const Sreg *sreg = inst_sreg(inst);
    const unsigned harmless = EFFECT_PURE | EFFECT_THREAD | EFFECT_HINT;
    bool carries = inst->effects & (EFFECT_CC_READ | EFFECT_CC_WRITE);
    bool quiet = sreg ? sreg->dependence != SREG_VOLATILE : !(inst->effects & ~harmless);
    if (inst->effects & EFFECT_READ)
        quiet = inst_access(inst, &access) && access.read_only && access.space == SPACE_PARAM;
    quiet &= inst->sync == SYNC_NONE;
    if (coarsening_combines(inst))
        return SHARE_ORDERED; /* those that are not alive say nothing */
    if (coarsening_clones(c, inst) || reads_missing(c, inst))
        return quiet && !carries ? SHARE_ANYWAY : SHARE_ALIVE;
    return quiet || carries ? SHARE_PURE : SHARE_ORDERED;
}

bool coarsening_has_zero(const Body *body, RegId reg)
{
    const Reg *r = &body->regs.data[reg];
    unsigned bits = type_bits(r->type);
    return r->vector <= 1 && (r->type == TYPE_PRED || bits == 16 || bits == 32 || bits == 64);
}

static bool is_call_part(const Inst *inst)
{
    Access access;
    return inst_is_call(inst) || (inst_access(inst, &access) && access.space == SPACE_PARAM && !access.read_only);
}

/* True if threads may leave between the beginning of a block that dominates the other, and that. */
static bool may_leave_between(Coarsening *c, const Block *from, const Block *to)
{
    BitSet seen = bitset_new(c->scratch, c->body->blocks.count);
    VEC(const Block *) pending = {0};
    VEC_PUSH(c->scratch, pending, to);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        for (unsigned p = 0; p < block->pred_count && block != from; p++) {
            const Block *pred = block->preds[p];
            for (size_t i = 0; i < c->exits.leaves.count; i++)
                if (c->exits.leaves.data[i].branch == pred)
                    return true;
            if (!bitset_has(&seen, pred->id))
                VEC_PUSH(c->scratch, pending, pred);
            bitset_add(&seen, pred->id);
        }
    }
    return false;
}

/* The last block before the instruction to which all threads of the warp come that are still there, and after which
 * none leaves until then: there they can say who is alive. NULL: none. */
static Block *place_to_ask(Coarsening *c, const Inst *inst)
{
    const Region *region = coarsening_region_of(&c->facts, inst->block);
    Block *place = region ? region->head : inst->block;
    while (place && (bitset_has(&c->facts.in_region, place->id) || !coarsening_everyone_passes(&c->facts, place)))
        place = dominance_parent(c->facts.dominance, place);
    return place && !may_leave_between(c, place, inst->block) ? place : NULL;
}

/* True if the threads of a warp that the instruction is about can be those alive. */
static bool can_narrow(Coarsening *c, const Inst *inst)
{
    if (inst->sync == SYNC_CONVERGED)
        return true; /* it is about those that execute it */
    Block *place = coarsening_names_members(inst) ? place_to_ask(c, inst) : NULL;
    if (place)
        pointer_map_put(&c->exits.parted, inst, place);
    return place != NULL;
}

/* Adds the value, unless it is each replica's own anyway. True if it was not there before. */
static bool add_missing(Coarsening *c, RegId reg)
{
    if (reg == REG_NONE || variance_reg(c->facts.variance, reg) || bitset_has(&c->exits.missing, reg))
        return false;
    bitset_add(&c->exits.missing, reg);
    return true;
}

static bool joins_missing(const Coarsening *c, const Phi *phi)
{
    for (size_t g = 0; g < phi->args.count; g++)
        if (phi->args.data[g].reg != REG_NONE && coarsening_is_missing(c, phi->args.data[g].reg))
            return true;
    return false;
}

/* Adds what only replicas that are alive have of the block's values; 'entered': they alone execute it. */
static bool add_block(Coarsening *c, const Block *block, bool entered)
{
    bool grows = false;
    for (size_t p = 0; p < block->phis.count; p++)
        if (entered || joins_missing(c, &block->phis.data[p]))
            grows |= add_missing(c, block->phis.data[p].dst);
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        if (!entered && !reads_missing(c, inst) && coarsening_share(c, inst) != SHARE_ALIVE)
            continue;
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                grows |= add_missing(c, inst->refs[r].reg);
    }
    return grows;
}

/* Finds the values that all replicas have alike, but only those that are alive: those of regions and sections, after
 * which a dead replica has zero instead, and all that is computed from these. */
static void find_missing(Coarsening *c, const BitSet *after)
{
    const Body *body = c->body;
    BitSet entered = bitset_new(c->scratch, body->blocks.count);
    for (size_t i = 0; i < c->facts.regions.count; i++) {
        const Region *region = &c->facts.regions.data[i];
        for (size_t b = 0; b < region->blocks.count; b++)
            bitset_add(&entered, region->blocks.data[b]->id);
    }
    c->exits.missing = bitset_new(c->scratch, body->regs.count);
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t b = bitset_next(after, 0); b != SIZE_MAX; b = bitset_next(after, b + 1))
            grows |= add_block(c, body->blocks.data[b], bitset_has(&entered, b));
    }
}

/* True if the instruction can become each replica's own because of missing values. A guard of a branch asks those
 * alive (alive.c). */
static bool may_part(const Coarsening *c, const Inst *inst)
{
    if (!reads_missing(c, inst) || coarsening_combines(inst))
        return true;
    if (inst_is_terminator(inst)) {
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (r != inst->guard && inst->refs[r].reg != REG_NONE && coarsening_is_missing(c, inst->refs[r].reg))
                return false;
        return inst->target_count > 0;
    }
    return !(inst->effects & (EFFECT_CC_READ | EFFECT_CC_WRITE)) && !coarsening_is_agreement(c, inst) &&
           (inst->sync == SYNC_NONE || coarsening_clones(c, inst));
}

/* True if the block can be split: carry flags and the parts of a call stay in one section. */
static bool may_split(Coarsening *c, const Block *block)
{
    bool carry = false, carry_cut = false, call = false, call_cut = false;
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        if (!may_part(c, inst)) {
            c->exits.obstacle = inst;
            return false;
        }
        if (inst_is_terminator(inst))
            continue;
        if (pointer_map_get(&c->exits.parted, inst) && !can_narrow(c, inst)) {
            c->exits.obstacle = inst;
            return false;
        }
        bool part = is_call_part(inst);
        if ((part && call_cut) || (inst->effects & EFFECT_CC_READ && carry_cut))
            return false;
        if (inst->effects & EFFECT_CC_WRITE) {
            carry = true;
            carry_cut = false;
        }
        call |= part;
        if (coarsening_share(c, inst) == SHARE_ORDERED) {
            carry_cut |= carry;
            call_cut |= call;
        }
        if (coarsening_combines(inst) && inst->operands[inst->operand_count - 1].kind != OPERAND_REG)
            return false;
    }
    return true;
}

static bool values_have_zeros(const Body *body, const Block *block)
{
    for (size_t p = 0; p < block->phis.count; p++)
        if (!coarsening_has_zero(body, block->phis.data[p].dst))
            return false;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]) && inst->refs[r].reg != REG_NONE &&
                !coarsening_has_zero(body, inst->refs[r].reg))
                return false;
    return true;
}

BitSet coarsening_after_leaves(const Coarsening *c)
{
    BitSet after = bitset_new(c->scratch, c->body->blocks.count);
    VEC(Block *) pending = {0};
    for (size_t i = 0; i < c->exits.leaves.count; i++) {
        const Leave *leave = &c->exits.leaves.data[i];
        const Inst *last = leave->branch->last;
        VEC_PUSH(c->scratch, pending, leave->taken ? leave->branch->fall : last->targets[0]);
    }
    while (pending.count) {
        Block *block = VEC_POP(pending);
        if (bitset_has(&after, block->id) || coarsening_only_exits(c->body, block))
            continue;
        bitset_add(&after, block->id);
        FOR_EACH_SUCC(block, succ)
            VEC_PUSH(c->scratch, pending, succ);
    }
    for (size_t i = 0; i < c->exits.leaves.count; i++)
        for (size_t b = 0; b < c->exits.leaves.data[i].blocks.count; b++)
            bitset_remove(&after, c->exits.leaves.data[i].blocks.data[b]->id);
    return after;
}

/* True if all threads of a merged block leave for a replica, or none. */
static bool leave_together(const Coarsening *c)
{
    bool together = c->step.merges_blocks;
    for (size_t i = 0; i < c->exits.leaves.count; i++)
        together &= coarsening_go_together(c, c->exits.leaves.data[i].branch);
    return together;
}

void coarsening_find_parted(Coarsening *c)
{
    BitSet after = coarsening_after_leaves(c);
    bool together = leave_together(c);
    for (size_t b = bitset_next(&after, 0); b != SIZE_MAX && !together; b = bitset_next(&after, b + 1))
        for (Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst->sync == SYNC_WARP || inst->sync == SYNC_CONVERGED)
                pointer_map_put(&c->exits.parted, inst, inst);
}

bool coarsening_may_leave(Coarsening *c)
{
    BitSet after = coarsening_after_leaves(c);
    find_missing(c, &after);
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        const Block *block = c->body->blocks.data[b];
        bool in_region = bitset_has(&c->facts.in_region, b);
        for (const Inst *inst = block->first; inst && in_region; inst = inst->next)
            if (coarsening_is_collective(inst))
                return false; /* so no leave is in a region: what it leads to would be, too */
        if (bitset_has(&after, b) && (!may_split(c, block) || !values_have_zeros(c->body, block)))
            return false;
    }
    return c->exits.leaves.count > 0;
}
