/* Recomputation across a place: the values that are live where pressure peaks are either kept, or computed again later.
 *
 * Requires SSA form.
 *
 * Which values to keep is a minimum cut. A value that is needed after the place is kept in its registers, or its
 * instruction is executed again there, and then its operands are needed. With an edge from the source to each
 * instruction that costs what executing it again does, one through each value that costs what its registers are worth,
 * and edges from operands to instructions that no cut goes through, the cheapest choice is the cheapest cut (project
 * selection, as in Kleinberg and Tardos, "Algorithm Design", 7.11). Unlike recomputing values one by one
 * (opt/registers/moves/rematerialize.c), this sees that one operand serves many of them: a thread that keeps the items
 * of a scan can recompute all its partial sums.
 *
 * A recomputation comes right before what reads it, in the nearest block that dominates all such reads, outside loops
 * that the place is not in. The first computation dominates that block, too, so its operands still have the values
 * that it read: control cannot come to one of them again without coming to the first computation again. The assembler
 * merges equal computations, so recomputations start from opaque copies (opt/registers/moves/opaque.h); what follows
 * reads the copies, so that they take no second register. */
#include "opt/registers/moves/recompute.h"

#include <stdlib.h>

#include "opt/common/cleanup.h"
#include "opt/registers/moves/opaque.h"
#include "opt/registers/moves/rematerialize.h"

enum {
    PLACES_MOST = 96,     /* places of a body that are looked at */
    PLACES_OF_BLOCK = 4,  /* of one block */
    VALUES_MOST = 20000,  /* of one graph */
    UNIT = 64,            /* of cost: an instruction that is executed as often as the place */
    GAIN_LEAST = 2,       /* registers */
    PREDICATE_PARTS = 4,  /* a predicate takes this part of what a register does: there are seven */
};

/* A value in the graph. */
typedef struct Need {
    RegId reg;
    uint32_t in, out;  /* nodes */
    bool is_live;      /* at the place */
    uint64_t weight;   /* how often it would be recomputed; 0: its later reads have no common dominator after the
                        * place, so it has to stay */
    bool is_again;     /* recomputed */
    bool is_changed;   /* later reads get another register */
    RegId later;       /* that register, if it is changed */
    Block *block;      /* where it is recomputed or copied, */
    Inst *anchor;      /* before this instruction; NULL: at the end */
    BitSet later_blocks; /* live: by Block.id, from the place without passing its definition; no words: not asked */
} Need;

typedef VEC(Need) NeedVec;

typedef struct Recompute {
    Body *body;
    Arena *arena; /* of what is being looked at */
    const RecomputeRequest *request;
    const Values *values;
    const Liveness *liveness;
    const Dominance *dominance;
    const LoopForest *loops;
    const Lowered *lowered;
    const Inst *mask; /* for opaque copies of 64 bits */
    Block *block;     /* the place: in this block, */
    Inst *before;     /* before this instruction */
    BitSet reached;   /* by Block.id: from the place, by at least one edge */
    MinCut graph;
    uint32_t source, sink;
    NeedVec needs;
    uint32_t *need_of; /* by RegId: + 1 */
} Recompute;

static bool is_predicate(const Body *body, RegId reg)
{
    return type_class(body->regs.data[reg].type) == CLASS_PRED;
}

static unsigned width_of(const Recompute *recompute, RegId reg)
{
    return reg < recompute->values->reg_count ? recompute->lowered->width[reg] : 0;
}

/* Marks the blocks that control can come to from 'from' by at least one edge, without entering 'avoided'. */
static void reach(const Recompute *recompute, const Block *from, const Block *avoided, BitSet *reached)
{
    const Block **stack = ARENA_ARRAY(recompute->arena, const Block *, recompute->body->blocks.count + 1);
    size_t depth = 0;
    bitset_clear(reached);
    stack[depth++] = from;
    while (depth) {
        const Block *block = stack[--depth];
        FOR_EACH_SUCC(block, next) {
            if (next == avoided || bitset_has(reached, next->id))
                continue;
            bitset_add(reached, next->id);
            stack[depth++] = next;
        }
    }
}

