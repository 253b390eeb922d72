/* Unroll-and-jam: which loops it can be done to.
 *
 *     for (i = a; i < b; i++) {                 for (i = a; i + 1 < b; i += 2) {
 *         s = 0;                                    s = 0; s' = 0;
 *         for (k = 0; k < n; k++)                   for (k = 0; k < n; k++)
 *             s += x[i][k] * y[k];       ->             t = y[k], s += x[i][k] * t, s' += x[i + 1][k] * t;
 *         z[i] = s;                                 z[i] = s; z[i + 1] = s';
 *     }                                         }
 *                                               if (i < b) z[i] = ...
 *
 * The loop may be left at its end only, and the condition for that has to be computed without the iteration itself, so
 * that it is known in advance how many follow. Then:
 *   1. instructions that cannot be reordered are refused;
 *   2. the values that differ between iterations are found: those that depend on the header's phis. Loads of one
 *      address give one value, because a store between them would be in conflict with one of them (4). Branches must
 *      not differ;
 *   3. a value that one iteration passes to the next has to be known in advance, too (a counter, a pointer), or passes
 *      through one block that each iteration executes once (a sum of the results of inner loops): a chain, executed in
 *      turn;
 *   4. accesses of different iterations that would change places must not meet (order.c);
 *   5. the iterations are put side by side (copy.c).
 *
 * The passes that follow merge the loads and computations that the iterations then have in common. */
#include "opt/common/preheader.h"
#include "opt/common/versions.h"
#include "opt/jam/front.h"
#include "opt/passes.h"

#include <string.h>

/* Computes what is known about the body as it is now. False if the loop is gone. */
static bool jam_analyze(Jam *jam, const Block *header)
{
    analyses_free(jam->analyses);
    jam->analyses = analyses_new(jam->body);
    jam->loops = analyses_loops(jam->analyses);
    jam->values = analyses_values(jam->analyses);
    jam->loop = loop_headed(jam->loops, header);
    return jam->loop != NULL;
}

static Block *block_labelled(const Body *body, const char *label)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        if (body->blocks.data[b]->label && strcmp(body->blocks.data[b]->label, label) == 0)
            return body->blocks.data[b];
    return NULL;
}

/* The loop's ends: one edge back, from the only block that leads out. */
static bool check_shape(Jam *jam)
{
    const Loop *loop = jam->loop;
    for (uint32_t b = 0; b < loop->block_count; b++)
        if (bitset_has(&jam->loops->irreducible, loop->blocks[b]->id))
            return jam_refuse(jam, loop->blocks[b]->first, REFUSAL_JAM_JUMPS);
    if (loop->latch_count != 1)
        return jam_refuse(jam, loop->latches[1]->last, REFUSAL_JAM_ENDS);
    jam->latch = loop->latches[0];
    for (uint32_t b = 0; b < loop->block_count; b++) {
        const Block *block = loop->blocks[b];
        if (block->last && inst_is_terminator(block->last) && !inst_is_branch(block->last))
            return jam_refuse(jam, block->last, REFUSAL_JAM_THREAD_ENDS);
        FOR_EACH_SUCC(block, succ)
            if (block != jam->latch && !loop_contains(jam->loops, loop, succ))
                return jam_refuse(jam, block->last, REFUSAL_JAM_LEFT);
    }
    const Inst *last = block_two_way_branch(jam->latch);
    if (!last || loop_of(jam->loops, jam->latch) != loop)
        return jam_refuse(jam, jam->latch->last, REFUSAL_JAM_END);
    bool taken_stays = last->targets[0] == loop->header;
    jam->after = taken_stays ? jam->latch->fall : last->targets[0];
    if (loop_contains(jam->loops, loop, jam->after))
        return jam_refuse(jam, last, REFUSAL_JAM_ENDLESS);
    jam->predicate = inst_predicate(last);
    jam->stays_if = taken_stays != last->guard_inverted;
    return true;
}

