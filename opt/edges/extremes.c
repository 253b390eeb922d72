/* See extremes.h.
 *
 * A counter grows by a constant each time round, from a start, as long as a comparison at an exit lets it:
 *
 *     do ... while (c + k < end), c += step     start <= c <= max(start, end - 1 - k + step)
 *
 * That is shown by induction over the rounds, given that neither the counter nor what is compared wraps, which the test
 * checks as well. If the exit asks another counter of the loop, both grow in proportion.
 *
 * Requires SSA form, values, loops, dominance. Changes nothing but the place that code is added to. */
#include "opt/edges/extremes.h"

enum {
    DEPTH_MOST = 8,            /* instructions that a sum is followed through */
    STEPS_MOST = 64,           /* sums that one requirement may lead to */
    FACTOR_MOST = 1 << 16,
};

static const int64_t CONSTANT_MOST = INT64_C(1) << 40;

Extremes extremes_new(Arena *scratch, Body *body, Analyses *analyses, const BitSet *own, const BitSet *inside)
{
    RegId *values = ARENA_ARRAY(scratch, RegId, body->regs.count);
    for (size_t reg = 0; reg < body->regs.count; reg++)
        values[reg] = REG_NONE;
    return (Extremes){.scratch = scratch,
                      .body = body,
                      .values = analyses_values(analyses),
                      .loops = analyses_loops(analyses),
                      .dominance = analyses_dominance(analyses),
                      .own = own,
                      .inside = inside,
                      .clamped = values,
                      .counters = ARENA_ARRAY(scratch, Counter *, body->regs.count),
                      .unknown = bitset_new(scratch, body->regs.count)};
}

/* A value that the region makes, or that nothing does. */
static bool is_inside(const Extremes *e, RegId reg)
{
    const Block *block = e->values->defs[reg].block;
    return !block || bitset_has(e->inside, block->id);
}

static bool add_constant(Linear *sum, int64_t constant)
{
    sum->constant += constant;
    return sum->constant <= CONSTANT_MOST && sum->constant >= -CONSTANT_MOST;
}

/* False if the sum has too many terms, or too large ones. */
static bool add_term(Linear *sum, RegId reg, int64_t factor)
{
    unsigned i = 0;
    while (i < sum->count && sum->terms[i].reg != reg)
        i++;
    if (i == LINEAR_TERMS)
        return false;
    if (i == sum->count)
        sum->terms[sum->count++] = (LinearTerm){reg, 0};
    const int64_t whole = sum->terms[i].factor += factor;
    if (!whole)
        sum->terms[i] = sum->terms[--sum->count];
    return whole <= FACTOR_MOST && whole >= -FACTOR_MOST;
}

static bool add_linear(Linear *sum, const Linear *other, int64_t factor)
{
    for (unsigned i = 0; i < other->count; i++)
        if (!add_term(sum, other->terms[i].reg, other->terms[i].factor * factor))
            return false;
    return add_constant(sum, other->constant * factor);
}

/* The sum that an instruction computes of registers of 32 bits; false if it does anything else. */
static bool sum_of(const Extremes *e, RegId reg, Computation *c, ComputedSum *sum)
{
    const Inst *inst = value_inst(e->values, reg);
    Bounds any[COMPUTE_SOURCES];
    if (!inst || !computation_of(e->body, inst, c) || c->bits != 32 || c->reg_bits != 32)
        return false;
    for (unsigned s = 0; s < c->source_count; s++)
        any[s] = c->sources[s].is_constant ? bounds_point(c->sources[s].bits, c->sources[s].constant)
                                           : bounds_any(c->sources[s].bits);
    if (!computation_sum(c, any, sum) || sum->has_product || sum->bits != 32)
        return false;
    for (unsigned t = 0; t < sum->term_count; t++) {
        const ComputeSource *source = &c->sources[sum->terms[t].source];
        if (source->reg == REG_NONE || source->bits != 32 || source->reg_bits != 32)
            return false;
    }
    return true;
}

