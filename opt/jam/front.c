/* Iterations whose inner loop goes round differently often, or that end in what the next ones need.
 *
 *     for (i = 0; i < n; i++) {                 for (i = 0; i + 1 < n; i += 2) {
 *         s = b[i];                                 s = b[i], s' = b[i + 1];
 *         for (k = 0; k < i; k++)                   for (k = 0; k < i; k++)           as many rounds as both have
 *             s -= a[i][k] * b[k];       ->             t = b[k], s -= a[i][k] * t, s' -= a[i + 1][k] * t;
 *         b[i] = s / a[i][i];                       b[i] = s / a[i][i];
 *     }                                             for (; k < i + 1; k++)            what the second has left
 *                                                       s' -= a[i + 1][k] * b[k];
 *                                                   b[i + 1] = s' / a[i + 1][i + 1];
 *                                               }
 *
 * Side by side is only the front of the iterations: the code before the first inner loop, and those rounds of it that
 * all of them have. The rest follows in turn: the rounds that are left, and what comes after the inner loop. So the
 * rest may write what the next iteration's rest reads, and iterations may go different ways in it.
 *
 * A front loads earlier than it did: before the rests of the iterations that precede. It stores nothing, and its loads
 * must not meet the stores of these rests. That is proven, or compared before: for loads of the inner loop, from
 * the least address to the greatest. Each round executes them in any case, so addresses are those of real objects, and
 * the range does not wrap.
 *
 * Iterations that are not as many, that go elsewhere than to the inner loop, or that would meet, are executed one by
 * one; each is followed by the test for the next ones. */
#include "opt/common/preheader.h"
#include "opt/jam/front.h"

enum { MOST_RANGES = 16 }; /* that are compared at run time */

/* The blocks from the loop's header to the inner loop, where each is entered from the one before alone. */
static bool find_lead(const Jam *jam, Front *front)
{
    VEC(Block *) found = {0};
    front->lead.count = 0;
    for (Block *block = front->inner->preheader; block; block = block->preds[0]) {
        VEC_PUSH(jam->scratch, found, block);
        if (block == jam->loop->header)
            break;
        if (block->pred_count != 1 || loop_of(jam->loops, block) != jam->loop)
            return false;
    }
    for (size_t i = found.count; i-- > 0;) {
        Block *block = found.data[i];
        const Block *next = i ? found.data[i - 1] : front->round;
        const Inst *last = block_two_way_branch(block);
        const RegId predicate = last ? inst_predicate(last) : REG_NONE;
        if (!last && (block->fall ? block->last && inst_is_branch(block->last) : block->last->target_count != 1))
            return false;
        if (predicate != REG_NONE && jam_is_inside(jam, predicate) && !bitset_has(&jam->early, predicate))
            return false;
        require(next);
        VEC_PUSH(jam->scratch, front->lead, block);
    }
    return front->lead.count > 0;
}

static bool is_known(const Jam *jam, RegId reg)
{
    return reg == REG_NONE || !jam_is_inside(jam, reg) || bitset_has(&jam->early, reg);
}

static bool rounds_are_known(const Jam *jam, Front *front)
{
    const TripCount *trips = &front->trips;
    return trip_count_find(front->inner, jam->loops, jam->analyses, &front->trips) &&
           is_known(jam, trips->counter.start) && is_known(jam, trips->counter.addend) &&
           is_known(jam, trips->bound);
}

/* clang's inner loops end in two branches, of which the second is a block of its own. */
bool jam_prepare_inner(Jam *jam)
{
    VEC(const Loop *) inner = {0};
    for (uint32_t i = jam->loop->index + 1; i < jam->loop->end; i++)
        if (jam->loops->loops[i].parent == jam->loop && jam->loops->loops[i].block_count == 2)
            VEC_PUSH(jam->scratch, inner, &jam->loops->loops[i]);
    bool changed = false;
    for (size_t i = 0; i < inner.count; i++)
        changed |= loop_remove_empty_latch(jam->body, inner.data[i]);
    if (changed)
        analyses_invalidate(jam->analyses, ANALYSES_ALL);
    return loops_add_preheaders(jam->body, jam->analyses) || changed;
}

