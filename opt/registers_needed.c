/* How many registers no order and no recomputation of arithmetic can do without.
 *
 * Requires SSA form; changes nothing but the instructions' numbers.
 * At one barrier or loop head: what is computed before it, is read after it, and cannot be computed after it.  Loads,
 * phis, shuffles, guarded instructions, divisions, and whatever else does more than compute a value stay on their side;
 * all other instructions may be executed before, after or on both sides.  Between the two sides go the registers of a
 * minimum cut: of the values of which each path from one side to the other has one.  Values keep their widths;
 * predicates, parameters and special registers take none, and neither does what is the same in all threads of a block,
 * which uniform registers may hold. */
#include "opt/registers_needed.h"

#include "opt/rematerialize.h"

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
} Place;

/* Whether it is executed after the place, always. */
static bool is_after(const Place *place, const Block *block, const Inst *inst)
{
    if (block == place->block)
        return inst && (!place->at || inst->id > place->at->id);
    return dominance_has(place->dominance, place->block, block);
}

/* Whether the instruction, which is after the place, could be before it: it reads nothing that has to be after. */
static bool can_be_before(Place *place, const Inst *inst)
{
    if (!inst_is_recomputable(inst))
        return false;
    RegId made = REG_NONE;
    for (unsigned r = 0; r < inst->ref_count; r++)
        made = ref_writes(&inst->refs[r]) ? inst->refs[r].reg : made;
    if (place->movable[made])
        return place->movable[made] == 1;
    place->movable[made] = 1;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        const ValueDef *def = &place->values->defs[inst->refs[r].reg];
        if (!ref_reads(&inst->refs[r]) || !def->block)
            continue;
        bool is_late = def->inst ? is_after(place, def->block, def->inst)
                                 : def->block != place->block && is_after(place, def->block, NULL);
        if (is_late && (!def->inst || !can_be_before(place, def->inst)))
            place->movable[made] = 2;
    }
    return place->movable[made] == 1;
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
        for (unsigned r = 0; r < use->inst->ref_count; r++)
            if (ref_writes(&use->inst->refs[r]))
                need_add(place, use->inst->refs[r].reg);
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

static void place_compare(Place *place, const RegSet *live, RegistersNeeded *most)
{
    uint64_t needed = place_needs(place, live);
    if (needed <= most->registers)
        return;
    const Inst *shown = place->at ? place->at : place->block->first;
    *most = (RegistersNeeded){(unsigned)needed, !place->at, shown ? shown->span : (Span){0}};
}

RegistersNeeded registers_needed(const Body *body, Analyses *analyses)
{
    require(body->ssa);
    Arena *arena = arena_new();
    Place place = {.body = body, .values = analyses_values(analyses), .dominance = analyses_dominance(analyses),
                   .variance = analyses_variance(analyses, VARIANCE_ANY, NULL)};
    PressureTracker tracker = pressure_tracker_new(arena, analyses_liveness(analyses));
    RegistersNeeded most = {0};
    for (size_t b = 0; b < body->blocks.count; b++) {
        uint32_t position = 0;
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            inst->id = position++;
    }
    for (size_t b = 0; b < body->blocks.count; b++) {
        place.block = body->blocks.data[b];
        pressure_tracker_start_bottom(&tracker, place.block);
        for (place.at = place.block->last; place.at; place.at = place.at->prev) {
            if (place.at->sync != SYNC_NONE && tracker.current.regs32 > (int32_t)most.registers)
                place_compare(&place, &tracker.live, &most);
            pressure_tracker_recede(&tracker, place.at);
        }
        if (is_loop_head(place.dominance, place.block))
            place_compare(&place, &tracker.live, &most);
    }
    arena_free(arena);
    return most;
}