static bool add_reg(const Extremes *e, Linear *sum, RegId reg, int64_t factor, unsigned depth)
{
    Computation c;
    ComputedSum parts;
    while (e->clamped[reg] != REG_NONE)
        reg = e->clamped[reg];
    if (!depth || !sum_of(e, reg, &c, &parts))
        return add_term(sum, reg, factor);
    for (unsigned t = 0; t < parts.term_count; t++) {
        const int64_t part = (int32_t)parts.terms[t].factor;
        if (part > FACTOR_MOST || part < -FACTOR_MOST ||
            !add_reg(e, sum, c.sources[parts.terms[t].source].reg, factor * part, depth - 1))
            return false;
    }
    return add_constant(sum, factor * (int32_t)parts.constant);
}

static bool linear_of(const Extremes *e, RegId reg, Linear *out)
{
    *out = (Linear){0};
    return type_bits(e->body->regs.data[reg].type) == 32 && add_reg(e, out, reg, 1, DEPTH_MOST);
}

/* The same of an operand of a comparison. */
static bool linear_of_source(const Extremes *e, const ComputeSource *source, Linear *out)
{
    if (source->bits != 32)
        return false;
    if (!source->is_constant)
        return source->reg != REG_NONE && linear_of(e, source->reg, out);
    *out = (Linear){.constant = (int32_t)source->constant};
    return true;
}

static bool has_same_terms(const Linear *a, const Linear *b)
{
    for (unsigned i = 0; i < a->count; i++) {
        unsigned j = 0;
        while (j < b->count && (b->terms[j].reg != a->terms[i].reg || b->terms[j].factor != a->terms[i].factor))
            j++;
        if (j == b->count)
            return false;
    }
    return a->count == b->count;
}

/* Adds a sum to those of which the least matters, or the greatest. */
static void add_bound(const Extremes *e, LinearVec *bounds, const Linear *sum, bool is_least)
{
    for (size_t i = 0; i < bounds->count; i++) {
        int64_t *constant = &bounds->data[i].constant;
        if (!has_same_terms(&bounds->data[i], sum))
            continue;
        if (is_least == (sum->constant < *constant))
            *constant = sum->constant;
        return;
    }
    VEC_PUSH(e->scratch, *bounds, *sum);
}

static const Counter *counter_of(Extremes *e, RegId reg);

/* Requires the sum not to be negative, in any round. */
static bool require_sum(Extremes *e, const Linear *sum)
{
    LinearVec work = {0};
    VEC_PUSH(e->scratch, work, *sum);
    for (unsigned steps = 0; work.count; steps++) {
        Linear rest = VEC_POP(work);
        unsigned i = 0;
        while (i < rest.count && !is_inside(e, rest.terms[i].reg))
            i++;
        if (i == rest.count) {
            if (!rest.count && rest.constant < 0)
                return false;
            add_bound(e, &e->sums, &rest, true);
            continue;
        }
        const LinearTerm term = rest.terms[i];
        const Counter *counter = counter_of(e, term.reg);
        const LinearVec *bounds = !counter ? NULL : term.factor > 0 ? &counter->low : &counter->high;
        if (!bounds || !bounds->count || steps > STEPS_MOST || !add_term(&rest, term.reg, -term.factor))
            return false;
        for (size_t b = 0; b < bounds->count; b++) {
            VEC_PUSH(e->scratch, work, rest);
            if (!add_linear(&VEC_LAST(work), &bounds->data[b], term.factor))
                return false;
        }
    }
    return true;
}

/* a + gap <= b. */
static bool require_order(Extremes *e, const Linear *a, const Linear *b, int64_t gap)
{
    Linear distance = *b;
    return add_linear(&distance, a, -1) && add_constant(&distance, -gap) && require_sum(e, &distance);
}

static const Linear least = {.constant = INT32_MIN}, most = {.constant = INT32_MAX}, zero;

/* The sum is a constant, or a register that is known before the loop, so it does not wrap. */
static bool is_exact(const Extremes *e, const Linear *sum)
{
    return !sum->count ||
           (sum->count == 1 && sum->terms[0].factor == 1 && !sum->constant && !is_inside(e, sum->terms[0].reg));
}

/* Requires that the sum does not wrap. */
static bool require_range(Extremes *e, const Linear *sum)
{
    return is_exact(e, sum) || (require_order(e, &least, sum, 0) && require_order(e, sum, &most, 0));
}

/* A comparison of values of 32 bits. */
typedef struct Comparison {
    Linear left, right;
    Relation relation;
} Comparison;

