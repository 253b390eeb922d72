/* The test that decides between a staged loop and the original. */
#include "opt/memory/rewrite.h"

enum { ROUNDS_LIMIT = 1 << 30 };

/* The threads vote at the end of a block that all of them execute: whether all of them pass the guards. */
static RegId build_vote(Rewrite *w)
{
    Staging *s = w->s;
    const EarlyPlace place = {
        .scratch = s->scratch, .body = s->body, .at = s->vote, .values = s->values, .dominance = s->dominance};
    RegId all = REG_NONE;
    for (unsigned g = 0; g < s->guard_count; g++) {
        const bool passes_if = s->guards[g].passes_if;
        RegId passes = value_hoist(&place, s->guards[g].predicate), both = rewrite_reg(w, TYPE_PRED, "%passes");
        inst_insert_before(s->vote->last, inst_build_conjunction(w->body, both, all, passes, !passes_if));
        all = both;
    }
    RegId result = rewrite_reg(w, TYPE_PRED, "%together");
    inst_insert_before(s->vote->last, inst_build(w->body, "bar.red.and.pred", "dir", result, (int64_t)0, all));
    return result;
}

/* A predicate that holds in all threads. */
static RegId build_true(Rewrite *w, const SumPlace *place)
{
    RegId zero = rewrite_reg(w, TYPE_B32, "%zero"), holds = rewrite_reg(w, TYPE_PRED, "%staged");
    sum_put(place, inst_build(w->body, "mov.u32", "di", zero, (int64_t)0));
    sum_put(place, inst_build(w->body, "setp.eq.u32", "dri", holds, zero, (int64_t)0));
    return holds;
}

/* Whether the launch's blocks have the size that the tiles are for. */
static RegId build_size_test(Rewrite *w, const SumPlace *place, RegId holds)
{
    static const char *const sizes[] = {"%ntid.x", "%ntid.y", "%ntid.z"};
    for (unsigned d = 0; d < 3 && w->s->launched.origin != BLOCK_REQUIRED; d++) {
        RegId size = rewrite_reg(w, TYPE_B32, "%ntid"), both = rewrite_reg(w, TYPE_PRED, "%staged");
        sum_put(place, inst_build(w->body, "mov.u32", "ds", size, sizes[d]));
        sum_put(place, inst_build(w->body, "setp.eq.and.u32", "drir", both, size, (int64_t)w->s->launched.threads[d],
                                  holds));
        holds = both;
    }
    return holds;
}

/* Whether the loop inside a nest goes no more rounds than its tiles are for, and a multiple of those that are
 * unrolled. */
static RegId build_inner_test(Rewrite *w, const SumPlace *place, RegId holds)
{
    TripCount trips = w->s->inner_trips;
    if (w->s->inner_starts_fixed) {
        const bool is_wide = trips.counter.bits == 64;
        trips.counter.start = rewrite_reg(w, is_wide ? TYPE_B64 : TYPE_B32, "%start");
        sum_put(place, inst_build(w->body, is_wide ? "mov.u64" : "mov.u32", "di", trips.counter.start,
                                  w->s->inner_start));
    }
    RegId fits = trip_count_build(place, &trips, ROUNDS_LIMIT, &w->inner_last);
    RegId few = rewrite_reg(w, TYPE_PRED, "%staged"), both = rewrite_reg(w, TYPE_PRED, "%staged");
    sum_put(place, inst_build(w->body, "setp.lt.and.u64", "drir", few, w->inner_last, (int64_t)w->s->inner_rounds,
                              fits));
    sum_put(place, inst_build(w->body, "and.pred", "drr", both, few, holds));
    if (w->s->inner_factor == 1)
        return both;
    RegId rounds = rewrite_reg(w, TYPE_B64, "%rounds"), left = rewrite_reg(w, TYPE_B64, "%left");
    RegId whole = rewrite_reg(w, TYPE_PRED, "%staged");
    sum_put(place, inst_build(w->body, "add.s64", "dri", rounds, w->inner_last, (int64_t)1));
    sum_put(place, inst_build(w->body, "and.b64", "dri", left, rounds, (int64_t)w->s->inner_factor - 1));
    sum_put(place, inst_build(w->body, "setp.eq.and.u64", "drir", whole, left, (int64_t)0, both));
    return whole;
}

