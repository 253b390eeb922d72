/* Counters of loops, and code for the number of rounds. */
#include "opt/common/trips.h"

enum { PARTS_DEPTH = 6 }; /* of a condition for the next round */

RegId loop_start(const Loop *loop, const Phi *phi)
{
    return phi_argument(phi, loop->preheader);
}

bool loop_step(const Loop *loop, const Phi *phi, const Affine *affine, AffineTerm terms[AFFINE_TERMS],
               AffineForm *step)
{
    const AffineForm *next = NULL;
    for (size_t a = 0; a < phi->args.count; a++) {
        if (phi->args.data[a].pred == loop->preheader)
            continue;
        if (!affine_knows(affine, phi->args.data[a].reg))
            return false;
        const AffineForm *form = &affine->forms[phi->args.data[a].reg];
        if (next && affine_compare(form, 1, next, 1) != ALIAS_SAME)
            return false;
        next = form;
    }
    bool found = false;
    unsigned count = 0;
    for (unsigned i = 0; next && i < next->term_count; i++) {
        const AffineTerm *term = &next->terms[i];
        if (!found && term->base == AFFINE_VALUE && term->reg == phi->dst && term->coefficient == 1)
            found = true;
        else
            terms[count++] = *term;
    }
    if (!found)
        return false;
    *step = (AffineForm){next->bits, count, next->constant, terms};
    return true;
}

bool loop_term_is_fixed(Arena *scratch, const Loop *loop, Analyses *analyses, const AffineTerm *term)
{
    enum { MOST_LEAVES = 24 };
    const AffineForm one = {64, 1, 0, term};
    RegIdVec leaves = {0};
    if (!affine_leaves(scratch, analyses_affine(analyses), &one, MOST_LEAVES, &leaves))
        return false;
    for (size_t i = 0; i < leaves.count; i++) {
        const Block *made = analyses_values(analyses)->defs[leaves.data[i]].block;
        if (made && loop_contains(analyses_loops(analyses), loop, made))
            return false;
    }
    return true;
}

/* The phi of the loop's header that the term is, as wide as it; NULL: it is something else. */
static const Phi *header_phi(const Loop *loop, const Values *values, const AffineTerm *term, unsigned bits)
{
    const ValueDef *def = term->base == AFFINE_VALUE ? &values->defs[term->reg] : NULL;
    if (!def || def->inst || def->block != loop->header || type_bits(values->body->regs.data[term->reg].type) != bits)
        return NULL;
    return &def->block->phis.data[def->phi];
}

bool loop_sum_step(Arena *scratch, const Loop *loop, Analyses *analyses, const AffineForm *form, int64_t *step)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        const Phi *phi = header_phi(loop, analyses_values(analyses), term, form->bits);
        AffineTerm terms[AFFINE_TERMS];
        AffineForm by;
        if (!phi && loop_term_is_fixed(scratch, loop, analyses, term))
            continue;
        if (!phi || !loop_step(loop, phi, analyses_affine(analyses), terms, &by) || by.term_count)
            return false;
        sum += (uint64_t)term->coefficient * (uint64_t)by.constant;
    }
    *step = (int64_t)sum;
    return true;
}

/* True for a value that is the same in all rounds. */
static bool is_made_before(const Loop *loop, const LoopForest *loops, const Values *values, RegId reg)
{
    const ValueDef *def = reg == REG_NONE ? NULL : &values->defs[reg];
    return def && def->block && !loop_contains(loops, loop, def->block);
}

/* The phi of the header that the register is, plus a constant: as wide as the register, not the low half of a wider
 * one. */
static const Phi *phi_find(const Loop *loop, const Affine *affine, RegId reg, int64_t *offset)
{
    const AffineForm *form = &affine->forms[reg];
    const unsigned bits = type_bits(affine->body->regs.data[reg].type);
    if (form->bits != bits || (bits != 32 && bits != 64) || form->term_count != 1 || form->terms[0].coefficient != 1 ||
        form->terms[0].base != AFFINE_VALUE || type_bits(affine->body->regs.data[form->terms[0].reg].type) != bits)
        return NULL;
    *offset = form->constant;
    for (size_t p = 0; p < loop->header->phis.count; p++)
        if (loop->header->phis.data[p].dst == form->terms[0].reg)
            return &loop->header->phis.data[p];
    return NULL;
}