/* The comparison that holds if the predicate has this value; false: it is not made by one. */
static bool comparison_find(const Extremes *e, RegId predicate, bool holds, Computation *c)
{
    const Inst *inst = value_inst(e->values, predicate);
    if (!inst || !computation_of(e->body, inst, c) || !computation_is_comparison(c, 32))
        return false;
    c->relation = holds ? c->relation : relation_negated(c->relation);
    return true;
}

/* Its operands, which are required not to be negative if they are unsigned. */
static bool comparison_take(Extremes *e, const Computation *c, Comparison *out)
{
    out->relation = c->relation;
    if (!linear_of_source(e, &c->sources[0], &out->left) || !linear_of_source(e, &c->sources[1], &out->right))
        return false;
    const bool is_equality = c->relation == RELATION_EQUAL || c->relation == RELATION_NOT_EQUAL;
    return c->is_signed || is_equality ||
           (require_order(e, &zero, &out->left, 0) && require_order(e, &zero, &out->right, 0));
}

/* The constant by which the phi grows at each latch; 0: it does not. */
static int64_t step_of(const Extremes *e, const Loop *loop, const Phi *phi)
{
    int64_t step = 0;
    for (size_t a = 0; a < phi->args.count; a++) {
        Linear next;
        if (!loop_contains(e->loops, loop, phi->args.data[a].pred))
            continue;
        if (!linear_of(e, phi->args.data[a].reg, &next) || next.count != 1 || next.terms[0].reg != phi->dst ||
            next.terms[0].factor != 1 || (step && step != next.constant))
            return 0;
        step = next.constant;
    }
    return step;
}

/* The values that the phi may start with, or, where paths meet, have. */
static bool starts_find(const Extremes *e, const Loop *loop, const Phi *phi, Counter *out)
{
    for (size_t a = 0; a < phi->args.count; a++) {
        Linear start;
        if (loop && loop_contains(e->loops, loop, phi->args.data[a].pred))
            continue;
        if (!linear_of(e, phi->args.data[a].reg, &start))
            return false;
        add_bound(e, &out->low, &start, true);
        add_bound(e, &out->high, &start, false);
    }
    return out->low.count > 0;
}

/* Whether the loop goes round only by way of the block, which decides whether it does; *stays_if: how. */
static bool decides_round(const Extremes *e, const Loop *loop, const Block *block, bool *stays_if)
{
    const Inst *branch = block_two_way_branch(block);
    if (!branch)
        return false;
    const bool taken = loop_contains(e->loops, loop, branch->targets[0]);
    if (taken == loop_contains(e->loops, loop, block->fall))
        return false;
    for (uint32_t l = 0; l < loop->latch_count; l++)
        if (!dominance_has(e->dominance, block, loop->latches[l]))
            return false;
    *stays_if = taken != branch->guard_inverted;
    return true;
}

/* From all of which the end is reached in steps. */
static bool is_reached(Extremes *e, const LinearVec *starts, const Linear *end, int64_t step)
{
    const int64_t size = step < 0 ? -step : step;
    for (size_t s = 0; s < starts->count; s++) {
        Linear distance = *end;
        if (!add_linear(&distance, &starts->data[s], -1) || distance.constant % size)
            return false;
        for (unsigned t = 0; t < distance.count; t++)
            if (distance.terms[t].factor % size)
                return false;
        const Linear *from = step > 0 ? &starts->data[s] : end, *to = step > 0 ? end : &starts->data[s];
        if (!require_order(e, from, to, 0))
            return false;
    }
    return true;
}

/* The bound at the counter's end, from a comparison that holds if the loop goes round again. */
static bool end_find(Extremes *e, const Phi *phi, int64_t step, const Comparison *test, Counter *out)
{
    Linear end = test->right;
    Relation relation = test->relation;
    if (!add_linear(&end, &test->left, -1))
        return false;
    int64_t factor = 0;
    for (unsigned t = 0; t < end.count; t++)
        factor = end.terms[t].reg == phi->dst ? end.terms[t].factor : factor;
    if ((factor != 1 && factor != -1) || !add_term(&end, phi->dst, -factor))
        return false;
    if (factor > 0) {
        const Linear opposite = end;
        end = (Linear){0};
        relation = relation_swapped(relation);
        if (!add_linear(&end, &opposite, -1))
            return false;
    }
    const Relation strict = step > 0 ? RELATION_LESS : RELATION_GREATER,
                   loose = step > 0 ? RELATION_LESS_EQUAL : RELATION_GREATER_EQUAL;
    LinearVec *far = step > 0 ? &out->high : &out->low;
    if (relation == RELATION_NOT_EQUAL ? !is_reached(e, far, &end, step) : relation != strict && relation != loose)
        return false;
    const int64_t beyond = relation == RELATION_NOT_EQUAL ? 0 : relation == loose ? step : step - (step > 0 ? 1 : -1);
    if (!add_constant(&end, beyond))
        return false;
    add_bound(e, far, &end, step < 0);
    return true;
}

