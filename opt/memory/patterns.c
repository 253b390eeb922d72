/* How addresses depend on the thread's indices and on the round of a loop.
 *
 * Section 3.2 of the paper needs this to tell whether an access is coalesced, and 3.4 to tell which threads share what
 * it reads. */
#include "opt/memory/internal.h"

static const Pattern constant_pattern = {.is_resolved = true};

static bool is_outside(const Staging *s, RegId reg)
{
    const ValueDef *def = &s->values->defs[reg];
    return def->block && !loop_contains(s->loops, s->loop, def->block);
}

/* Whether the block's threads have the value in common, in all rounds. */
static bool is_common(const Staging *s, RegId reg)
{
    return is_outside(s, reg) && !variance_reg(s->variance, reg);
}

static void scale_add(Pattern *sum, RegId scale, const int64_t *scaled, uint64_t factor)
{
    sum->is_mixed |= sum->is_scaled && sum->scale != scale;
    sum->is_scaled = true;
    sum->scale = scale;
    for (unsigned i = 0; i < INDEX_COUNT; i++)
        sum->scaled[i] = (int64_t)((uint64_t)sum->scaled[i] + (uint64_t)scaled[i] * factor);
}

static void pattern_add(Pattern *sum, const Pattern *term, uint64_t factor)
{
    sum->unknown |= term->unknown;
    sum->is_mixed |= term->is_mixed;
    if (term->is_scaled)
        scale_add(sum, term->scale, term->scaled, factor);
    for (unsigned i = 0; i < INDEX_COUNT; i++)
        sum->slope[i] = (int64_t)((uint64_t)sum->slope[i] + (uint64_t)term->slope[i] * factor);
}

static uint64_t extended(uint64_t factor, unsigned bits)
{
    return bits == 64 ? factor : (uint64_t)(int64_t)(int32_t)factor;
}

/* Adds a product: of a value that the block has in common, it is a multiple. False if a factor is not a register. */
static bool add_product(const Staging *s, RegId a, RegId b, Pattern *out)
{
    if (a == REG_NONE || b == REG_NONE)
        return false;
    const bool swaps = s->patterns[a].depends == 0;
    const Pattern *factor = &s->patterns[swaps ? b : a], *other = &s->patterns[swaps ? a : b];
    out->unknown |= factor->depends | other->depends;
    out->is_mixed |= other->depends || factor->unknown;
    if (!other->depends && factor->depends)
        scale_add(out, swaps ? a : b, factor->slope, 1);
    return true;
}

/* The slopes of a sum of products; false if it is not one. */
static bool find_slopes(const Staging *s, const Inst *inst, Pattern *out)
{
    const Affine *affine = analyses_affine(s->analyses);
    Computation c;
    Bounds bounds[COMPUTE_SOURCES];
    ComputedSum sum;
    if (!computation_of(s->body, inst, &c))
        return false;
    for (unsigned i = 0; i < c.source_count; i++)
        bounds[i] = c.sources[i].is_constant        ? bounds_point(c.sources[i].bits, c.sources[i].constant)
                    : c.sources[i].reg == REG_NONE ? bounds_any(c.sources[i].bits)
                                                   : affine_reg_bounds(affine, c.sources[i].reg);
    if (c.op == COMPUTE_SELECT && c.sources[0].reg != REG_NONE) {
        /* Threads beyond the edge take another one's place (opt/edges/edges.c): the others' slope counts. */
        pattern_add(out, &s->patterns[c.sources[0].reg], 1);
        return true;
    }
    if ((c.bits != 32 && c.bits != 64) || !computation_sum(&c, bounds, &sum))
        return false;
    for (unsigned t = 0; t < sum.term_count; t++) {
        const ComputeSource *source = &c.sources[sum.terms[t].source];
        if (source->reg == REG_NONE)
            return false;
        pattern_add(out, &s->patterns[source->reg], extended(sum.terms[t].factor, sum.bits));
    }
    return !sum.has_product || add_product(s, c.sources[sum.factors[0]].reg, c.sources[sum.factors[1]].reg, out);
}