/* The same for a register that is such a value plus or minus another one, the addend. */
static const Phi *phi_find_added(const Loop *loop, const LoopForest *loops, Analyses *analyses, RegId reg,
                                 LoopCounter *out)
{
    const Values *values = analyses_values(analyses);
    const Inst *made = value_inst(values, reg);
    const Phi *phi = NULL;
    Computation c;
    out->subtracts = computation_matches(values->body, made, COMPUTE_SUB, out->bits, "rr", &c);
    if ((!out->subtracts && !computation_matches(values->body, made, COMPUTE_ADD, out->bits, "rr", &c)) || c.saturates)
        return NULL;
    for (unsigned i = 0; i < (out->subtracts ? 1 : 2) && !phi; i++) {
        out->addend = c.sources[1 - i].reg;
        if (is_made_before(loop, loops, values, out->addend) &&
            type_bits(values->body->regs.data[out->addend].type) == out->bits &&
            type_bits(values->body->regs.data[c.sources[i].reg].type) == out->bits)
            phi = phi_find(loop, analyses_affine(analyses), c.sources[i].reg, &out->offset);
    }
    return phi;
}

bool loop_counter_find(const Loop *loop, const LoopForest *loops, Analyses *analyses, RegId reg, LoopCounter *out)
{
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    const Affine *affine = analyses_affine(analyses);
    *out = (LoopCounter){.bits = type_bits(affine->body->regs.data[reg].type), .addend = REG_NONE};
    const Phi *phi = phi_find(loop, affine, reg, &out->offset);
    if (!phi)
        phi = phi_find_added(loop, loops, analyses, reg, out);
    if (!phi || !loop_step(loop, phi, affine, terms, &step) || step.term_count)
        return false;
    out->start = loop_start(loop, phi);
    out->step = step.constant;
    return out->start != REG_NONE;
}

RegId loop_stride(const Loop *loop, const LoopForest *loops, const Values *values, const Phi *phi, RegId *next)
{
    const unsigned bits = type_bits(values->body->regs.data[phi->dst].type);
    Computation c;
    *next = phi_argument(phi, loop->latches[0]);
    for (unsigned l = 1; l < loop->latch_count; l++)
        if (phi_argument(phi, loop->latches[l]) != *next)
            return REG_NONE;
    if (!computation_matches(values->body, value_inst(values, *next), COMPUTE_ADD, bits, "rr", &c) || c.saturates)
        return REG_NONE;
    for (unsigned i = 0; i < 2; i++)
        if (c.sources[i].reg == phi->dst && is_made_before(loop, loops, values, c.sources[1 - i].reg) &&
            type_bits(values->body->regs.data[c.sources[1 - i].reg].type) == bits)
            return c.sources[1 - i].reg;
    return REG_NONE;
}

bool loop_counter_find_strided(const Loop *loop, const LoopForest *loops, Analyses *analyses, RegId reg,
                               LoopCounter *out)
{
    const Affine *affine = analyses_affine(analyses);
    *out = (LoopCounter){.bits = type_bits(affine->body->regs.data[reg].type), .addend = REG_NONE};
    const Phi *phi = phi_find(loop, affine, reg, &out->offset);
    RegId next;
    if (!phi)
        phi = phi_find_added(loop, loops, analyses, reg, out);
    out->is_strided = true;
    out->stride = phi ? loop_stride(loop, loops, analyses_values(analyses), phi, &next) : REG_NONE;
    out->start = phi ? loop_start(loop, phi) : REG_NONE;
    out->phi = phi ? phi->dst : REG_NONE;
    return out->stride != REG_NONE && out->start != REG_NONE;
}

static Type counter_type(const LoopCounter *counter)
{
    return counter->bits == 64 ? TYPE_B64 : TYPE_B32;
}

RegId loop_counter_build_start(const SumPlace *place, const LoopCounter *counter)
{
    if (counter->addend == REG_NONE)
        return counter->start;
    RegId reg = sum_reg(place, counter_type(counter), "%start");
    const char *sum = counter->bits == 64 ? counter->subtracts ? "sub.s64" : "add.s64"
                                          : counter->subtracts ? "sub.s32" : "add.s32";
    sum_put(place, inst_build(place->body, sum, "drr", reg, counter->start, counter->addend));
    return reg;
}

Block *loop_only_exit(const Loop *loop, const LoopForest *loops)
{
    Block *exiting = NULL;
    for (uint32_t b = 0; b < loop->block_count; b++) {
        Block *block = loop->blocks[b];
        const Inst *last = block->last;
        unsigned targets = last ? last->target_count : 0;
        if (last && inst_is_terminator(last) && !inst_is_branch(last))
            return NULL;
        for (unsigned t = 0; t <= targets; t++) {
            const Block *to = t < targets ? last->targets[t] : block->fall;
            if (!to || loop_contains(loops, loop, to))
                continue;
            if (exiting)
                return NULL;
            exiting = block;
        }
    }
    return exiting;
}

