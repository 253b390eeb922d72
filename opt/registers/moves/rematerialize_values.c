/* Rematerialization: values that stay live across high pressure are recomputed before their distant uses.
 *
 * Requires SSA form.
 *
 * After Briggs, Cooper and Torczon, "Rematerialization" (PLDI 1992), with chains of instructions instead of single
 * ones, and Nugteren et al. (SCOPES 2010, section 5.4), who achieve the same with 'volatile' in the source. The
 * assembler merges equal computations again, so a recomputation can start from an opaque copy of an operand
 * (opt/registers/moves/opaque.h). The register search measures which ones pay. */
#include "opt/pass.h"
#include "opt/registers/moves/opaque.h"
#include "opt/registers/moves/rematerialize.h"
#include "opt/registers/moves/sink.h"

#include <stdlib.h>

enum {
    CHAIN_MOST = 10,  /* instructions of one recomputation */
    LEAVES_MOST = 16, /* distinct operands that one recomputation reads from outside */
};

/* The latest opaque copy of a register. */
typedef struct Copied {
    uint32_t block, position;
    RegId reg;
    OpaqueHalves halves;
} Copied;

typedef struct Remat {
    Body *body;
    Arena *arena;
    const RematerializeRequest *request;
    const Liveness *liveness;
    const Values *values;
    const LoopForest *loops;
    Places places;
    uint32_t *high;        /* by position: the number of places before it with high pressure */
    uint64_t *cover; /* by RegId: places of high pressure in the blocks that it is live out of, after its definition */
    Copied *copies;        /* by RegId */
    const Inst *mask;      /* for opaque copies of 64 bits */
    RegId *originals;      /* by RegId, for registers that this pass made: the register whose value they hold */
    size_t original_count, original_capacity;
} Remat;

static void pressure_mark(Remat *remat, uint32_t total)
{
    PressureTracker tracker = pressure_tracker_new(remat->arena, remat->liveness);
    remat->high = ARENA_ARRAY(remat->arena, uint32_t, (size_t)total + 2);
    for (size_t i = 0; i < remat->body->blocks.count; i++) {
        Block *block = remat->body->blocks.data[i];
        pressure_tracker_start_bottom(&tracker, block);
        for (const Inst *inst = block->last; inst; inst = inst->prev) {
            int32_t after = tracker.current.regs32;
            pressure_tracker_recede(&tracker, inst);
            int32_t before = tracker.current.regs32, most = after > before ? after : before;
            remat->high[inst->id + 1] = remat->request->ignore_pressure || most > remat->request->limit;
        }
    }
    for (uint32_t i = 1; i <= total; i++)
        remat->high[i] += remat->high[i - 1];
    remat->high[total + 1] = remat->high[total];
}

static bool is_parameter_load(const Inst *inst)
{
    Access access;
    return inst_access(inst, &access) && access.kind == ACCESS_LOAD && access.read_only && access.space == SPACE_PARAM;
}

static uint32_t high_between(const Remat *remat, uint32_t from, uint32_t to)
{
    return to > from ? remat->high[to] - remat->high[from] : 0;
}

static void cover_compute(Remat *remat)
{
    remat->cover = ARENA_ARRAY(remat->arena, uint64_t, remat->values->reg_count + 1);
    for (size_t i = 0; i < remat->body->blocks.count; i++) {
        LiveSet out = live_out(remat->liveness, remat->body->blocks.data[i]);
        for (uint32_t j = 0; j < out.count; j++) {
            const ValueDef *def = &remat->values->defs[out.regs[j]];
            bool here = def->block == remat->body->blocks.data[i] && def->inst;
            remat->cover[out.regs[j]] += high_between(remat, here ? def->inst->id : remat->places.begin[i],
                                                       remat->places.end[i]);
        }
    }
}

