/* Counters that tell in one comparison whether a number of iterations follow, and indices that must not wrap. */
#include "opt/common/trips.h"
#include "opt/jam/internal.h"

/* The step of the phi of the header that the register is, plus a constant; 0: it is not that. */
static int64_t counter_step(const Jam *jam, RegId reg, unsigned bits)
{
    const Affine *affine = analyses_affine(jam->analyses);
    const AffineForm *form = &affine->forms[reg];
    const AffineTerm *term = form->term_count == 1 ? &form->terms[0] : NULL;
    const Phi *phi = term && term->base == AFFINE_VALUE && term->coefficient == 1 ? jam_phi(jam, term->reg) : NULL;
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    if (!phi || form->bits != bits || type_bits(jam->body->regs.data[phi->dst].type) != bits ||
        !loop_step(jam->loop, phi, affine, terms, &step) || step.term_count || step.bits != bits)
        return 0;
    return step.constant;
}

/* True if the loop goes on while counter and bound are so related; sets how. */
static bool relation_counts(Relation relation, Countdown *out)
{
    bool grows = out->step > 0;
    out->is_ordered = relation != RELATION_NOT_EQUAL;
    out->with_bound = relation == RELATION_LESS_EQUAL || relation == RELATION_GREATER_EQUAL;
    if (!out->is_ordered)
        return true;
    return grows ? relation == RELATION_LESS || relation == RELATION_LESS_EQUAL
                 : relation == RELATION_GREATER || relation == RELATION_GREATER_EQUAL;
}

void jam_find_countdown(Jam *jam)
{
    enum { MOST_STEP = 1 << 20 };
    const Inst *made = value_inst(jam->values, jam->predicate);
    Computation compare;
    if (!made || !computation_of(jam->body, made, &compare))
        return;
    const unsigned bits = compare.sources[0].bits;
    if ((bits != 32 && bits != 64) || !computation_is_comparison(&compare, bits))
        return;
    for (unsigned i = 0; i < 2; i++) {
        const ComputeSource *counter = &compare.sources[i], *bound = &compare.sources[1 - i];
        Relation relation = jam->stays_if ? compare.relation : relation_negated(compare.relation);
        Countdown found = {.counter = counter->reg, .bits = bits, };
        found.constant = bits == 32 ? (int32_t)bound->constant : (int64_t)bound->constant;
        if (i == 1)
            relation = relation_swapped(relation);
        found.bound = bound->is_constant ? REG_NONE : bound->reg;
        bool is_known = bound->is_constant || (bound->reg != REG_NONE && !jam_is_inside(jam, bound->reg));
        if (counter->is_constant || counter->reg == REG_NONE || !is_known)
            continue;
        found.step = counter_step(jam, counter->reg, bits);
        found.found = found.step && found.step <= MOST_STEP && found.step >= -MOST_STEP &&
                      relation_counts(relation, &found);
        if (found.found)
            jam->countdown = found;
    }
}

/* The 32-bit register that the instruction extends to 64 bits; REG_NONE: it does not. */
static RegId extended_reg(const Jam *jam, const Inst *inst, bool *is_signed)
{
    Computation c;
    if (!inst_is_plain(inst) || !computation_of(jam->body, inst, &c) || c.result == REG_NONE ||
        type_bits(jam->body->regs.data[c.result].type) != 64 || (c.op != COMPUTE_CONVERT && c.op != COMPUTE_MUL) ||
        c.sources[0].bits != 32)
        return REG_NONE;
    *is_signed = c.sources[0].is_signed;
    return c.sources[0].reg;
}

/* Adds the register to the bound of sums that differ by a constant, or adds one. */
static void bound_add(Jam *jam, RegId reg, bool is_signed, int64_t step)
{
    enum { MOST_BOUNDS = 4, MOST_SPAN = 1 << 16 };
    const Affine *affine = analyses_affine(jam->analyses);
    const AffineForm *form = &affine->forms[reg];
    for (size_t i = 0; i < jam->bounds.count; i++) {
        IndexBound *bound = &jam->bounds.data[i];
        AffineForm moved = affine->forms[bound->reg];
        const int64_t way = form->constant - moved.constant;
        moved.constant = form->constant;
        if (bound->is_signed != is_signed || affine_compare(&moved, 1, form, 1) != ALIAS_SAME || way > MOST_SPAN ||
            way < -MOST_SPAN)
            continue;
        if (way < 0) {
            bound->reg = reg;
            bound->span -= way;
        } else if (way > bound->span) {
            bound->span = way;
        }
        return;
    }
    if (jam->bounds.count < MOST_BOUNDS)
        VEC_PUSH(jam->scratch, jam->bounds, ((IndexBound){reg, is_signed, 0, step}));
}

void jam_find_bounds(Jam *jam)
{
    enum { MOST_STEP = 1 << 16 };
    const Affine *affine = analyses_affine(jam->analyses);
    for (uint32_t b = 0; b < jam->loop->block_count; b++)
        for (const Inst *inst = jam->loop->blocks[b]->first; inst; inst = inst->next) {
            bool is_signed;
            int64_t step;
            RegId reg = extended_reg(jam, inst, &is_signed);
            if (reg == REG_NONE || !jam_is_inside(jam, reg) || !bitset_has(&jam->early, reg) ||
                affine->forms[reg].bits != 32 ||
                !loop_sum_step(jam->scratch, jam->loop, jam->analyses, &affine->forms[reg], &step) || step <= 0 ||
                step > MOST_STEP)
                continue;
            bound_add(jam, reg, is_signed, step);
        }
}