typedef enum Continues { WHILE_OTHER, WHILE_UNEQUAL, WHILE_LESS, WHILE_GREATER } Continues;

static Continues continues_while(const Computation *compare, bool holds, bool swapped)
{
    Relation relation = holds ? compare->relation : relation_negated(compare->relation);
    if (relation == RELATION_NOT_EQUAL)
        return WHILE_UNEQUAL;
    if (relation != RELATION_LESS && relation != RELATION_GREATER)
        return WHILE_OTHER;
    return (relation == RELATION_LESS) != swapped ? WHILE_LESS : WHILE_GREATER;
}

/* A source that is the same in all rounds. */
static bool bound_find(const Loop *loop, const LoopForest *loops, const Values *values, const ComputeSource *source,
                       unsigned bits, TripCount *out)
{
    out->bound = source->is_constant ? REG_NONE : source->reg;
    out->constant = bits == 32 ? (int32_t)source->constant : (int64_t)source->constant;
    return source->is_constant || is_made_before(loop, loops, values, source->reg);
}

static bool counts(const Loop *loop, const LoopForest *loops, Analyses *analyses, const Computation *compare,
                   unsigned bits, bool holds, TripCount *out)
{
    const Values *values = analyses_values(analyses);
    LoopCounter *counter = &out->counter;
    for (unsigned i = 0; i < 2; i++) {
        RegId reg = compare->sources[i].reg;
        if (reg == REG_NONE || !bound_find(loop, loops, values, &compare->sources[1 - i], bits, out) ||
            !loop_counter_find(loop, loops, analyses, reg, counter) || counter->bits != bits ||
            (out->bound != REG_NONE && type_bits(values->body->regs.data[out->bound].type) != bits))
            continue;
        Continues kind = continues_while(compare, holds, i == 1);
        int64_t size = counter->step < 0 ? -counter->step : counter->step;
        out->is_ordered = kind != WHILE_UNEQUAL;
        out->is_signed = compare->is_signed;
        /* The comparison is of the counter or its next value: the compared value does not wrap if they do not. */
        bool between = counter->offset == 0 || counter->offset == counter->step;
        if (kind == WHILE_OTHER || (out->is_ordered && !between) || !size || size > 1024 ||
            (kind == WHILE_LESS && counter->step < 0) || (kind == WHILE_GREATER && counter->step > 0))
            continue;
        return true;
    }
    return false;
}

/* The same for a counter that a register is added to. */
static bool counts_strided(const Loop *loop, const LoopForest *loops, Analyses *analyses, const Computation *compare,
                           unsigned bits, bool holds, TripCount *out)
{
    const Values *values = analyses_values(analyses);
    out->is_ordered = true;
    out->is_signed = compare->is_signed;
    for (unsigned i = 0; i < 2; i++) {
        const RegId reg = compare->sources[i].reg;
        if (reg == REG_NONE || continues_while(compare, holds, i == 1) != WHILE_LESS ||
            !bound_find(loop, loops, values, &compare->sources[1 - i], bits, out) ||
            (out->bound != REG_NONE && type_bits(values->body->regs.data[out->bound].type) != bits))
            continue;
        for (size_t p = 0; p < loop->header->phis.count; p++) {
            const Phi *phi = &loop->header->phis.data[p];
            RegId next;
            const RegId stride = type_bits(values->body->regs.data[phi->dst].type) == bits
                                     ? loop_stride(loop, loops, values, phi, &next)
                                     : REG_NONE;
            if (stride == REG_NONE || (reg != phi->dst && reg != next))
                continue;
            out->counter = (LoopCounter){.start = loop_start(loop, phi), .offset = reg == next, .bits = bits,
                                         .addend = REG_NONE, .is_strided = true, .stride = stride, .phi = phi->dst};
            return out->counter.start != REG_NONE;
        }
    }
    return false;
}

/* The branch that ends the block if each round passes it once and it may leave the loop; NULL: it is something else.
 * *holds: the value of its predicate for which the loop goes on. */