static bool is_plain(const Inst *inst)
{
    const unsigned plain = EFFECT_PURE | EFFECT_READ | EFFECT_WRITE | EFFECT_TRAP | EFFECT_THREAD | EFFECT_HINT |
                           EFFECT_CC_READ | EFFECT_CC_WRITE;
    Access access;
    if (inst_is_relaxed_red(inst))
        return true;
    if (inst_is_opaque(inst) || inst->sync != SYNC_NONE || inst->effects & ~plain)
        return false;
    const Sreg *sreg = inst_sreg(inst);
    if (sreg && sreg->dependence == SREG_VOLATILE)
        return false;
    if (!(inst->effects & (EFFECT_READ | EFFECT_WRITE)))
        return !(inst->effects & EFFECT_TRAP); /* a trap on its own */
    return inst_access(inst, &access) &&
           (access.read_only || (access.weak && access.address && access.bytes &&
                                 (access.kind == ACCESS_LOAD || access.kind == ACCESS_STORE)));
}

static bool check_instructions(Jam *jam)
{
    for (uint32_t b = 0; b < jam->loop->block_count; b++) {
        bool carries = false;
        for (const Inst *inst = jam->loop->blocks[b]->first; inst; inst = inst->next) {
            if (inst_is_branch(inst))
                continue;
            if (inst_is_terminator(inst) || !is_plain(inst))
                return jam_refuse(jam, inst, REFUSAL_JAM_FIXED);
            if (inst->effects & EFFECT_CC_READ && !carries)
                return jam_refuse(jam, inst, REFUSAL_JAM_CARRY);
            carries |= inst->effects & EFFECT_CC_WRITE;
            jam->writes |= inst->effects & EFFECT_WRITE;
        }
    }
    return true;
}

/* Takes the results out of the set; false if they were not in it. */
static bool results_remove(BitSet *set, const Inst *inst)
{
    bool removed = false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && bitset_has(set, inst->refs[r].reg)) {
            bitset_remove(set, inst->refs[r].reg);
            removed = true;
        }
    return removed;
}

/* Finds the values that computations make of the header's phis, and those phis whose next value is such a value, too. A
 * value that is computed from anything else is not one of them. */
static void find_early(Jam *jam)
{
    const Loop *loop = jam->loop;
    jam->early = bitset_new(jam->scratch, jam->body->regs.count);
    for (size_t p = 0; p < loop->header->phis.count; p++)
        bitset_add(&jam->early, loop->header->phis.data[p].dst);
    for (uint32_t b = 0; b < loop->block_count; b++)
        for (const Inst *inst = loop->blocks[b]->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_writes(&inst->refs[r]) && jam_is_computation(inst))
                    bitset_add(&jam->early, inst->refs[r].reg);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t p = 0; p < loop->header->phis.count; p++) {
            const Phi *phi = &loop->header->phis.data[p];
            RegId next = jam_next(jam, phi);
            if (!bitset_has(&jam->early, phi->dst) || !jam_is_inside(jam, next) || bitset_has(&jam->early, next))
                continue;
            bitset_remove(&jam->early, phi->dst);
            changed = true;
        }
        for (uint32_t b = 0; b < loop->block_count; b++)
            for (const Inst *inst = loop->blocks[b]->first; inst; inst = inst->next)
                if (jam_reads_late(jam, &jam->early, inst))
                    changed |= results_remove(&jam->early, inst);
    }
}

static bool phi_varies(const Jam *jam, const Phi *phi)
{
    for (size_t a = 0; a < phi->args.count; a++)
        if (bitset_has(&jam->variant, phi->args.data[a].reg))
            return true;
    return false;
}

/* An instruction that uses the carry flag is copied, because no register shows whether the flag differs. */
static bool inst_varies(const Jam *jam, const Inst *inst)
{
    if (inst->effects & (EFFECT_CC_READ | EFFECT_CC_WRITE))
        return true;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && bitset_has(&jam->variant, inst->refs[r].reg))
            return true;
    return false;
}