/* True if control can come from the place to the use of a live value before it comes to the value's definition. */
static bool is_later(const Recompute *recompute, Need *need, const ValueUse *use)
{
    const Block *block = value_use_block(use);
    if (block == recompute->block && (!use->inst || use->inst->id >= recompute->before->id))
        return true;
    const Block *made = recompute->values->defs[need->reg].block;
    if (block == made || !bitset_has(&recompute->reached, block->id))
        return false;
    if (!need->later_blocks.words) {
        need->later_blocks = bitset_new(recompute->arena, recompute->body->blocks.count);
        reach(recompute, recompute->block, made, &need->later_blocks);
    }
    return bitset_has(&need->later_blocks, block->id);
}

static Need *need_of(const Recompute *recompute, RegId reg)
{
    return recompute->need_of[reg] ? &recompute->needs.data[recompute->need_of[reg] - 1] : NULL;
}

static uint32_t need_add(Recompute *recompute, RegId reg)
{
    if (!recompute->need_of[reg]) {
        Need need = {.reg = reg, .later = reg, .weight = loop_weight(recompute->loops, recompute->block)};
        need.in = min_cut_node(&recompute->graph);
        need.out = min_cut_node(&recompute->graph);
        VEC_PUSH(recompute->arena, recompute->needs, need);
        recompute->need_of[reg] = (uint32_t)recompute->needs.count;
    }
    return recompute->need_of[reg] - 1;
}

/* Goes up to a block outside all loops that the place is not in. */
static Block *block_outside_loops(const Recompute *recompute, Block *block)
{
    while (block) {
        const Loop *loop = loop_of(recompute->loops, block);
        if ((!loop || loop_contains(recompute->loops, loop, recompute->block)) &&
            !bitset_has(&recompute->loops->irreducible, block->id))
            break;
        block = dominance_parent(recompute->dominance, block);
    }
    return block;
}

/* True if what is computed in the block, before its reads there, is computed after the place. */
static bool is_after_place(const Recompute *recompute, const Block *block)
{
    return block == recompute->block || !dominance_has(recompute->dominance, block, recompute->block);
}

/* The block in which a live value can be recomputed for everything that reads it later; NULL: there is none. */
static Block *block_of_uses(const Recompute *recompute, Need *need)
{
    Block *block = NULL;
    const ValueUse *uses = value_uses(recompute->values, need->reg);
    for (uint32_t u = 0; u < value_use_count(recompute->values, need->reg); u++) {
        if (!is_later(recompute, need, &uses[u]))
            continue;
        Block *reader = value_use_block(&uses[u]);
        if (reader == recompute->block && uses[u].inst && uses[u].inst->id < recompute->before->id)
            return NULL;
        block = block ? dominance_common(recompute->dominance, block, reader) : reader;
    }
    block = block_outside_loops(recompute, block);
    return block && is_after_place(recompute, block) ? block : NULL;
}

/* The values that are live at the place. */
static void live_collect(Recompute *recompute)
{
    PressureTracker tracker = pressure_tracker_new(recompute->arena, recompute->liveness);
    pressure_tracker_start_bottom(&tracker, recompute->block);
    for (const Inst *inst = recompute->block->last; inst != recompute->before->prev; inst = inst->prev)
        pressure_tracker_recede(&tracker, inst);
    for (uint32_t i = 0; i < tracker.live.count; i++) {
        uint32_t index = need_add(recompute, tracker.live.members[i]);
        Need *need = &recompute->needs.data[index];
        const Block *block = block_of_uses(recompute, need);
        need->is_live = true;
        need->weight = block ? loop_weight(recompute->loops, block) : 0;
    }
}

/* True if its recomputation is an instruction of machine code. */
static bool is_executed(const Recompute *recompute, const Need *need)
{
    return width_of(recompute, need->reg) || is_predicate(recompute->body, need->reg);
}

/* The instructions of machine code that compute or copy it, if it is executed. */
static unsigned words_of(const Recompute *recompute, const Need *need)
{
    unsigned width = width_of(recompute, need->reg);
    return width ? width : 1;
}

