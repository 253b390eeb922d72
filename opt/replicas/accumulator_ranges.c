/* Proofs that a loop's cells are apart from everything else in it, by the ranges of the addresses, which code before
 * the loop computes.
 *
 * Ranges that a constant separates become one, and those between two others are left out. The remaining ranges of each
 * object are merged into hulls, [low, high), and the cells' hulls are compared with all others. */
#include "opt/replicas/accumulator.h"

enum {
    MOST_RANGES = 48,
    MOST_DISTANCE = 1 << 20, /* between ranges that are joined */
    MOST_ROUNDS = 1 << 24,   /* so that a step of 2^37 bytes, the most that is accepted, stays below 2^62 */
    MOST_LEAVES = 24,
};
static const int64_t most_step = INT64_C(1) << 37;
static const int64_t most_address = INT64_C(1) << 62;

static const AffineTerm *object_of(const AffineForm *form)
{
    const AffineTerm *object = NULL;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        if (term->base != AFFINE_PARAM && term->base != AFFINE_SYMBOL)
            continue;
        if (object || term->coefficient != 1)
            return NULL;
        object = term;
    }
    return object;
}

/* Pointers that are members of one structure are different objects. */
static bool objects_equal(const Range *a, const Range *b)
{
    return a->object && b->object ? affine_base_equal(a->object, b->object) : a->object == b->object;
}

/* True if the sum, as an integer, is below 'most_step' in size: multiples of 32-bit values. */
static bool is_small(const Promoter *promoter, const AffineForm *form)
{
    __int128 size = form->constant < 0 ? -(__int128)form->constant : form->constant;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        bool is_reg = term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED;
        if (is_reg ? type_bits(promoter->body->regs.data[term->reg].type) != 32
                   : !(term->base == AFFINE_SREG || (term->base == AFFINE_PARAM && term->reg == 32)))
            return false;
        size += (__int128)(term->coefficient < 0 ? -term->coefficient : term->coefficient) << 32;
    }
    return size < most_step;
}

static bool term_is_invariant(const Promoter *promoter, const AffineTerm *term)
{
    const AffineForm one = {64, 1, 0, term};
    RegIdVec leaves = {0};
    if (!affine_leaves(promoter->scratch, analyses_affine(promoter->analyses), &one, MOST_LEAVES, &leaves))
        return false;
    for (size_t k = 0; k < leaves.count; k++)
        if (!accumulator_is_invariant(promoter, leaves.data[k]))
            return false;
    return true;
}

/* The header's phi of 64 bits that the term is a multiple of; NULL: it is something else. */
static const Phi *phi_of(const Promoter *promoter, const AffineTerm *term)
{
    const Block *header = promoter->loop->header;
    if (term->base != AFFINE_VALUE || type_bits(promoter->body->regs.data[term->reg].type) != 64)
        return NULL;
    for (size_t p = 0; p < header->phis.count; p++)
        if (term->reg == header->phis.data[p].dst)
            return &header->phis.data[p];
    return NULL;
}

/* The term, times a factor; false if nothing is left of it, modulo 2^64. */
static bool scale_term(AffineTerm *term, uint64_t factor)
{
    term->coefficient = (int64_t)(factor * (uint64_t)term->coefficient);
    return term->coefficient != 0;
}

/* Adds 'factor' times the phi to the range: its start, and its step. */
static bool range_add_phi(const Promoter *promoter, const Phi *phi, uint64_t factor, Range *range)
{
    const Affine *affine = analyses_affine(promoter->analyses);
    const RegId start = loop_start(promoter->loop, phi);
    AffineForm *sum = &range->start;
    if (start == REG_NONE || !loop_step(promoter->loop, phi, affine, range->step_terms, &range->step))
        return false;
    range->step.constant = (int64_t)(factor * (uint64_t)range->step.constant);
    for (unsigned i = 0; i < range->step.term_count; i++)
        if (!scale_term(&range->step_terms[i], factor) || !term_is_invariant(promoter, &range->step_terms[i]))
            return false;
    if (!range->step.term_count && !is_small(promoter, &range->step))
        return false;
    const AffineForm *at = &affine->forms[start];
    if (sum->term_count + at->term_count > AFFINE_TERMS + 1)
        return false;
    for (unsigned i = 0; i < at->term_count; i++) {
        AffineTerm *term = &range->start_terms[sum->term_count++];
        *term = at->terms[i];
        if (!scale_term(term, factor))
            return false;
    }
    sum->constant = (int64_t)((uint64_t)sum->constant + factor * (uint64_t)at->constant);
    return true;
}

