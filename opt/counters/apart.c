/* Loops whose accesses are apart from private counters.
 *
 *     for (i = a; i < b; i++)                   if (the bytes from &x[a] to &x[b] are apart from the counted ones)
 *         // watched: x[i]                          for (i = a; i < b; i++)
 *         atomicAdd(&bins[x[i]], 1);     ->             x[i], atomicAdd(..)
 *                                               else
 *                                                   for (i = a; i < b; i++)
 *                                                       // watched: x[i], atomicAdd(..)
 *
 * A comparison before each access costs more than the access, and keeps rounds from being executed side by side. In a
 * loop of which an upper bound of the number of rounds is known before it, accesses along pointers that grow by a
 * constant touch bytes between two ends: one comparison for each pointer and array tells whether any of them is
 * counted. In a grid-stride loop, so do accesses at multiples of the index, which grows from its start to the bound. */
#include "opt/common/early.h"
#include "opt/common/preheader.h"
#include "opt/common/trips.h"
#include "opt/common/version.h"
#include "opt/common/versions.h"
#include "opt/counters/counting.h"

enum {
    ROUNDS_LIMIT = 1 << 30,
    WAY_LIMIT_BITS = 40,
    ROUNDS_LEAST = 8,
    RANGES_MOST = 8,    /* pointers of a loop */
    MOST_STEP = 1 << 16,
    MOST_OFFSET = 1 << 20,
    MOST_COPIED = 1024, /* instructions of a loop */
};

/* The bytes that accesses at one pointer touch: from its value + first to its value + end in the first round, and step
 * bytes further on in each of the others; or for each number that the counter of a grid-stride loop is beyond its
 * start, which is at least the number of the round. */
typedef struct Range {
    RegId pointer;
    bool has_narrow;  /* it is a multiple of such a counter of 32 bits: */
    LoopCounter narrow;
    bool is_signed;   /* how that is extended */
    int64_t step, first, end;
    bool groups[GROUPS_MOST]; /* whose counters they may touch */
} Range;

typedef struct ApartLoop {
    Counting *c;
    const Loop *loop;
    const LoopForest *loops;
    TripCount trips;
    Range ranges[RANGES_MOST];
    unsigned range_count;
} ApartLoop;

static EarlyPlace first_round(const ApartLoop *a)
{
    return (EarlyPlace){.scratch = a->c->scratch, .body = a->c->body, .at = a->loop->preheader,
                        .values = a->c->values, .dominance = analyses_dominance(a->c->analyses), .loop = a->loop};
}

/* Sets what the sum grows by for each number that a counter with the loop's stride is beyond its start. */
static bool strided_step(const ApartLoop *a, const AffineForm *form, Range *range)
{
    uint64_t step = 0;
    range->has_narrow = false;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        LoopCounter counter;
        if (loop_term_is_fixed(a->c->scratch, a->loop, a->c->analyses, term))
            continue;
        if ((term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED) ||
            !loop_counter_find_strided(a->loop, a->loops, a->c->analyses, term->reg, &counter) || counter.offset ||
            counter.stride != a->trips.counter.stride || (counter.bits == 32 && range->has_narrow))
            return false;
        if (counter.bits == 32) {
            range->has_narrow = true;
            range->narrow = counter;
            range->is_signed = term->base == AFFINE_SIGNED;
        }
        step += (uint64_t)term->coefficient;
    }
    range->step = (int64_t)step;
    return true;
}

static Range *range_of(ApartLoop *a, RegId pointer)
{
    for (unsigned i = 0; i < a->range_count; i++)
        if (a->ranges[i].pointer == pointer)
            return &a->ranges[i];
    const EarlyPlace place = first_round(a);
    const AffineForm *form = &analyses_affine(a->c->analyses)->forms[pointer];
    Range range = {.pointer = pointer, .first = INT64_MAX, .end = INT64_MIN};
    if (a->range_count == RANGES_MOST || form->bits != 64 || !value_is_early(&place, pointer) ||
        (!loop_sum_step(a->c->scratch, a->loop, a->c->analyses, form, &range.step) &&
         !(a->trips.counter.is_strided && strided_step(a, form, &range))) ||
        range.step > MOST_STEP || range.step < -MOST_STEP)
        return NULL;
    a->ranges[a->range_count++] = range;
    return &a->ranges[a->range_count - 1];
}