static void remat_start(Remat *remat, Arena *arena, Body *body, Analyses *analyses, const RematerializeRequest *request)
{
    *remat = (Remat){.body = body, .arena = arena, .request = request};
    remat->liveness = analyses_liveness(analyses);
    remat->values = analyses_values(analyses);
    remat->loops = analyses_loops(analyses);
    remat->mask = opaque_mask_find(body);
    places_number(&remat->places, arena, body, remat->values, request->distance);
    remat->copies = ARENA_ARRAY(arena, Copied, remat->values->reg_count + 1);
    for (size_t i = 0; i < remat->values->reg_count; i++)
        remat->copies[i].reg = REG_NONE;
    pressure_mark(remat, remat->places.total);
    cover_compute(remat);
}

bool inst_is_recomputable(const Inst *inst)
{
    if (!inst || !inst_is_plain(inst) || inst->sync != SYNC_NONE || inst->pragma || opcode_is_slow(inst_op(inst)))
        return false;
    if (inst->effects & EFFECTS_IN_PLACE)
        return false;
    return (inst->effects & EFFECT_PURE || is_parameter_load(inst)) && inst_result(inst) != REG_NONE;
}

/* The register of the original body that holds the same value: the one that the analyses know. */
static RegId original_of(const Remat *remat, RegId reg)
{
    if (reg < remat->values->reg_count)
        return reg;
    return reg < remat->original_count ? remat->originals[reg] : REG_NONE;
}

static RegId register_again(Remat *remat, RegId reg)
{
    RegId fresh = body_clone_reg(remat->body, reg);
    if (fresh >= remat->original_capacity) {
        size_t capacity = 2 * ((size_t)fresh + 1);
        RegId *originals = ARENA_ARRAY(remat->arena, RegId, capacity);
        for (size_t i = 0; i < capacity; i++)
            originals[i] = i < remat->original_count ? remat->originals[i] : REG_NONE;
        remat->originals = originals;
        remat->original_capacity = capacity;
    }
    remat->original_count = (size_t)fresh + 1;
    remat->originals[fresh] = original_of(remat, reg);
    return fresh;
}

static bool live_at(const Remat *remat, RegId reg, uint32_t block, uint32_t position)
{
    if (live_set_has(live_out(remat->liveness, remat->body->blocks.data[block]), reg))
        return true;
    const ValueUse *uses = value_uses(remat->values, reg);
    uint32_t count = value_use_count(remat->values, reg);
    for (uint32_t u = 0; u < count && u < USES_MOST; u++)
        if (uses[u].inst && uses[u].block->id == block && uses[u].inst->id >= position && uses[u].inst->block)
            return true;
    return false;
}

/* The instructions that recompute a value at a place, operands first. */
typedef struct Recipe {
    Inst *insts[CHAIN_MOST];
    unsigned count, cost;
    RegId leaves[LEAVES_MOST];
    unsigned leaf_count;
} Recipe;

static bool recipe_makes(const Recipe *recipe, RegId reg)
{
    for (unsigned i = 0; i < recipe->count; i++)
        if (inst_result(recipe->insts[i]) == reg)
            return true;
    return false;
}

static bool leaf_add(Recipe *recipe, RegId reg)
{
    for (unsigned i = 0; i < recipe->leaf_count; i++)
        if (recipe->leaves[i] == reg)
            return true;
    if (recipe->leaf_count == LEAVES_MOST)
        return false;
    recipe->leaves[recipe->leaf_count++] = reg;
    return true;
}

static bool recipe_add(const Remat *remat, Recipe *recipe, Inst *inst)
{
    if (recipe->count == CHAIN_MOST)
        return false;
    /* Parameters are operands of machine instructions, so reading one again costs nothing. */
    recipe->cost += is_parameter_load(inst) ? 0 : 1;
    recipe->insts[recipe->count++] = inst;
    return recipe->cost <= remat->request->cost;
}

