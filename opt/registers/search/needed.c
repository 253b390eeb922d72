/* How many registers no order and no recomputation of arithmetic can do without.
 *
 * Requires SSA form; changes nothing but the instructions' numbers.
 * At one barrier or loop head: what is computed before it, is read after it, and cannot be computed after it. Loads,
 * phis, shuffles, guarded instructions, divisions, and whatever else does more than compute a value stay on their side;
 * all other instructions may be executed before, after or on both sides. Between the two sides go the registers of a
 * minimum cut: of the values of which each path from one side to the other has one. Values keep their widths;
 * predicates, parameters and special registers take none, and neither does what is the same in all threads of a block,
 * which uniform registers may hold. */
#include "opt/registers/search/needed.h"

#include <stdlib.h>

#include "opt/registers/moves/rematerialize.h"

/* Values and registers that are looked at, over all places; those with the most live registers come first. The bound
 * holds for any number of them. */
enum { WORK_MOST = 1 << 21 };

typedef struct Need {
    RegId reg;
    uint32_t in, out; /* nodes; the edge between them costs the value's registers */
} Need;

typedef struct Place {
    const Body *body;
    const Values *values;
    const Variance *variance;
    const Dominance *dominance;
    Arena *arena;
    const Block *block;
    const Inst *at;    /* the place is after this instruction; NULL: at the top of the block, after its phis */
    MinCut graph;
    uint32_t before, after; /* nodes for the two sides */
    VEC(Need) needs;
    uint32_t *need_of; /* by RegId: + 1 */
    uint8_t *movable;  /* by RegId: 0 not known, 1 yes, 2 no */
    VEC(const Inst *) undecided; /* each reads the next one */
} Place;

/* True if it is executed after the place, always. */
static bool is_after(const Place *place, const Block *block, const Inst *inst)
{
    if (block == place->block)
        return inst && (!place->at || inst->id > place->at->id);
    return dominance_has(place->dominance, place->block, block);
}

/* Decides for a recomputable instruction, unless one that it reads has to be decided first, which is returned. */
static const Inst *movable_decide(const Place *place, const Inst *inst)
{
    bool is_movable = true;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        const ValueDef *def = &place->values->defs[inst->refs[r].reg];
        if (!ref_reads(&inst->refs[r]) || !def->block)
            continue;
        bool is_late = def->inst ? is_after(place, def->block, def->inst)
                                 : def->block != place->block && is_after(place, def->block, NULL);
        if (!is_late)
            continue;
        if (!def->inst || !inst_is_recomputable(def->inst))
            is_movable = false;
        else if (!place->movable[inst->refs[r].reg])
            return def->inst;
        else
            is_movable &= place->movable[inst->refs[r].reg] == 1;
    }
    place->movable[inst_result(inst)] = is_movable ? 1 : 2;
    return NULL;
}

/* True if the instruction, which is after the place, could be before it: it reads nothing that has to be after. Not
 * recursive, for chains can be as long as the kernel. */
static bool can_be_before(Place *place, const Inst *inst)
{
    if (!inst_is_recomputable(inst))
        return false;
    VEC_PUSH(place->arena, place->undecided, inst);
    while (place->undecided.count && !place->movable[inst_result(inst)]) {
        const Inst *first = movable_decide(place, place->undecided.data[place->undecided.count - 1]);
        if (first)
            VEC_PUSH(place->arena, place->undecided, first);
        else
            place->undecided.count--;
    }
    place->undecided.count = 0;
    return place->movable[inst_result(inst)] == 1;
}

static uint64_t width_of(const Place *place, RegId reg)
{
    return variance_reg(place->variance, reg) ? (uint64_t)pressure_of_reg(place->body, reg).regs32 : 0;
}

static Need *need_add(Place *place, RegId reg)
{
    if (!place->need_of[reg]) {
        Need need = {reg, min_cut_node(&place->graph), min_cut_node(&place->graph)};
        min_cut_edge(&place->graph, need.in, need.out, width_of(place, reg));
        VEC_PUSH(place->arena, place->needs, need);
        place->need_of[reg] = (uint32_t)place->needs.count;
    }
    return &place->needs.data[place->need_of[reg] - 1];
}

/* The reads after the place: by what has to be there, or through what could also be before. */
static void reads_add(Place *place, uint32_t index)
{
    const RegId reg = place->needs.data[index].reg;
    const uint32_t out = place->needs.data[index].out;
    for (uint32_t u = 0; u < value_use_count(place->values, reg); u++) {
        const ValueUse *use = &value_uses(place->values, reg)[u];
        bool is_late = !use->inst || is_after(place, use->block, use->inst);
        if (!is_late && dominance_has(place->dominance, use->block, place->block))
            continue; /* before the place */
        if (!use->inst || !is_late || !can_be_before(place, use->inst)) {
            min_cut_edge(&place->graph, out, place->after, CUT_NEVER);
            continue;
        }
        need_add(place, inst_result(use->inst));
    }
}