/* The cost of executing the value's instruction again. */
static uint64_t cost_again(const Recompute *recompute, const Need *need)
{
    const Inst *inst = value_inst(recompute->values, need->reg);
    if (!is_executed(recompute, need))
        return 0;
    uint64_t each = UNIT * need->weight / loop_weight(recompute->loops, recompute->block);
    if (inst_sreg(inst))
        each *= 3;
    return (each ? each : 1) * words_of(recompute, need);
}

/* The worth of the registers that hold the value at the place. */
static uint64_t cost_kept(const Recompute *recompute, const Need *need)
{
    uint64_t worth = (uint64_t)recompute->request->worth * UNIT;
    if (is_predicate(recompute->body, need->reg))
        return worth / PREDICATE_PARTS;
    unsigned width = width_of(recompute, need->reg);
    /* A value that takes no register of its own lives in those of its operands. */
    if (!width && inst_is_recomputable(value_inst(recompute->values, need->reg)))
        return CUT_NEVER;
    return worth * width;
}

/* A value that a loop reads is not recomputed from one that is only read after the loop: the latter would be recomputed
 * in the loop, too. */
static bool can_be_again(const Recompute *recompute, const Need *need)
{
    const Inst *inst = value_inst(recompute->values, need->reg);
    if (!need->weight || !inst_is_recomputable(inst))
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        const Need *operand = ref_reads(&inst->refs[r]) ? need_of(recompute, inst->refs[r].reg) : NULL;
        if (operand && operand->weight && operand->weight < need->weight)
            return false;
    }
    return true;
}

/* Makes the graph of the live values and all that they could be recomputed from. */
static bool graph_make(Recompute *recompute)
{
    for (uint32_t i = 0; i < recompute->needs.count && i < VALUES_MOST; i++) {
        const Need need = recompute->needs.data[i];
        bool again = can_be_again(recompute, &need);
        MinCut *graph = &recompute->graph;
        min_cut_edge(graph, need.in, need.out, again ? cost_kept(recompute, &need)
                                                     : (uint64_t)recompute->request->worth * UNIT *
                                                           width_of(recompute, need.reg));
        min_cut_edge(graph, recompute->source, need.in, again ? cost_again(recompute, &need) : CUT_NEVER);
        if (need.is_live)
            min_cut_edge(graph, need.out, recompute->sink, CUT_NEVER);
        const Inst *inst = again ? value_inst(recompute->values, need.reg) : NULL;
        for (unsigned r = 0; inst && r < inst->ref_count; r++) {
            RegId operand = inst->refs[r].reg;
            if (!ref_reads(&inst->refs[r]) || value_is_undefined(recompute->values, operand))
                continue;
            uint32_t index = need_add(recompute, operand);
            min_cut_edge(graph, recompute->needs.data[index].out, need.in, CUT_NEVER);
        }
    }
    return recompute->needs.count <= VALUES_MOST;
}

/* Marks what is recomputed; returns how many registers stay live at the place. */
static unsigned choice_read(Recompute *recompute)
{
    BitSet side = min_cut_sink_side(&recompute->graph);
    unsigned kept = 0;
    for (size_t i = 0; i < recompute->needs.count; i++) {
        Need *need = &recompute->needs.data[i];
        need->is_again = bitset_has(&side, need->in);
        if (!need->is_again && bitset_has(&side, need->out))
            kept += width_of(recompute, need->reg);
    }
    return kept;
}

/* A need that is recomputed, and where its instruction is. */
typedef struct Again {
    uint32_t enter, position; /* of its block in the dominator tree's preorder, and within the block */
    uint32_t need;
} Again;