static void build_strides(Rewrite *w, const SumPlace *place)
{
    const Staging *s = w->s;
    size_t count = s->loop->header->phis.count;
    w->strides = ARENA_ARRAY(s->scratch, RegId, count + 1);
    for (size_t p = 0; p < count; p++) {
        w->strides[p] = REG_NONE;
        if (!s->inductions[p].is_found || s->inductions[p].reg == REG_NONE)
            continue;
        const bool is_wide = s->inductions[p].step.bits == 64;
        w->strides[p] = rewrite_reg(w, is_wide ? TYPE_B64 : TYPE_B32, "%stride");
        sum_put(place, inst_build(w->body, is_wide ? "mul.lo.s64" : "mul.lo.s32", "dri", w->strides[p],
                                  s->inductions[p].reg, (int64_t)s->rounds));
    }
}

/* The predicate that this thread goes round the loop as often as thread 0, or, if rounds grow, at least as often, and
 * often enough. If all threads of the block do, they go round it together, until thread 0 leaves it. */
static RegId test_rounds(Rewrite *w)
{
    const Staging *s = w->s;
    Slices *slices = slices_new(w->s, w->setup, w->setup, NULL, w->strides, s->rounds);
    const SumPlace place = sum_place_new(w->body, w->setup, s->analyses);
    const RegId zero = rewrite_reg(w, TYPE_B32, "%zero");
    const Elsewhere at = {{zero, zero, zero, REG_NONE}};
    RegId last, both = rewrite_reg(w, TYPE_PRED, "%alike");
    TripCount trips = s->trips;
    sum_put(&place, inst_build(w->body, "mov.u32", "di", zero, (int64_t)0));
    trips.counter.start = slices_value(slices, &at, trips.counter.start);
    if (trips.bound != REG_NONE)
        trips.bound = slices_value(slices, &at, trips.bound);
    trip_count_build(&place, &trips, s->rounds, &last);
    if (!s->rounds_grow) {
        inst_append(w->setup, inst_build(w->body, "setp.eq.and.s64", "drrr", both, last, w->groups.last, w->enough));
        return both;
    }
    RegId fills = rewrite_reg(w, TYPE_PRED, "%alike");
    inst_append(w->setup, inst_build(w->body, "setp.ge.and.u64", "drrr", fills, w->groups.last, last, w->enough));
    inst_append(w->setup, inst_build(w->body, "setp.ge.and.u64", "drir", both, last, (int64_t)s->rounds - 1, fills));
    w->groups.least = last;
    return both;
}

void rewrite_test(Rewrite *w)
{
    Staging *s = w->s;
    Block *preheader = s->loop->preheader;
    RegId together = s->vote ? build_vote(w) : REG_NONE;
    const SumPlace place = sum_place_new(w->body, preheader, s->analyses);
    w->enough = round_groups_test(&place, &s->trips, s->rounds, &w->groups);
    RegId holds = s->rounds_differ ? together : w->enough;
    if (holds == REG_NONE)
        holds = build_true(w, &place);
    if (!s->rounds_differ && together != REG_NONE) {
        holds = rewrite_reg(w, TYPE_PRED, "%staged");
        sum_put(&place, inst_build(w->body, "and.pred", "drr", holds, w->enough, together));
    }
    if (s->inner)
        holds = build_inner_test(w, &place, holds);
    holds = build_size_test(w, &place, holds);
    build_strides(w, &place);
    if (preheader->last && inst_is_terminator(preheader->last))
        inst_remove(preheader->last);
    inst_append(preheader, inst_build_branch(w->body, s->loop->header, holds, true));
    preheader->fall = w->setup;
    if (s->rounds_differ)
        w->in_step = test_rounds(w);
    round_groups_count(&w->groups, w->setup, "%tiles");
}

RegId rewrite_vote_on_loads(Rewrite *w, Slices *slices, RegId holds)
{
    const Elsewhere here = {{REG_NONE, REG_NONE, REG_NONE, REG_NONE}};
    for (size_t i = 0; i < w->s->tiles.count; i++) {
        const Sometimes *when = w->s->tiles.data[i].members[0].when;
        if (!w->s->tiles.data[i].is_voted)
            continue;
        const RegId passes =
            rewrite_passes(w, slices, w->setup, &here, when->others, when->other_count, REG_NONE);
        const RegId any = rewrite_reg(w, TYPE_PRED, "%any"), both = rewrite_reg(w, TYPE_PRED, "%any");
        inst_append(w->setup, inst_build(w->body, "bar.red.or.pred", "dir", any, (int64_t)0, passes));
        inst_append(w->setup, inst_build_conjunction(w->body, both, holds, any, false));
        holds = both;
    }
    return holds;
}
