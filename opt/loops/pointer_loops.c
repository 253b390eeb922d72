/* Counters for loops that end where a pointer does.
 *
 *     for (p = row; p != end; p++)           n = (end - row) / sizeof *p
 *         sum += *p * *q++;          ->      for (p = row; n; n--, p++)
 *                                                sum += *p * *q++;
 *
 * Each thread has a row of its own, so nothing tells passes that all go round the loop equally often: neither the
 * pointer nor its end is the same for them. If the sums that the two are show that their difference is, a counter of
 * rounds takes the pointer's place in the comparison.
 *
 * Compilers that unroll such a loop do the rounds that are left over first, in a loop of their own:
 *
 *     for (i = 0; i != n % 4; i++)           for (i = 0; i != n % 4; i++)
 *         sum += *p++;                           sum += *p++;
 *     for (; p != end; p += 4)        ->     p = row + n % 4
 *         ...                                for (; p != end; p += 4)
 *
 * The pointer after a loop that a counter ends is computed from its start and that number, so that it is a sum again.
 *
 * The number of rounds is right if the loop ends: in each round it accesses memory that a pointer walks along, so if it
 * went on until the pointer wraps, it would fault. A pointer that is compared with its end as an unsigned number is an
 * address in the first round, far below the end of its range, since addresses have at most 57 bits. So its end is
 * beyond it if the difference is positive, and if that is negative, the loop ends after this round, or faults. */
#include "opt/common/preheader.h"
#include "opt/common/trips.h"
#include "opt/passes.h"

enum { ROUNDS_LIMIT = 1 << 30 };

typedef struct PointerLoops {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const LoopForest *loops;
    const Values *values;
    const Affine *affine;
    const Dominance *dominance;
    const Variance *variance; /* of what values are computed from, whichever paths lead there */
} PointerLoops;

static void refresh(PointerLoops *p)
{
    p->loops = analyses_loops(p->analyses);
    p->values = analyses_values(p->analyses);
    p->affine = analyses_affine(p->analyses);
    p->dominance = analyses_dominance(p->analyses);
    p->variance = variance_on_any_path(p->scratch, p->body, analyses_postdominance(p->analyses), false);
}

static bool is_own(const PointerLoops *p, RegId reg)
{
    return reg != REG_NONE && variance_reg(p->variance, reg);
}

static bool is_inside(const PointerLoops *p, const Loop *loop, RegId reg)
{
    const ValueDef *def = &p->values->defs[reg];
    return !def->block || loop_contains(p->loops, loop, def->block);
}

/* Whether all threads of a block have the sum in common. */
static bool sum_is_common(const PointerLoops *p, const AffineForm *form)
{
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        if (((term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED) && is_own(p, term->reg)) ||
            (term->base == AFFINE_SREG && !sreg_is_common(term->sreg)))
            return false;
    }
    return true;
}

/* The phi of the loop's header that the register is, or that a round gives it to; NULL: there is none of 64 bits that
 * grows by the same sum in each round. */
static const Phi *induction_of(const PointerLoops *p, const Loop *loop, RegId reg, AffineTerm terms[AFFINE_TERMS],
                               AffineForm *step)
{
    for (size_t i = 0; i < loop->header->phis.count; i++) {
        const Phi *phi = &loop->header->phis.data[i];
        bool is_it = phi->dst == reg;
        for (size_t a = 0; a < phi->args.count; a++)
            is_it |= phi->args.data[a].pred != loop->preheader && phi->args.data[a].reg == reg;
        if (is_it && type_bits(p->body->regs.data[reg].type) == 64 &&
            loop_step(loop, phi, p->affine, terms, step) && step->bits == 64)
            return phi;
    }
    return NULL;
}

/* The phi of the loop's header, of 64 bits, which grows by the same number in each round and is the sum's only term, or
 * ('with_others') the only one of the loop; NULL: there is none. */