static Pattern computed_pattern(const Staging *s, const Inst *inst)
{
    Pattern pattern = {.is_resolved = true};
    for (unsigned r = 0; r < inst->ref_count; r++) {
        const RegRef *ref = &inst->refs[r];
        if (!ref_reads(ref))
            continue;
        pattern.is_resolved &= s->patterns[ref->reg].is_resolved;
        pattern.depends |= s->patterns[ref->reg].depends;
    }
    if (!find_slopes(s, inst, &pattern)) {
        Pattern unknown = {.is_resolved = pattern.is_resolved, .depends = pattern.depends, .unknown = pattern.depends};
        return unknown;
    }
    return pattern;
}

static Pattern inst_pattern(const Staging *s, const Inst *inst)
{
    Pattern pattern = {.is_resolved = true};
    const Sreg *sreg = inst_sreg(inst);
    Index index = stage_index(inst);
    if (!inst_is_computation(inst))
        return (Pattern){0};
    if (index != INDEX_COUNT) {
        pattern.depends = (uint8_t)(1 << index);
        pattern.slope[index] = 1;
        return pattern;
    }
    return sreg && !sreg_is_common(sreg) ? (Pattern){0} : computed_pattern(s, inst);
}

static bool step_is_common(const Staging *s, const AffineForm *step)
{
    for (unsigned t = 0; t < step->term_count; t++) {
        const AffineTerm *term = &step->terms[t];
        if ((term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED) && !is_common(s, term->reg))
            return false;
        if (term->base == AFFINE_SREG && !sreg_is_common(term->sreg))
            return false;
    }
    return true;
}

/* A register with a step that is not a constant; false if there can be none. */
static bool build_step(const Staging *s, Induction *induction)
{
    const SumPlace place = sum_place_new(s->body, s->loop->preheader, s->analyses);
    induction->reg = induction->step.term_count ? sum_build(&place, &induction->step) : REG_NONE;
    return !induction->step.term_count || induction->reg != REG_NONE;
}

static bool find_induction(const Staging *s, size_t p)
{
    const Phi *phi = &s->loop->header->phis.data[p];
    Induction *induction = &s->inductions[p];
    unsigned bits = type_bits(s->body->regs.data[phi->dst].type);
    induction->is_found = loop_step(s->loop, phi, analyses_affine(s->analyses), induction->terms, &induction->step) &&
                          induction->step.bits == bits && (bits == 64 || !induction->step.term_count) &&
                          step_is_common(s, &induction->step) && build_step(s, induction);
    return induction->is_found;
}

static Pattern phi_pattern(const Staging *s, const Block *block, size_t p)
{
    RegId dst = block->phis.data[p].dst;
    if (is_common(s, dst))
        return constant_pattern;
    if (block != s->loop->header || !find_induction(s, p))
        return (Pattern){0};
    const AffineForm *step = &s->inductions[p].step;
    Pattern pattern = s->patterns[loop_start(s->loop, &block->phis.data[p])];
    pattern.depends |= 1 << INDEX_ROUND;
    pattern.slope[INDEX_ROUND] = step->constant;
    pattern.unknown |= step->term_count ? 1 << INDEX_ROUND : 0;
    return pattern;
}

static void block_patterns(Staging *s, const Block *block)
{
    for (size_t p = 0; p < block->phis.count; p++)
        s->patterns[block->phis.data[p].dst] = phi_pattern(s, block, p);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                s->patterns[inst->refs[r].reg] =
                    is_common(s, inst->refs[r].reg) ? constant_pattern : inst_pattern(s, inst);
}

void stage_find_patterns(Staging *s)
{
    const Dominance *dominance = s->dominance;
    uint32_t number = 0;
    s->patterns = ARENA_ARRAY(s->scratch, Pattern, s->values->reg_count);
    s->inductions = ARENA_ARRAY(s->scratch, Induction, s->loop->header->phis.count);
    s->order = ARENA_ARRAY(s->scratch, uint32_t, s->body->blocks.count);
    for (uint32_t i = 0; i < dominance->order_count; i++) {
        Block *block = s->body->blocks.data[dominance->order[i]];
        s->order[block->id] = number++;
        for (Inst *inst = block->first; inst; inst = inst->next)
            inst->id = number++;
        block_patterns(s, block);
    }
}