static const Inst *exit_find(const Loop *loop, const LoopForest *loops, Analyses *analyses, const Block *exiting,
                             bool *holds)
{
    const Inst *branch = block_two_way_branch(exiting);
    if (!branch || loop_of(loops, exiting) != loop)
        return NULL;
    for (uint32_t i = 0; i < loop->latch_count; i++)
        if (!dominance_has(analyses_dominance(analyses), exiting, loop->latches[i]))
            return NULL;
    const bool leaves = !loop_contains(loops, loop, branch->targets[0]);
    if (!leaves && loop_contains(loops, loop, exiting->fall))
        return NULL;
    *holds = leaves == branch->guard_inverted;
    return branch;
}

bool trip_count_find(const Loop *loop, const LoopForest *loops, Analyses *analyses, TripCount *out)
{
    bool holds;
    *out = (TripCount){.exiting = loop_only_exit(loop, loops)};
    const bool has_exit = out->exiting && loop->preheader;
    const Inst *branch = has_exit ? exit_find(loop, loops, analyses, out->exiting, &holds) : NULL;
    const Inst *made = branch ? value_inst(analyses_values(analyses), inst_predicate(branch)) : NULL;
    Computation compare;
    if (!made || !computation_of(analyses_values(analyses)->body, made, &compare))
        return false;
    const unsigned bits = computation_is_comparison(&compare, 64) ? 64 : 32;
    return computation_is_comparison(&compare, bits) && counts(loop, loops, analyses, &compare, bits, holds, out);
}

/* The loop goes on only while the predicate has this value: finds a counter in one of its parts. */
static bool parts_count(const Loop *loop, const LoopForest *loops, Analyses *analyses, RegId predicate, bool holds,
                        unsigned depth, TripCount *out)
{
    const Values *values = analyses_values(analyses);
    const Inst *made = value_inst(values, predicate);
    Computation c;
    if (!made || !computation_of(values->body, made, &c))
        return false;
    for (unsigned bits = 32; bits <= 64; bits += 32)
        if (computation_is_comparison(&c, bits))
            return counts(loop, loops, analyses, &c, bits, holds, out) ||
                   counts_strided(loop, loops, analyses, &c, bits, holds, out);
    if (!depth || c.bits != 1 || c.reg_bits != 1 ||
        (c.op != COMPUTE_COPY && c.op != COMPUTE_NOT && c.op != (holds ? COMPUTE_AND : COMPUTE_OR)))
        return false;
    for (unsigned i = 0; i < c.source_count; i++) {
        const bool is_opposite = c.sources[i].is_inverted != (c.op == COMPUTE_NOT);
        if (c.sources[i].reg != REG_NONE &&
            parts_count(loop, loops, analyses, c.sources[i].reg, holds != is_opposite, depth - 1, out))
            return true;
    }
    return false;
}

bool trip_count_find_most(const Loop *loop, const LoopForest *loops, Analyses *analyses, TripCount *out)
{
    for (uint32_t b = 0; b < loop->block_count && loop->preheader; b++) {
        bool holds;
        *out = (TripCount){.exiting = loop->blocks[b]};
        const Inst *branch = exit_find(loop, loops, analyses, out->exiting, &holds);
        if (branch && parts_count(loop, loops, analyses, inst_predicate(branch), holds, PARTS_DEPTH, out))
            return true;
    }
    return false;
}


static int64_t step_size(const TripCount *trips)
{
    return trips->counter.step < 0 ? -trips->counter.step : trips->counter.step;
}

int64_t trip_count_bound(const TripCount *trips, const Affine *affine)
{
    const unsigned bits = trips->counter.bits;
    const AffineForm constant = {bits, 0, trips->constant, NULL};
    const AffineForm *start = &affine->forms[trips->counter.start];
    const AffineForm *bound = trips->bound == REG_NONE ? &constant : &affine->forms[trips->bound];
    int64_t low[2], high[2], way, size = step_size(trips);
    if (trips->counter.is_strided || start->bits != bits || bound->bits != bits || trips->counter.addend != REG_NONE ||
        !affine_bounds(start, &low[0], &high[0]) || !affine_bounds(bound, &low[1], &high[1]) ||
        (trips->is_ordered && !trips->is_signed && (low[0] < 0 || low[1] < 0)) ||
        __builtin_sub_overflow(high[trips->counter.step > 0], low[trips->counter.step < 0], &way))
        return INT64_MAX;
    return way < 0 ? 1 : way / size + 1;
}

bool trip_count_is_exact(const TripCount *trips)
{
    return !trips->counter.is_strided && !trips->is_ordered && !(step_size(trips) & (step_size(trips) - 1));
}

