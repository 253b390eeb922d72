/* Regions of lowered blocks: short blocks that assemblers make conditional, with the block before them; and loops. */
#include "analysis/lowered/internal.h"

enum {
    MERGED_MOST = 10,    /* longest block, in instructions, that is made conditional */
    CONDITIONS_MOST = 7, /* the number of predicate registers */
};

static bool may_be_conditional(const LoweredBlock *block, const Block *from)
{
    if (block->count > MERGED_MOST || block->block->pred_count != 1 || block->block->preds[0] != from || block->merged)
        return false;
    for (const Inst *inst = block->block->first; inst; inst = inst->next)
        if (inst_is_opaque(inst) || inst_is_call(inst) || inst->effects & EFFECT_SYNC ||
            (inst_is_terminator(inst) && (inst_is_guarded(inst) || !inst_is_branch(inst))))
            return false;
    return true;
}

static Block *only_successor(const Block *block)
{
    bool jumps = block->last && inst_is_branch(block->last);
    if (jumps && !inst_is_guarded(block->last) && block->last->target_count == 1)
        return block->last->targets[0];
    return jumps ? NULL : block->fall;
}

/* The instruction with one more operand. */
static LoweredInst inst_under(Lowering *lowering, LoweredInst inst, RegId predicate)
{
    lowering->read_count = 0;
    for (unsigned r = 0; r < inst.read_count; r++)
        reads_add(lowering, inst.reads[r]);
    reads_add(lowering, predicate);
    inst.reads = reads_take(lowering, &inst.read_count);
    return inst;
}

/* Appends a block: its accesses, and moves in place of phis, under the predicate; REG_NONE: under none. */
static void region_append(Lowering *lowering, LoweredBlock *region, LoweredBlock *block, RegId predicate)
{
    for (uint32_t i = 0; i < region->count + block->count; i++) {
        const LoweredInst *inst = i < region->count ? &region->insts[i] : &block->insts[i - region->count];
        bool inner = i < region->count && inst->inst && inst_is_terminator(inst->inst);
        bool under = i >= region->count && predicate != REG_NONE && inst->inst && !(inst->inst->effects & EFFECT_PURE);
        if (!inner)
            VEC_PUSH(lowering->arena, lowering->insts, under ? inst_under(lowering, *inst, predicate) : *inst);
    }
    insts_take(lowering, region);
    block->merged = true;
    block->count = 0;
}

/* Turns the phis of the block in which conditional code ends into moves, which need only their operands. */
static void phis_lower(Lowering *lowering, LoweredBlock *join, RegId predicate)
{
    VEC(LoweredInst) insts = {0};
    for (size_t p = 0; p < join->block->phis.count; p++) {
        const Phi *phi = &join->block->phis.data[p];
        if (!lowering->out->width[phi->dst])
            continue;
        LoweredInst move = {.latency = 1, .write_count = 1};
        RegId *made = ARENA_ARRAY(lowering->arena, RegId, 1);
        *made = phi->dst;
        move.writes = made;
        lowering->read_count = 0;
        for (size_t a = 0; a < phi->args.count; a++)
            reads_resolve(lowering, phi->args.data[a].reg, 0);
        reads_add(lowering, predicate);
        move.reads = reads_take(lowering, &move.read_count);
        VEC_PUSH(lowering->arena, insts, move);
    }
    for (uint32_t i = 0; i < join->count; i++)
        VEC_PUSH(lowering->arena, insts, join->insts[i]);
    join->insts = insts.data;
    join->count = (uint32_t)insts.count;
}

/* Extends the region by one condition; false if it ends here. */
static bool region_extend(Lowering *lowering, LoweredBlock *region)
{
    LoweredBlock *blocks = lowering->out->blocks;
    const Inst *branch = block_two_way_branch(region->last);
    if (!branch)
        return false;
    Block *from = region->last, *taken = branch->targets[0], *other = from->fall, *join;
    bool first = may_be_conditional(&blocks[taken->id], from), second = may_be_conditional(&blocks[other->id], from);
    if (first && only_successor(taken) == other) {
        join = other;
        second = false;
    } else if (second && only_successor(other) == taken) {
        join = taken;
        first = false;
    } else if (first && second && only_successor(taken) && only_successor(taken) == only_successor(other)) {
        join = only_successor(taken);
    } else {
        return false;
    }
    if (region->conditions == CONDITIONS_MOST || join->pred_count != 2 || blocks[join->id].merged ||
        join == region->block)
        return false;
    RegId predicate = inst_predicate(branch);
    if (first)
        region_append(lowering, region, &blocks[taken->id], predicate);
    if (second)
        region_append(lowering, region, &blocks[other->id], predicate);
    phis_lower(lowering, &blocks[join->id], predicate);
    region_append(lowering, region, &blocks[join->id], REG_NONE);
    region->last = join;
    region->conditions++;
    return true;
}