static const Phi *moving_phi(const PointerLoops *p, const Loop *loop, const AffineForm *form, bool with_others)
{
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    const Phi *moving = NULL;
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        const bool is_reg = term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED;
        if (!is_reg || !is_inside(p, loop, term->reg)) {
            if (!with_others)
                return NULL;
            continue;
        }
        const Phi *phi = term->base == AFFINE_VALUE && term->coefficient == 1 && !moving
                             ? induction_of(p, loop, term->reg, terms, &step)
                             : NULL;
        if (!phi || phi->dst != term->reg || step.term_count || !step.constant)
            return NULL;
        moving = phi;
    }
    return moving;
}

/* The pointer that the access in the loop walks along: a phi of the header, plus *offset and, 'with_others', what is
 * the same in all rounds; NULL: none. */
static const Phi *walked(const PointerLoops *p, const Loop *loop, const Inst *inst, bool with_others, int64_t *offset)
{
    AffineAddress address;
    Access access;
    if (!inst_is_plain(inst) || !inst_access(inst, &access) ||
        (access.kind != ACCESS_LOAD && access.kind != ACCESS_STORE) ||
        (access.space != SPACE_GLOBAL && access.space != SPACE_NONE))
        return NULL;
    affine_of_address(p->affine, inst, access.address, &address);
    *offset = address.form.constant;
    return address.form.bits == 64 ? moving_phi(p, loop, &address.form, with_others) : NULL;
}

/* Whether each round accesses memory along a pointer: any, or, where it is compared in order, the one that is; that is
 * then an address, or above one. */
static bool walks(const PointerLoops *p, const Loop *loop, const TripCount *trips)
{
    for (uint32_t b = 0; b < loop->block_count; b++) {
        if (!dominance_has(p->dominance, loop->blocks[b], trips->exiting))
            continue;
        for (const Inst *inst = loop->blocks[b]->first; inst; inst = inst->next) {
            int64_t offset;
            const Phi *phi = walked(p, loop, inst, !trips->is_ordered, &offset);
            if (phi && (!trips->is_ordered || (loop_start(loop, phi) == trips->counter.start && offset <= 0 &&
                                               offset > INT32_MIN)))
                return true;
        }
    }
    return false;
}

/* The counter less its bound before the loop, if the threads have that in common and neither of the two. */
static bool distance_of(const PointerLoops *p, const TripCount *trips, AffineForm *distance)
{
    const AffineForm constant = {64, 0, trips->constant, NULL};
    const RegId start = trips->counter.start;
    return trips->counter.bits == 64 && trips->counter.addend == REG_NONE &&
           (is_own(p, start) || is_own(p, trips->bound)) &&
           affine_add(p->scratch, &p->affine->forms[start],
                      trips->bound == REG_NONE ? &constant : &p->affine->forms[trips->bound], -1, distance) &&
           sum_is_common(p, distance);
}

static bool may_count(const PointerLoops *p, const Loop *loop, const TripCount *trips, AffineForm *distance)
{
    return distance_of(p, trips, distance) &&
           (trips->is_ordered ? !trips->is_signed && trips->counter.step > 0 : trip_count_is_exact(trips)) &&
           walks(p, loop, trips);
}

/* A counter that falls to zero, in place of the comparison. */
static void add_counter(PointerLoops *p, const Loop *loop, const TripCount *trips, RegId rounds)
{
    Inst *branch = trips->exiting->last;
    const FallingCounter left =
        falling_counter_add(p->body, loop->header, loop->preheader, rounds, loop->latches, loop->latch_count);
    inst_insert_before(branch, left.step);
    inst_insert_before(branch, left.test);
    RegRef *guard = &branch->refs[branch->guard];
    guard->reg = left.more;
    branch->guard_inverted = !loop_contains(p->loops, loop, branch->targets[0]);
}

static void build_counter(PointerLoops *p, const Loop *loop, const TripCount *trips, const SumPlace *place)
{
    RegId last, rounds = sum_reg(place, TYPE_B64, "%steps");
    trip_count_build(place, trips, ROUNDS_LIMIT, &last);
    sum_put(place, inst_build(p->body, "add.s64", "dri", rounds, last, (int64_t)1));
    add_counter(p, loop, trips, rounds);
}

