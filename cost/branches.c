/* The shares of threads and warps that go to each side of a branch, estimated without a launch.
 *
 * A condition on the thread's index alone is evaluated for the threads of a block. A bounds check, which compares a
 * thread's index with a size, is nearly always passed; which outcome passes is seen from the if-then that it guards, of
 * this condition or of one like it for another replica. Loaded data decide in half of the threads, so that nearly all
 * warps go to both sides.
 *
 * Transformations combine the conditions of replicas ("all of them are within bounds") and test each one after the
 * combination failed. So a condition is judged under the conditions already decided where it is tested: with P(a) the
 * share of a, and a part of the conjunction c, P(a | not c) is (P(a) - P(c)) / (1 - P(c)). All paths together then
 * make the threads execute as often what a condition guards as the original made them. */
#include "cost/estimate.h"

#include <math.h>

enum {
    DEEPEST = 12,
    DEEPEST_COMBINED = 48, /* transformations test dozens of conditions together; each is looked at once */
    WIDEST_HALO = 32,
    MOST_RESTS = 16,
    MANY_ROUNDS = 1 << 24, /* more than loops make */
};
static const double inside = 0.97, at_edge = 0.5, both_sides = 0.9, either_side = 0.5;
static const double extreme = 0.001; /* of the threads, whose numbers are huge or tiny */
static const double rare = 0.002;    /* the most threads whose warps need not go to both sides */

/* The share of the threads that are within the bounds of the data. */
static double in_bounds(const Estimate *estimate)
{
    return estimate->at_edge ? at_edge : inside;
}

/* How conditions are made. */

typedef enum Junction { JUNCTION_NONE, JUNCTION_AND, JUNCTION_OR, JUNCTION_XOR, JUNCTION_NOT, JUNCTION_SAME } Junction;

/* The operation by which a predicate is made from one or two others. */
static Junction junction_of(const Estimate *estimate, RegId reg, RegId sources[2])
{
    static const Junction junctions[] = {[COMPUTE_AND] = JUNCTION_AND, [COMPUTE_OR] = JUNCTION_OR,
                                         [COMPUTE_XOR] = JUNCTION_XOR, [COMPUTE_NOT] = JUNCTION_NOT,
                                         [COMPUTE_COPY] = JUNCTION_SAME};
    Computation c;
    const Inst *inst = estimate_maker(estimate, reg);
    if (!inst || !computation_of(estimate->body, inst, &c) || c.bits != 1 || c.op >= COUNT_OF(junctions))
        return JUNCTION_NONE;
    for (unsigned i = 0; i < c.source_count; i++)
        if (c.sources[i].reg == REG_NONE || c.sources[i].is_inverted)
            return JUNCTION_NONE;
    sources[0] = c.sources[0].reg;
    sources[1] = c.source_count > 1 ? c.sources[1].reg : REG_NONE;
    return junctions[c.op];
}

/* A comparison of two integers, which is not combined with another predicate. */
static bool comparison_of(const Estimate *estimate, RegId reg, Computation *c)
{
    const Inst *inst = estimate_maker(estimate, reg);
    return inst && computation_of(estimate->body, inst, c) && c->op == COMPUTE_COMPARE &&
           c->combination == COMBINE_NOTHING && c->bits == 1;
}

/* A comparison of two integers that is combined with another predicate: the comparison alone, and the predicate. */
static bool combined_of(const Estimate *estimate, RegId reg, Computation *c, Combination *combination, RegId *other)
{
    const Inst *inst = estimate_maker(estimate, reg);
    if (!inst || !computation_of(estimate->body, inst, c) || c->op != COMPUTE_COMPARE || c->bits != 1 ||
        c->combination == COMBINE_NOTHING || c->source_count != 3 || c->sources[2].is_inverted ||
        c->sources[2].reg == REG_NONE)
        return false;
    *combination = c->combination;
    *other = c->sources[2].reg;
    c->combination = COMBINE_NOTHING;
    c->source_count = 2;
    return true;
}

/* Shares of single conditions. */

static Share certain(bool holds)
{
    return (Share){holds, holds};
}

static Share of_threads(double threads)
{
    return (Share){threads, threads};
}

