/* The sums that registers hold.
 *
 * They are found twice, down the dominator tree. First each phi is a base. If what a phi of a loop's header gets from
 * the loop is then the phi plus something that is the same in all rounds, it is, the second time, its first value plus
 * the round times that step. A phi where paths meet is the sum that its arguments have in common, and a base for the
 * rest. */
#include "analysis/patterns/internal.h"

static PatternSum *sums_of(const Finder *finder)
{
    return finder->is_first ? finder->first : finder->patterns->sums;
}

static int64_t extended(uint64_t value, unsigned bits)
{
    return bits == 64 ? (int64_t)value : (int64_t)(int32_t)(uint32_t)value;
}

static PatternSum base_sum(const Finder *finder, const PatternBase *base)
{
    const Terms sum = terms_of_base(pattern_base(finder->patterns, finder->arena, base));
    return terms_store(finder->arena, &sum);
}

/* A base that is known to be new. */
static Terms base_new(const Finder *finder, const PatternBase *base)
{
    const size_t number = finder->patterns->bases.count;
    if (number > UINT16_MAX)
        return (Terms){.known = false};
    VEC_PUSH(finder->arena, finder->patterns->bases, *base);
    return terms_of_base((uint16_t)number);
}

/* The register itself, as the base that it is. */
static PatternSum value_sum(const Finder *finder, RegId reg)
{
    const Reg *r = &finder->request->body->regs.data[reg];
    const unsigned bits = type_bits(r->type);
    uint16_t *base = &finder->value_bases[reg];
    if ((bits != 32 && bits != 64) || r->vector > 1)
        return (PatternSum){0};
    if (!*base)
        *base = base_new(finder, &(PatternBase){.kind = PATTERN_BASE_VALUE, .reg = reg, .depends = finder->depends[reg],
                                                .block = finder->request->values->defs[reg].block}).terms[0].factors[0];
    const Terms sum = terms_of_base(*base);
    return terms_store(finder->arena, &sum);
}

/* A source of which the instruction reads all bits that count. */
static const PatternSum *source_sum(const Finder *finder, const ComputeSource *source)
{
    const bool is_whole = source->bits == source->reg_bits || source->bits == 32;
    return source->reg != REG_NONE && is_whole ? &sums_of(finder)[source->reg] : NULL;
}

/* Whether it selects one of two values in each thread or round anew. */
static bool selects_own(const Finder *finder, const Computation *c)
{
    return c->op == COMPUTE_SELECT && c->sources[0].reg != REG_NONE &&
           finder->depends[c->result] & ~PATTERN_BLOCKS;
}

/* The sum that the instruction computes; false if it does not compute one. */
static bool computed_sum(const Finder *finder, const Inst *inst, Terms *out)
{
    Computation c;
    Bounds bounds[COMPUTE_SOURCES];
    ComputedSum sum;
    if (!computation_of(finder->request->body, inst, &c) || (c.bits != 32 && c.bits != 64))
        return false;
    if (finder->request->through_selects && selects_own(finder, &c)) {
        *out = terms_of(&sums_of(finder)[c.sources[0].reg]);
        return out->known;
    }
    for (unsigned i = 0; i < c.source_count; i++)
        bounds[i] = c.sources[i].is_constant        ? bounds_point(c.sources[i].bits, c.sources[i].constant)
                    : c.sources[i].reg == REG_NONE ? bounds_any(c.sources[i].bits)
                                                   : affine_reg_bounds(finder->request->affine, c.sources[i].reg);
    if (!computation_sum(&c, bounds, &sum))
        return false;
    *out = terms_of_constant(0);
    if (sum.has_product) {
        const PatternSum *a = source_sum(finder, &c.sources[sum.factors[0]]);
        const PatternSum *b = source_sum(finder, &c.sources[sum.factors[1]]);
        if (!a || !b)
            return false;
        terms_multiply(out, a, b);
    }
    out->constant += extended(sum.constant, sum.bits);
    for (unsigned t = 0; t < sum.term_count; t++) {
        const PatternSum *source = source_sum(finder, &c.sources[sum.terms[t].source]);
        if (!source)
            return false;
        terms_add(out, source, extended(sum.terms[t].factor, sum.bits));
    }
    return out->known;
}