static bool operand_find(const Remat *remat, Recipe *recipe, RegId reg, uint32_t block, uint32_t position)
{
    if (reg == REG_NONE)
        return false;
    if (recipe_makes(recipe, reg) || value_is_undefined(remat->values, reg))
        return true;
    Inst *def = value_inst(remat->values, reg);
    bool again = inst_is_recomputable(def) && def->block;
    if (again && is_parameter_load(def))
        return recipe_add(remat, recipe, def);
    if (live_at(remat, reg, block, position))
        return leaf_add(recipe, reg);
    if (again && recipe->cost < remat->request->cost)
        return recipe_add(remat, recipe, def);
    return remat->request->extend && leaf_add(recipe, reg);
}

static bool inst_reads_value(const Remat *remat, const Inst *inst, RegId value)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && original_of(remat, inst->refs[r].reg) == value)
            return true;
    return false;
}

/* Sorts operands first, by repeated selection. */
static void recipe_sort(const Remat *remat, Recipe *recipe)
{
    for (unsigned done = 0; done < recipe->count; done++)
        for (unsigned i = done; i < recipe->count; i++) {
            bool ready = true;
            for (unsigned j = done; j < recipe->count; j++)
                ready &= j == i || !inst_reads_value(remat, recipe->insts[i], inst_result(recipe->insts[j]));
            if (ready) {
                Inst *inst = recipe->insts[i];
                recipe->insts[i] = recipe->insts[done];
                recipe->insts[done] = inst;
                break;
            }
        }
}

static bool recipe_find(const Remat *remat, RegId value, uint32_t block, uint32_t position, Recipe *recipe)
{
    *recipe = (Recipe){0};
    Inst *def = value_inst(remat->values, value);
    if (!inst_is_recomputable(def) || !def->block || !recipe_add(remat, recipe, def))
        return false;
    for (unsigned i = 0; i < recipe->count; i++)
        for (unsigned r = 0; r < recipe->insts[i]->ref_count; r++)
            if (ref_reads(&recipe->insts[i]->refs[r]) &&
                !operand_find(remat, recipe, original_of(remat, recipe->insts[i]->refs[r].reg), block, position))
                return false;
    recipe_sort(remat, recipe);
    return true;
}

static int64_t value_gain(Remat *remat, RegId value)
{
    const ValueDef *def = &remat->values->defs[value];
    int64_t size = pressure_of_reg(remat->body, value).regs32;
    if (!def->inst || !size || !inst_is_recomputable(def->inst))
        return 0;
    uint32_t count = places_collect(&remat->places, value), near_first, far = 0;
    uint32_t near = places_near_end(&remat->places, def, count, &near_first);
    uint64_t covered = remat->cover[value], kept = 0, cost = 0;
    if (near > near_first)
        kept += high_between(remat, def->inst->id, remat->places.points[near - 1].position);
    for (uint32_t i = 0; i < count;) {
        if (i >= near_first && i < near) {
            i = near;
            continue;
        }
        Recipe recipe;
        uint32_t end = places_cluster_end(&remat->places, i, i < near_first ? near_first : count);
        uint32_t block = remat->places.points[i].block;
        if (!recipe_find(remat, value, block, remat->places.points[i].position, &recipe))
            return 0;
        kept += high_between(remat, remat->places.points[i].position, remat->places.points[end - 1].position);
        cost += (recipe.cost + (remat->request->opaque ? 1 : 0)) *
                loop_weight(remat->loops, remat->body->blocks.data[block]);
        far++;
        i = end;
    }
    if (!far)
        return 0;
    /* In blocks that it is not live out of, up to its last use. */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t block = remat->places.points[i].block;
        if ((i + 1 < count && remat->places.points[i + 1].block == block) ||
            live_set_has(live_out(remat->liveness, remat->body->blocks.data[block]), value))
            continue;
        bool here = def->block->id == block;
        covered += high_between(remat, here ? def->inst->id : remat->places.begin[block],
                                remat->places.points[i].position);
    }
    if (covered <= kept)
        return 0;
    int64_t gain = (int64_t)(covered - kept < UINT32_MAX ? covered - kept : UINT32_MAX) * size * 256;
    return gain / (int64_t)(cost + 1);
}