/* The number of different values that the operand may have, as far as its bounds tell. */
static double possible_values(const Estimate *estimate, const ComputeSource *source)
{
    if (source->is_constant || source->reg == REG_NONE)
        return 1;
    const Bounds bounds = affine_reg_bounds(estimate->values, source->reg);
    const unsigned zeros = (unsigned)__builtin_popcountll(bounds.zeros);
    return fmin((double)(bounds.high - bounds.low) + 1, exp2(source->bits > zeros ? source->bits - zeros : 0));
}

/* The share in which two values are equal that differ between threads. */
static Share share_of_equal(const Estimate *estimate, const Computation *c)
{
    const double values =
        fmax(possible_values(estimate, &c->sources[0]), possible_values(estimate, &c->sources[1]));
    const double one = 1 / fmin(values, estimate->original_threads);
    return (Share){one, fmin(1, WARP_THREADS * one)};
}

static bool is_equality(Relation relation)
{
    return relation == RELATION_EQUAL || relation == RELATION_NOT_EQUAL;
}

/* True if the comparison asks whether a thread block is within the grid, as merged blocks do for each of theirs. */
static bool asks_for_grid(const Estimate *estimate, const Computation *c)
{
    return c->sources[0].reg != REG_NONE && c->sources[1].reg != REG_NONE &&
           value_is_of_grid(estimate, c->sources[0].reg) && value_is_of_grid(estimate, c->sources[1].reg);
}

/* True if the comparison is one of addresses, or of their low bits, as tests before the fast side of two versions make:
 * programs seldom ask whether 64-bit integers are equal. */
static bool compares_addresses(const Computation *c, unsigned sources)
{
    return c->sources[0].bits == 64 && !(sources & SOURCE_MEMORY);
}

/* True if the comparison asks whether an address is a constant, as NULL is, and not whether its low bits are. */
static bool asks_for_null(const Estimate *estimate, const Computation *c)
{
    return (c->sources[0].is_constant || c->sources[1].is_constant) &&
           fmax(possible_values(estimate, &c->sources[0]), possible_values(estimate, &c->sources[1])) > UINT32_MAX;
}

/* True if the comparison, which is the same for all threads, asks whether a division by a small power of two leaves
 * this rest. */
static bool asks_for_rest(const Estimate *estimate, const Computation *c, unsigned sources)
{
    const unsigned constant = c->sources[0].is_constant ? 0 : 1;
    const RegId reg = c->sources[!constant].reg;
    if (sources & (SOURCE_MEMORY | SOURCE_LOOP | SOURCE_THREAD) || !c->sources[constant].is_constant || reg == REG_NONE)
        return false;
    const double values = possible_values(estimate, &c->sources[!constant]);
    return values > 1 && values <= MOST_RESTS;
}

/* True if the bound is known, and as near to the edge of the data as the radius of a filter. */
static bool is_in_halo(const Estimate *estimate, const ComputeSource *bound)
{
    if (bound->is_constant || bound->reg == REG_NONE)
        return bound->is_constant && bound->constant <= WIDEST_HALO;
    const Bounds known = affine_reg_bounds(estimate->values, bound->reg);
    return bounds_is_point(&known) && known.low <= WIDEST_HALO;
}

/* True if the comparison, which is the same for all threads, says that a number, as of a loop's rounds, is less than a
 * constant that is larger than any. */
static bool is_below_many(const Computation *c)
{
    const ComputeSource *bound = &c->sources[1];
    return c->relation == RELATION_LESS && c->sources[0].bits == 32 && bound->is_constant &&
           bound->constant >= MANY_ROUNDS && bound->constant <= INT32_MAX;
}

/* True if the comparison says that a number of 64 bits is less than a constant that no index reaches, as tests for
 * indices that wrap and for addresses do. */
static bool is_below_all(const Computation *c, unsigned sources)
{
    const ComputeSource *bound = &c->sources[1];
    return c->relation == RELATION_LESS && c->sources[0].bits == 64 && bound->is_constant &&
           (uint64_t)bound->constant >= INT32_MAX && !(sources & SOURCE_MEMORY);
}