static bool range_add(ApartLoop *a, const Watched *watched)
{
    const Access *access = &watched->access;
    const int64_t offset = address_offset(access->address);
    Range *range = range_of(a, address_base(watched->inst, access->address));
    if (!range || offset < -MOST_OFFSET || offset > MOST_OFFSET)
        return false;
    range->first = offset < range->first ? offset : range->first;
    range->end = offset + access->bytes > range->end ? offset + access->bytes : range->end;
    for (unsigned g = 0; g < a->c->group_count; g++)
        range->groups[g] |= watched->groups[g];
    return true;
}

static bool is_in_loop(const ApartLoop *a, const Inst *inst)
{
    return loop_contains(a->loops, a->loop, inst->block);
}

/* The ranges of all watched accesses of the loop; false if there are none, or one of them has no range. */
static bool find_ranges(ApartLoop *a)
{
    for (unsigned i = 0; i < a->c->watched_count; i++)
        if (is_in_loop(a, a->c->watched[i].inst) && !range_add(a, &a->c->watched[i]))
            return false;
    return a->range_count > 0;
}

static bool loop_qualifies(ApartLoop *a)
{
    const Loop *loop = a->loop;
    return loop && loop->preheader && loop->latch_count == 1 && loop->end == loop->index + 1 &&
           !loop->header->is_cold && trip_count_find_most(loop, a->loops, a->c->analyses, &a->trips) &&
           a->trips.exiting == loop->latches[0] && loop_only_exit(loop, a->loops) == loop->latches[0] &&
           (!a->trips.counter.is_strided || a->trips.counter.offset) &&
           trip_count_bound(&a->trips, analyses_affine(a->c->analyses)) >= ROUNDS_LEAST &&
           blocks_may_version(loop->blocks, loop->block_count, MOST_COPIED);
}

static RegId put(const SumPlace *place, RegId result, Inst *inst)
{
    sum_put(place, inst);
    return result;
}

/* The lowest address of the range, and its length: 64 bits each. */
static RegId build_range(const ApartLoop *a, const SumPlace *place, const Range *range, RegId last, RegId *length)
{
    Body *body = place->body;
    const EarlyPlace early = first_round(a);
    const RegId start = value_hoist(&early, range->pointer), begin = sum_reg(place, TYPE_B64, "%begin");
    const int64_t size = range->step < 0 ? -range->step : range->step;
    RegId lowest = start;
    if (range->step < 0) {
        lowest = sum_reg(place, TYPE_B64, "%begin");
        sum_put(place, inst_build(body, "mad.lo.s64", "drir", lowest, last, range->step, start));
    }
    *length = sum_reg(place, TYPE_B64, "%length");
    const RegId way = sum_reg(place, TYPE_B64, "%length");
    sum_put(place, inst_build(body, "mul.lo.s64", "dri", way, last, size));
    sum_put(place, inst_build(body, "add.s64", "dri", *length, way, range->end - range->first));
    return put(place, begin, inst_build(body, "add.s64", "dri", begin, lowest, range->first));
}

/* The range and the group's counters have no byte in common, and 'holds': both are arcs of the circle of 2^64
 * addresses, so the counters begin after all of the range, and end before it begins again. */
static RegId build_apart(const ApartLoop *a, const SumPlace *place, RegId begin, RegId length, unsigned g, RegId holds)
{
    Body *body = place->body;
    const CounterGroup *group = &a->c->groups[g];
    const int64_t bytes = (int64_t)group->count * group->like->update.bytes;
    const RegId base = counting_build_base(a->c, place, group), way = sum_reg(place, TYPE_B64, "%way");
    const RegId room = sum_reg(place, TYPE_B64, "%way"), most = sum_reg(place, TYPE_B64, "%way");
    const RegId apart = sum_reg(place, TYPE_PRED, "%apart");
    sum_put(place, inst_build(body, "sub.s64", "drr", way, base, begin));
    sum_put(place, inst_build(body, "sub.s64", "drr", room, way, length));
    sum_put(place, inst_build(body, "sub.s64", "dir", most, -bytes, length));
    return put(place, apart, inst_build(body, "setp.le.and.u64", "drrr", apart, room, most, holds));
}