static int compare_candidates(const void *a, const void *b)
{
    const RematerializeCandidate *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

uint32_t rematerialize_candidates(Arena *arena, Body *body, Analyses *analyses, const RematerializeRequest *request,
                                  RematerializeCandidate **out)
{
    require(body->ssa);
    Arena *scratch = arena_new();
    Remat remat;
    VEC(RematerializeCandidate) found = {0};
    remat_start(&remat, scratch, body, analyses, request);
    for (size_t value = 0; value < remat.values->reg_count; value++) {
        int64_t gain = value_gain(&remat, (RegId)value);
        if (gain > 0)
            VEC_PUSH(arena, found, (RematerializeCandidate){(RegId)value, gain});
    }
    if (found.count)
        qsort(found.data, found.count, sizeof *found.data, compare_candidates);
    arena_free(scratch);
    *out = found.data;
    return (uint32_t)found.count;
}

/* An opaque copy of this original value made shortly above the point, or REG_NONE. */
static RegId copy_above(const Remat *remat, RegId value, OpaqueHalves halves, const Point *point)
{
    const Copied *last = &remat->copies[value];
    bool near = last->reg != REG_NONE && last->block == point->block && last->position <= point->position &&
                point->position - last->position <= remat->request->distance;
    return near && last->halves >= halves ? last->reg : REG_NONE;
}

/* A copy of 'reg', which holds 'value', that the assembler does not see through; REG_NONE if there is none. */
static RegId opaque_copy(Remat *remat, RegId value, RegId reg, OpaqueHalves halves, const Point *point)
{
    if (!opaque_copy_exists(remat->body, reg))
        return REG_NONE;
    RegId copy = copy_above(remat, value, halves, point);
    if (copy != REG_NONE)
        return copy;
    copy = register_again(remat, reg);
    opaque_copy_place(remat->body, remat->mask, reg, copy, halves, point);
    remat->copies[value] = (Copied){point->block, point->position, copy, halves};
    return copy;
}

/* The halves of a copy of the value that make all of the recipe's instructions opaque that read it. */
static OpaqueHalves halves_needed(const Recipe *recipe, Inst *const *copies, RegId value)
{
    OpaqueHalves halves = OPAQUE_LOW;
    for (unsigned i = 0; i < recipe->count; i++)
        if (opaque_halves_for(copies[i], value) == OPAQUE_BOTH)
            halves = OPAQUE_BOTH;
    return halves;
}

static void refs_rename(Inst *inst, RegId from, RegId to)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (inst->refs[r].reg == from)
            inst->refs[r].reg = to;
}

/* True if it reads a special register or a parameter: a chain without register operands starts so. */
static bool is_source(const Inst *inst)
{
    return inst_sreg(inst) || is_parameter_load(inst);
}

/* Inserts the recipe before the point; returns the register that holds the value there. */
static RegId recipe_apply(Remat *remat, const Recipe *recipe, RegId value, const Point *point)
{
    Inst *copies[CHAIN_MOST];
    RegId made = REG_NONE;
    for (unsigned i = 0; i < recipe->count; i++) {
        copies[i] = inst_clone(remat->body, recipe->insts[i]);
        for (unsigned r = 0; r < copies[i]->ref_count; r++)
            if (ref_reads(&copies[i]->refs[r]))
                copies[i]->refs[r].reg = original_of(remat, copies[i]->refs[r].reg);
    }
    for (unsigned i = 0; i < recipe->leaf_count && remat->request->opaque; i++) {
        RegId leaf = recipe->leaves[i];
        RegId copy = opaque_copy(remat, leaf, leaf, halves_needed(recipe, copies, leaf), point);
        for (unsigned j = 0; j < recipe->count && copy != REG_NONE; j++)
            refs_rename(copies[j], leaf, copy);
    }
    bool from_sources = remat->request->opaque && !recipe->leaf_count;
    for (unsigned i = 0; i < recipe->count; i++) {
        RegId old = inst_result(copies[i]);
        bool source = from_sources && is_source(copies[i]);
        OpaqueHalves halves = halves_needed(recipe, copies, old);
        RegId fresh = source ? copy_above(remat, old, halves, point) : REG_NONE;
        if (fresh == REG_NONE) {
            fresh = register_again(remat, old);
            refs_rename(copies[i], old, fresh);
            place_inst(remat->body, point, copies[i]);
            RegId copy = source ? opaque_copy(remat, old, fresh, halves, point) : REG_NONE;
            if (copy != REG_NONE)
                fresh = copy;
        }
        for (unsigned j = i + 1; j < recipe->count; j++)
            refs_rename(copies[j], old, fresh);
        if (old == value)
            made = fresh;
    }
    return made;
}