/* The share of the threads for which a comparison without a known form holds. */
static Share share_of_comparison(const Estimate *estimate, const Computation *c, unsigned sources)
{
    if (is_equality(c->relation) && compares_addresses(c, sources) && estimate_is_misaligned(estimate, c))
        return certain(c->relation != RELATION_EQUAL);
    if (is_equality(c->relation) && compares_addresses(c, sources))
        return of_threads((c->relation == RELATION_EQUAL) != asks_for_null(estimate, c) ? inside : 1 - inside);
    if (is_equality(c->relation) && estimate_leaves_no_rest(estimate, c))
        return certain(c->relation == RELATION_EQUAL);
    if (is_equality(c->relation) && asks_for_rest(estimate, c, sources)) {
        const double one = 1 / possible_values(estimate, &c->sources[c->sources[0].is_constant]);
        return of_threads(c->relation == RELATION_EQUAL ? one : 1 - one);
    }
    if (!(sources & (SOURCE_MEMORY | SOURCE_LOOP | SOURCE_THREAD)) && is_below_many(c))
        return of_threads(1 - extreme);
    if (is_below_all(c, sources))
        return of_threads(1 - extreme);
    if (is_equality(c->relation) && !(sources & SOURCE_MEMORY) && sources & SOURCE_THREAD) {
        const Share one = share_of_equal(estimate, c);
        return c->relation == RELATION_EQUAL ? one : of_threads(1 - one.threads);
    }
    const bool reads_left = c->sources[0].reg != REG_NONE && value_sources(estimate, c->sources[0].reg) & SOURCE_THREAD;
    const Relation relation = reads_left ? c->relation : relation_swapped(c->relation);
    const ComputeSource *bound = &c->sources[reads_left];
    const bool is_halo = is_in_halo(estimate, bound); /* x < 1: at the edge of the data */
    if (sources & (SOURCE_MEMORY | SOURCE_LOOP) || !(sources & SOURCE_THREAD))
        return of_threads(either_side);
    const bool is_less = relation == RELATION_LESS || relation == RELATION_LESS_EQUAL;
    return of_threads(is_less != is_halo ? in_bounds(estimate) : 1 - in_bounds(estimate));
}

/* True if the predicate compares a place that moves on with the rounds of a loop with what they leave as it is. */
static bool is_moving_check(const Estimate *estimate, RegId predicate)
{
    Computation c;
    if (!comparison_of(estimate, predicate, &c) || is_equality(c.relation))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const RegId place = c.sources[i].reg, bound = c.sources[!i].reg;
        if (place != REG_NONE && value_is_place(estimate, place) &&
            (bound == REG_NONE || !value_sources(estimate, bound)))
            return true;
    }
    return false;
}

/* The share of the threads that execute the part of an if-then which a condition guards, other than an equality of the
 * thread's index. */
static double guarded_share(const Estimate *estimate, RegId predicate)
{
    const unsigned sources = value_sources(estimate, predicate);
    if (sources & SOURCE_MEMORY)
        return either_side;
    if (sources & SOURCE_THREAD || !(sources & SOURCE_LOOP))
        return in_bounds(estimate);
    return is_moving_check(estimate, predicate) ? in_bounds(estimate) : either_side;
}

/* The share of the threads for which it holds as far as branches tell that it, or a condition like it, guards; below 0:
 * none does. */
static double learned_share(const Estimate *estimate, RegId predicate)
{
    const double own = estimate->learned[predicate];
    if (own >= 0)
        return own;
    for (size_t i = 0; i < estimate->guards.count; i++)
        if (estimate_alike(estimate, predicate, estimate->guards.data[i]))
            return estimate->learned[estimate->guards.data[i]];
    return own;
}

static Share share_of_leaf(Estimate *estimate, RegId predicate)
{
    Computation c;
    const unsigned sources = value_sources(estimate, predicate);
    const bool compares = comparison_of(estimate, predicate, &c);
    bool holds;
    if (compares && estimate_decides(estimate, &c, &holds))
        return certain(holds);
    if (!compares && estimate_is_extreme(estimate, predicate, &holds))
        return of_threads(holds ? 1 - extreme : extreme);
    if (compares && asks_for_grid(estimate, &c) && !is_equality(c.relation))
        return certain(c.relation == RELATION_LESS || c.relation == RELATION_LESS_EQUAL);
    if (compares && is_equality(c.relation) && !(sources & SOURCE_MEMORY) &&
        (sources & SOURCE_THREAD || compares_addresses(&c, sources) || asks_for_rest(estimate, &c, sources)))
        return share_of_comparison(estimate, &c, sources);
    const double learned = learned_share(estimate, predicate);
    if (learned >= 0)
        return of_threads(learned);
    return compares ? share_of_comparison(estimate, &c, sources) : of_threads(either_side);
}