static int compare_again(const void *a, const void *b)
{
    const Again *x = a, *y = b;
    if (x->enter != y->enter)
        return x->enter < y->enter ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* Lists the values to recompute, operands first: definitions dominate the instructions that read them. */
static uint32_t again_list(const Recompute *recompute, Again **out)
{
    Again *list = ARENA_ARRAY(recompute->arena, Again, recompute->needs.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < recompute->needs.count; i++)
        if (recompute->needs.data[i].is_again) {
            const ValueDef *def = &recompute->values->defs[recompute->needs.data[i].reg];
            list[count++] = (Again){recompute->dominance->enter[def->block->id], def->inst->id, i};
        }
    if (count)
        qsort(list, count, sizeof *list, compare_again);
    *out = list;
    return count;
}

/* Adds a place where the value is read to those that its recomputation has to come before. */
static void anchor_add(const Recompute *recompute, Need *need, Block *block, Inst *inst)
{
    Block *common = need->block ? dominance_common(recompute->dominance, need->block, block) : block;
    common = block_outside_loops(recompute, common);
    if (need->block != common)
        need->anchor = NULL;
    if (block == common && inst && (!need->anchor || need->block != common || inst->id < need->anchor->id))
        need->anchor = inst;
    need->block = common;
}

/* Finds out before what each value is recomputed: everything that reads it later. */
static void anchors_find(const Recompute *recompute, const Again *list, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        Need *need = &recompute->needs.data[list[i].need];
        const ValueUse *uses = value_uses(recompute->values, need->reg);
        for (uint32_t u = 0; need->is_live && u < value_use_count(recompute->values, need->reg); u++)
            if (is_later(recompute, need, &uses[u]))
                anchor_add(recompute, need, value_use_block(&uses[u]), uses[u].inst);
        const Inst *inst = value_inst(recompute->values, need->reg);
        for (unsigned r = 0; r < inst->ref_count && need->is_changed; r++) {
            Need *operand = ref_reads(&inst->refs[r]) ? need_of(recompute, inst->refs[r].reg) : NULL;
            if (operand && operand->is_changed)
                anchor_add(recompute, operand, need->block, need->anchor);
        }
    }
}

/* Makes an opaque copy of the operand before the instruction, or at the block's end. */
static RegId copy_make(Recompute *recompute, RegId reg, OpaqueHalves halves, Block *block, Inst *anchor)
{
    const ValueUse use = {.block = block, .inst = anchor};
    const Point point = {.block = block->id, .use = &use};
    RegId copy = body_clone_reg(recompute->body, reg);
    opaque_copy_place(recompute->body, recompute->mask, reg, copy, halves, &point);
    return copy;
}

/* The operand of the instruction whose later reads are best hidden behind an opaque copy; NULL: there is none. */
static Need *hidden_operand(const Recompute *recompute, const Inst *inst)
{
    Need *best = NULL;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        Need *operand = ref_reads(&inst->refs[r]) ? need_of(recompute, inst->refs[r].reg) : NULL;
        if (!operand || operand->is_again || !width_of(recompute, operand->reg) ||
            !opaque_copy_exists(recompute->body, operand->reg))
            continue;
        if (!best || width_of(recompute, operand->reg) < width_of(recompute, best->reg))
            best = operand;
    }
    return best;
}

static bool reads_changed(const Recompute *recompute, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++) {
        const Need *operand = ref_reads(&inst->refs[r]) ? need_of(recompute, inst->refs[r].reg) : NULL;
        if (operand && operand->is_changed)
            return true;
    }
    return false;
}

/* Chooses the operands that are hidden behind opaque copies, and marks what reads something else than before. */
static void changes_mark(Recompute *recompute, const Again *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        Need *need = &recompute->needs.data[list[i].need];
        const Inst *inst = value_inst(recompute->values, need->reg);
        Need *operand = is_executed(recompute, need) && !reads_changed(recompute, inst)
                            ? hidden_operand(recompute, inst) : NULL;
        if (operand)
            operand->is_changed = true;
        need->is_changed = is_executed(recompute, need) || reads_changed(recompute, inst);
    }
    /* Copies chosen last are operands of what came first, too. */
    for (uint32_t i = 0; i < count; i++) {
        Need *need = &recompute->needs.data[list[i].need];
        need->is_changed |= reads_changed(recompute, value_inst(recompute->values, need->reg));
    }
}

/* The halves of a copy that make everything opaque that is recomputed from it. */
static OpaqueHalves halves_of(const Recompute *recompute, RegId reg, const Again *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const Need *need = &recompute->needs.data[list[i].need];
        const Inst *inst = value_inst(recompute->values, need->reg);
        bool reads = false;
        for (unsigned r = 0; r < inst->ref_count; r++)
            reads |= ref_reads(&inst->refs[r]) && inst->refs[r].reg == reg;
        if (reads && opaque_halves_for(inst, reg) == OPAQUE_BOTH)
            return OPAQUE_BOTH;
    }
    return OPAQUE_LOW;
}