static PatternSum term_sum(const Finder *finder, const AffineTerm *term)
{
    const PatternMask thread = term->base == AFFINE_SREG && term->sreg->axis <= SREG_AXIS_Z
                                   ? (PatternMask)1 << term->sreg->axis
                                   : 0;
    switch (term->base) {
    case AFFINE_VALUE:
    case AFFINE_SIGNED: return sums_of(finder)[term->reg];
    case AFFINE_SYMBOL: return base_sum(finder, &(PatternBase){.kind = PATTERN_BASE_SYMBOL, .object = term->variable});
    case AFFINE_WINDOW: return base_sum(finder, &(PatternBase){.kind = PATTERN_BASE_WINDOW, .offset = term->offset});
    case AFFINE_PARAM:
        return base_sum(finder, &(PatternBase){.kind = PATTERN_BASE_PARAM, .object = term->variable, .reg = term->reg,
                                               .offset = term->offset});
    case AFFINE_SREG: break;
    }
    PatternBase base = {.kind = PATTERN_BASE_SREG, .object = term->sreg};
    if (term->sreg->role == SREG_ROLE_TID)
        base.depends = thread << PATTERN_X;
    else if (term->sreg->role == SREG_ROLE_CTAID)
        base.depends = thread << PATTERN_BLOCK_X;
    else if (!sreg_is_common(term->sreg))
        base.depends = PATTERN_THREADS | PATTERN_BLOCKS;
    else if (term->sreg->dependence == SREG_BLOCK)
        base.depends = PATTERN_BLOCKS;
    return base_sum(finder, &base);
}

/* An address, special register or parameter, by its affine sum. */
static bool leaf_sum(const Finder *finder, const AffineForm *form, RegId itself, Terms *out)
{
    *out = terms_of_constant(form->constant);
    if (!form->bits)
        return false;
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        if ((term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED) && term->reg == itself)
            return false;
        const PatternSum sum = term_sum(finder, term);
        terms_add(out, &sum, term->coefficient);
    }
    return out->known;
}

static PatternSum result_sum(const Finder *finder, const Inst *inst, RegId result)
{
    Terms sum;
    if (inst_destination(inst) != result || !inst_is_plain(inst))
        return value_sum(finder, result);
    if (computed_sum(finder, inst, &sum))
        return terms_store(finder->arena, &sum);
    Computation c;
    if (!computation_of(finder->request->body, inst, &c) &&
        leaf_sum(finder, &finder->request->affine->forms[result], result, &sum))
        return terms_store(finder->arena, &sum);
    return value_sum(finder, result);
}

/* The same terms with what phis have turned out to be. */
static PatternSum rewritten(const Finder *finder, const Terms *terms)
{
    Terms sum = terms_of_constant(terms->constant);
    for (unsigned t = 0; t < terms->count; t++) {
        const Terms one = terms_of_constant(terms->terms[t].coefficient);
        PatternSum product = terms_store(finder->scratch, &one);
        for (unsigned f = 0; f < PATTERN_FACTORS && terms->terms[t].factors[f]; f++) {
            const uint16_t number = terms->terms[t].factors[f];
            const PatternBase *base = &finder->patterns->bases.data[number];
            const PatternSum *now = base->kind == PATTERN_BASE_VALUE ? &finder->patterns->sums[base->reg] : NULL;
            const Terms same = terms_of_base(number);
            const PatternSum factor = now && now->known ? *now : terms_store(finder->scratch, &same);
            Terms next;
            terms_multiply(&next, &product, &factor);
            product = terms_store(finder->scratch, &next);
        }
        terms_add(&sum, &product, 1);
    }
    return terms_store(finder->scratch, &sum);
}

static bool terms_depend(const Patterns *patterns, const Terms *terms, PatternMask on)
{
    for (unsigned t = 0; t < terms->count; t++)
        for (unsigned f = 0; f < PATTERN_FACTORS && terms->terms[t].factors[f]; f++)
            if (patterns->bases.data[terms->terms[t].factors[f]].depends & on)
                return true;
    return false;
}

/* The step of the phi in each round; false if that is not the same each time. */
static bool find_step(const Finder *finder, const Loop *loop, const Phi *phi, PatternSum *step)
{
    const PatternSum *next = NULL;
    for (size_t a = 0; a < phi->args.count; a++) {
        if (!loop_contains(finder->request->loops, loop, phi->args.data[a].pred))
            continue;
        const PatternSum *sum = &finder->first[phi->args.data[a].reg];
        if (next && !pattern_sums_equal(sum, next))
            return false;
        next = sum;
    }
    if (!next || !next->known)
        return false;
    Terms grown = terms_of(next);
    terms_add(&grown, &finder->first[phi->dst], -1);
    if (!grown.known || terms_depend(finder->patterns, &grown, pattern_loop_bit(loop)))
        return false;
    *step = rewritten(finder, &grown);
    return step->known;
}

/* The loop whose rounds the terms count: the only base in which they differ, and how much each is. */
static const Loop *counted_loop(const Patterns *patterns, const Terms *terms, const Block *at, int64_t *each)
{
    const Loop *found = NULL;
    for (unsigned t = 0; t < terms->count; t++) {
        const PatternBase *base = &patterns->bases.data[terms->terms[t].factors[0]];
        const Loop *loop = base->kind == PATTERN_BASE_ROUND ? base->object : NULL;
        if (!loop || terms->terms[t].factors[1] || loop_contains(patterns->loops, loop, at) || found)
            return NULL;
        found = loop;
        *each = terms->terms[t].coefficient;
    }
    return found;
}