/* The range's own counter does not wrap on its way either, and 'holds'. */
static RegId build_fits(const ApartLoop *a, const SumPlace *place, const Range *range, RegId way, RegId holds)
{
    const int64_t most = range->is_signed ? INT32_MAX : (int64_t)UINT32_MAX;
    const RegId end = sum_reg(place, TYPE_B64, "%way"), fits = sum_reg(place, TYPE_PRED, "%fits");
    sum_put(place, inst_build(a->c->body, "add.s64", "drr", end, way,
                              sum_extend(place, loop_counter_build_start(place, &range->narrow), range->is_signed,
                                         "%way")));
    return put(place, fits, inst_build(a->c->body, "setp.le.and.s64", "drir", fits, end, most, holds));
}

static RegId build_test(const ApartLoop *a)
{
    const SumPlace place = sum_place_new(a->c->body, a->loop->preheader, a->c->analyses);
    RegId last;
    RegId holds = a->trips.counter.is_strided
                            ? strided_way_build(&place, &a->trips, INT64_C(1) << WAY_LIMIT_BITS, &last)
                            : trip_count_build(&place, &a->trips, ROUNDS_LIMIT, &last);
    for (unsigned i = 0; i < a->range_count; i++) {
        RegId length;
        if (a->ranges[i].has_narrow)
            holds = build_fits(a, &place, &a->ranges[i], last, holds);
        const RegId begin = build_range(a, &place, &a->ranges[i], last, &length);
        for (unsigned g = 0; g < a->c->group_count; g++)
            if (a->ranges[i].groups[g])
                holds = build_apart(a, &place, begin, length, g, holds);
    }
    return holds;
}

/* The instruction of the copy that this one is the original of. */
static Inst *copy_of(const Inst *inst, const Block *original, const Block *copy)
{
    Inst *own = copy->first;
    for (const Inst *at = original->first; at != inst; at = at->next)
        own = own->next;
    require(own && own->signature == inst->signature);
    return own;
}

/* The copy's accesses are watched in the place of the original's, and its updates count as well. Copies have the
 * operands of their originals. */
static void take_copy(Counting *c, const Block *original, const Block *copy)
{
    for (unsigned i = 0; i < c->watched_count; i++)
        if (c->watched[i].inst->block == original)
            c->watched[i].inst = copy_of(c->watched[i].inst, original, copy);
    for (unsigned g = 0; g < c->group_count; g++)
        for (size_t i = 0, count = c->groups[g].members.count; i < count; i++) {
            const Counted *member = c->groups[g].members.data[i];
            if (member->update.inst->block != original)
                continue;
            Counted *own = ARENA_NEW(c->scratch, Counted);
            *own = *member;
            own->update.inst = copy_of(member->update.inst, original, copy);
            VEC_PUSH(c->scratch, c->groups[g].members, own);
        }
}

static void loop_version(const ApartLoop *a)
{
    Counting *c = a->c;
    const Loop *loop = a->loop;
    Block *latch = loop->latches[0];
    Block *after = latch->last->targets[0] == loop->header ? latch->fall : latch->last->targets[0];
    Block **copies = ARENA_ARRAY(c->scratch, Block *, loop->block_count);
    const RegId holds = build_test(a);
    Block *join = block_between(c->body, latch, after);
    blocks_version(c->body, c->values, loop->blocks, loop->block_count, loop->preheader, join, holds, copies);
    for (uint32_t b = 0; b < loop->block_count; b++)
        take_copy(c, loop->blocks[b], copies[b]);
}

static void renew(Counting *c)
{
    analyses_invalidate(c->analyses, ANALYSES_ALL);
    c->values = analyses_values(c->analyses);
}

static void loop_leave_watching(Counting *c, const Block *header)
{
    ApartLoop a = {.c = c, .loops = analyses_loops(c->analyses)};
    a.loop = loop_headed(a.loops, header);
    if (!loop_qualifies(&a) || !find_ranges(&a))
        return;
    loop_version(&a);
    renew(c);
}

void counting_leave_watching(Counting *c)
{
    VEC(const Block *) headers = {0};
    if (!c->watched_count)
        return;
    const bool added = loops_add_preheaders(c->body, c->analyses);
    if (loops_remove_empty_latches(c->body, c->analyses) || added)
        renew(c);
    const LoopForest *loops = analyses_loops(c->analyses);
    for (uint32_t i = 0; i < loops->loop_count; i++)
        VEC_PUSH(c->scratch, headers, loops->loops[i].header);
    for (size_t i = 0; i < headers.count; i++)
        loop_leave_watching(c, headers.data[i]);
}