/* The sum from its terms, not from a register that has it, which may be computed from what differs between threads. */
static RegId build_common(const SumPlace *place, const AffineForm *form)
{
    const AffineForm constant = {64, 0, form->constant, NULL};
    RegId sum = sum_build(place, &constant);
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineForm own = {64, 1, 0, &form->terms[t]};
        RegId term = sum_build(place, &own), next = sum_reg(place, TYPE_B64, "%way");
        if (term == REG_NONE)
            return REG_NONE;
        sum_put(place, inst_build(place->body, "add.s64", "drr", next, sum, term));
        sum = next;
    }
    return sum;
}

static bool count_loop(PointerLoops *p, const Loop *loop)
{
    TripCount trips;
    AffineForm distance;
    if (!trip_count_find(loop, p->loops, p->analyses, &trips) || !may_count(p, loop, &trips, &distance))
        return false;
    const SumPlace place = sum_place_new(p->body, loop->preheader, p->analyses);
    RegId start = build_common(&place, &distance);
    if (start == REG_NONE)
        return false;
    trips.counter.start = start;
    trips.bound = REG_NONE;
    trips.constant = 0;
    build_counter(p, loop, &trips, &place);
    return true;
}

static bool leaves_when_equal(const PointerLoops *p, const Loop *loop, const Inst *branch, const Computation *compare)
{
    const bool leaves = !loop_contains(p->loops, loop, branch->targets[0]);
    const Relation when = leaves != branch->guard_inverted ? compare->relation : relation_negated(compare->relation);
    return when == RELATION_EQUAL;
}

/* A value that the loop does not change, or a conversion of it in the loop; false: the source is neither. *wide:
 * REG_NONE: a constant. */
static bool low_bound_find(const PointerLoops *p, const Loop *loop, const ComputeSource *source, RegId *wide)
{
    Computation c;
    *wide = source->is_constant ? REG_NONE : source->reg;
    if (source->is_constant || (source->reg != REG_NONE && !is_inside(p, loop, source->reg)))
        return true;
    const Inst *made = source->reg == REG_NONE ? NULL : value_inst(p->values, source->reg);
    if (!made || !computation_matches(p->body, made, COMPUTE_CONVERT, 32, "r", &c) || c.saturates ||
        c.sources[0].bits != 64 || is_inside(p, loop, c.sources[0].reg))
        return false;
    *wide = c.sources[0].reg;
    return true;
}

/* The low half of the sum of a register of 32 or 64 bits and a constant. */
static RegId low_build(const SumPlace *place, RegId reg, int64_t constant)
{
    RegId low = reg, sum = sum_reg(place, TYPE_B32, "%low");
    if (reg != REG_NONE && type_bits(place->body->regs.data[reg].type) == 64) {
        low = sum_reg(place, TYPE_B32, "%low");
        sum_put(place, inst_build(place->body, "cvt.u32.u64", "dr", low, reg));
    }
    sum_put(place, low == REG_NONE ? inst_build(place->body, "mov.b32", "di", sum, constant)
                                   : inst_build(place->body, "add.s32", "dri", sum, low, constant));
    return sum;
}

/* The rounds of a loop that ends when the low half of start + offset is the bound, if that is after a whole number of
 * steps from a constant; 0: it is not. */
static uint64_t constant_rounds(const AffineForm *start, int64_t offset, uint64_t bound, int64_t step)
{
    const uint32_t up = (uint32_t)(bound - (uint64_t)start->constant - (uint64_t)offset);
    const uint32_t way = step < 0 ? -up : up;
    const uint64_t size = (uint64_t)(step < 0 ? -step : step);
    if (start->term_count || start->bits != 64 || size > UINT32_MAX || way % size)
        return 0;
    return way / size + 1;
}

/* clang may count in 64 bits and compare low halves: for (i = 0; (int)i != (int)end; i += 4). The number of rounds is
 * their distance modulo 2^32. */