/* The first inner loop that the header leads to, if it is one block and its rounds are known. */
static bool find_inner(const Jam *jam, Front *front)
{
    for (uint32_t i = jam->loop->index + 1; i < jam->loop->end; i++) {
        const Loop *inner = &jam->loops->loops[i];
        if (inner->parent != jam->loop || inner->block_count != 1 || !inner->preheader)
            continue;
        front->inner = inner;
        front->round = inner->header;
        const Inst *last = block_two_way_branch(front->round);
        if (!last || !find_lead(jam, front) || !rounds_are_known(jam, front))
            continue;
        front->exit = last->targets[0] == front->round ? front->round->fall : last->targets[0];
        return true;
    }
    return false;
}

/* Nothing in the block is stored, or depends on the carry flag. */
static bool is_readonly(const Block *block)
{
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (inst->effects & (EFFECT_WRITE | EFFECT_CC_READ | EFFECT_CC_WRITE))
            return false;
    return true;
}

static void add_computed(const Jam *jam, const Block *round, BitSet *computed)
{
    for (const Inst *inst = round->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]) && jam_is_computation(inst) && !jam_reads_late(jam, computed, inst))
                bitset_add(computed, inst->refs[r].reg);
}

/* True if the phi's start, or what a round gives the next, is not in the set. */
static bool phi_is_late(const Jam *jam, const Front *front, const Phi *phi, const BitSet *computed)
{
    const RegId next = phi_argument(phi, front->round);
    return !is_known(jam, loop_start(front->inner, phi)) ||
           (jam_is_inside(jam, next) && !bitset_has(computed, next));
}

/* Finds what rounds compute of early values: phis, too, if that is what they get. */
static void find_computed(const Jam *jam, Front *front)
{
    const Block *round = front->round;
    BitSet late = bitset_new(jam->scratch, jam->body->regs.count);
    front->computed = bitset_new(jam->scratch, jam->body->regs.count);
    for (bool changed = true; changed;) {
        changed = false;
        bitset_copy(&front->computed, &jam->early);
        for (size_t p = 0; p < round->phis.count; p++)
            if (!bitset_has(&late, round->phis.data[p].dst))
                bitset_add(&front->computed, round->phis.data[p].dst);
        add_computed(jam, round, &front->computed);
        for (size_t p = 0; p < round->phis.count; p++) {
            const Phi *phi = &round->phis.data[p];
            if (bitset_has(&late, phi->dst) || !phi_is_late(jam, front, phi, &front->computed))
                continue;
            bitset_add(&late, phi->dst);
            changed = true;
        }
    }
}

static bool grows_evenly(const Jam *jam, Front *front, const AffineForm *form);

/* The phi of the inner loop with this result, or NULL. */
static const Phi *round_phi(const Front *front, RegId reg)
{
    for (size_t p = 0; p < front->round->phis.count; p++)
        if (front->round->phis.data[p].dst == reg)
            return &front->round->phis.data[p];
    return NULL;
}

/* True if the phi grows by the same in each round, a sum as wide. */
static bool phi_grows_evenly(const Jam *jam, const Front *front, const Phi *phi, unsigned bits)
{
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    if (!loop_step(front->inner, phi, analyses_affine(jam->analyses), terms, &step) || step.bits != bits)
        return false;
    for (unsigned t = 0; t < step.term_count; t++)
        if (!loop_term_is_fixed(jam->scratch, front->inner, jam->analyses, &step.terms[t]))
            return false;
    return true;
}

/* The same of a 32-bit sum that the term extends: if it does not wrap, which is tested, its extension does, too. */
static bool index_grows_evenly(const Jam *jam, Front *front, const AffineTerm *term)
{
    const Affine *affine = analyses_affine(jam->analyses);
    const FrontIndex index = {term->reg, term->base == AFFINE_SIGNED};
    if ((term->base != AFFINE_SIGNED && term->base != AFFINE_VALUE) || affine->forms[term->reg].bits != 32 ||
        !bitset_has(&front->computed, term->reg) || !grows_evenly(jam, front, &affine->forms[term->reg]))
        return false;
    for (size_t i = 0; i < front->indices.count; i++)
        if (front->indices.data[i].reg == index.reg && front->indices.data[i].is_signed == index.is_signed)
            return true;
    VEC_PUSH(jam->scratch, front->indices, index);
    return true;
}