uint64_t trip_count_constant(const TripCount *trips, const Affine *affine)
{
    const unsigned bits = trips->counter.bits;
    const AffineForm constant = {bits, 0, trips->constant, NULL};
    const AffineForm *start = &affine->forms[trips->counter.start];
    const AffineForm *bound = trips->bound == REG_NONE ? &constant : &affine->forms[trips->bound];
    const int64_t most = INT64_C(1) << (bits - 2), size = step_size(trips);
    if (trips->counter.is_strided || start->bits != bits || start->term_count || bound->bits != bits ||
        bound->term_count || trips->counter.addend != REG_NONE || start->constant < 0 || start->constant >= most ||
        bound->constant < 0 || bound->constant >= most)
        return 0;
    const int64_t up = bound->constant - start->constant - trips->counter.offset;
    const int64_t way = trips->counter.step < 0 ? -up : up;
    if (trips->is_ordered)
        return way < 0 ? 1 : (uint64_t)((way + size - 1) / size) + 1;
    return way < 0 || way % size ? 0 : (uint64_t)(way / size) + 1;
}

static unsigned log_two(uint64_t value)
{
    unsigned bits = 0;
    while (value >> bits > 1)
        bits++;
    return bits;
}

/* The bound, as a register as wide as the counter. */
static RegId bound_build(const SumPlace *place, const TripCount *trips)
{
    if (trips->bound != REG_NONE)
        return trips->bound;
    const bool is_wide = trips->counter.bits == 64;
    RegId reg = sum_reg(place, counter_type(&trips->counter), "%bound");
    sum_put(place, inst_build(place->body, is_wide ? "mov.b64" : "mov.b32", "di", reg, trips->constant));
    return reg;
}

/* The way divided by the size of a step. */
static RegId quotient_build(const SumPlace *place, RegId way, uint64_t size)
{
    const Type type = place->body->regs.data[way].type;
    const bool is_wide = type_bits(type) == 64, is_power = !(size & (size - 1));
    RegId quotient = sum_reg(place, type, "%rounds");
    const char *spelling = is_power ? is_wide ? "shr.u64" : "shr.u32" : is_wide ? "div.u64" : "div.u32";
    sum_put(place, inst_build(place->body, spelling, "dri", quotient, way,
                              is_power ? (int64_t)log_two(size) : (int64_t)size));
    return quotient;
}

/* The rest of the way after 'count' steps. */
static RegId rest_build(const SumPlace *place, RegId way, RegId count, uint64_t size)
{
    const Type type = place->body->regs.data[way].type;
    const bool is_wide = type_bits(type) == 64;
    RegId rest = sum_reg(place, type, "%rest");
    if (!(size & (size - 1)))
        sum_put(place, inst_build(place->body, is_wide ? "and.b64" : "and.b32", "dri", rest, way, (int64_t)size - 1));
    else
        sum_put(place, inst_build(place->body, is_wide ? "mad.lo.s64" : "mad.lo.s32", "drir", rest, count,
                                  -(int64_t)size, way));
    return rest;
}

/* Until equal: (bound - start - offset) / step rounds follow the first, if that is a whole number. If it is not, and
 * the step is not a power of two, the loop may end after the counter has wrapped. */
static RegId unequal_build(const SumPlace *place, const TripCount *trips, uint32_t limit, RegId *rounds)
{
    Body *body = place->body;
    const LoopCounter *counter = &trips->counter;
    const Type type = counter_type(counter);
    const bool is_wide = counter->bits == 64, grows = counter->step > 0;
    const uint64_t size = (uint64_t)step_size(trips);
    RegId bound = bound_build(place, trips), start = loop_counter_build_start(place, counter);
    RegId way = sum_reg(place, type, "%way"), distance = sum_reg(place, type, "%way");
    RegId fits = sum_reg(place, TYPE_PRED, "%fits");
    sum_put(place, inst_build(body, is_wide ? "sub.s64" : "sub.s32", "drr", way, grows ? bound : start,
                              grows ? start : bound));
    sum_put(place, inst_build(body, is_wide ? "add.s64" : "add.s32", "dri", distance, way,
                              grows ? -counter->offset : counter->offset));
    const RegId count = quotient_build(place, distance, size);
    sum_put(place, inst_build(body, is_wide ? "setp.lt.u64" : "setp.lt.u32", "dri", fits, count, (int64_t)limit));
    if (size > 1) {
        RegId rest = rest_build(place, distance, count, size), whole = sum_reg(place, TYPE_PRED, "%fits");
        sum_put(place, inst_build(body, is_wide ? "setp.eq.and.u64" : "setp.eq.and.u32", "drir", whole, rest,
                                  (int64_t)0, fits));
        fits = whole;
    }
    *rounds = count;
    if (!is_wide) {
        *rounds = sum_reg(place, TYPE_B64, "%rounds");
        sum_put(place, inst_build(body, "cvt.u64.u32", "dr", *rounds, count));
    }
    return fits;
}

