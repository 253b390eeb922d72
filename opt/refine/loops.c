/* Refinement: the loops whose rounds a group can share.
 *
 * Such a loop has no inner loop and no barrier. It is left at its end alone, after a number of rounds that a counter
 * tells. A round gives the next one nothing but values that grow by the same amount each time (counters, pointers), and
 * sums that nothing in the loop reads. The rounds can then be executed in any order, if memory allows it (accesses.c),
 * and the code after the loop reads nothing but these values. */
#include "opt/refine/internal.h"

/* The loop's end is its only edge back and its only way out. */
static bool has_one_end(Refine *r, SharedLoop *shared)
{
    const Loop *loop = shared->loop;
    const LoopForest *loops = analyses_loops(r->analyses);
    if (loop->end != loop->index + 1 || loop->latch_count != 1 || !loop->preheader ||
        !trip_count_find(loop, loops, r->analyses, &shared->trips) || shared->trips.exiting != loop->latches[0])
        return false;
    shared->latch = loop->latches[0];
    if (trip_count_bound(&shared->trips, analyses_affine(r->analyses)) < r->request->threads)
        return false;
    const Inst *branch = block_two_way_branch(shared->latch);
    shared->after = branch->targets[0] == loop->header ? shared->latch->fall : branch->targets[0];
    return true;
}

static const Inst *find_barrier(const Loop *loop)
{
    for (uint32_t b = 0; b < loop->block_count; b++)
        for (const Inst *inst = loop->blocks[b]->first; inst; inst = inst->next)
            if (inst->effects & EFFECT_SYNC)
                return inst;
    return NULL;
}

static bool is_step_fixed(const Refine *r, const Loop *loop, const AffineForm *step)
{
    for (unsigned t = 0; t < step->term_count; t++)
        if (!term_is_fixed(r, loop, &step->terms[t]))
            return false;
    return true;
}

static bool find_step(Refine *r, const Loop *loop, const Phi *phi, SharedPhi *out)
{
    AffineTerm *terms = ARENA_ARRAY(r->scratch, AffineTerm, AFFINE_TERMS);
    const unsigned bits = type_bits(r->body->regs.data[phi->dst].type);
    if (!loop_step(loop, phi, analyses_affine(r->analyses), terms, &out->step) || out->step.bits != bits ||
        !is_step_fixed(r, loop, &out->step))
        return false;
    /* A variable step is computed in 64 bits. */
    return bits == 64 || !out->step.term_count;
}

static bool refuse_value(Refine *r, RegId reg, RefusalReason reason)
{
    refusal_set(r->refusal, r->body, value_inst(analyses_values(r->analyses), reg), reason,
                REFUSAL_WITH(refusal_name(body_reg_name(r->body, reg))));
    return false;
}

static bool find_phis(Refine *r, SharedLoop *shared)
{
    const Block *header = shared->loop->header;
    if (header->phis.count > SHARED_PHIS)
        return refuse_value(r, header->phis.data[SHARED_PHIS].dst, REFUSAL_REFINE_CARRIED);
    for (size_t p = 0; p < header->phis.count; p++) {
        const Phi *phi = &header->phis.data[p];
        SharedPhi *out = &shared->phis[shared->phi_count++];
        *out = (SharedPhi){
            .reg = phi->dst, .start = loop_start(shared->loop, phi), .next = phi_argument(phi, shared->latch)};
        if (find_step(r, shared->loop, phi, out))
            continue;
        out->merge = merge_find(r, shared->loop, phi, out->next, &out->with);
        if (out->merge == MERGE_NONE)
            return refuse_value(r, phi->dst, REFUSAL_REFINE_CARRIED);
        if (merge_is_ordered(out->merge) && !r->request->reassociates)
            return refine_refuse(r, value_inst(analyses_values(r->analyses), out->next), REFUSAL_REFINE_ORDER);
    }
    return true;
}

/* True if the value is one that is known after the last round: a phi's that grows, or the next of any phi. */
static bool is_known_after(const SharedLoop *shared, RegId reg)
{
    for (unsigned p = 0; p < shared->phi_count; p++)
        if (shared->phis[p].next == reg || (shared->phis[p].reg == reg && shared->phis[p].merge == MERGE_NONE))
            return true;
    return false;
}

static bool check_uses_after(Refine *r, const SharedLoop *shared)
{
    const Values *values = analyses_values(r->analyses);
    const LoopForest *loops = analyses_loops(r->analyses);
    for (RegId reg = 0; reg < values->reg_count; reg++) {
        const ValueDef *def = &values->defs[reg];
        if (!def->block || !loop_contains(loops, shared->loop, def->block) || is_known_after(shared, reg))
            continue;
        for (uint32_t u = 0; u < value_use_count(values, reg); u++)
            if (!loop_contains(loops, shared->loop, value_uses(values, reg)[u].block))
                return refuse_value(r, reg, REFUSAL_REFINE_LAST);
    }
    return true;
}

bool shared_loop_find(Refine *r, const Loop *loop, SharedLoop *out)
{
    *out = (SharedLoop){.loop = loop};
    for (uint32_t b = 0; b < loop->block_count; b++)
        if (bitset_has(&analyses_loops(r->analyses)->irreducible, loop->blocks[b]->id))
            return refine_refuse(r, loop->blocks[b]->first, REFUSAL_REFINE_END);
    if (!has_one_end(r, out))
        return refine_refuse(r, loop->latches[0]->last, REFUSAL_REFINE_END);
    const Inst *barrier = find_barrier(loop);
    if (barrier)
        return refine_refuse(r, barrier, REFUSAL_REFINE_BARRIER);
    return find_phis(r, out) && check_uses_after(r, out) && shared_loop_check_memory(r, out);
}
