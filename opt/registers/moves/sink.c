/* The sink pass: definitions move down to their uses, across blocks.
 *
 * A value that is computed early and used late occupies registers in between. Each movable definition moves to the
 * nearest block that dominates its uses, never into a deeper loop, or (SINK_COPIES) is recomputed in each block that
 * uses it. The assembler may move such code up again, though rarely across branches, so the register search measures
 * it. */
#include "opt/registers/moves/sink.h"
#include "opt/registers/search/search.h"

enum {
    COPIES_MOST = 4,     /* SINK_COPIES: blocks in which one value is recomputed */
    PATH_LONGEST = 4096, /* instructions that a load is compared with before it stays */
};

typedef struct Sinker {
    Body *body;
    SinkMode mode;
    bool loads;
    bool awaits; /* something in the body may wait for other grids */
    const Dominance *dominance;
    const LoopForest *loops;
    const Liveness *liveness;
    const MemoryModel *memory;
    const Values *values;
} Sinker;

static bool is_movable(const Sinker *sinker, const Inst *inst)
{
    if (inst_is_opaque(inst) || inst_is_terminator(inst) || inst->sync != SYNC_NONE || inst->pragma)
        return false;
    if (inst->effects & EFFECTS_IN_PLACE)
        return false;
    if (inst->effects & EFFECT_PURE)
        return true;
    Access access;
    if (!inst_access(inst, &access) || access.kind != ACCESS_LOAD || !access.weak)
        return false;
    return access.read_only ? access.space == SPACE_PARAM || access.space == SPACE_CONST || sinker->loads
                            : sinker->loads;
}

/* Goes up the dominator tree to a block outside all loops that 'from' is not in. With 'same_loop' it stays in the loop
 * of 'from', for loads that must not leave it. */
static Block *target_outside_loops(const Sinker *sinker, Block *from, Block *target, bool same_loop)
{
    Loop *home = loop_of(sinker->loops, from);
    while (target && target != from) {
        Loop *loop = loop_of(sinker->loops, target);
        bool fits = same_loop ? loop == home : !loop || loop_contains(sinker->loops, loop, from);
        if (fits && !bitset_has(&sinker->loops->irreducible, target->id))
            return target;
        target = dominance_parent(sinker->dominance, target);
    }
    return target;
}

/* True if all its registers are older than the analyses. */
static bool is_known(const Sinker *sinker, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (inst->refs[r].reg != REG_NONE && inst->refs[r].reg >= sinker->values->reg_count)
            return false;
    return true;
}

static bool range_may_swap(const Sinker *sinker, const Inst *load, const Inst *first, const Inst *end,
                           unsigned *looked_at)
{
    for (const Inst *inst = first; inst != end; inst = inst->next) {
        if (inst_is_terminator(inst) || inst->effects & EFFECT_PURE)
            continue;
        if (++*looked_at > PATH_LONGEST || !is_known(sinker, inst) || !insts_may_swap(sinker->memory, load, inst))
            return false;
    }
    return true;
}

/* True if the load may move to the place before 'before' (NULL: the end) in 'target': it may swap with everything
 * between. Every block that reaches the target without passing the load's own block counts as between. */
static bool load_path_is_free(const Sinker *sinker, const Inst *load, Block *target, const Inst *before)
{
    unsigned looked_at = 0;
    Block *from = load->block;
    if (!range_may_swap(sinker, load, load->next, NULL, &looked_at) ||
        !range_may_swap(sinker, load, target->first, before, &looked_at))
        return false;
    Arena *scratch = arena_new();
    BitSet seen = bitset_new(scratch, sinker->body->blocks.count);
    VEC(Block *) stack = {0};
    bool is_free = true;
    VEC_PUSH(scratch, stack, target);
    bitset_add(&seen, from->id);
    while (stack.count && is_free) {
        Block *block = VEC_POP(stack);
        for (unsigned i = 0; i < block->pred_count && is_free; i++) {
            Block *pred = block->preds[i];
            if (pred == target) {
                is_free = false; /* a cycle: the target itself is between */
            } else if (!bitset_has(&seen, pred->id)) {
                bitset_add(&seen, pred->id);
                is_free = range_may_swap(sinker, load, pred->first, NULL, &looked_at);
                VEC_PUSH(scratch, stack, pred);
            }
        }
    }
    arena_free(scratch);
    return is_free;
}