/* Adds a register; true if it was not there. */
static bool variant_add(Jam *jam, RegId reg)
{
    bool is_new = !bitset_has(&jam->variant, reg);
    bitset_add(&jam->variant, reg);
    return is_new;
}

/* Finds the values that differ between iterations. As no branch may, a phi inside the loop differs only if its
 * arguments do. */
static void find_variant(Jam *jam)
{
    const Loop *loop = jam->loop;
    jam->variant = bitset_new(jam->scratch, jam->body->regs.count);
    for (size_t p = 0; p < loop->header->phis.count; p++)
        bitset_add(&jam->variant, loop->header->phis.data[p].dst);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < loop->block_count; b++) {
            const Block *block = loop->blocks[b];
            for (size_t p = 0; p < block->phis.count; p++)
                if (phi_varies(jam, &block->phis.data[p]))
                    changed |= variant_add(jam, block->phis.data[p].dst);
            for (const Inst *inst = block->first; inst; inst = inst->next)
                for (unsigned r = 0; r < inst->ref_count; r++)
                    if (ref_writes(&inst->refs[r]) && inst_varies(jam, inst))
                        changed |= variant_add(jam, inst->refs[r].reg);
        }
    }
}

static bool check_branches(Jam *jam)
{
    for (uint32_t b = 0; b < jam->loop->block_count; b++) {
        const Block *block = jam->loop->blocks[b];
        const Inst *last = block->last;
        for (unsigned r = 0; last && inst_is_branch(last) && block != jam->latch && r < last->ref_count; r++)
            if (last->refs[r].reg != REG_NONE && bitset_has(&jam->variant, last->refs[r].reg))
                return jam_refuse_with(jam, last, REFUSAL_JAM_BRANCH,
                                       REFUSAL_WITH(refusal_number(inst_line(jam->body, last))));
    }
    if (jam_is_inside(jam, jam->predicate) && !bitset_has(&jam->early, jam->predicate))
        return jam_refuse(jam, jam->latch->last, REFUSAL_JAM_LATE);
    return true;
}

static unsigned place_in_block(const Inst *inst)
{
    unsigned place = 0;
    for (const Inst *at = inst->prev; at; at = at->prev)
        place++;
    return place;
}

static bool refuse_chain(Jam *jam, const Inst *inst, RefusalReason reason, const Phi *phi)
{
    return jam_refuse_with(jam, inst, reason, REFUSAL_WITH(refusal_name(body_reg_name(jam->body, phi->dst))));
}

/* Finds the chain of a phi whose next value is not known in advance. */
static bool find_chain(Jam *jam, const Phi *phi)
{
    RegId next = jam_next(jam, phi);
    const ValueDef *def = &jam->values->defs[next];
    /* If the latch reads it, each iteration passes its block. */
    if (!def->inst || loop_of(jam->loops, def->block) != jam->loop)
        return refuse_chain(jam, def->inst, REFUSAL_JAM_CHAIN_BRANCHES, phi);
    const Dominance *dominance = analyses_dominance(jam->analyses);
    Chain chain = {def->inst, def->inst};
    const ValueUse *uses = value_uses(jam->values, phi->dst);
    for (uint32_t u = 0; u < value_use_count(jam->values, phi->dst); u++) {
        const ValueUse *use = &uses[u];
        const Block *at = use->inst ? use->block : use->block->phis.data[use->index].args.data[use->arg].pred;
        if (!loop_contains(jam->loops, jam->loop, use->block))
            continue;
        if (use->block == jam->loop->header && !use->inst)
            return refuse_chain(jam, def->inst, REFUSAL_JAM_CHAIN_TWICE, phi);
        if (at == def->block && use->inst) {
            if (place_in_block(use->inst) < place_in_block(chain.first))
                chain.first = use->inst;
        } else if (!dominance_has(dominance, def->block, at)) {
            return refuse_chain(jam, use->inst, REFUSAL_JAM_CHAIN_READ, phi);
        }
    }
    VEC_PUSH(jam->scratch, jam->chains, chain);
    return true;
}