/* Combinations. */

static double share_holds(Estimate *estimate, RegId predicate, const Block *at, unsigned depth);
static double share_anywhere(Estimate *estimate, RegId predicate, unsigned depth);

/* True if what decides one condition says nothing about the other: data of different threads. */
static bool are_independent(const Estimate *estimate, RegId a, RegId b)
{
    return value_sources(estimate, a) & value_sources(estimate, b) & SOURCE_MEMORY;
}

/* True if the condition is 'predicate' or one like it, or is made from it by this junction alone. */
static bool is_made_from(const Estimate *estimate, RegId condition, RegId predicate, Junction by, unsigned depth)
{
    RegId sources[2];
    if (estimate_alike(estimate, condition, predicate))
        return true;
    const Junction junction = junction_of(estimate, condition, sources);
    if (depth >= DEEPEST || (junction != by && junction != JUNCTION_SAME))
        return false;
    return is_made_from(estimate, sources[0], predicate, by, depth + 1) ||
           (junction == by && is_made_from(estimate, sources[1], predicate, by, depth + 1));
}

/* For "x differs from y", where one is the conjunction and the other the disjunction of the same conditions: the
 * conjunction. */
static bool parts(const Estimate *estimate, const RegId sources[2], RegId *all, RegId *any)
{
    RegId first[2], second[2];
    const Junction x = junction_of(estimate, sources[0], first), y = junction_of(estimate, sources[1], second);
    if (!(x == JUNCTION_AND && y == JUNCTION_OR) && !(x == JUNCTION_OR && y == JUNCTION_AND))
        return false;
    *all = sources[x != JUNCTION_AND];
    *any = sources[x == JUNCTION_AND];
    return is_made_from(estimate, *all, second[1], JUNCTION_AND, 0) ||
           is_made_from(estimate, *all, first[1], JUNCTION_AND, 0);
}

static double joined_share(Estimate *estimate, Junction junction, const RegId sources[2], unsigned depth)
{
    const double a = share_anywhere(estimate, sources[0], depth + 1);
    const double b = sources[1] == REG_NONE ? a : share_anywhere(estimate, sources[1], depth + 1);
    const bool independent =
        sources[1] != REG_NONE && (estimate->at_edge || are_independent(estimate, sources[0], sources[1]));
    RegId all, any;
    switch (junction) {
    case JUNCTION_AND: return independent ? a * b : fmin(a, b);
    case JUNCTION_OR: return independent ? a + b - a * b : fmax(a, b);
    case JUNCTION_NOT: return 1 - a;
    case JUNCTION_XOR:
        return parts(estimate, sources, &all, &any) ? fabs(a - b) : a + b - 2 * a * b;
    default: return a;
    }
}

static unsigned sources_of(const Estimate *estimate, const Computation *c)
{
    unsigned sources = 0;
    for (unsigned i = 0; i < c->source_count; i++)
        if (c->sources[i].reg != REG_NONE)
            sources |= value_sources(estimate, c->sources[i].reg);
    return sources;
}

/* True if one of the two comparisons of addresses holds unless ranges overlap: one ends before the other begins. */
static bool asks_for_overlap(const Estimate *estimate, const Computation *c, RegId other)
{
    Computation second;
    return comparison_of(estimate, other, &second) && !is_equality(c->relation) && !is_equality(second.relation) &&
           compares_addresses(c, sources_of(estimate, c)) &&
           compares_addresses(&second, sources_of(estimate, &second));
}

static double combined_share(Estimate *estimate, const Computation *c, Combination combination, RegId other,
                             unsigned depth)
{
    bool holds;
    const double own = estimate_decides(estimate, c, &holds)
                           ? holds
                           : share_of_comparison(estimate, c, sources_of(estimate, c)).threads;
    const double rest = share_anywhere(estimate, other, depth + 1);
    switch (combination) {
    case COMBINE_AND: return fmin(own, rest);
    case COMBINE_OR: return asks_for_overlap(estimate, c, other) ? fmax(1 - extreme, rest) : fmax(own, rest);
    default: return own + rest - 2 * own * rest;
    }
}