static bool operand_constant(const Lowering *lowering, const Inst *inst, const Operand *operand, int64_t *value)
{
    RegId reg = operand_reg(inst, operand);
    const Inst *made = reg == REG_NONE ? NULL : value_inst(lowering->values, reg);
    uint64_t bits;
    if (made && is_plain(made) && inst_op(made) == OP_MOV && made->operand_count == 2)
        operand = &made->operands[1];
    if (!operand_is_integer(operand, &bits))
        return false;
    *value = (int32_t)bits;
    return true;
}

static bool value_constant(const Lowering *lowering, RegId reg, int64_t *value)
{
    const Inst *made = reg == REG_NONE ? NULL : value_inst(lowering->values, reg);
    return made && is_plain(made) && inst_op(made) == OP_MOV && made->operand_count == 2 &&
           operand_constant(lowering, made, &made->operands[1], value);
}

/* The phi that grows by a constant and of which 'reg' is the value, in this iteration or the next; or NULL. */
static const Phi *counter_of(const Lowering *lowering, RegId reg, const Block *header, const Block *latch)
{
    for (size_t p = 0; p < header->phis.count; p++) {
        const Phi *phi = &header->phis.data[p];
        RegId next = phi_argument(phi, latch);
        if (adds_to(lowering, next, phi->dst) && (reg == phi->dst || reg == next || adds_to(lowering, reg, phi->dst)))
            return phi;
    }
    return NULL;
}

/* The block that branches back to the region's top: its last one, or a later one that does nothing else. */
static Block *latch_of(const LoweredBlock *region)
{
    for (unsigned p = 0; p < region->block->pred_count; p++) {
        Block *from = region->block->preds[p];
        bool forwards = from->first == from->last && from->pred_count == 1 && from->preds[0] == region->last &&
                        !from->phis.count;
        if (from == region->last || (forwards && only_successor(from)))
            return from;
    }
    return NULL;
}

static uint32_t trips_between(const Lowering *lowering, const Phi *phi, const Block *latch, int64_t end)
{
    int64_t start, step;
    const Inst *sum = value_inst(lowering->values, phi_argument(phi, latch));
    for (size_t a = 0; a < phi->args.count; a++) {
        if (phi->args.data[a].pred == latch || !value_constant(lowering, phi->args.data[a].reg, &start) ||
            !operand_constant(lowering, sum, &sum->operands[2], &step) || !step)
            continue;
        int64_t trips = (end - start + step - (step > 0 ? 1 : -1)) / step;
        return phi->args.count == 2 && trips > 0 && trips < UINT32_MAX ? (uint32_t)trips : 0;
    }
    return 0;
}

/* Finds the block that branches back to the region, if that depends on a counter that grows by a constant. */
static void loop_find(const Lowering *lowering, LoweredBlock *region)
{
    Block *latch = latch_of(region);
    const Inst *branch = region->last->last;
    if (!latch || !branch || !inst_is_guarded(branch))
        return;
    const Inst *test = value_inst(lowering->values, inst_predicate(branch));
    for (unsigned o = 0; test && inst_op(test) == OP_SETP && o < test->operand_count; o++) {
        int64_t end;
        RegId reg = operand_reg(test, &test->operands[o]);
        const Phi *phi = reg == REG_NONE ? NULL : counter_of(lowering, reg, region->block, latch);
        if (!phi)
            continue;
        if (o + 1 < test->operand_count && operand_constant(lowering, test, &test->operands[o + 1], &end))
            region->trips = trips_between(lowering, phi, latch, end);
        /* A loop that ends in an unconditional branch is not rotated. */
        if (region->trips || latch == region->last)
            region->latch = latch;
        return;
    }
}

void regions_make(Lowering *lowering)
{
    for (size_t b = 0; b < lowering->out->body->blocks.count; b++) {
        LoweredBlock *region = &lowering->out->blocks[b];
        while (!region->merged && region_extend(lowering, region))
            ;
        if (!region->merged)
            loop_find(lowering, region);
        region->out = lowering->out->blocks[region->last->id].out;
        region->out_count = lowering->out->blocks[region->last->id].out_count;
    }
}