/* True if the recomputation reads nothing that differs from what the first computation reads, so that the assembler
 * would merge the two. */
static bool is_same(const Inst *first, const Inst *again)
{
    for (unsigned r = 0; r < first->ref_count; r++)
        if (ref_reads(&first->refs[r]) && first->refs[r].reg != again->refs[r].reg)
            return false;
    return true;
}

static void again_insert(Recompute *recompute, Need *need)
{
    Body *body = recompute->body;
    const Inst *first = value_inst(recompute->values, need->reg);
    Inst *again = inst_clone(body, first);
    RegId result = body_clone_reg(body, need->reg);
    for (unsigned r = 0; r < again->ref_count; r++) {
        const Need *operand = ref_reads(&again->refs[r]) ? need_of(recompute, again->refs[r].reg) : NULL;
        if (operand && operand->is_changed)
            again->refs[r].reg = operand->later;
        else if (ref_writes(&again->refs[r]))
            again->refs[r].reg = result;
    }
    bool merged = is_same(first, again) && is_executed(recompute, need);
    for (unsigned r = 0; r < again->ref_count && merged; r++) {
        RegId reg = again->refs[r].reg;
        if (!ref_reads(&again->refs[r]) || !opaque_copy_exists(body, reg))
            continue;
        again->refs[r].reg = copy_make(recompute, reg, opaque_halves_for(first, reg), need->block, need->anchor);
        merged = false;
    }
    const ValueUse use = {.block = need->block, .inst = need->anchor};
    const Point point = {.block = need->block->id, .use = &use};
    place_inst(body, &point, again);
    if (merged && opaque_copy_exists(body, result))
        result = copy_make(recompute, result, OPAQUE_BOTH, need->block, need->anchor);
    need->later = result;
}

/* True if the use comes after where the value is recomputed or copied, always. */
static bool is_dominated(const Recompute *recompute, const Need *need, const ValueUse *use)
{
    const Block *block = value_use_block(use);
    if (block != need->block)
        return dominance_has(recompute->dominance, need->block, block);
    return !use->inst || (need->anchor && use->inst->id >= need->anchor->id);
}

static void later_uses_rename(const Recompute *recompute, const Need *need)
{
    const ValueUse *uses = value_uses(recompute->values, need->reg);
    for (uint32_t u = 0; u < value_use_count(recompute->values, need->reg); u++)
        if (is_dominated(recompute, need, &uses[u]))
            use_set(&uses[u], need->later);
}

/* Returns how many instructions of machine code are added. */
static unsigned choice_apply(Recompute *recompute)
{
    Again *list;
    unsigned made = 0;
    uint32_t count = again_list(recompute, &list);
    changes_mark(recompute, list, count);
    anchors_find(recompute, list, count);
    for (size_t i = 0; i < recompute->needs.count; i++) {
        Need *need = &recompute->needs.data[i];
        if (!need->is_changed || need->is_again)
            continue;
        made += words_of(recompute, need);
        need->later = copy_make(recompute, need->reg, halves_of(recompute, need->reg, list, count), need->block,
                                need->anchor);
    }
    for (uint32_t i = 0; i < count; i++) {
        Need *need = &recompute->needs.data[list[i].need];
        if (!need->is_changed)
            continue;
        again_insert(recompute, need);
        made += is_executed(recompute, need) ? words_of(recompute, need) : 0;
    }
    for (size_t i = 0; i < recompute->needs.count; i++)
        if (recompute->needs.data[i].is_changed && recompute->needs.data[i].is_live)
            later_uses_rename(recompute, &recompute->needs.data[i]);
    return made;
}

/* A block's place with the most live registers: before 'before'. */
typedef struct Place {
    Block *block; /* NULL: the block has none that is above the limit */
    Inst *before;
    int32_t live;
} Place;