/* The share of a phi at which paths meet: as many as come with a predicate that holds. */
static double phi_share(Estimate *estimate, const ValueDef *def, unsigned depth)
{
    const Phi *phi = &def->block->phis.data[def->phi];
    double come = 0, hold = 0;
    for (size_t i = 0; i < phi->args.count; i++) {
        const Block *pred = phi->args.data[i].pred;
        const double flow = estimate_edge(estimate, pred, def->block).threads;
        come += flow;
        hold += flow > 0 ? flow * share_holds(estimate, phi->args.data[i].reg, pred, depth + 1) : 0;
    }
    return come > 0 ? hold / come : either_side;
}

static double share_computed(Estimate *estimate, RegId predicate, unsigned depth)
{
    RegId sources[2];
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[predicate];
    if (!def->inst && !loop_headed(analyses_loops(estimate->analyses), def->block))
        return phi_share(estimate, def, depth);
    const Junction junction = junction_of(estimate, predicate, sources);
    const Share counted = estimate_count_threads(estimate, predicate, true, def->block);
    if (counted.threads >= 0)
        return counted.threads;
    const double of_rounds = estimate_count_rounds(estimate, predicate);
    if (of_rounds >= 0)
        return of_rounds;
    Computation c;
    Combination combination;
    RegId other;
    const bool is_combined = combined_of(estimate, predicate, &c, &combination, &other);
    if (junction == JUNCTION_NONE && !is_combined)
        return share_of_leaf(estimate, predicate).threads;
    const double learned = learned_share(estimate, predicate);
    const double joined = is_combined ? combined_share(estimate, &c, combination, other, depth)
                                      : joined_share(estimate, junction, sources, depth);
    return learned >= 0 && joined > 0 && joined < 1 ? learned : joined;
}

/* The share of the threads for which the predicate holds, of all that compute it. */
static double share_anywhere(Estimate *estimate, RegId predicate, unsigned depth)
{
    double *known = &estimate->holding[predicate];
    if (*known < 0 && (depth >= DEEPEST_COMBINED || value_is_undefined(analyses_values(estimate->analyses), predicate)))
        return either_side;
    if (*known < 0)
        *known = share_computed(estimate, predicate, depth);
    return *known;
}

/* The share for which the condition of the block's branch holds there. */
static double branch_share(Estimate *estimate, const Block *block, unsigned depth)
{
    double *known = &estimate->branching[block->id];
    if (*known < 0)
        *known = share_holds(estimate, inst_predicate(block->last), block, depth);
    return *known;
}

/* A condition that has been decided wherever control reaches a block. */
typedef struct Decided {
    RegId predicate;
    bool value;
    const Block *block; /* that ends in the branch */
} Decided;

/* The decision by which control came to 'at' from its immediate dominator, if that is a branch. */
static bool decision_before(const Block *at, const Block *decider, Decided *decided)
{
    const Inst *last = block_two_way_branch(decider);
    if (!last || at->pred_count != 1 || at->preds[0] != decider)
        return false;
    *decided = (Decided){inst_predicate(last), (last->targets[0] == at) != last->guard_inverted, decider};
    return true;
}

/* P(predicate | decided) for a decision on whether replicas differ: between all and any of their conditions. */
static bool share_given_difference(Estimate *estimate, RegId predicate, const Decided *decided, unsigned depth,
                                   double *share)
{
    RegId sources[2], all, any;
    if (junction_of(estimate, decided->predicate, sources) != JUNCTION_XOR || !parts(estimate, sources, &all, &any))
        return false;
    const double differ = branch_share(estimate, decided->block, depth + 1);
    const double together = share_holds(estimate, all, decided->block, depth + 1);
    if (predicate == all || predicate == any)
        *share = decided->value ? predicate == any : together / (1 - differ);
    else if (!is_made_from(estimate, all, predicate, JUNCTION_AND, 0))
        return false;
    else if (decided->value)
        *share = (share_holds(estimate, predicate, decided->block, depth + 1) - together) / differ;
    else
        *share = together / (1 - differ);
    return true;
}