/* Sets the step of the range's index. */
static bool range_step_index(const Promoter *promoter, Range *range)
{
    const LoopCounter *counter = &range->index.counter;
    if (counter->is_strided) {
        range->step_terms[0] = (AffineTerm){.base = range->index.is_signed ? AFFINE_SIGNED : AFFINE_VALUE,
                                            .reg = counter->stride, .coefficient = range->index.coefficient};
        range->step.term_count = 1;
    }
    return !__builtin_mul_overflow(range->index.coefficient, (int32_t)counter->step, &range->step.constant) &&
           is_small(promoter, &range->step);
}

/* Sets the range's start and step to those of the sum, which may have one index, or a multiple of one phi. */
static bool range_of_form(const Promoter *promoter, const AffineForm *form, Range *range)
{
    const Phi *phi = NULL;
    uint64_t factor = 1;
    if (form->bits != 64)
        return false;
    range->index.is_found = false;
    range->start = (AffineForm){64, 0, form->constant, range->start_terms};
    range->step = (AffineForm){64, 0, 0, range->step_terms};
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        RangeIndex index;
        const Phi *own = phi_of(promoter, term);
        const bool is_index = accumulator_index_find(promoter, term, &index);
        if ((own || is_index) && (phi || range->index.is_found))
            return false;
        if (own) {
            phi = own;
            factor = (uint64_t)term->coefficient;
            continue;
        }
        if (is_index) {
            range->index = index;
            range->index_term = range->start.term_count;
        } else if (!term_is_invariant(promoter, term)) {
            return false;
        }
        range->start_terms[range->start.term_count++] = *term;
    }
    if ((range->index.is_found && !range_step_index(promoter, range)) ||
        (phi && !range_add_phi(promoter, phi, factor, range)))
        return false;
    range->object = object_of(&range->start);
    return true;
}

/* The terms of b - a are a multiple of one term, or none: how often it is in there, and the difference of the
 * constants. False if they are not, or the multiple may wrap. */
static bool ranges_compare(const Promoter *promoter, const Range *a, const Range *b, int64_t *multiple,
                           int64_t *constant)
{
    const AffineForm *x = &a->start, *y = &b->start;
    AffineTerm only = {0};
    unsigned found = 0;
    *multiple = 0;
    *constant = (int64_t)((uint64_t)y->constant - (uint64_t)x->constant);
    for (unsigned i = 0; i < x->term_count + y->term_count; i++) {
        const AffineTerm *term = i < x->term_count ? &x->terms[i] : &y->terms[i - x->term_count];
        uint64_t sum = 0;
        for (unsigned k = 0; k < x->term_count; k++)
            sum -= affine_base_equal(term, &x->terms[k]) ? (uint64_t)x->terms[k].coefficient : 0;
        for (unsigned k = 0; k < y->term_count; k++)
            sum += affine_base_equal(term, &y->terms[k]) ? (uint64_t)y->terms[k].coefficient : 0;
        if (!sum || (found && affine_base_equal(term, &only)))
            continue;
        only = *term;
        *multiple = (int64_t)sum;
        found++;
    }
    only.coefficient = *multiple;
    AffineForm way = {64, 1, 0, &only};
    return !found || (found == 1 && is_small(promoter, &way));
}

static bool steps_equal(const Range *a, const Range *b)
{
    return (!a->step.term_count && !b->step.term_count && a->step.constant == b->step.constant) ||
           affine_compare(&a->step, 1, &b->step, 1) == ALIAS_SAME;
}