static bool check_carried(Jam *jam)
{
    const Block *header = jam->loop->header;
    for (size_t p = 0; p < header->phis.count; p++)
        if (!bitset_has(&jam->early, header->phis.data[p].dst) && !find_chain(jam, &header->phis.data[p]))
            return false;
    return true;
}

/* If the number of iterations is known, none may be missing. */
static bool check_rounds(Jam *jam)
{
    uint64_t rounds = jam_rounds(jam);
    if (rounds && rounds < jam->factor)
        return jam_refuse_with(jam, NULL, REFUSAL_JAM_FEW, REFUSAL_WITH(refusal_number(rounds)));
    jam->is_whole = rounds && rounds % jam->factor == 0;
    return true;
}

/* If iterations cannot be executed side by side as a whole, perhaps their fronts can. */
static Block *jam_front(Jam *jam, Block *header)
{
    Front front = {.inner = NULL};
    if (jam_prepare_inner(jam)) {
        bool found = jam_analyze(jam, header);
        require(found && jam->loop->preheader && check_shape(jam));
        find_early(jam);
        find_variant(jam);
    }
    return jam_find_front(jam, &front) && check_rounds(jam) ? jam_copy_front(jam, &front) : NULL;
}

/* Gives the header of the new loop; NULL: refused. */
static Block *jam_loop(Jam *jam, Block *header, const char *label)
{
    if (!header || !jam_analyze(jam, header)) {
        jam_refuse_with(jam, header ? header->first : NULL, REFUSAL_JAM_NO_LOOP, REFUSAL_WITH(refusal_name(label)));
        return NULL;
    }
    if (!jam->loop->preheader) {
        loop_add_preheader(jam->body, jam->loops, jam->loop);
        bool found = jam_analyze(jam, header);
        require(found && jam->loop->preheader);
    }
    if (loop_remove_empty_latch(jam->body, jam->loop)) {
        bool found = jam_analyze(jam, header);
        require(found && jam->loop->preheader);
    }
    if (!check_shape(jam) || !check_instructions(jam))
        return NULL;
    find_early(jam);
    find_variant(jam);
    if (!check_branches(jam) || !check_carried(jam) || !jam_check_memory(jam))
        return jam->is_brief ? NULL : jam_front(jam, header);
    if (!check_rounds(jam))
        return NULL;
    if (jam->is_brief) {
        jam_find_countdown(jam);
        jam_find_bounds(jam);
        jam->is_counted = !jam->is_whole && !jam->bounds.count && !jam->conflicts.count &&
                          !(jam->factor & (jam->factor - 1)) &&
                          trip_count_find(jam->loop, jam->loops, jam->analyses, &jam->trips);
    }
    return jam_copy(jam);
}

bool unroll_and_jam(Body *body, const UnrollJam *request, Refusal *refusal)
{
    require(body->ssa && request->factor >= 2 && request->factor <= UNROLL_JAM_MOST);
    Arena *scratch = arena_new();
    Jam jam = {.body = body, .scratch = scratch, .factor = request->factor, .refusal = refusal};
    const Block *done = jam_loop(&jam, block_labelled(body, request->loop), request->loop);
    analyses_free(jam.analyses);
    arena_free(scratch);
    return done != NULL;
}

Block *loop_unroll_jam(Body *body, Block *header, unsigned factor, Refusal *refusal)
{
    require(body->ssa && factor >= 2 && factor <= UNROLL_JAM_MOST);
    Arena *scratch = arena_new();
    Jam jam = {.body = body, .scratch = scratch, .factor = factor, .is_brief = true, .refusal = refusal};
    Block *made = jam_loop(&jam, header, header->label ? header->label : "it");
    analyses_free(jam.analyses);
    arena_free(scratch);
    return made;
}

bool pass_unroll_jam(PassContext *context)
{
    return unroll_and_jam(context->body, context->jam, &context->refusal);
}