/* The first instruction of the block that reads a result; its terminator if none does; NULL: the end. */
static Inst *place_in(const Block *target, const Inst *inst)
{
    for (Inst *at = target->first; at; at = at->next) {
        if (inst_is_terminator(at))
            return at;
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]) && inst_uses(at, inst->refs[r].reg))
                return at;
    }
    return NULL;
}

static void inst_place(Inst *inst, Block *target, Inst *before)
{
    if (before)
        inst_insert_before(before, inst);
    else
        inst_append(target, inst);
}

/* True if the operands that the move keeps live down to the target need no more registers than the results, which it
 * no longer does. */
static bool saves_registers(const Sinker *sinker, const Inst *inst, const Block *target)
{
    int32_t balance = 0;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        const RegRef *ref = &inst->refs[r];
        int32_t size = pressure_of_reg(sinker->body, ref->reg).regs32;
        bool counted = false;
        for (unsigned i = 0; i < r; i++)
            counted |= inst->refs[i].reg == ref->reg;
        if (counted || (!ref_reads(ref) && !ref_writes(ref)))
            continue;
        if (!ref_writes(ref) && ref->reg >= sinker->liveness->reg_count)
            return false;
        if (ref_writes(ref))
            balance += size;
        else if (!live_is_undefined(sinker->liveness, ref->reg) &&
                 !live_set_has(live_in(sinker->liveness, target), ref->reg))
            balance -= size;
    }
    return balance >= 0;
}

/* The nearest block that dominates all uses of all results; NULL: there are none. */
static Block *uses_common(const Sinker *sinker, const Inst *inst, uint32_t *use_count)
{
    Block *target = NULL;
    *use_count = 0;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        if (!ref_writes(&inst->refs[r]))
            continue;
        RegId reg = inst->refs[r].reg;
        const ValueUse *uses = value_uses(sinker->values, reg);
        for (uint32_t u = 0; u < value_use_count(sinker->values, reg); u++) {
            Block *block = value_use_block(&uses[u]);
            target = target ? dominance_common(sinker->dominance, target, block) : block;
            ++*use_count;
        }
    }
    return target;
}

/* Replaces a pure instruction with one result, used in a few other blocks, by a copy in each of them. */
static unsigned value_copy_down(Sinker *sinker, Inst *inst)
{
    RegId reg = inst_result(inst);
    if (reg == REG_NONE || !(inst->effects & EFFECT_PURE) || !inst_is_plain(inst))
        return 0;
    Block *blocks[COPIES_MOST];
    unsigned count = 0;
    uint32_t use_count = value_use_count(sinker->values, reg);
    const ValueUse *uses = value_uses(sinker->values, reg);
    for (uint32_t u = 0; u < use_count; u++) {
        Block *block = target_outside_loops(sinker, inst->block, value_use_block(&uses[u]), false);
        if (!block || block == inst->block)
            return 0;
        unsigned i = 0;
        while (i < count && blocks[i] != block)
            i++;
        if (i == COPIES_MOST)
            return 0;
        if (i == count)
            blocks[count++] = block;
    }
    if (count < 2)
        return 0;
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count; j++)
            if (i != j && dominance_has(sinker->dominance, blocks[i], blocks[j]))
                return 0; /* the upper copy would serve the lower one, too */
    for (unsigned i = 0; i < count; i++)
        if (!saves_registers(sinker, inst, blocks[i]))
            return 0;
    for (unsigned i = 0; i < count; i++) {
        Inst *before = place_in(blocks[i], inst), *copy = inst_clone(sinker->body, inst);
        RegId fresh = body_clone_reg(sinker->body, reg);
        for (unsigned r = 0; r < copy->ref_count; r++)
            if (ref_writes(&copy->refs[r]))
                copy->refs[r].reg = fresh;
        inst_place(copy, blocks[i], before);
        for (uint32_t u = 0; u < use_count; u++) {
            if (target_outside_loops(sinker, inst->block, value_use_block(&uses[u]), false) != blocks[i])
                continue;
            if (uses[u].inst)
                uses[u].inst->refs[uses[u].index].reg = fresh;
            else
                uses[u].block->phis.data[uses[u].index].args.data[uses[u].arg].reg = fresh;
        }
    }
    inst_remove(inst);
    return 1;
}