/* Adds the range, or extends one that starts a constant away. */
static bool range_add(Promoter *promoter, const AffineForm *form, int64_t bytes, const Cell *cell)
{
    Range *range = ARENA_NEW(promoter->scratch, Range);
    int64_t multiple, constant;
    range->bytes = bytes;
    range->cell = cell;
    if (!range_of_form(promoter, form, range))
        return false;
    for (size_t i = 0; i < promoter->ranges.count && !cell; i++) {
        Range *have = promoter->ranges.data[i];
        if (have->cell || !objects_equal(have, range) || !steps_equal(have, range) ||
            !ranges_compare(promoter, have, range, &multiple, &constant) || multiple || constant > MOST_DISTANCE ||
            constant < -MOST_DISTANCE)
            continue;
        int64_t end = constant + bytes > have->bytes ? constant + bytes : have->bytes;
        int64_t first = constant < 0 ? constant : 0;
        have->start.constant = (int64_t)((uint64_t)have->start.constant + (uint64_t)first);
        have->bytes = end - first;
        return true;
    }
    if (promoter->ranges.count >= MOST_RANGES)
        return false;
    VEC_PUSH(promoter->scratch, promoter->ranges, range);
    return true;
}

/* True if the range lies between two others in any case: a + x, where there are a and a + 3x. */
static bool is_between(const Promoter *promoter, const Range *range)
{
    bool below = false, above = false;
    for (size_t i = 0; i < promoter->ranges.count; i++) {
        const Range *other = promoter->ranges.data[i];
        int64_t multiple, constant;
        if (other == range || other->cell || !objects_equal(other, range) || other->bytes < range->bytes ||
            !steps_equal(other, range) || !ranges_compare(promoter, range, other, &multiple, &constant) || constant)
            continue;
        below |= multiple < 0 && multiple > -MOST_DISTANCE;
        above |= multiple > 0 && multiple < MOST_DISTANCE;
    }
    return below && above;
}

static void ranges_thin(Promoter *promoter)
{
    for (size_t i = 0; i < promoter->ranges.count;) {
        Range *range = promoter->ranges.data[i];
        if (!range->cell && is_between(promoter, range))
            promoter->ranges.data[i] = VEC_POP(promoter->ranges);
        else
            i++;
    }
}

/* Clones of one instruction for different replicas: plain accesses of different threads, which do not conflict in a
 * program without data races. */
static bool of_different_threads(const Inst *a, const Inst *b)
{
    return a->replica != b->replica && a->span.begin == b->span.begin && a->span.end == b->span.end;
}

/* True if an access of the loop may meet the cell, as far as can be told now. */
static bool may_meet(const Promoter *promoter, const Cell *cell, const Inst *inst)
{
    return !of_different_threads(cell->inst, inst) &&
           !accesses_apart(analyses_memory(promoter->analyses), cell->inst, inst);
}

static const Cell *cell_of_inst(const Promoter *promoter, const Inst *inst)
{
    const PlainAccess *plain = promoter->locations ? promoter->locations->access_of[inst->id] : NULL;
    for (size_t c = 0; c < promoter->cells.count && plain; c++)
        if (accumulator_cell_has(&promoter->cells.data[c], plain))
            return &promoter->cells.data[c];
    return NULL;
}

bool accumulator_ranges_find(Promoter *promoter)
{
    bool meets = false;
    for (uint32_t b = 0; b < promoter->loop->block_count; b++)
        for (const Inst *inst = promoter->loop->blocks[b]->first; inst; inst = inst->next) {
            Access access;
            AffineAddress address;
            bool may = false;
            if (!inst_access(inst, &access) || access.read_only || access.kind == ACCESS_ATOMIC)
                continue;
            /* There are atomic operations only beside cells of their kind, which partial_sums.c compares. */
            const Cell *own = cell_of_inst(promoter, inst);
            for (size_t c = 0; c < promoter->cells.count; c++)
                may |= own != &promoter->cells.data[c] && may_meet(promoter, &promoter->cells.data[c], inst);
            meets |= may;
            if (!may || own)
                continue;
            affine_of_address(analyses_affine(promoter->analyses), inst, access.address, &address);
            if (!range_add(promoter, &address.form, access.bytes, NULL))
                return false;
        }
    for (size_t c = 0; c < promoter->cells.count && meets; c++) {
        const Cell *cell = &promoter->cells.data[c];
        if (!range_add(promoter, cell->form, cell->bytes, cell))
            return false;
    }
    ranges_thin(promoter);
    return true;
}