/* P(predicate | decided); false: the decision says nothing about it. */
static bool share_given(Estimate *estimate, RegId predicate, const Decided *decided, unsigned depth, double *share)
{
    const RegId other = decided->predicate;
    const bool is_in_all = is_made_from(estimate, other, predicate, JUNCTION_AND, 0);
    const bool is_in_any = !is_in_all && is_made_from(estimate, other, predicate, JUNCTION_OR, 0);
    const bool has_all = !is_in_all && !is_in_any && is_made_from(estimate, predicate, other, JUNCTION_AND, 0);
    const bool has_any = !is_in_all && !is_in_any && is_made_from(estimate, predicate, other, JUNCTION_OR, 0);
    if (!is_in_all && !is_in_any && !has_all && !has_any)
        return share_given_difference(estimate, predicate, decided, depth, share);
    const double own = share_holds(estimate, predicate, decided->block, depth + 1);
    const double decides = branch_share(estimate, decided->block, depth + 1);
    if (is_in_all)
        *share = decided->value ? 1 : (own - decides) / (1 - decides);
    else if (is_in_any)
        *share = decided->value ? own / decides : 0;
    else if (has_all)
        *share = decided->value ? own / decides : 0;
    else
        *share = decided->value ? 1 : (own - decides) / (1 - decides);
    return true;
}

/* The share of the threads for which it holds, of those that come to the end of the block. */
static double share_holds(Estimate *estimate, RegId predicate, const Block *at, unsigned depth)
{
    const Dominance *dominance = analyses_dominance(estimate->analyses);
    unsigned steps = 0;
    for (const Block *block = at, *decider; depth < DEEPEST && steps < DEEPEST * 4; block = decider, steps++) {
        Decided decided;
        double share;
        decider = dominance_parent(dominance, block);
        if (!decider)
            break;
        if (decision_before(block, decider, &decided) &&
            share_given(estimate, predicate, &decided, depth, &share))
            return isfinite(share) ? fmin(1, fmax(0, share)) : either_side;
    }
    return share_anywhere(estimate, predicate, depth);
}

/* Branches. */

Share estimate_share(Estimate *estimate, RegId predicate, bool value, const Block *at)
{
    const Share counted = estimate_count_threads(estimate, predicate, value, at);
    if (counted.threads >= 0)
        return counted;
    const double holds = at->last && inst_is_terminator(at->last) && inst_predicate(at->last) == predicate
                             ? branch_share(estimate, at, 0)
                             : share_holds(estimate, predicate, at, 0);
    Share share = of_threads(value ? holds : 1 - holds);
    const unsigned sources = value_sources(estimate, predicate);
    if (sources & SOURCE_MEMORY && share.threads > 0 && share.threads < 1)
        share.warps = share.threads <= rare ? 1 - pow(1 - share.threads, WARP_THREADS)
                                            : fmax(both_sides, share.threads);
    else if (sources & SOURCE_THREAD && share.threads * estimate->original_threads <= 1.5)
        share.warps = fmin(1, WARP_THREADS * share.threads);
    else if (sources & SOURCE_THREAD && estimate->splits_warps && share.threads > 0 && share.threads < 1)
        share.warps = fmax(both_sides, share.threads);
    return share;
}

static double *unknown_shares(const Estimate *estimate, size_t count)
{
    double *shares = ARENA_ARRAY(estimate->arena, double, count + 1);
    for (size_t i = 0; i <= count; i++)
        shares[i] = -1;
    return shares;
}

static void learn(Estimate *estimate, RegId predicate, bool if_true)
{
    RegId sources[2];
    Junction junction;
    while ((junction = junction_of(estimate, predicate, sources)) == JUNCTION_NOT || junction == JUNCTION_SAME) {
        predicate = sources[0];
        if_true ^= junction == JUNCTION_NOT;
    }
    if (estimate->learned[predicate] >= 0)
        return;
    const double share = guarded_share(estimate, predicate);
    estimate->learned[predicate] = if_true ? share : 1 - share;
    VEC_PUSH(estimate->arena, estimate->guards, predicate);
}

/* Learns from the branch at the block's end, unless it leaves a loop, and from guarded instructions, each of which is
 * an if-then. */
static void learn_from(Estimate *estimate, const Block *block)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Loop *loop = loop_of(loops, block);
    bool if_true, leaves = false;
    FOR_EACH_SUCC(block, succ)
        leaves |= loop && !loop_contains(loops, loop, succ);
    if (!leaves && estimate_guards(estimate, block, &if_true))
        learn(estimate, inst_predicate(block->last), if_true);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (inst_is_guarded(inst) && !inst_is_terminator(inst))
            learn(estimate, inst_predicate(inst), !inst->guard_inverted);
}