/* The place of a block of machine code, which may have joined several. */
static Place place_of(const Recompute *recompute, const LoweredBlock *lowered)
{
    OrderLoad load = order_load(recompute->lowered, lowered, recompute->request->limit);
    uint32_t at = load.index;
    while (at < lowered->count && !lowered->insts[at].inst)
        at++;
    if (load.peak <= recompute->request->limit || at == lowered->count)
        return (Place){0};
    Inst *inst = lowered->insts[at].inst;
    return (Place){inst->block, inst->next ? inst->next : inst, load.peak};
}

/* Gathers the facts about the body as it is now. */
static void facts_gather(Recompute *recompute, Analyses *analyses, const SmLimits *sm, Place *places)
{
    Body *body = recompute->body;
    recompute->values = analyses_values(analyses);
    recompute->liveness = analyses_liveness(analyses);
    recompute->dominance = analyses_dominance(analyses);
    recompute->loops = analyses_loops(analyses);
    recompute->lowered =
        lowered_compute(recompute->arena, body, recompute->values, sm->loads_parameters, LOWERED_PLAINLY);
    recompute->mask = opaque_mask_find(body);
    for (size_t b = 0; b < body->blocks.count; b++) {
        uint32_t position = 0;
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            inst->id = position++;
        places[b] = place_of(recompute, &recompute->lowered->blocks[b]);
    }
}

/* The block with the highest place of those that may be tried again; their number if there is none. */
static size_t highest_place(const Body *body, const Place *places, const uint8_t *tried)
{
    size_t highest = body->blocks.count;
    for (size_t b = 0; b < body->blocks.count; b++)
        if (places[b].block && tried[b] < PLACES_OF_BLOCK &&
            (highest == body->blocks.count || places[b].live > places[highest].live))
            highest = b;
    return highest;
}

/* Recomputes values after a place; returns how many instructions that adds, 0 where too little is gained. */
static unsigned place_relieve(Recompute *recompute, Analyses *analyses, const Place *place)
{
    Arena *arena = recompute->arena;
    recompute->block = place->block;
    recompute->before = place->before;
    recompute->graph = min_cut_new(arena);
    recompute->source = min_cut_node(&recompute->graph);
    recompute->sink = min_cut_node(&recompute->graph);
    recompute->needs = (NeedVec){0};
    recompute->need_of = ARENA_ARRAY(arena, uint32_t, recompute->values->reg_count);
    recompute->reached = bitset_new(arena, recompute->body->blocks.count);
    reach(recompute, place->block, NULL, &recompute->reached);
    live_collect(recompute);
    if (!graph_make(recompute) ||
        min_cut_solve(&recompute->graph, recompute->source, recompute->sink) >= CUT_NEVER ||
        (int32_t)choice_read(recompute) + GAIN_LEAST > place->live)
        return 0;
    unsigned made = choice_apply(recompute);
    if (made)
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    return made;
}

unsigned recompute_values(Body *body, Analyses *analyses, const SmLimits *sm, const RecomputeRequest *request)
{
    require(body->ssa);
    Arena *kept = arena_new(), *facts = arena_new();
    uint8_t *tried = ARENA_ARRAY(kept, uint8_t, body->blocks.count);
    Place *places = ARENA_ARRAY(kept, Place, body->blocks.count);
    Recompute recompute = {.body = body, .arena = facts, .request = request};
    unsigned all = 0;
    facts_gather(&recompute, analyses, sm, places);
    for (unsigned n = 0; n < PLACES_MOST && all <= request->most; n++) {
        size_t highest = highest_place(body, places, tried);
        if (highest == body->blocks.count)
            break;
        Arena *scratch = arena_new();
        recompute.arena = scratch;
        unsigned made = place_relieve(&recompute, analyses, &places[highest]);
        arena_free(scratch);
        tried[highest] = made ? tried[highest] + 1 : PLACES_OF_BLOCK;
        if (!made)
            continue;
        const int32_t live = places[highest].live;
        all += made;
        arena_free(facts);
        recompute.arena = facts = arena_new();
        facts_gather(&recompute, analyses, sm, places);
        if (places[highest].live >= live && tried[highest] < PLACES_OF_BLOCK)
            tried[highest]++;
    }
    arena_free(facts);
    arena_free(kept);
    if (all && remove_dead_code(body, analyses))
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    return all;
}