static RegId widen(const SumPlace *place, const TripCount *trips, RegId reg, const char *base)
{
    return trips->counter.bits == 64 ? reg : sum_extend(place, reg, trips->is_signed, base);
}

/* True if both are so far from the end of the range that no sum of one of them, a step and what is less than one
 * wraps. */
static RegId room_build_narrow(const SumPlace *place, const TripCount *trips, RegId bound, RegId start)
{
    const bool grows = trips->counter.step > 0;
    const int64_t size = step_size(trips);
    const int64_t low = trips->is_signed ? INT32_MIN : 0, high = trips->is_signed ? INT32_MAX : (int64_t)UINT32_MAX;
    const int64_t edge = grows ? high - 2 * size : low + 2 * size;
    RegId room = sum_reg(place, TYPE_PRED, "%fits"), inner = sum_reg(place, TYPE_PRED, "%fits");
    sum_put(place, inst_build(place->body, grows ? "setp.le.s64" : "setp.ge.s64", "dri", room, bound, edge));
    sum_put(place, inst_build(place->body, grows ? "setp.le.and.s64" : "setp.ge.and.s64", "drir", inner, start, edge,
                              room));
    return inner;
}

/* The same with 64 bits, where their difference must fit, too: both are in a quarter of the range. */
static RegId room_build_wide(const SumPlace *place, const TripCount *trips, RegId bound, RegId start)
{
    const int64_t low = trips->is_signed ? -(INT64_C(1) << 61) : trips->counter.step > 0 ? 0 : -2 * trips->counter.step;
    RegId above[2] = {bound, start};
    RegId room = sum_reg(place, TYPE_PRED, "%fits"), inner = sum_reg(place, TYPE_PRED, "%fits");
    for (unsigned i = 0; i < 2; i++) {
        RegId moved = sum_reg(place, TYPE_B64, "%way");
        sum_put(place, inst_build(place->body, "add.s64", "dri", moved, above[i], -low));
        above[i] = moved;
    }
    sum_put(place, inst_build(place->body, "setp.lt.u64", "dri", room, above[0], INT64_C(1) << 62));
    sum_put(place, inst_build(place->body, "setp.lt.and.u64", "drir", inner, above[1], INT64_C(1) << 62, room));
    return inner;
}

/* Until the bound is reached: one more round for each step, rounded up. The counter does not wrap before it gets
 * there, because the bound is a step away from the end of the range. */
static RegId ordered_build(const SumPlace *place, const TripCount *trips, uint32_t limit, RegId *rounds)
{
    Body *body = place->body;
    bool grows = trips->counter.step > 0;
    const int64_t size = step_size(trips);
    RegId bound = widen(place, trips, bound_build(place, trips), "%bound");
    RegId start = widen(place, trips, loop_counter_build_start(place, &trips->counter), "%start");
    RegId way = sum_reg(place, TYPE_B64, "%way"), distance = sum_reg(place, TYPE_B64, "%way");
    RegId least = sum_reg(place, TYPE_B64, "%way"), fits = sum_reg(place, TYPE_PRED, "%fits");
    sum_put(place, inst_build(body, "sub.s64", "drr", way, grows ? bound : start, grows ? start : bound));
    sum_put(place, inst_build(body, "add.s64", "dri", distance, way,
                              (grows ? -trips->counter.offset : trips->counter.offset) + size - 1));
    sum_put(place, inst_build(body, "max.s64", "dri", least, distance, (int64_t)0));
    *rounds = quotient_build(place, least, (uint64_t)size);
    RegId room = trips->counter.bits == 64 ? room_build_wide(place, trips, bound, start)
                                           : room_build_narrow(place, trips, bound, start);
    sum_put(place, inst_build(body, "setp.lt.and.u64", "drir", fits, *rounds, (int64_t)limit, room));
    return fits;
}

/* The numbers of a strided loop, 64 bits each. */
typedef struct Strides {
    RegId start, bound, stride;
    RegId way; /* from the start to the last number below the bound */
} Strides;