void estimate_learn_guards(Estimate *estimate)
{
    const size_t count = estimate->body->regs.count;
    estimate->learned = unknown_shares(estimate, count);
    estimate->holding = unknown_shares(estimate, count);
    estimate->counted = ARENA_ARRAY(estimate->arena, ThreadRounds, count + 1);
    estimate->coming = ARENA_ARRAY(estimate->arena, Coming, estimate->body->blocks.count + 1);
    estimate->branching = unknown_shares(estimate, estimate->body->blocks.count);
    for (size_t b = 0; b < estimate->body->blocks.count; b++)
        learn_from(estimate, estimate->body->blocks.data[b]);
}

/* True if the register is one special register plus a constant. */
static bool is_special(const Estimate *estimate, RegId reg, unsigned role)
{
    AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), reg);
    return form.term_count == 1 && form.terms[0].base == AFFINE_SREG && form.terms[0].coefficient == 1 &&
           form.terms[0].sreg->role == role;
}

/* The instruction that makes the value, if it is of the opcode and its second source is a constant; else NULL. */
static const Inst *made_with_constant(const Estimate *estimate, RegId reg, Opcode op, uint64_t *constant)
{
    const Inst *inst = estimate_maker(estimate, reg);
    return inst && inst_op(inst) == op && operand_is_integer(&inst->operands[2], constant) ? inst : NULL;
}

/* The k for which the register is the thread block's index modulo k: its low bits, or the index less a multiple of k;
 * 0: it is anything else. */
static double block_modulus(const Estimate *estimate, RegId reg)
{
    uint64_t bits;
    const Inst *low = made_with_constant(estimate, reg, OP_AND, &bits);
    const Inst *less = made_with_constant(estimate, reg, OP_MAD, &bits);
    RegId index = low ? inst_reg(low, 1) : less ? inst_reg(less, 3) : REG_NONE;
    if (index == REG_NONE || !is_special(estimate, index, SREG_ROLE_CTAID))
        return 0;
    return low ? (double)(uint32_t)bits + 1 : -(double)(int32_t)bits;
}

double estimate_staying(const Estimate *estimate, const Block *block)
{
    const Inst *compare = estimate_condition(estimate, block);
    if (!compare || inst_op(compare) != OP_SETP || !inst_has(compare, MOD_NE) || compare->operand_count != 3)
        return 1;
    RegId works = inst_reg(compare, 2);
    const Inst *chosen = estimate_maker(estimate, works);
    if (!chosen || inst_op(chosen) != OP_SELP || value_sources(estimate, works))
        return 1;
    double merged = block_modulus(estimate, inst_reg(compare, 1));
    return merged > 1 ? 1 / merged : 1;
}

/* True if the predicate is made from a vote of the block's threads. A vote about equal values, which is about addresses
 * (opt/memory/rewrite.c), does not count. */
static bool is_voted(const Estimate *estimate, RegId predicate, unsigned depth)
{
    const Inst *inst = estimate_maker(estimate, predicate);
    Computation c;
    if (!inst || depth >= DEEPEST)
        return false;
    if (inst->sync == SYNC_BLOCK_COUNT) {
        const Inst *asked = inst->operand_count > 2 ? estimate_maker(estimate, inst_reg(inst, 2)) : NULL;
        return !(asked && computation_of(estimate->body, asked, &c) && c.op == COMPUTE_COMPARE &&
                 is_equality(c.relation));
    }
    bool found = false;
    for (unsigned i = 0; i < inst->ref_count && !found; i++)
        found = ref_reads(&inst->refs[i]) && estimate->body->regs.data[inst->refs[i].reg].type == TYPE_PRED &&
                is_voted(estimate, inst->refs[i].reg, depth + 1);
    return found;
}

bool estimate_is_vote(const Estimate *estimate, const Block *block)
{
    return is_voted(estimate, inst_predicate(block->last), 0);
}

Share estimate_side(Estimate *estimate, const Block *block, const Block *to, const Block *other)
{
    const Inst *last = block->last;
    if (!inst_is_guarded(last))
        return of_threads(either_side);
    if (other && estimate_traps(to) != estimate_traps(other))
        return certain(estimate_traps(other));
    const double staying = estimate_staying(estimate, block);
    if (staying < 1)
        return of_threads(estimate_only_leaves(to) ? 1 - staying : staying);
    /* Only a branch has targets: other guarded ends of a block are taken out of the kernel. */
    const bool is_taken = last->target_count && last->targets[0] == to;
    return estimate_share(estimate, inst_predicate(last), is_taken != last->guard_inverted, block);
}