/* True if the sum grows by the same in each round of the inner loop. */
static bool grows_evenly(const Jam *jam, Front *front, const AffineForm *form)
{
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        const Phi *phi = term->base == AFFINE_VALUE ? round_phi(front, term->reg) : NULL;
        const bool is_whole = phi && type_bits(jam->body->regs.data[phi->dst].type) == form->bits;
        if (!loop_term_is_fixed(jam->scratch, front->inner, jam->analyses, term) &&
            !(is_whole && phi_grows_evenly(jam, front, phi, form->bits)) &&
            !(form->bits == 64 && !is_whole && index_grows_evenly(jam, front, term)))
            return false;
    }
    return true;
}

/* True if the load's address can be computed for the first round, and is a sum that grows evenly. A guarded load might
 * not be executed in the first or last round, so that its address there would be that of nothing. */
static bool has_range(const Jam *jam, Front *front, const Inst *load, RegId base)
{
    const Affine *affine = analyses_affine(jam->analyses);
    if (base == REG_NONE || type_bits(jam->body->regs.data[base].type) != 64)
        return false;
    if (is_known(jam, base))
        return true;
    return !inst_is_guarded(load) && bitset_has(&front->computed, base) && affine->forms[base].bits == 64 &&
           grows_evenly(jam, front, &affine->forms[base]);
}

/* The place of the access's bytes among those of others that count from the same register. */
static uint32_t add_span(const Jam *jam, FrontSpanVec *spans, RegId base, int64_t low, int64_t high)
{
    for (uint32_t i = 0; i < spans->count; i++) {
        FrontSpan *span = &spans->data[i];
        if (span->base != base)
            continue;
        span->low = span->low < low ? span->low : low;
        span->high = span->high > high ? span->high : high;
        return i;
    }
    VEC_PUSH(jam->scratch, *spans, ((FrontSpan){base, low, high}));
    return (uint32_t)spans->count - 1;
}

/* A store of the rest, and a load of the inner loop in a later iteration. */
static bool check_round_read(Jam *jam, Front *front, const Inst *store, const Inst *load)
{
    Access a, b;
    int64_t from, to;
    if (accesses_apart_always(analyses_memory(jam->analyses), store, load))
        return true;
    require(inst_access(store, &a) && inst_access(load, &b));
    const RegId x = jam_address(store, &from), y = jam_address(load, &to);
    if (!accesses_have_same_terms(&a, &b) || x == REG_NONE || !is_known(jam, x) ||
        type_bits(jam->body->regs.data[x].type) != 64 || !has_range(jam, front, load, y))
        return jam_refuse_pair(jam, store, load);
    const FrontConflict conflict = {add_span(jam, &front->stores, x, from, from + a.bytes),
                                    add_span(jam, &front->reads, y, to, to + b.bytes)};
    for (size_t i = 0; i < front->conflicts.count; i++)
        if (front->conflicts.data[i].store == conflict.store && front->conflicts.data[i].read == conflict.read)
            return true;
    if (front->conflicts.count == MOST_RANGES)
        return jam_refuse_pair(jam, store, load);
    VEC_PUSH(jam->scratch, front->conflicts, conflict);
    return true;
}

/* The store, and what the fronts of later iterations read. */
static bool check_store(Jam *jam, Front *front, const Inst *store)
{
    Access access;
    for (size_t b = 0; b < front->lead.count; b++)
        for (const Inst *inst = front->lead.data[b]->first; inst; inst = inst->next)
            if (inst_access(inst, &access) && !access.read_only && !jam_check_pair(jam, store, inst))
                return false;
    for (const Inst *inst = front->round->first; inst; inst = inst->next)
        if (inst_access(inst, &access) && !access.read_only && !check_round_read(jam, front, store, inst))
            return false;
    return true;
}

static bool check_memory(Jam *jam, Front *front)
{
    jam->conflicts.count = 0;
    for (uint32_t b = 0; b < jam->loop->block_count; b++)
        for (const Inst *inst = jam->loop->blocks[b]->first; inst; inst = inst->next)
            if (inst->effects & EFFECT_WRITE && !check_store(jam, front, inst))
                return false;
    return true;
}

bool jam_find_front(Jam *jam, Front *front)
{
    const Block *header = jam->loop->header;
    for (size_t p = 0; p < header->phis.count; p++)
        if (!bitset_has(&jam->early, header->phis.data[p].dst))
            return false;
    if (!is_known(jam, jam->predicate) || !find_inner(jam, front) || !is_readonly(front->round))
        return false;
    for (size_t b = 0; b < front->lead.count; b++)
        if (!is_readonly(front->lead.data[b]))
            return false;
    find_computed(jam, front);
    return check_memory(jam, front);
}