static Strides strides_build(const SumPlace *place, const TripCount *trips)
{
    Body *body = place->body;
    const RegId difference = sum_reg(place, TYPE_B64, "%way"), distance = sum_reg(place, TYPE_B64, "%way");
    const Strides s = {.start = widen(place, trips, trips->counter.start, "%start"),
                       .bound = widen(place, trips, bound_build(place, trips), "%bound"),
                       .stride = widen(place, trips, trips->counter.stride, "%stride"),
                       .way = sum_reg(place, TYPE_B64, "%way")};
    sum_put(place, inst_build(body, "sub.s64", "drr", difference, s.bound, s.start));
    sum_put(place, inst_build(body, "add.s64", "dri", distance, difference, (int64_t)-1));
    sum_put(place, inst_build(body, "max.s64", "dri", s.way, distance, (int64_t)0));
    return s;
}

/* The stride is positive, and start and bound are two strides away from the end of the range, so that nothing wraps
 * before the loop ends; wide ones are in a quarter of it. */
static RegId strides_test(const SumPlace *place, const TripCount *trips, const Strides *s)
{
    Body *body = place->body;
    const bool is_wide = trips->counter.bits == 64;
    const int64_t most = is_wide ? INT64_C(1) << 61 : trips->is_signed ? INT32_MAX : (int64_t)UINT32_MAX;
    const RegId edge = sum_reg(place, TYPE_B64, "%way");
    RegId fits[4];
    for (unsigned i = 0; i < COUNT_OF(fits); i++)
        fits[i] = sum_reg(place, TYPE_PRED, "%fits");
    sum_put(place, inst_build(body, "mad.lo.s64", "drii", edge, s->stride, (int64_t)-2, most));
    sum_put(place, inst_build(body, "setp.gt.s64", "dri", fits[0], s->stride, (int64_t)0));
    sum_put(place, inst_build(body, "setp.le.and.s64", "drrr", fits[1], s->bound, edge, fits[0]));
    sum_put(place, inst_build(body, "setp.le.and.s64", "drrr", fits[2], s->start, edge, fits[1]));
    if (!is_wide)
        return fits[2];
    const RegId either = sum_reg(place, TYPE_B64, "%way"), all = sum_reg(place, TYPE_B64, "%way");
    sum_put(place, inst_build(body, "or.b64", "drr", either, s->bound, s->start));
    sum_put(place, inst_build(body, "or.b64", "drr", all, either, s->stride));
    sum_put(place, inst_build(body, "setp.le.and.u64", "drir", fits[3], all, most, fits[2]));
    return fits[3];
}

/* While the counter, or its next value, is less than the bound: way / stride rounds follow the first, or one more if
 * the counter itself is compared. */
static RegId strided_build(const SumPlace *place, const TripCount *trips, uint32_t limit, RegId *rounds)
{
    Body *body = place->body;
    const bool is_wide = trips->counter.bits == 64;
    const Strides s = strides_build(place, trips);
    const RegId size = sum_reg(place, counter_type(&trips->counter), "%stride");
    const RegId fits = sum_reg(place, TYPE_PRED, "%fits");
    *rounds = sum_reg(place, TYPE_B64, "%rounds");
    sum_put(place, inst_build(body, is_wide ? "max.u64" : "max.u32", "dri", size, trips->counter.stride, (int64_t)1));
    if (is_wide) {
        sum_put(place, inst_build(body, "div.u64", "drr", *rounds, s.way, size));
    } else { /* two numbers of 32 bits are less than 2^32 apart */
        const RegId narrow = sum_reg(place, TYPE_B32, "%way"), count = sum_reg(place, TYPE_B32, "%rounds");
        sum_put(place, inst_build(body, "cvt.u32.u64", "dr", narrow, s.way));
        sum_put(place, inst_build(body, "div.u32", "drr", count, narrow, size));
        sum_put(place, inst_build(body, "cvt.u64.u32", "dr", *rounds, count));
    }
    if (!trips->counter.offset) {
        const RegId more = sum_reg(place, TYPE_B64, "%rounds");
        sum_put(place, inst_build(body, "add.s64", "dri", more, *rounds, (int64_t)1));
        *rounds = more;
    }
    sum_put(place, inst_build(body, "setp.lt.and.u64", "drir", fits, *rounds, (int64_t)limit,
                              strides_test(place, trips, &s)));
    return fits;
}

RegId strided_way_build(const SumPlace *place, const TripCount *trips, int64_t limit, RegId *way)
{
    require(trips->counter.is_strided && trips->counter.offset);
    const Strides s = strides_build(place, trips);
    const RegId fits = sum_reg(place, TYPE_PRED, "%fits");
    *way = s.way;
    sum_put(place, inst_build(place->body, "setp.lt.and.u64", "drir", fits, s.way, limit,
                              strides_test(place, trips, &s)));
    return fits;
}