static RegId and_predicates(const SumPlace *place, RegId a, RegId b)
{
    if (a == REG_NONE || b == REG_NONE)
        return a == REG_NONE ? b : a;
    RegId both = sum_reg(place, TYPE_PRED, "%apart");
    sum_put(place, inst_build(place->body, "and.pred", "drr", both, a, b));
    return both;
}

static RegId pair_build(const SumPlace *place, const char *spelling, RegId a, RegId b)
{
    if (a == REG_NONE || a == b)
        return b;
    RegId reg = sum_reg(place, TYPE_B64, "%range");
    sum_put(place, inst_build(place->body, spelling, "drr", reg, a, b));
    return reg;
}

/* The addresses that several ranges with one step reach, together: [low, high). */
typedef struct Hull {
    const Range *first;
    int64_t bytes;
    RegId low, high; /* while ranges are added: the least and the greatest start */
} Hull;

static bool hull_takes(const Hull *hull, const Range *range)
{
    return objects_equal(hull->first, range) && !hull->first->cell == !range->cell &&
           steps_equal(hull->first, range);
}

static bool hull_add(const SumPlace *place, Hull *hull, const Range *range, RegId start)
{
    if (start == REG_NONE)
        return false;
    if (range->bytes > hull->bytes)
        hull->bytes = range->bytes;
    hull->low = pair_build(place, "min.s64", hull->low, start);
    hull->high = pair_build(place, "max.s64", hull->high, start);
    return true;
}

/* The value, as a signed integer, is at most 'most_step' in size. */
static RegId small_build(const SumPlace *place, RegId value)
{
    RegId above = sum_reg(place, TYPE_B64, "%range"), small = sum_reg(place, TYPE_PRED, "%small");
    sum_put(place, inst_build(place->body, "add.s64", "dri", above, value, most_step));
    sum_put(place, inst_build(place->body, "setp.le.u64", "dri", small, above, 2 * most_step));
    return small;
}

/* Extends the hull by what the rounds add to the starts. Adds to *holds that a step of unknown size is small. */
static bool hull_finish(const Promoter *promoter, const SumPlace *place, Hull *hull, RegId rounds, RegId *holds)
{
    Body *body = place->body;
    const AffineForm *step = &hull->first->step;
    RegId past = sum_reg(place, TYPE_B64, "%range"), way;
    sum_put(place, inst_build(body, "add.s64", "dri", past, hull->high, hull->bytes));
    hull->high = past;
    if (!step->term_count && !step->constant)
        return true;
    way = sum_reg(place, TYPE_B64, "%range");
    if (step->term_count) {
        RegId by = sum_build(place, step);
        if (by == REG_NONE)
            return false;
        if (!is_small(promoter, step))
            *holds = and_predicates(place, *holds, small_build(place, by));
        sum_put(place, inst_build(body, "mul.lo.s64", "drr", way, rounds, by));
    } else {
        sum_put(place, inst_build(body, "mul.lo.s64", "dri", way, rounds, step->constant));
    }
    for (unsigned up = 0; up < 2; up++) {
        RegId *end = up ? &hull->high : &hull->low, by = way, sum;
        if (!step->term_count && (step->constant > 0) != up)
            continue;
        if (step->term_count) {
            by = sum_reg(place, TYPE_B64, "%range");
            sum_put(place, inst_build(body, up ? "max.s64" : "min.s64", "dri", by, way, (int64_t)0));
        }
        sum = sum_reg(place, TYPE_B64, "%range");
        sum_put(place, inst_build(body, "add.s64", "drr", sum, *end, by));
        *end = sum;
    }
    return true;
}

