/* Loops that end by themselves, because they count.
 *
 * A loop that is left at the latest when a counter reaches a bound cannot wait for ever, whatever it reads in between:
 * "for (i = 0; i < *tries; i++)" ends after 2^32 rounds, even if another value is read each time. It does if
 *   - each round passes one exit, at which it goes on only while the counter is on one side of the bound;
 *   - the counter comes nearer in every round, by at most so much that it cannot wrap before it is on the other side.
 *     With steps of one, the last integer is on the other side of every bound. Longer steps need a bound that is away
 *     from the last integer; so does "<=".
 * A bound that is compared for inequality must not change, and the steps must be of one, so that none is left out.
 * Counters of 64 bits count if their bound has 32 at most: 2^64 rounds are no end.
 *
 * Requires SSA form, dominators and loops. Changes nothing. */
#include "opt/coarsen/internal.h"

/* How far an expression may go, and the most that a value may add to a counter. */
enum { MOST_DEPTH = 16, MOST_STEP_BITS = 20 };

typedef struct Counting {
    Coarsening *c;
    const Values *values;
    const uint8_t *bits; /* by RegId: significant_bits() */
    const Loop *loop;
    RegId counter;       /* the phi of the header at hand */
    unsigned width;      /* its bits */
} Counting;

/* The least and the most that a value has over the counter. */
typedef struct Growth {
    int64_t least, most;
} Growth;

static bool find_growth(const Counting *w, RegId reg, unsigned depth, Growth *out);

/* Finds what a source of a sum adds: a constant, or a value of few bits. */
static bool find_summand(const Counting *w, const ComputeSource *source, Growth *out)
{
    const int64_t most = INT64_C(1) << MOST_STEP_BITS;
    if (source->is_constant) {
        int64_t value = bounds_point(w->width, source->constant).least;
        *out = (Growth){value, value};
        return value > -most && value < most;
    }
    if (source->reg == REG_NONE || w->bits[source->reg] > MOST_STEP_BITS)
        return false;
    *out = (Growth){0, (INT64_C(1) << w->bits[source->reg]) - 1};
    return true;
}

static bool find_sum(const Counting *w, const Computation *c, unsigned depth, Growth *out)
{
    bool subtracts = c->op == COMPUTE_SUB;
    for (unsigned i = 0; i < (subtracts ? 1u : 2u); i++) {
        Growth base, more;
        if (c->sources[i].reg == REG_NONE || !find_summand(w, &c->sources[1 - i], &more) ||
            !find_growth(w, c->sources[i].reg, depth + 1, &base))
            continue;
        *out = subtracts ? (Growth){base.least - more.most, base.most - more.least}
                         : (Growth){base.least + more.least, base.most + more.most};
        return true;
    }
    return false;
}

static bool join_growth(const Counting *w, RegId reg, unsigned depth, bool first, Growth *out)
{
    Growth one;
    if (reg == REG_NONE || !find_growth(w, reg, depth + 1, &one))
        return false;
    out->least = first || one.least < out->least ? one.least : out->least;
    out->most = first || one.most > out->most ? one.most : out->most;
    return true;
}

/* The growth of a phi at which paths of one round meet. */
static bool find_meeting(const Counting *w, const ValueDef *def, unsigned depth, Growth *out)
{
    if (!def->block || loop_of(w->c->facts.loops, def->block) != w->loop || def->block == w->loop->header)
        return false;
    const Phi *phi = &def->block->phis.data[def->phi];
    bool found = phi->args.count > 0;
    for (size_t a = 0; a < phi->args.count && found; a++)
        found = join_growth(w, phi->args.data[a].reg, depth, a == 0, out);
    return found;
}

