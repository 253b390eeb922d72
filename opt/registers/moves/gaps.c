/* Positions where too many values are live, and what they lose when values wait elsewhere for distant uses. Requires
 * SSA form. */
#include "opt/registers/moves/gaps.h"

enum { DISTANCE = 16 }; /* instructions after which a value leaves */

static int32_t width_of(const Gaps *gaps, RegId reg)
{
    return reg < gaps->lowered->reg_count ? gaps->lowered->width[reg] : 0;
}

/* Registers that are live at each position: before the instruction, or after it with its results. */
static void pressure_find(Gaps *gaps, int32_t more)
{
    RegSet live = regset_new(gaps->arena, gaps->values->reg_count);
    gaps->pressure = ARENA_ARRAY(gaps->arena, int32_t, gaps->places.total + 1);
    for (size_t b = 0; b < gaps->body->blocks.count; b++) {
        LiveSet out = live_out(gaps->liveness, gaps->body->blocks.data[b]);
        int32_t now = more;
        regset_clear(&live);
        for (uint32_t i = 0; i < out.count; i++)
            if (regset_add(&live, out.regs[i]))
                now += width_of(gaps, out.regs[i]);
        for (const Inst *inst = gaps->body->blocks.data[b]->last; inst; inst = inst->prev) {
            int32_t after = now;
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_writes(&inst->refs[r])) {
                    bool was_live = regset_remove(&live, inst->refs[r].reg);
                    after += was_live ? 0 : width_of(gaps, inst->refs[r].reg);
                    now -= was_live ? width_of(gaps, inst->refs[r].reg) : 0;
                }
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_reads(&inst->refs[r]) && !live_is_undefined(gaps->liveness, inst->refs[r].reg) &&
                    regset_add(&live, inst->refs[r].reg))
                    now += width_of(gaps, inst->refs[r].reg);
            gaps->pressure[inst->id] = after > now ? after : now;
        }
    }
}

void gaps_update(Gaps *gaps)
{
    for (uint32_t p = 0; p < gaps->places.total; p++)
        gaps->high[p + 1] = gaps->high[p] + (gaps->pressure[p] > gaps->limit);
}

static void out_blocks_find(Gaps *gaps)
{
    size_t count = gaps->values->reg_count;
    uint32_t *start = gaps->out_start = ARENA_ARRAY(gaps->arena, uint32_t, count + 2);
    for (size_t b = 0; b < gaps->body->blocks.count; b++) {
        LiveSet out = live_out(gaps->liveness, gaps->body->blocks.data[b]);
        for (uint32_t i = 0; i < out.count; i++)
            start[out.regs[i] + 2]++;
    }
    for (size_t r = 2; r < count + 2; r++)
        start[r] += start[r - 1];
    gaps->out_blocks = ARENA_ARRAY(gaps->arena, uint32_t, start[count + 1] + 1);
    for (size_t b = 0; b < gaps->body->blocks.count; b++) {
        LiveSet out = live_out(gaps->liveness, gaps->body->blocks.data[b]);
        for (uint32_t i = 0; i < out.count; i++)
            gaps->out_blocks[start[out.regs[i] + 1]++] = (uint32_t)b;
    }
}

void gaps_start(Gaps *gaps, Arena *arena, Body *body, Analyses *analyses, const SmLimits *sm, int32_t limit,
                int32_t more)
{
    require(body->ssa);
    *gaps = (Gaps){.body = body,
                   .arena = arena,
                   .limit = limit,
                   .liveness = analyses_liveness(analyses),
                   .values = analyses_values(analyses),
                   .undefined = values_maybe_undefined(arena, analyses_values(analyses)),
                   .loops = analyses_loops(analyses)};
    gaps->lowered = lowered_compute(arena, body, gaps->values, sm->loads_parameters, LOWERED_PLAINLY);
    places_number(&gaps->places, arena, body, gaps->values, DISTANCE);
    gaps->high = ARENA_ARRAY(arena, uint32_t, gaps->places.total + 1);
    pressure_find(gaps, more);
    gaps_update(gaps);
    out_blocks_find(gaps);
}

bool gaps_are_wanted(const Gaps *gaps)
{
    return gaps->high[gaps->places.total] > 0;
}

bool gaps_may_leave(const Gaps *gaps, RegId value)
{
    const ValueDef *def = &gaps->values->defs[value];
    if (bitset_has(&gaps->undefined, value) || !width_of(gaps, value) || gaps->body->regs.data[value].vector > 1)
        return false;
    return !def->inst || !(def->inst->effects & (EFFECT_ASYNC | EFFECT_CONTROL));
}

static void range_add(const Gaps *gaps, RangeList *ranges, uint32_t from, uint32_t to)
{
    if (to > from)
        VEC_PUSH(gaps->arena, *ranges, (Range){from, to});
}

/* The clusters of a value's uses after gaps, by number in places.points: [from, to). */
typedef struct Clusters {
    uint32_t count;            /* points */
    uint32_t near_first, near; /* those that stay with the definition: [near_first, near) */
    uint32_t from, to;
} Clusters;