/* The sum of a phi that joins paths: 'header': of those from outside the loop. */
static PatternSum joined(const Finder *finder, const Block *block, const Phi *phi, const Loop *header)
{
    const PatternSum *sums = sums_of(finder), *first = NULL;
    bool all_equal = true;
    for (size_t a = 0; a < phi->args.count; a++) {
        const PatternSum *sum = &sums[phi->args.data[a].reg];
        if (header && loop_contains(finder->request->loops, header, phi->args.data[a].pred))
            continue;
        if (!sum->known)
            return value_sum(finder, phi->dst);
        all_equal &= !first || pattern_sums_equal(sum, first);
        first = first ? first : sum;
    }
    if (!first || (all_equal && !finder->is_first))
        return first ? *first : value_sum(finder, phi->dst);
    if (finder->is_first || header)
        return value_sum(finder, phi->dst);
    bool same_constant = true;
    for (size_t a = 0; a < phi->args.count; a++)
        same_constant &= sums[phi->args.data[a].reg].constant == first->constant;
    Terms common = terms_of_constant(same_constant ? first->constant : 0);
    PatternBase base = {
        .kind = PATTERN_BASE_JOIN, .reg = phi->dst, .block = block, .depends = finder->joins[block->id]};
    for (unsigned t = 0; t < first->term_count; t++) {
        bool everywhere = true;
        for (size_t a = 0; a < phi->args.count && everywhere; a++) {
            const PatternSum *sum = &sums[phi->args.data[a].reg];
            unsigned i = 0;
            while (i < sum->term_count && (pattern_terms_compare(&sum->terms[i], &first->terms[t]) ||
                                           sum->terms[i].coefficient != first->terms[t].coefficient))
                i++;
            everywhere = i < sum->term_count;
        }
        if (everywhere)
            terms_add_term(&common, &first->terms[t], 1);
    }
    const PatternSum shared = terms_store(finder->scratch, &common);
    for (size_t a = 0; a < phi->args.count; a++) {
        Terms rest = terms_of(&sums[phi->args.data[a].reg]);
        PatternMask unknown;
        terms_add(&rest, &shared, -1);
        const PatternSum apart = terms_store(finder->scratch, &rest);
        base.depends |= pattern_depends(finder->patterns, &apart, block, &unknown);
        base.after = base.after ? base.after : counted_loop(finder->patterns, &rest, block, &base.each);
    }
    base.offset = shared.term_count || shared.constant;
    const Terms own = base_new(finder, &base);
    terms_add_term(&common, &own.terms[0], own.known);
    common.known &= own.known;
    return terms_store(finder->arena, &common);
}

static PatternSum phi_sum(const Finder *finder, const Block *block, const Phi *phi)
{
    const Loop *loop = loop_headed(finder->request->loops, block);
    PatternSum step;
    if (!loop)
        return joined(finder, block, phi, NULL);
    if (finder->is_first || loop->index >= 64 - PATTERN_LOOPS - 1 || !find_step(finder, loop, phi, &step))
        return value_sum(finder, phi->dst);
    const PatternSum start = joined(finder, block, phi, loop);
    const PatternSum round = base_sum(
        finder, &(PatternBase){.kind = PATTERN_BASE_ROUND, .object = loop, .depends = pattern_loop_bit(loop)});
    Terms sum;
    terms_multiply(&sum, &step, &round);
    terms_add(&sum, &start, 1);
    return sum.known ? terms_store(finder->arena, &sum) : value_sum(finder, phi->dst);
}

static void block_sums(Finder *finder, const Block *block)
{
    PatternSum *sums = sums_of(finder);
    for (size_t p = 0; p < block->phis.count; p++)
        sums[block->phis.data[p].dst] = phi_sum(finder, block, &block->phis.data[p]);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]) && inst->refs[r].reg != REG_NONE)
                sums[inst->refs[r].reg] = result_sum(finder, inst, inst->refs[r].reg);
}

void patterns_find_sums(Finder *finder)
{
    const Body *body = finder->request->body;
    finder->value_bases = ARENA_ARRAY(finder->scratch, uint16_t, body->regs.count + 1);
    finder->first = ARENA_ARRAY(finder->scratch, PatternSum, body->regs.count + 1);
    finder->patterns->sums = ARENA_ARRAY(finder->arena, PatternSum, body->regs.count + 1);
    for (unsigned pass = 0; pass < 2; pass++) {
        finder->is_first = pass == 0;
        for (uint32_t i = 0; i < finder->request->dominance->order_count; i++)
            block_sums(finder, body->blocks.data[finder->request->dominance->order[i]]);
    }
}

PatternSum pattern_address(Finder *finder, const Inst *inst, const Operand *address)
{
    const RegId base = address_base(inst, address);
    AffineAddress affine;
    Terms sum;
    if (base != REG_NONE) {
        sum = terms_of(&finder->patterns->sums[base]);
        sum.constant += address_offset(address);
        return terms_store(finder->arena, &sum);
    }
    affine_of_address(finder->request->affine, inst, address, &affine);
    return leaf_sum(finder, &affine.form, REG_NONE, &sum) ? terms_store(finder->arena, &sum) : (PatternSum){0};
}