/* Two cells of one object have no byte in common. */
static bool cells_apart(const SumPlace *place, const Range *a, const Range *b, RegId *holds)
{
    Body *body = place->body;
    if (of_different_threads(a->cell->inst, b->cell->inst) ||
        affine_compare(&a->start, (uint64_t)a->bytes, &b->start, (uint64_t)b->bytes) == ALIAS_NONE)
        return true;
    RegId x = sum_build(place, &a->start), y = sum_build(place, &b->start);
    if (x == REG_NONE || y == REG_NONE)
        return false;
    /* y - x is neither in (-b, 0] nor in [0, a): y - x + (b - 1) is not below a + b - 1. */
    RegId distance = sum_reg(place, TYPE_B64, "%range"), shifted = sum_reg(place, TYPE_B64, "%range");
    RegId apart = sum_reg(place, TYPE_PRED, "%apart");
    sum_put(place, inst_build(body, "sub.s64", "drr", distance, y, x));
    sum_put(place, inst_build(body, "add.s64", "dri", shifted, distance, b->bytes - 1));
    sum_put(place, inst_build(body, "setp.ge.u64", "dri", apart, shifted, a->bytes + b->bytes - 1));
    *holds = and_predicates(place, *holds, apart);
    return true;
}

/* The hulls do not overlap. */
static RegId hulls_apart(const SumPlace *place, const Hull *a, const Hull *b, RegId holds)
{
    RegId below = sum_reg(place, TYPE_PRED, "%apart"), either = sum_reg(place, TYPE_PRED, "%apart");
    sum_put(place, inst_build(place->body, "setp.le.s64", "drr", below, a->high, b->low));
    sum_put(place, inst_build(place->body, "setp.le.or.s64", "drrr", either, b->high, a->low, below));
    return and_predicates(place, holds, either);
}

typedef VEC(Hull) HullVec;

/* One hull for the cells of each object, and one for the other accesses to each with each step. Gives all starts,
 * or-ed together, in *starts, and adds to *holds that no index wraps, and that steps are small. */
static bool hulls_build(Promoter *promoter, const SumPlace *place, RegId rounds, HullVec *hulls, RegId *starts,
                        RegId *holds)
{
    for (size_t i = 0; i < promoter->ranges.count; i++) {
        const Range *range = promoter->ranges.data[i];
        size_t h = 0;
        while (h < hulls->count && !hull_takes(&hulls->data[h], range))
            h++;
        if (h == hulls->count)
            VEC_PUSH(promoter->scratch, *hulls, (Hull){range, 0, REG_NONE, REG_NONE});
        RegId fits = REG_NONE;
        RegId start = range->index.is_found ? accumulator_index_build(place, range, rounds, &fits)
                                       : sum_build(place, &range->start);
        if (!hull_add(place, &hulls->data[h], range, start))
            return false;
        *holds = and_predicates(place, *holds, fits);
    }
    for (size_t h = 0; h < hulls->count; h++) {
        *starts = pair_build(place, "or.b64", *starts, hulls->data[h].low);
        *starts = pair_build(place, "or.b64", *starts, hulls->data[h].high);
        if (!hull_finish(promoter, place, &hulls->data[h], rounds, holds))
            return false;
    }
    return true;
}

RegId accumulator_test_build(Promoter *promoter, const SumPlace *place, const TripCount *trips)
{
    HullVec hulls = {0};
    RegId rounds, holds = trip_count_build(place, trips, MOST_ROUNDS, &rounds), starts = REG_NONE;
    if (!hulls_build(promoter, place, rounds, &hulls, &starts, &holds))
        return REG_NONE;
    /* Starts below 2^62 and ways of at most 2^61 bytes: no end wraps. */
    RegId low = sum_reg(place, TYPE_PRED, "%apart");
    sum_put(place, inst_build(place->body, "setp.lt.u64", "dri", low, starts, most_address));
    holds = and_predicates(place, holds, low);
    for (size_t a = 0; a < hulls.count; a++)
        for (size_t b = 0; b < hulls.count; b++) {
            bool both = hulls.data[a].first->cell && hulls.data[b].first->cell;
            if (hulls.data[a].first->cell && a != b && (!both || a < b))
                holds = hulls_apart(place, &hulls.data[a], &hulls.data[b], holds);
        }
    for (size_t i = 0; i < promoter->ranges.count; i++)
        for (size_t k = i + 1; k < promoter->ranges.count; k++) {
            const Range *x = promoter->ranges.data[i], *y = promoter->ranges.data[k];
            if (x->cell && y->cell && objects_equal(x, y) && !cells_apart(place, x, y, &holds))
                return REG_NONE;
        }
    return holds;
}
