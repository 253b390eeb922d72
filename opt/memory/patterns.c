/* The values of a loop that can be computed for another thread and another round, and the indices that they depend on.
 * This decides what can be staged. Their slopes, which decide what pays, come from analysis/patterns/. */
#include "opt/memory/internal.h"

#include <string.h>

enum { MOST_PARTS = 16 /* of what a round adds to a phi */ };

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

/* Whether one instruction adds a constant, or a register from before the loop. Sets these, and what it adds to. */
static bool is_step_part(const Staging *s, RegId sum, RegId *part, uint64_t *constant, RegId *to)
{
    const Inst *inst = value_inst(s->values, sum);
    Computation c;
    *part = REG_NONE;
    if (computation_matches(s->body, inst, COMPUTE_ADD, 32, "ri", &c) && !c.saturates) {
        *constant += c.sources[1].constant;
        *to = c.sources[0].reg;
        return true;
    }
    if (!computation_matches(s->body, inst, COMPUTE_ADD, 32, "rr", &c) || c.saturates)
        return false;
    const bool is_second = is_outside(s, c.sources[1].reg);
    *part = c.sources[is_second].reg;
    *to = c.sources[!is_second].reg;
    return is_outside(s, *part) && dominance_has(s->dominance, s->values->defs[*part].block, s->loop->preheader);
}

/* A register with what each round adds to a phi of 32 bits, which may be in several parts, as in unrolled loops;
 * REG_NONE, and perhaps some dead code: there is none. */
static RegId narrow_step(const Staging *s, const SumPlace *place, const Phi *phi)
{
    RegId step = REG_NONE, at = phi_argument(phi, s->loop->latches[0]);
    uint64_t constant = 0;
    for (unsigned i = 0; i < MOST_PARTS && at != phi->dst && s->loop->latch_count == 1; i++) {
        RegId part;
        if (!is_step_part(s, at, &part, &constant, &at))
            return REG_NONE;
        if (part == REG_NONE)
            continue;
        if (step != REG_NONE) {
            const RegId sum = sum_reg(place, TYPE_B32, "%step");
            sum_put(place, inst_build(s->body, "add.u32", "drr", sum, step, part));
            part = sum;
        }
        step = part;
    }
    if (at != phi->dst || step == REG_NONE || !(uint32_t)constant)
        return at == phi->dst ? step : REG_NONE;
    const RegId sum = sum_reg(place, TYPE_B32, "%step");
    sum_put(place, inst_build(s->body, "add.u32", "dri", sum, step, (int64_t)(int32_t)(uint32_t)constant));
    return sum;
}

/* A register with a step that is not a constant; false if there can be none. */
static bool build_step(const Staging *s, const Phi *phi, Induction *induction)
{
    induction->reg = REG_NONE;
    if (!induction->step.term_count)
        return true;
    const SumPlace place = sum_place_new(s->body, s->loop->preheader, s->analyses);
    induction->reg = induction->step.bits == 64 ? sum_build(&place, &induction->step) : narrow_step(s, &place, phi);
    return induction->reg != REG_NONE;
}

static bool find_induction(const Staging *s, size_t p)
{
    const Phi *phi = &s->loop->header->phis.data[p];
    Induction *induction = &s->inductions[p];
    unsigned bits = type_bits(s->body->regs.data[phi->dst].type);
    induction->is_found = loop_step(s->loop, phi, analyses_affine(s->analyses), induction->terms, &induction->step) &&
                          induction->step.bits == bits && step_is_common(s, &induction->step) &&
                          build_step(s, phi, induction);
    return induction->is_found;
}

static Pattern phi_pattern(const Staging *s, const Block *block, size_t p)
{
    RegId dst = block->phis.data[p].dst;
    if (is_common(s, dst))
        return constant_pattern;
    if (block != s->loop->header || !find_induction(s, p))
        return (Pattern){0};
    Pattern pattern = s->patterns[loop_start(s->loop, &block->phis.data[p])];
    pattern.depends |= 1 << INDEX_ROUND;
    return pattern;
}

/* The greatest number that divides a sum; with the sign of its first term. */
static int64_t content(const PatternSum *sum)
{
    uint64_t common = sum->constant < 0 ? -(uint64_t)sum->constant : (uint64_t)sum->constant;
    for (unsigned t = 0; t < sum->term_count; t++) {
        const int64_t coefficient = sum->terms[t].coefficient;
        uint64_t other = coefficient < 0 ? -(uint64_t)coefficient : (uint64_t)coefficient;
        while (other) {
            const uint64_t rest = common % other;
            common = other;
            other = rest;
        }
    }
    return sum->term_count && sum->terms[0].coefficient < 0 ? -(int64_t)common : (int64_t)common;
}