RegId trip_count_build(const SumPlace *place, const TripCount *trips, uint32_t limit, RegId *rounds)
{
    if (trips->counter.is_strided)
        return strided_build(place, trips, limit, rounds);
    return trips->is_ordered ? ordered_build(place, trips, limit, rounds) : unequal_build(place, trips, limit, rounds);
}

enum { ROUNDS_LIMIT = 1 << 30 };

RegId round_groups_test(const SumPlace *place, const TripCount *trips, unsigned size, RoundGroups *groups)
{
    RegId enough = sum_reg(place, TYPE_PRED, "%enough");
    *groups = (RoundGroups){.body = place->body, .size = size, .least = REG_NONE};
    RegId fits = trip_count_build(place, trips, ROUNDS_LIMIT, &groups->last);
    sum_put(place, inst_build(place->body, "setp.ge.and.u64", "drir", enough, groups->last, (int64_t)size - 1, fits));
    return enough;
}

static RegId group_reg(const RoundGroups *groups, Type type, const char *base)
{
    return body_add_reg(groups->body, type, intern(groups->body->module->names, base));
}

void round_groups_count(RoundGroups *groups, Block *block, const char *base)
{
    Body *body = groups->body;
    RegId count = group_reg(groups, TYPE_B32, "%rounds"), all = group_reg(groups, TYPE_B32, "%rounds");
    groups->groups = group_reg(groups, TYPE_B32, base);
    groups->left = group_reg(groups, TYPE_B32, "%left");
    inst_append(block, inst_build(body, "cvt.u32.u64", "dr", count, groups->last));
    inst_append(block, inst_build(body, "add.u32", "dri", all, count, (int64_t)1));
    if (groups->least == REG_NONE) {
        inst_append(block, inst_build(body, "shr.u32", "dri", groups->groups, all, (int64_t)log_two(groups->size)));
        inst_append(block, inst_build(body, "and.b32", "dri", groups->left, all, (int64_t)groups->size - 1));
        return;
    }
    RegId least = group_reg(groups, TYPE_B32, "%rounds"), grouped = group_reg(groups, TYPE_B32, "%grouped");
    RegId end = group_reg(groups, TYPE_B32, "%rounds");
    inst_append(block, inst_build(body, "cvt.u32.u64", "dr", least, groups->least));
    inst_append(block, inst_build(body, "add.u32", "dri", end, least, (int64_t)1));
    inst_append(block, inst_build(body, "shr.u32", "dri", groups->groups, end, (int64_t)log_two(groups->size)));
    inst_append(block, inst_build(body, "mul.lo.u32", "dri", grouped, groups->groups, (int64_t)groups->size));
    inst_append(block, inst_build(body, "sub.u32", "drr", groups->left, all, grouped));
}

FallingCounter falling_counter_add(Body *body, Block *header, Block *enter, RegId rounds, Block *const *latches,
                                   size_t latch_count)
{
    const bool is_wide = type_bits(body->regs.data[rounds].type) == 64;
    Phi left = {.dst = body_clone_reg(body, rounds)};
    RegId next = body_clone_reg(body, rounds);
    RegId more = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%more"));
    VEC_PUSH(body->arena, left.args, ((PhiArg){enter, rounds}));
    for (size_t i = 0; i < latch_count; i++)
        VEC_PUSH(body->arena, left.args, ((PhiArg){latches[i], next}));
    VEC_PUSH(body->arena, header->phis, left);
    return (FallingCounter){inst_build(body, is_wide ? "add.s64" : "add.s32", "dri", next, left.dst, (int64_t)-1),
                       inst_build(body, is_wide ? "setp.ne.s64" : "setp.ne.s32", "dri", more, next, (int64_t)0), more};
}

void round_groups_end(const RoundGroups *groups, Block *gate, Block *top, Block *tail, Block *rest, Block *header,
                      Block *after)
{
    Body *body = groups->body;
    const FallingCounter group = falling_counter_add(body, top, gate, groups->groups, &tail, 1);
    RegId none = group_reg(groups, TYPE_PRED, "%none");
    inst_append(tail, group.step);
    inst_append(tail, group.test);
    inst_append(tail, inst_build_branch(body, top, group.more, false));
    tail->fall = rest;
    inst_append(rest, inst_build(body, "setp.eq.u32", "dri", none, groups->left, (int64_t)0));
    inst_append(rest, inst_build_branch(body, after, none, false));
    rest->fall = header;
}