static bool find_growth(const Counting *w, RegId reg, unsigned depth, Growth *out)
{
    const ValueDef *def = &w->values->defs[reg];
    *out = (Growth){0, 0};
    if (reg == w->counter)
        return true;
    if (depth > MOST_DEPTH)
        return false;
    if (!def->inst)
        return find_meeting(w, def, depth, out);
    Computation c;
    if (def->inst->effects != EFFECT_PURE || !computation_of(w->c->body, def->inst, &c) || c.bits != w->width ||
        c.reg_bits != w->width || c.saturates || loop_of(w->c->facts.loops, def->inst->block) != w->loop)
        return false;
    switch (c.op) {
    case COMPUTE_ADD:
    case COMPUTE_SUB: return find_sum(w, &c, depth, out);
    case COMPUTE_COPY: return c.sources[0].reg != REG_NONE && find_growth(w, c.sources[0].reg, depth + 1, out);
    case COMPUTE_SELECT:
        return join_growth(w, c.sources[0].reg, depth, true, out) &&
               join_growth(w, c.sources[1].reg, depth, false, out);
    default: return false;
    }
}

/* How much the counter grows in a round. *next: its next value, if that is one register; else REG_NONE. */
static bool find_step(const Counting *w, const Phi *phi, Growth *step, RegId *next)
{
    bool first = true;
    *next = REG_NONE;
    for (size_t a = 0; a < phi->args.count; a++) {
        RegId reg = phi->args.data[a].reg;
        if (!loop_contains(w->c->facts.loops, w->loop, phi->args.data[a].pred))
            continue;
        if (!join_growth(w, reg, 0, first, step))
            return false;
        *next = first || *next == reg ? reg : REG_NONE;
        first = false;
    }
    return !first;
}

/* The integers that a source of a comparison can be, within those of its type; those above INT64_MAX count as it. */
typedef struct Range {
    int64_t low, high;
} Range;

static Range range_of(const Computation *compare, Bounds bounds)
{
    if (compare->is_signed)
        return (Range){bounds.least, bounds.most};
    return (Range){bounds.low > INT64_MAX ? INT64_MAX : (int64_t)bounds.low,
                   bounds.high > INT64_MAX ? INT64_MAX : (int64_t)bounds.high};
}

static Range source_range(const Counting *w, const Computation *compare, const ComputeSource *source)
{
    if (source->is_constant)
        return range_of(compare, bounds_point(w->width, source->constant));
    unsigned bits = source->reg == REG_NONE ? w->width : w->bits[source->reg];
    return range_of(compare, bits < w->width ? bounds_unsigned(w->width, 0, (UINT64_C(1) << bits) - 1)
                                             : bounds_any(w->width));
}

/* True if the counter begins with an integer of 32 bits. */
static bool starts_small(const Counting *w)
{
    const Phi *phi = &w->loop->header->phis.data[w->values->defs[w->counter].phi];
    for (size_t a = 0; a < phi->args.count; a++)
        if (!loop_contains(w->c->facts.loops, w->loop, phi->args.data[a].pred) && w->bits[phi->args.data[a].reg] > 32)
            return false;
    return true;
}

typedef enum Side { SIDE_NONE, SIDE_BELOW, SIDE_ABOVE, SIDE_APART } Side;

/* The side on which the left operand is while the relation holds. *meets: it may also be equal. */
static Side side_of(Relation relation, bool *meets)
{
    *meets = relation == RELATION_LESS_EQUAL || relation == RELATION_GREATER_EQUAL;
    switch (relation) {
    case RELATION_LESS:
    case RELATION_LESS_EQUAL: return SIDE_BELOW;
    case RELATION_GREATER:
    case RELATION_GREATER_EQUAL: return SIDE_ABOVE;
    case RELATION_NOT_EQUAL: return SIDE_APART;
    default: return SIDE_NONE;
    }
}

static bool is_invariant(const Counting *w, const ComputeSource *source)
{
    const ValueDef *def = source->reg == REG_NONE ? NULL : &w->values->defs[source->reg];
    return source->is_constant || (def && def->block && !loop_contains(w->c->facts.loops, w->loop, def->block));
}

/* True if a counter with such steps gets to the other side of the bound without wrapping. */
static bool arrives(const Counting *w, const Computation *compare, const ComputeSource *bound, Side side, bool meets,
                    Growth step)
{
    Range all = range_of(compare, bounds_any(w->width)), at = source_range(w, compare, bound);
    const int64_t far = INT64_C(1) << 40; /* from the ends of 64 bits */
    if (w->width == 64 && (side == SIDE_APART || !starts_small(w) || (side == SIDE_BELOW ? at.high > far
                                                                                        : at.low < -far)))
        return false;
    switch (side) {
    case SIDE_BELOW: /* the last value that it goes on with, and the next step */
        return step.least >= 1 && (__int128)at.high - !meets <= all.high - step.most;
    case SIDE_ABOVE:
        return step.most <= -1 && (__int128)at.low + !meets >= (__int128)all.low - step.least;
    case SIDE_APART:
        return step.least == step.most && (step.least == 1 || step.least == -1) && is_invariant(w, bound);
    default: return false;
    }
}