static unsigned value_recompute(Remat *remat, RegId value)
{
    const ValueDef *def = &remat->values->defs[value];
    unsigned made = 0;
    if (!def->inst || !inst_is_recomputable(def->inst))
        return 0;
    uint32_t count = places_collect(&remat->places, value), near_first;
    uint32_t near = places_near_end(&remat->places, def, count, &near_first);
    for (uint32_t i = 0; i < count;) {
        if (i >= near_first && i < near) {
            i = near;
            continue;
        }
        Recipe recipe;
        Point point = remat->places.points[i];
        uint32_t end = places_cluster_end(&remat->places, i, i < near_first ? near_first : count);
        if (recipe_find(remat, value, point.block, point.position, &recipe)) {
            RegId fresh = recipe_apply(remat, &recipe, value, &point);
            for (uint32_t j = i; j < end; j++)
                use_set(remat->places.points[j].use, fresh);
            made++;
        }
        i = end;
    }
    return made;
}

static void uses_count(const Body *body, uint32_t *counts)
{
    for (size_t i = 0; i < body->blocks.count; i++) {
        const Block *block = body->blocks.data[i];
        for (size_t p = 0; p < block->phis.count; p++)
            for (size_t a = 0; a < block->phis.data[p].args.count; a++)
                counts[block->phis.data[p].args.data[a].reg]++;
        for (const Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                counts[inst->refs[r].reg] += ref_reads(&inst->refs[r]);
    }
}

/* Removes first computations without readers, and their operands that have no other reader. Going up a block reaches
 * operands after their readers, so further rounds are needed only between blocks. */
static void dead_remove(Body *body)
{
    Arena *scratch = arena_new();
    uint32_t *counts = ARENA_ARRAY(scratch, uint32_t, body->regs.count);
    bool found = true;
    uses_count(body, counts);
    while (found) {
        found = false;
        for (size_t i = body->blocks.count; i-- > 0;)
            for (Inst *inst = body->blocks.data[i]->last, *previous; inst; inst = previous) {
                previous = inst->prev;
                if (!inst_is_recomputable(inst) || counts[inst_result(inst)])
                    continue;
                for (unsigned r = 0; r < inst->ref_count; r++)
                    counts[inst->refs[r].reg] -= ref_reads(&inst->refs[r]);
                inst_remove(inst);
                found = true;
            }
    }
    arena_free(scratch);
}

unsigned rematerialize_values(Body *body, Analyses *analyses, const RematerializeRequest *request,
                              const RematerializeCandidate *values, uint32_t count)
{
    require(body->ssa);
    Arena *arena = arena_new();
    Remat remat;
    unsigned made = 0;
    remat_start(&remat, arena, body, analyses, request);
    for (uint32_t i = 0; i < count; i++)
        if (values[i].value < remat.values->reg_count)
            made += value_recompute(&remat, values[i].value);
    arena_free(arena);
    analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    if (made)
        dead_remove(body);
    return made;
}