static bool count_low(PointerLoops *p, const Loop *loop)
{
    Computation compare;
    TripCount trips = {.exiting = loop_only_exit(loop, p->loops)};
    const Inst *branch = trips.exiting ? block_two_way_branch(trips.exiting) : NULL;
    const Inst *made = branch ? value_inst(p->values, inst_predicate(branch)) : NULL;
    if (!made || !loop->preheader || loop->latch_count != 1 ||
        !dominance_has(p->dominance, trips.exiting, loop->latches[0]) ||
        !computation_of(p->body, made, &compare) || !computation_is_comparison(&compare, 32) ||
        !leaves_when_equal(p, loop, branch, &compare))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const RegId reg = compare.sources[i].reg;
        const ComputeSource *bound = &compare.sources[1 - i];
        const AffineForm *form = reg == REG_NONE ? NULL : &p->affine->forms[reg];
        const Phi *phi = form && form->bits == 32 ? moving_phi(p, loop, form, false) : NULL;
        RegId wide;
        if (!phi || !low_bound_find(p, loop, bound, &wide))
            continue;
        AffineTerm terms[AFFINE_TERMS];
        AffineForm step;
        loop_step(loop, phi, p->affine, terms, &step);
        const int64_t size = step.constant < 0 ? -step.constant : step.constant;
        const SumPlace place = sum_place_new(p->body, loop->preheader, p->analyses);
        const uint64_t rounds = bound->is_constant
                                    ? constant_rounds(&p->affine->forms[loop_start(loop, phi)], form->constant,
                                                      bound->constant, step.constant)
                                    : 0;
        if (rounds) {
            RegId count = sum_reg(&place, TYPE_B64, "%steps");
            sum_put(&place, inst_build(p->body, "mov.b64", "di", count, (int64_t)rounds));
            add_counter(p, loop, &trips, count);
            return true;
        }
        if (size > 1024 || size & (size - 1) || !walks(p, loop, &trips))
            return false;
        trips.counter = (LoopCounter){.start = low_build(&place, loop_start(loop, phi), form->constant),
                                      .step = step.constant, .bits = 32, .addend = REG_NONE};
        trips.bound = low_build(&place, wide, bound->is_constant ? (int32_t)bound->constant : 0);
        build_counter(p, loop, &trips, &place);
        return true;
    }
    return false;
}

/* A phi of the block that the loop leads to: a value of the last round, or, on all other paths, what the loop begins
 * with. */
typedef struct ExitValue {
    RegId dst;
    size_t phi;   /* in the block */
    RegId start;
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    bool is_next; /* it has advanced in the last round, too */
} ExitValue;

typedef VEC(ExitValue *) ExitValueVec;

/* Whether a loop begins with the value. */
static bool starts_loop(const PointerLoops *p, RegId reg)
{
    for (uint32_t i = 0; i < p->loops->loop_count; i++) {
        const Loop *loop = &p->loops->loops[i];
        for (size_t k = 0; loop->preheader && k < loop->header->phis.count; k++)
            if (loop_start(loop, &loop->header->phis.data[k]) == reg)
                return true;
    }
    return false;
}

static ExitValue *exit_value_find(const PointerLoops *p, const Loop *loop, const Block *exiting, const Phi *phi)
{
    ExitValue *exit = ARENA_NEW(p->scratch, ExitValue);
    const RegId value = phi_argument(phi, exiting);
    const Phi *induction =
        value == REG_NONE ? NULL : induction_of(p, loop, value, exit->terms, &exit->step);
    if (!induction || !is_own(p, phi->dst) || phi->args.count < 2 || !starts_loop(p, phi->dst))
        return NULL;
    exit->dst = phi->dst;
    exit->start = loop_start(loop, induction);
    exit->is_next = induction->dst != value;
    for (size_t a = 0; a < phi->args.count; a++)
        if (phi->args.data[a].pred != exiting && phi->args.data[a].reg != exit->start)
            return NULL;
    return exit;
}

static void put_first(Block *block, Inst *inst)
{
    if (block->first)
        inst_insert_before(block->first, inst);
    else
        inst_append(block, inst);
}

/* The rounds in the block after the loop, by whichever path control gets there. */
static RegId rounds_after(PointerLoops *p, const Block *exiting, Block *after, RegId rounds)
{
    Body *body = p->body;
    Phi phi = {.dst = body_clone_reg(body, rounds)};
    RegId zero = body_clone_reg(body, rounds);
    put_first(body->blocks.data[0], inst_build(body, "mov.b64", "di", zero, (int64_t)0));
    for (unsigned b = 0; b < after->pred_count; b++)
        VEC_PUSH(body->arena, phi.args, ((PhiArg){after->preds[b], after->preds[b] == exiting ? rounds : zero}));
    VEC_PUSH(body->arena, after->phis, phi);
    return phi.dst;
}