/* Whether the two are multiples of the same sum. */
static bool is_proportional(const PatternSum *a, const PatternSum *b)
{
    const int64_t by_a = content(a), by_b = content(b);
    if (a->term_count != b->term_count || a->constant / by_a != b->constant / by_b)
        return false;
    for (unsigned t = 0; t < a->term_count; t++)
        if (memcmp(a->terms[t].factors, b->terms[t].factors, sizeof a->terms[t].factors) ||
            a->terms[t].coefficient / by_a != b->terms[t].coefficient / by_b)
            return false;
    return true;
}

/* Sets the slopes of the register in the indices that it depends on. */
static void set_slopes(const Staging *s, RegId reg, Pattern *pattern)
{
    const Patterns *known = analyses_patterns(s->analyses);
    PatternSum scale = {.known = false};
    for (unsigned i = 0; i < INDEX_COUNT; i++) {
        const unsigned index = i == INDEX_ROUND ? PATTERN_LOOPS + s->loop->index : PATTERN_X + i;
        PatternSum slope;
        if (!(pattern->depends >> i & 1))
            continue;
        const bool found = pattern_slope(s->scratch, known, &known->sums[reg], s->loop->header, index, &slope);
        if (found && pattern_is_number(&slope)) {
            pattern->slope[i] = slope.constant;
            continue;
        }
        pattern->unknown |= (uint8_t)(1 << i);
        pattern->is_mixed |= !found || (scale.known && !is_proportional(&scale, &slope));
        if (!found)
            continue;
        pattern->is_scaled = true;
        pattern->scaled[i] = content(&slope);
        scale = slope;
    }
}

static void set_pattern(const Staging *s, RegId reg, Pattern pattern)
{
    if (pattern.depends)
        set_slopes(s, reg, &pattern);
    s->patterns[reg] = pattern;
}

static void block_patterns(const Staging *s, const Block *block)
{
    for (size_t p = 0; p < block->phis.count; p++)
        set_pattern(s, block->phis.data[p].dst, phi_pattern(s, block, p));
    for (const Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                set_pattern(s, inst->refs[r].reg,
                            is_common(s, inst->refs[r].reg) ? constant_pattern : inst_pattern(s, inst));
}

/* Whether the two are the same sum. */
static bool is_same_sum(const PatternSum *a, const PatternSum *b)
{
    if (a->term_count != b->term_count || a->constant != b->constant)
        return false;
    for (unsigned t = 0; t < a->term_count; t++)
        if (memcmp(a->terms[t].factors, b->terms[t].factors, sizeof a->terms[t].factors) ||
            a->terms[t].coefficient != b->terms[t].coefficient)
            return false;
    return true;
}

bool stage_rounds_alike(const Staging *s)
{
    static const PatternSum constant = {.known = true};
    const Patterns *known = analyses_patterns(s->analyses);
    const RegId start = s->trips.counter.start, bound = s->trips.bound;
    if (!s->patterns[start].is_resolved || (bound != REG_NONE && !s->patterns[bound].is_resolved))
        return false;
    for (unsigned i = PATTERN_X; i <= PATTERN_Z; i++) {
        PatternSum of_start, of_bound = constant;
        if (!pattern_slope(s->scratch, known, &known->sums[start], s->loop->preheader, i, &of_start) ||
            (bound != REG_NONE &&
             !pattern_slope(s->scratch, known, &known->sums[bound], s->loop->preheader, i, &of_bound)) ||
            !is_same_sum(&of_start, &of_bound))
            return false;
    }
    return true;
}

/* The slope of a register in an index, if that is a constant. */
static bool constant_slope(const Staging *s, RegId reg, unsigned index, int64_t *slope)
{
    const Patterns *known = analyses_patterns(s->analyses);
    PatternSum sum = {.known = true};
    const bool is_known =
        reg == REG_NONE || pattern_slope(s->scratch, known, &known->sums[reg], s->loop->preheader, index, &sum);
    *slope = sum.constant;
    return is_known && !sum.term_count;
}

bool stage_rounds_grow(const Staging *s)
{
    const LoopCounter *counter = &s->trips.counter;
    const RegId bound = s->trips.bound;
    if (counter->is_strided || !s->patterns[counter->start].is_resolved ||
        (bound != REG_NONE && !s->patterns[bound].is_resolved))
        return false;
    for (unsigned i = PATTERN_X; i <= PATTERN_Z; i++) {
        int64_t of_start, of_bound;
        if (constant_slope(s, counter->start, i, &of_start) && constant_slope(s, bound, i, &of_bound) &&
            (counter->step > 0 ? of_bound < of_start : of_bound > of_start))
            return false;
    }
    return true;
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