static Side mirrored(Side side)
{
    return side == SIDE_BELOW ? SIDE_ABOVE : side == SIDE_ABOVE ? SIDE_BELOW : side;
}

/* True if the comparison's operand is the counter, or its next value, or that with a constant. */
static bool follows_counter(const Counting *w, RegId reg, RegId next)
{
    Growth offset;
    return reg == next || (find_growth(w, reg, 0, &offset) && offset.least == offset.most);
}

/* True if a loop ends that goes on only while the comparison holds (or does not). */
static bool ends_by(Counting *w, const Computation *compare, bool holds)
{
    bool meets;
    Side side = side_of(holds ? compare->relation : relation_negated(compare->relation), &meets);
    w->width = compare->sources[0].bits;
    for (size_t p = 0; p < w->loop->header->phis.count && side != SIDE_NONE; p++) {
        const Phi *phi = &w->loop->header->phis.data[p];
        Growth step;
        RegId next;
        w->counter = phi->dst;
        if (type_bits(w->c->body->regs.data[phi->dst].type) != w->width || !find_step(w, phi, &step, &next))
            continue;
        for (unsigned i = 0; i < 2; i++)
            if (compare->sources[i].reg != REG_NONE && follows_counter(w, compare->sources[i].reg, next) &&
                arrives(w, compare, &compare->sources[1 - i], i == 0 ? side : mirrored(side), meets, step))
                return true;
    }
    return false;
}

/* True if a loop ends that goes on only while the predicate is as given. A comparison may be joined with others. */
static bool ends_while(Counting *w, RegId predicate, bool holds, unsigned depth)
{
    const Inst *inst = value_inst(w->values, predicate);
    Computation c;
    if (!inst || depth > MOST_DEPTH || loop_of(w->c->facts.loops, inst->block) != w->loop ||
        !computation_of(w->c->body, inst, &c) || c.bits != 1)
        return false;
    if (c.op == COMPUTE_COMPARE)
        return (c.combination == COMBINE_NOTHING || (c.combination == COMBINE_AND && holds)) && ends_by(w, &c, holds);
    if (c.op == COMPUTE_NOT)
        return c.sources[0].reg != REG_NONE && ends_while(w, c.sources[0].reg, !holds, depth + 1);
    bool joins = (c.op == COMPUTE_AND && holds) || (c.op == COMPUTE_OR && !holds);
    for (unsigned i = 0; joins && i < 2; i++)
        if (c.sources[i].reg != REG_NONE && ends_while(w, c.sources[i].reg, holds, depth + 1))
            return true;
    return false;
}

/* True if every round passes the exit. */
static bool is_passed(const Counting *w, const Block *exit)
{
    if (loop_of(w->c->facts.loops, exit) != w->loop)
        return false;
    for (uint32_t l = 0; l < w->loop->latch_count; l++)
        if (!dominance_has(w->c->facts.dominance, exit, w->loop->latches[l]))
            return false;
    return true;
}

bool coarsening_counts_to_end(Coarsening *c, const Loop *loop)
{
    Counting w = {.c = c, .values = analyses_values(c->facts.analyses), .loop = loop};
    w.bits = significant_bits(c->scratch, w.values);
    for (uint32_t b = 0; b < loop->block_count; b++) {
        const Block *exit = loop->blocks[b];
        const Inst *last = block_two_way_branch(exit);
        if (!last || !is_passed(&w, exit))
            continue;
        bool taken_stays = loop_contains(c->facts.loops, loop, last->targets[0]);
        if (taken_stays == loop_contains(c->facts.loops, loop, exit->fall))
            continue;
        if (ends_while(&w, inst_predicate(last), taken_stays != last->guard_inverted, 0))
            return true;
    }
    return false;
}