/* Forgets what has been found, as it may rest on the bounds of a counter that could not be shown. */
static void counters_forget(Extremes *e, RegId counter)
{
    for (size_t reg = 0; reg < e->body->regs.count; reg++)
        e->counters[reg] = NULL;
    bitset_add(&e->unknown, counter);
}

/* A counter whose rounds an exit limits by comparing it. */
static bool limit_by_exit(Extremes *e, const Loop *loop, const Phi *phi, int64_t step, Counter *out)
{
    const Linear self = {.count = 1, .terms = {{phi->dst, 1}}};
    for (uint32_t b = 0; b < loop->block_count; b++) {
        bool stays_if;
        Computation c;
        Comparison test;
        Counter found = {.is_known = true};
        if (!decides_round(e, loop, loop->blocks[b], &stays_if) ||
            !comparison_find(e, inst_predicate(loop->blocks[b]->last), stays_if, &c) ||
            !linear_of_source(e, &c.sources[0], &test.left) || !linear_of_source(e, &c.sources[1], &test.right))
            continue;
        test.relation = c.relation;
        if (!starts_find(e, loop, phi, &found) || !end_find(e, phi, step, &test, &found))
            continue;
        *out = found; /* by induction: what is required now may rest on it */
        if (comparison_take(e, &c, &test) && require_range(e, &test.left) && require_range(e, &test.right) &&
            require_order(e, &least, &self, 0) && require_order(e, &self, &most, 0))
            return true;
        counters_forget(e, phi->dst);
        *out = (Counter){0};
    }
    return false;
}

/* A counter that grows in proportion to another one, which an exit limits. */
static bool limit_by_other(Extremes *e, const Loop *loop, const Phi *phi, int64_t step, Counter *out)
{
    Counter own = {0};
    if (!starts_find(e, loop, phi, &own) || own.low.count != 1 || own.low.data[0].constant != own.high.data[0].constant)
        return false;
    for (size_t p = 0; p < loop->header->phis.count; p++) {
        const Phi *other = &loop->header->phis.data[p];
        const int64_t other_step = step_of(e, loop, other);
        Counter theirs = {0}, limited = {0};
        Linear value = own.low.data[0];
        if (other == phi || !other_step || step % other_step || !starts_find(e, loop, other, &theirs) ||
            theirs.low.count != 1 || theirs.low.data[0].constant != theirs.high.data[0].constant ||
            !limit_by_exit(e, loop, other, other_step, &limited))
            continue;
        const int64_t ratio = step / other_step;
        if (!add_linear(&value, &theirs.low.data[0], -ratio) || !add_term(&value, other->dst, ratio))
            continue;
        VEC_PUSH(e->scratch, out->low, value);
        VEC_PUSH(e->scratch, out->high, value);
        return out->is_known = true;
    }
    return false;
}

static void counter_find(Extremes *e, RegId reg, Counter *out)
{
    const ValueDef *def = &e->values->defs[reg];
    if (!def->block || def->inst || type_bits(e->body->regs.data[reg].type) != 32)
        return;
    const Phi *phi = &def->block->phis.data[def->phi];
    const Loop *loop = loop_headed(e->loops, def->block);
    if (!loop) {
        out->is_known = starts_find(e, NULL, phi, out);
        return;
    }
    const int64_t step = step_of(e, loop, phi);
    if (step && !limit_by_exit(e, loop, phi, step, out))
        limit_by_other(e, loop, phi, step, out);
}

/* NULL: the register is not a counter whose bounds are known. */
static const Counter *counter_of(Extremes *e, RegId reg)
{
    Counter *counter = e->counters[reg];
    if (!counter && !bitset_has(&e->unknown, reg)) {
        counter = e->counters[reg] = ARENA_NEW(e->scratch, Counter);
        counter_find(e, reg, counter);
    }
    return counter && counter->is_known ? counter : NULL;
}