static void need_expand(Place *place, uint32_t index, bool is_live)
{
    const Need need = place->needs.data[index];
    const ValueDef *def = &place->values->defs[need.reg];
    bool is_late = def->inst && is_after(place, def->block, def->inst);
    if (!is_late && !inst_is_recomputable(def->inst)) {
        min_cut_edge(&place->graph, place->before, need.in, CUT_NEVER);
    } else {
        for (unsigned r = 0; r < def->inst->ref_count; r++)
            if (ref_reads(&def->inst->refs[r]) && !value_is_undefined(place->values, def->inst->refs[r].reg)) {
                uint32_t from = need_add(place, def->inst->refs[r].reg)->out;
                min_cut_edge(&place->graph, from, need.in, CUT_NEVER);
            }
    }
    if (is_live || is_late)
        reads_add(place, index);
}

static uint64_t place_needs(Place *place, const RegSet *live)
{
    place->arena = arena_new();
    place->graph = min_cut_new(place->arena);
    place->before = min_cut_node(&place->graph);
    place->after = min_cut_node(&place->graph);
    place->needs.data = NULL;
    place->needs.count = place->needs.capacity = 0;
    place->undecided.data = NULL;
    place->undecided.count = place->undecided.capacity = 0;
    place->need_of = ARENA_ARRAY(place->arena, uint32_t, place->values->reg_count);
    place->movable = ARENA_ARRAY(place->arena, uint8_t, place->values->reg_count);
    for (uint32_t i = 0; i < live->count; i++)
        need_add(place, live->members[i]);
    for (size_t i = 0; i < place->block->phis.count && !place->at; i++)
        need_add(place, place->block->phis.data[i].dst);
    const uint32_t live_count = (uint32_t)place->needs.count;
    for (uint32_t i = 0; i < place->needs.count; i++)
        need_expand(place, i, i < live_count);
    uint64_t cut = min_cut_solve(&place->graph, place->before, place->after);
    arena_free(place->arena);
    return cut;
}

static bool is_loop_head(const Dominance *dominance, const Block *block)
{
    for (unsigned p = 0; p < block->pred_count; p++)
        if (dominance_has(dominance, block, block->preds[p]))
            return true;
    return false;
}

/* A barrier, or the head of a loop where 'at' is NULL. */
typedef struct Candidate {
    const Block *block;
    const Inst *at;
    int32_t live; /* registers: the place does not need more */
} Candidate;

typedef VEC(Candidate) Candidates;

static void candidates_collect(Arena *arena, const Place *place, PressureTracker *tracker, Candidates *candidates)
{
    const Body *body = place->body;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        uint32_t position = 0;
        for (Inst *inst = block->first; inst; inst = inst->next)
            inst->id = position++;
        pressure_tracker_start_bottom(tracker, block);
        for (const Inst *at = block->last; at; at = at->prev) {
            if (at->sync != SYNC_NONE)
                VEC_PUSH(arena, *candidates, ((Candidate){block, at, tracker->current.regs32}));
            pressure_tracker_recede(tracker, at);
        }
        if (!is_loop_head(place->dominance, block))
            continue;
        Candidate head = {block, NULL, tracker->current.regs32};
        for (size_t i = 0; i < block->phis.count; i++)
            head.live += pressure_of_reg(body, block->phis.data[i].dst).regs32;
        VEC_PUSH(arena, *candidates, head);
    }
}

/* The most live registers first, then the order of the code. */
static int compare_candidates(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->live != y->live)
        return x->live > y->live ? -1 : 1;
    if (x->block != y->block)
        return x->block->id < y->block->id ? -1 : 1;
    uint32_t i = x->at ? x->at->id + 1 : 0, k = y->at ? y->at->id + 1 : 0;
    return i < k ? -1 : i > k;
}

static void live_find(PressureTracker *tracker, const Candidate *candidate)
{
    pressure_tracker_start_bottom(tracker, candidate->block);
    for (const Inst *inst = candidate->block->last; inst != candidate->at; inst = inst->prev)
        pressure_tracker_recede(tracker, inst);
}

RegistersNeeded registers_needed(const Body *body, Analyses *analyses)
{
    require(body->ssa);
    Arena *arena = arena_new();
    Place place = {.body = body, .values = analyses_values(analyses), .dominance = analyses_dominance(analyses),
                   .variance = analyses_variance(analyses, VARIANCE_ANY, NULL)};
    PressureTracker tracker = pressure_tracker_new(arena, analyses_liveness(analyses));
    Candidates candidates = {0};
    RegistersNeeded most = {0};
    candidates_collect(arena, &place, &tracker, &candidates);
    if (candidates.count)
        qsort(candidates.data, candidates.count, sizeof(Candidate), compare_candidates);
    size_t work = 0;
    for (size_t i = 0; i < candidates.count && work < WORK_MOST; i++) {
        const Candidate *candidate = &candidates.data[i];
        if (candidate->live <= (int32_t)most.registers)
            break;
        place.block = candidate->block;
        place.at = candidate->at;
        live_find(&tracker, candidate);
        uint64_t needed = place_needs(&place, &tracker.live);
        work += place.needs.count + place.values->reg_count / 8;
        const Inst *shown = place.at ? place.at : place.block->first;
        if (needed > most.registers)
            most = (RegistersNeeded){(unsigned)needed, !place.at, shown ? shown->span : (Span){0}};
    }
    arena_free(arena);
    return most;
}