static Clusters clusters_start(Gaps *gaps, RegId value)
{
    Clusters clusters = {.count = places_collect(&gaps->places, value)};
    clusters.near = places_near_end(&gaps->places, &gaps->values->defs[value], clusters.count, &clusters.near_first);
    return clusters;
}

/* The next cluster; false: there are no more. */
static bool clusters_next(const Gaps *gaps, Clusters *clusters)
{
    bool is_near = clusters->to >= clusters->near_first && clusters->to < clusters->near;
    clusters->from = is_near ? clusters->near : clusters->to;
    if (clusters->from >= clusters->count)
        return false;
    uint32_t last = clusters->from < clusters->near_first ? clusters->near_first : clusters->count;
    clusters->to = places_cluster_end(&gaps->places, clusters->from, last);
    return true;
}

uint64_t gaps_find(Gaps *gaps, RegId value, RangeList *live, RangeList *kept)
{
    const Places *places = &gaps->places;
    const ValueDef *def = &gaps->values->defs[value];
    Clusters clusters = clusters_start(gaps, value);
    uint32_t begin = places_definition(places, def);
    uint64_t cost = loop_weight(gaps->loops, def->block);
    live->count = kept->count = 0;
    if (!clusters.count || clusters.near == clusters.count)
        return 0;
    for (uint32_t i = gaps->out_start[value]; i < gaps->out_start[value + 1]; i++) {
        uint32_t b = gaps->out_blocks[i];
        range_add(gaps, live, b == def->block->id ? begin : places->begin[b], places->end[b]);
    }
    for (uint32_t i = 0; i < clusters.count; i++) {
        uint32_t b = places->points[i].block;
        bool is_last = i + 1 == clusters.count || places->points[i + 1].block != b;
        if (is_last && !live_set_has(live_out(gaps->liveness, gaps->body->blocks.data[b]), value))
            range_add(gaps, live, b == def->block->id ? begin : places->begin[b], places->points[i].position);
    }
    if (clusters.near > clusters.near_first)
        range_add(gaps, kept, begin, places->points[clusters.near - 1].position);
    while (clusters_next(gaps, &clusters)) {
        const Point *first = &places->points[clusters.from];
        range_add(gaps, kept, first->position, places->points[clusters.to - 1].position);
        cost += loop_weight(gaps->loops, gaps->body->blocks.data[first->block]);
    }
    return cost;
}

unsigned gaps_returns(Gaps *gaps, RegId value)
{
    Clusters clusters = clusters_start(gaps, value);
    unsigned returns = 0;
    while (clusters_next(gaps, &clusters))
        returns++;
    return returns;
}

void gaps_close(Gaps *gaps, RegId value, GapReturn *back, void *context)
{
    const Point *points = gaps->places.points;
    Clusters clusters = clusters_start(gaps, value);
    while (clusters_next(gaps, &clusters)) {
        RegId returned = back(context, value, &points[clusters.from]);
        for (uint32_t i = clusters.from; i < clusters.to && returned != value; i++)
            use_set(points[i].use, returned);
    }
}

static uint64_t high_in(const Gaps *gaps, const RangeList *ranges)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < ranges->count; i++)
        sum += gaps->high[ranges->data[i].to] - gaps->high[ranges->data[i].from];
    return sum;
}

uint64_t gaps_freed(const Gaps *gaps, const RangeList *live, const RangeList *kept)
{
    uint64_t freed = high_in(gaps, live), stays = high_in(gaps, kept);
    return freed > stays ? freed - stays : 0;
}

uint64_t gaps_gain(Gaps *gaps, RegId value, RangeList *live, RangeList *kept)
{
    uint64_t cost = gaps_find(gaps, value, live, kept);
    return cost ? (gaps_freed(gaps, live, kept) << 16) / cost : 0;
}

static void press(const Gaps *gaps, const RangeList *ranges, int32_t change)
{
    for (size_t i = 0; i < ranges->count; i++)
        for (uint32_t p = ranges->data[i].from; p < ranges->data[i].to; p++)
            gaps->pressure[p] += change;
}

void gaps_leave(Gaps *gaps, const RangeList *live, const RangeList *kept, unsigned width)
{
    press(gaps, live, -(int32_t)width);
    press(gaps, kept, (int32_t)width);
}

void gaps_insert_ahead(const Gaps *gaps, const Point *point, unsigned ahead, bool in_any_case, Inst *inst)
{
    place_inst(gaps->body, point, inst);
    Inst *before = inst;
    /* Instructions that were added have no position: 0. */
    for (unsigned i = 0; i < ahead && before->prev; i++, before = before->prev)
        if (!in_any_case && before->prev->id && gaps->pressure[before->prev->id] >= gaps->limit)
            break;
    if (before == inst)
        return;
    inst_remove(inst);
    inst_insert_before(before, inst);
}

void gaps_insert_after_definition(const Gaps *gaps, RegId value, Inst *inst)
{
    const ValueDef *def = &gaps->values->defs[value];
    if (def->inst)
        inst_insert_after(def->inst, inst);
    else
        inst_insert_first(def->block, inst);
}