/* Requires a register not to be negative. */
static bool require_positive(Extremes *e, RegId reg, unsigned depth)
{
    Computation c;
    Linear sum;
    const Inst *inst = value_inst(e->values, reg);
    if (depth && computation_matches(e->body, inst, COMPUTE_OR, 32, "rr", &c))
        return require_positive(e, c.sources[0].reg, depth - 1) && require_positive(e, c.sources[1].reg, depth - 1);
    return linear_of(e, reg, &sum) && require_order(e, &zero, &sum, 0) && require_range(e, &sum);
}

/* Requires left + gap <= right. Neither wraps if the left one is not too low and the right one not too high. */
static bool require_relation(Extremes *e, const Linear *left, const Linear *right, int64_t gap)
{
    return require_order(e, left, right, gap) && (is_exact(e, left) || require_order(e, &least, left, 0)) &&
           (is_exact(e, right) || require_order(e, right, &most, 0));
}

static bool require_comparison(Extremes *e, const Computation *c)
{
    Comparison test;
    const ComputeSource *right = &c->sources[1];
    if (c->is_signed && right->is_constant && c->sources[0].reg != REG_NONE &&
        ((c->relation == RELATION_GREATER_EQUAL && !right->constant) ||
         (c->relation == RELATION_GREATER && (int32_t)right->constant == -1)))
        return require_positive(e, c->sources[0].reg, DEPTH_MOST);
    if (!comparison_take(e, c, &test))
        return false;
    switch (test.relation) {
    case RELATION_LESS: return require_relation(e, &test.left, &test.right, 1);
    case RELATION_LESS_EQUAL: return require_relation(e, &test.left, &test.right, 0);
    case RELATION_GREATER: return require_relation(e, &test.right, &test.left, 1);
    case RELATION_GREATER_EQUAL: return require_relation(e, &test.right, &test.left, 0);
    default: return false;
    }
}

bool extremes_require_clamp(Extremes *e, const Clamp *clamp)
{
    Computation c;
    Linear value, other;
    if (!computation_of(e->body, clamp->inst, &c))
        return false;
    const unsigned own = c.sources[0].reg == clamp->value ? 0 : 1;
    if (!linear_of_source(e, &c.sources[own], &value) || !linear_of_source(e, &c.sources[!own], &other) ||
        !require_range(e, &value) || !require_range(e, &other))
        return false;
    if (c.op == COMPUTE_MIN ? !require_order(e, &value, &other, 0) : !require_order(e, &other, &value, 0))
        return false;
    e->clamped[clamp->result] = clamp->value;
    return true;
}

static bool require_parts(Extremes *e, RegId predicate, bool value, unsigned depth)
{
    Computation c;
    if (!is_inside(e, predicate)) {
        VEC_PUSH(e->scratch, e->conditions, ((EarlyCondition){predicate, value}));
        return true;
    }
    if (comparison_find(e, predicate, value, &c))
        return require_comparison(e, &c);
    const Inst *inst = value_inst(e->values, predicate);
    if (!depth || !inst || !computation_of(e->body, inst, &c) || c.bits != 1 || c.reg_bits != 1)
        return false;
    if (c.op != COMPUTE_COPY && c.op != COMPUTE_NOT && c.op != (value ? COMPUTE_AND : COMPUTE_OR))
        return false;
    for (unsigned s = 0; s < c.source_count; s++) {
        const bool is_opposite = c.sources[s].is_inverted != (c.op == COMPUTE_NOT);
        if (c.sources[s].reg == REG_NONE || !require_parts(e, c.sources[s].reg, value != is_opposite, depth - 1))
            return false;
    }
    return true;
}

bool extremes_require(Extremes *e, RegId predicate, bool value)
{
    return require_parts(e, predicate, value, DEPTH_MOST);
}

/* sum + factor * register, of 64 bits, to which the register is extended; 'sum' may be REG_NONE. */
static RegId term_add(const SumPlace *place, RegId sum, const LinearTerm *term, int64_t sign)
{
    const int64_t factor = sign * term->factor;
    RegId product = sum_extend(place, term->reg, true, "%wide"), next;
    if (factor != 1 && (factor != -1 || sum == REG_NONE)) {
        next = sum_reg(place, TYPE_B64, "%wide");
        sum_put(place, inst_build(place->body, "mul.lo.s64", "dri", next, product, factor));
        product = next;
    }
    if (sum == REG_NONE)
        return product;
    next = sum_reg(place, TYPE_B64, "%extreme");
    sum_put(place, inst_build(place->body, factor == -1 ? "sub.s64" : "add.s64", "drr", next, sum, product));
    return next;
}