static unsigned inst_sink(Sinker *sinker, Inst *inst)
{
    uint32_t use_count;
    Block *target = uses_common(sinker, inst, &use_count);
    if (!target)
        return 0;
    bool memory = !(inst->effects & EFFECT_PURE);
    Access access;
    bool ordered = memory && inst_access(inst, &access) && (!access.read_only || (access.awaited && sinker->awaits));
    target = target_outside_loops(sinker, inst->block, target, ordered);
    if (!target || target == inst->block)
        return sinker->mode == SINK_COPIES && target ? value_copy_down(sinker, inst) : 0;
    if (sinker->mode == SINK_SAVING && !saves_registers(sinker, inst, target))
        return 0;
    if (sinker->mode == SINK_COPIES && use_count > 1 && value_copy_down(sinker, inst))
        return 1;
    Inst *before = place_in(target, inst);
    if (ordered && (!is_known(sinker, inst) || !load_path_is_free(sinker, inst, target, before)))
        return 0;
    inst_remove(inst);
    inst_place(inst, target, before);
    return 1;
}

static unsigned sink_once(Body *body, Analyses *analyses, SinkMode mode, bool loads)
{
    Sinker sinker = {
        .body = body,
        .mode = mode,
        .loads = loads,
        .awaits = body_may_await(body),
        .dominance = analyses_dominance(analyses),
        .loops = analyses_loops(analyses),
        .liveness = analyses_liveness(analyses),
        .memory = analyses_memory(analyses),
        .values = analyses_values(analyses),
    };
    unsigned moved = 0;
    /* From the end, so that the operands of a moved instruction can follow it, in the next round: 'values' still has
     * their uses in the old blocks. */
    for (size_t i = body->blocks.count; i-- > 0;) {
        Block *block = body->blocks.data[i];
        if (!dominance_has(sinker.dominance, body->blocks.data[0], block) ||
            bitset_has(&sinker.loops->irreducible, block->id))
            continue;
        for (Inst *inst = block->last, *previous; inst; inst = previous) {
            previous = inst->prev;
            bool stale = false;
            for (unsigned r = 0; r < inst->ref_count; r++) {
                RegId reg = inst->refs[r].reg;
                if (!ref_writes(&inst->refs[r]))
                    continue;
                /* 'values' knows neither the registers made in this round nor where uses have moved. */
                stale |= reg >= sinker.values->reg_count || sinker.values->defs[reg].inst != inst;
                if (stale)
                    break;
                const ValueUse *uses = value_uses(sinker.values, reg);
                for (uint32_t u = 0; u < value_use_count(sinker.values, reg); u++)
                    stale |= uses[u].inst && uses[u].inst->block != uses[u].block;
            }
            if (!stale && is_movable(&sinker, inst))
                moved += inst_sink(&sinker, inst);
        }
    }
    return moved;
}

unsigned sink_values(Body *body, Analyses *analyses, SinkMode mode, bool loads)
{
    require(body->ssa);
    unsigned all = 0, moved = 1;
    for (unsigned round = 0; round < 8 && moved; round++) {
        moved = sink_once(body, analyses, mode, loads);
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
        all += moved;
    }
    return all;
}

bool pass_sink(PassContext *context)
{
    static const struct {
        SinkMode mode;
        bool loads;
        MoveKind kind;
    } modes[] = {
        {SINK_SAVING, true, MOVE_SINK_LOADS},
        {SINK_COPIES, false, MOVE_SINK_COPIES},
        {SINK_ALL, true, MOVE_SINK_ALL},
        {SINK_SAVING, false, MOVE_SINK},
    };
    Search *search = context->search;
    bool taken = false;
    size_t count = search->turn.assemblies < COUNT_OF(modes) ? search->turn.assemblies : COUNT_OF(modes);
    Proposals proposals = proposals_new(search, search->turn.budget, (unsigned)count);
    for (size_t i = 0; i < count && proposals.count < proposals.capacity; i++) {
        Candidate candidate = candidate_new(search);
        sink_values(candidate.body, candidate.analyses, modes[i].mode, modes[i].loads);
        proposals_add(search, &proposals, candidate.body);
        candidate_free(&candidate);
    }
    for (size_t i = 0; i < count && !search_should_stop(search); i++) {
        Candidate candidate = candidate_new(search);
        unsigned moved = sink_values(candidate.body, candidate.analyses, modes[i].mode, modes[i].loads);
        taken |= candidate_propose(search, PASS_SINK, &candidate, move_of(modes[i].kind, moved));
    }
    return taken;
}