/* Computes the value from its start and the number of rounds. False if the step is not available there. */
static bool exit_value_build(PointerLoops *p, const ExitValue *exit, Block *after, RegId rounds)
{
    const SumPlace place = sum_place_new(p->body, dominance_parent(p->dominance, after), p->analyses);
    const RegId step = exit->step.term_count ? sum_build(&place, &exit->step) : REG_NONE;
    if (exit->step.term_count && step == REG_NONE)
        return false;
    Inst *sum = step == REG_NONE ? inst_build(p->body, "mad.lo.s64", "drir", exit->dst, rounds, exit->step.constant,
                                              exit->start)
                                 : inst_build(p->body, "mad.lo.s64", "drrr", exit->dst, rounds, step, exit->start);
    put_first(after, sum);
    return true;
}

static void remove_phi(Block *block, size_t phi)
{
    block->phis.count--;
    for (; phi < block->phis.count; phi++)
        block->phis.data[phi] = block->phis.data[phi + 1];
}

static void find_exit_values(const PointerLoops *p, const Loop *loop, const Block *exiting, const Block *after,
                             ExitValueVec *exits)
{
    for (size_t i = 0; i < after->phis.count; i++) {
        ExitValue *exit = exit_value_find(p, loop, exiting, &after->phis.data[i]);
        if (!exit)
            continue;
        exit->phi = i;
        VEC_PUSH(p->scratch, *exits, exit);
    }
}

/* Computes what pointers are after the loop from the number of its rounds. */
static bool leave_loop(PointerLoops *p, const Loop *loop)
{
    TripCount trips;
    ExitValueVec exits = {0};
    if (!trip_count_find(loop, p->loops, p->analyses, &trips) || !trip_count_is_exact(&trips) ||
        trips.counter.addend != REG_NONE || is_own(p, trips.counter.start) || is_own(p, trips.bound))
        return false;
    const Inst *branch = trips.exiting->last;
    Block *after = loop_contains(p->loops, loop, branch->targets[0]) ? trips.exiting->fall : branch->targets[0];
    find_exit_values(p, loop, trips.exiting, after, &exits);
    if (!exits.count)
        return false;
    const SumPlace place = sum_place_new(p->body, loop->preheader, p->analyses);
    RegId last, all = sum_reg(&place, TYPE_B64, "%rounds");
    trip_count_build(&place, &trips, ROUNDS_LIMIT, &last);
    sum_put(&place, inst_build(p->body, "add.s64", "dri", all, last, (int64_t)1));
    const RegId rounds[2] = {rounds_after(p, trips.exiting, after, last), rounds_after(p, trips.exiting, after, all)};
    for (size_t i = exits.count; i--;)
        if (exit_value_build(p, exits.data[i], after, rounds[exits.data[i]->is_next]))
            remove_phi(after, exits.data[i]->phi);
    return true;
}

static bool for_each_loop(PointerLoops *p, bool (*change)(PointerLoops *, const Loop *))
{
    bool changed = false;
    for (uint32_t i = 0; i < p->loops->loop_count; i++) {
        const Loop *loop = &p->loops->loops[i];
        if (loop->end != i + 1 || !change(p, loop))
            continue;
        changed = true;
        analyses_invalidate(p->analyses, ANALYSES_INSTRUCTIONS);
        refresh(p);
    }
    return changed;
}

bool pass_pointer_loops(PassContext *context)
{
    Arena *scratch = arena_new();
    PointerLoops p = {.scratch = scratch, .body = context->body, .analyses = context->analyses};
    loops_add_preheaders(context->body, context->analyses);
    refresh(&p);
    bool changed = for_each_loop(&p, leave_loop);
    changed |= for_each_loop(&p, count_loop);
    changed |= for_each_loop(&p, count_low);
    arena_free(scratch);
    return changed;
}