/* The term that differs between threads, if the sum has it once; 'count': there is none. */
static unsigned own_term(const Extremes *e, const Linear *sum)
{
    for (unsigned t = 0; t < sum->count; t++)
        if (bitset_has(e->own, sum->terms[t].reg) && (sum->terms[t].factor == 1 || sum->terms[t].factor == -1))
            return t;
    return sum->count;
}

/* A predicate that tells whether the sum is not negative. The thread's own term is compared with the sum of the others,
 * which replicas then compute once. */
static RegId sign_build(const Extremes *e, const SumPlace *place, const Linear *linear)
{
    const unsigned own = own_term(e, linear);
    const int64_t sign = own == linear->count || linear->terms[own].factor < 0 ? 1 : -1;
    RegId sum = REG_NONE, holds = sum_reg(place, TYPE_PRED, "%inner");
    for (unsigned t = 0; t < linear->count; t++)
        if (t != own)
            sum = term_add(place, sum, &linear->terms[t], sign);
    const int64_t constant = sign * linear->constant;
    if (own == linear->count) {
        sum_put(place, inst_build(place->body, "setp.ge.s64", "dri", holds, sum, -constant));
        return holds;
    }
    const RegId wide = sum_extend(place, linear->terms[own].reg, true, "%wide");
    const RegId all = sum == REG_NONE || !constant ? sum : sum_reg(place, TYPE_B64, "%extreme");
    if (all != sum)
        sum_put(place, inst_build(place->body, "add.s64", "dri", all, sum, constant));
    const char *relation = sign > 0 ? "setp.le.s64" : "setp.ge.s64";
    sum_put(place, all == REG_NONE ? inst_build(place->body, relation, "dri", holds, wide, constant)
                                   : inst_build(place->body, relation, "drr", holds, wide, all));
    return holds;
}

static RegId join(const SumPlace *place, RegId all, RegId holds)
{
    if (all == REG_NONE)
        return holds;
    const RegId both = sum_reg(place, TYPE_PRED, "%inner");
    sum_put(place, inst_build(place->body, "and.pred", "drr", both, all, holds));
    return both;
}

/* Whether the first sum is not negative where the other (NULL: none) is not, whatever the registers are. */
static bool is_implied(const Linear *sum, const Linear *other)
{
    Linear rest = *sum;
    if (other && !add_linear(&rest, other, -1))
        return false;
    int64_t low = rest.constant;
    for (unsigned t = 0; t < rest.count; t++)
        low += rest.terms[t].factor * (rest.terms[t].factor > 0 ? INT32_MIN : INT32_MAX);
    return low >= 0;
}

/* Drops what the others imply. */
static void sums_reduce(LinearVec *sums)
{
    for (size_t i = sums->count; i--;) {
        bool is_needless = is_implied(&sums->data[i], NULL);
        for (size_t j = 0; j < sums->count && !is_needless; j++)
            is_needless = i != j && is_implied(&sums->data[i], &sums->data[j]);
        if (is_needless)
            sums->data[i] = sums->data[--sums->count];
    }
}

RegId extremes_build(Extremes *e, const SumPlace *place)
{
    sums_reduce(&e->sums);
    RegId all = REG_NONE;
    for (size_t i = 0; i < e->conditions.count; i++) {
        RegId holds = e->conditions.data[i].predicate;
        if (!e->conditions.data[i].value) {
            holds = sum_reg(place, TYPE_PRED, "%inner");
            sum_put(place, inst_build(place->body, "not.pred", "dr", holds, e->conditions.data[i].predicate));
        }
        all = join(place, all, holds);
    }
    for (unsigned owns = 0; owns < 2; owns++) /* replicas have the conditions in common that come first */
        for (size_t i = 0; i < e->sums.count; i++)
            if ((own_term(e, &e->sums.data[i]) < e->sums.data[i].count) == owns)
                all = join(place, all, sign_build(e, place, &e->sums.data[i]));
    return all;
}
