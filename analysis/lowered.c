/* Lowering: which values take registers in machine code, what is left of the instructions, and what is live.
 *
 * The rules are those that disassembled kernels show (nvdisasm -plr prints what is live in machine code). */
#include "analysis/lowered.h"

#include <stdlib.h>

enum {
    FUSED_DEPTH = 3,   /* instructions that one operand may stand for */
    READS_MOST = 64,   /* distinct registers that one instruction may read */
    SHORT_LATENCY = 4, /* cycles; arithmetic */
    SLOW_LATENCY = 20, /* the special function unit, conversions */
    CONSTANT_LATENCY = 30,
    MERGED_MOST = 10, /* instructions of a block that is made conditional */
    CONDITIONS_MOST = 7, /* there are as many predicate registers */
    SHARED_LATENCY = 30,
    MEMORY_LATENCY = 200,
};

/* How a value exists in machine code. */
typedef enum ValueKind {
    VALUE_OWN,     /* in registers of its own */
    VALUE_FREE,    /* an operand from the constant bank, an immediate, or a predicate */
    VALUE_UNIFORM, /* in uniform registers */
    VALUE_ALIAS,   /* another value under another name */
    VALUE_FUSED,   /* computed by the instructions that read it */
} ValueKind;

typedef struct Lowering {
    Arena *arena, *scratch;
    const Values *values;
    Lowered *out;
    uint8_t *kinds; /* by RegId: ValueKind */
    RegId reads[READS_MOST];
    unsigned read_count;
    bool loads_parameters;
    unsigned loaded;  /* of what is being resolved: addresses from parameters */
    size_t reg_count; /* registers so far, with those for parameters */
    VEC(uint8_t) extra; /* widths of those */
    VEC(LoweredInst) insts; /* of the block that is being lowered */
} Lowering;

static RegId only_result(const Inst *inst)
{
    RegId reg = REG_NONE;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        if (ref_writes(&inst->refs[r]) && reg != REG_NONE)
            return REG_NONE;
        if (ref_writes(&inst->refs[r]))
            reg = inst->refs[r].reg;
    }
    return reg;
}

static bool is_plain(const Inst *inst)
{
    return !inst_is_opaque(inst) && inst->guard == REF_NONE && !inst->tied_count &&
           (inst->effects & EFFECT_PURE || inst_op(inst) == OP_MOV);
}

static bool reads_constant(const Inst *inst)
{
    Access access;
    return inst_access(inst, &access) && access.kind == ACCESS_LOAD && access.read_only &&
           (access.space == SPACE_PARAM || access.space == SPACE_CONST);
}

/* Copies between registers of equal width, and between an address and the same address in another space. */
static bool is_copy(const Lowering *lowering, const Inst *inst)
{
    const Body *body = lowering->out->body;
    if (inst->ref_count != 2 || !ref_writes(&inst->refs[0]) || !ref_reads(&inst->refs[1]))
        return false;
    Type to = body->regs.data[inst->refs[0].reg].type, from = body->regs.data[inst->refs[1].reg].type;
    bool same = type_registers(to) == type_registers(from) && type_class(to) != CLASS_PRED &&
                type_class(from) != CLASS_PRED;
    return (inst_op(inst) == OP_MOV && same) || inst_op(inst) == OP_CVTA;
}

/* Truncation to half a pair, which is its low register. */
static bool is_truncation(const Lowering *lowering, const Inst *inst)
{
    const Body *body = lowering->out->body;
    if (inst_op(inst) != OP_CVT || inst->ref_count != 2 || !ref_writes(&inst->refs[0]))
        return false;
    Type to = body->regs.data[inst->refs[0].reg].type, from = body->regs.data[inst->refs[1].reg].type;
    bool integers = type_class(to) != CLASS_FLOAT && type_class(from) != CLASS_FLOAT &&
                    type_class(inst->refs[0].type) != CLASS_FLOAT && type_class(inst->refs[1].type) != CLASS_FLOAT;
    return integers && type_bits(inst->refs[0].type) == 32 && type_bits(inst->refs[1].type) == 64;
}

static bool operand_is_uniform(const Lowering *lowering, RegId reg)
{
    return lowering->kinds[reg] == VALUE_FREE || lowering->kinds[reg] == VALUE_UNIFORM;
}

/* Whether what it reads beside registers is the same in all threads of a block. */
static bool special_is_uniform(const Inst *inst, bool *launch)
{
    *launch = true;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        if (inst->operands[i].kind != OPERAND_SREG)
            continue;
        SregDependence dependence = inst->operands[i].sreg->dependence;
        if (dependence == SREG_THREAD || dependence == SREG_VOLATILE)
            return false;
        *launch &= dependence != SREG_BLOCK;
    }
    return true;
}

static bool is_integer(const Lowering *lowering, RegId reg)
{
    Type type = lowering->out->body->regs.data[reg].type;
    return type_class(type) != CLASS_FLOAT && lowering->out->body->regs.data[reg].vector <= 1;
}

static ValueKind kind_of(const Lowering *lowering, const Inst *inst, RegId reg)
{
    const Reg *made = &lowering->out->body->regs.data[reg];
    bool launch;
    if (type_class(made->type) == CLASS_PRED)
        return VALUE_FREE;
    if (only_result(inst) != reg || inst->guard != REF_NONE || inst->tied_count)
        return VALUE_OWN;
    unsigned reads = 0, uniform = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r])) {
            reads++;
            uniform += operand_is_uniform(lowering, inst->refs[r].reg);
        }
    if (reads_constant(inst))
        return uniform == reads ? VALUE_FREE : VALUE_OWN;
    if (!is_plain(inst) || !special_is_uniform(inst, &launch))
        return VALUE_OWN;
    if (is_copy(lowering, inst) || is_truncation(lowering, inst))
        return VALUE_ALIAS;
    if (!reads && launch && inst_op(inst) == OP_MOV)
        return VALUE_FREE;
    if (uniform == reads && is_integer(lowering, reg))
        return VALUE_UNIFORM;
    return VALUE_OWN;
}

static const Operand *address_of(const Inst *inst)
{
    Access access;
    return inst_access(inst, &access) ? access.address : NULL;
}

static bool is_address_use(const ValueUse *use)
{
    const Operand *address = use->inst ? address_of(use->inst) : NULL;
    return address && address->item_count == 1 && address->items[0].kind == OPERAND_REG &&
           address->items[0].ref == use->index;
}

static bool adds_constant(const Inst *inst)
{
    return inst_op(inst) == OP_ADD && inst->operand_count == 3 && inst->operands[2].kind == OPERAND_CONSTANT &&
           inst->operands[1].kind == OPERAND_REG;
}

static bool is_product(const Inst *inst)
{
    Opcode op = inst_op(inst);
    return op == OP_MUL || op == OP_SHL || op == OP_MAD;
}

static bool is_logic(const Inst *inst)
{
    Opcode op = inst_op(inst);
    return op == OP_AND || op == OP_OR || op == OP_XOR || op == OP_NOT;
}

/* Whether machine code has one instruction for the two. */
static bool fuses_into(const Inst *inst, const Inst *reader)
{
    if (!is_plain(reader))
        return false;
    Opcode op = inst_op(reader);
    return (is_product(inst) && op == OP_ADD) || (is_logic(inst) && (is_logic(reader) || op == OP_SETP));
}

static bool is_fused(const Lowering *lowering, const Inst *inst, RegId reg)
{
    if (!is_plain(inst) || !is_integer(lowering, reg) || type_class(inst->refs[0].type) == CLASS_FLOAT)
        return false;
    uint32_t count = value_use_count(lowering->values, reg);
    const ValueUse *uses = value_uses(lowering->values, reg);
    bool sum = adds_constant(inst);
    if (!count || (!sum && !is_product(inst) && !is_logic(inst)) || (is_logic(inst) && count > 1))
        return false;
    for (uint32_t u = 0; u < count; u++)
        if (sum ? !is_address_use(&uses[u]) : !uses[u].inst || !fuses_into(inst, uses[u].inst))
            return false;
    return true;
}

static void values_classify(Lowering *lowering)
{
    const Body *body = lowering->out->body;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++) {
                RegId reg = inst->refs[r].reg;
                if (!ref_writes(&inst->refs[r]))
                    continue;
                lowering->kinds[reg] = (uint8_t)kind_of(lowering, inst, reg);
                if (lowering->kinds[reg] == VALUE_OWN && is_fused(lowering, inst, reg))
                    lowering->kinds[reg] = VALUE_FUSED;
            }
}

static void reads_add(Lowering *lowering, RegId reg)
{
    for (unsigned i = 0; i < lowering->read_count; i++)
        if (lowering->reads[i] == reg)
            return;
    if (lowering->read_count < READS_MOST)
        lowering->reads[lowering->read_count++] = reg;
}

/* Adds the registers that machine code reads where the body reads 'reg'. */
static void reads_resolve(Lowering *lowering, RegId reg, unsigned depth)
{
    if (value_is_undefined(lowering->values, reg))
        return;
    ValueKind kind = (ValueKind)lowering->kinds[reg];
    if (kind == VALUE_FREE || kind == VALUE_UNIFORM) {
        const Inst *free = value_inst(lowering->values, reg);
        lowering->loaded += kind == VALUE_FREE && free && reads_constant(free) &&
                            type_bits(lowering->out->body->regs.data[reg].type) == 64;
        return;
    }
    if (kind == VALUE_OWN || depth > FUSED_DEPTH) {
        reads_add(lowering, reg);
        return;
    }
    const Inst *inst = value_inst(lowering->values, reg);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            reads_resolve(lowering, inst->refs[r].reg, kind == VALUE_ALIAS ? depth : depth + 1);
}

static RegId *reads_take(Lowering *lowering, uint16_t *count)
{
    RegId *reads = ARENA_ARRAY(lowering->arena, RegId, lowering->read_count);
    *count = (uint16_t)lowering->read_count;
    for (unsigned i = 0; i < lowering->read_count; i++)
        reads[i] = lowering->reads[i];
    return reads;
}

static uint16_t latency_of(const Inst *inst)
{
    Access access;
    if (inst_access(inst, &access))
        return access.kind == ACCESS_STORE     ? SHORT_LATENCY
               : access.space == SPACE_SHARED  ? SHARED_LATENCY
                                               : MEMORY_LATENCY;
    bool slow = !inst_is_opaque(inst) && (opcode_is_special_function(inst_op(inst)) || opcode_is_slow(inst_op(inst)));
    return slow ? SLOW_LATENCY : SHORT_LATENCY;
}

static bool is_left(const Lowering *lowering, const Inst *inst)
{
    RegId reg = only_result(inst);
    bool predicate = reg != REG_NONE && type_class(lowering->out->body->regs.data[reg].type) == CLASS_PRED;
    return reg == REG_NONE || predicate || lowering->kinds[reg] == VALUE_OWN;
}

/* An instruction that loads an address from a parameter for the next one. */
static void parameter_load(Lowering *lowering)
{
    RegId *made = ARENA_ARRAY(lowering->arena, RegId, 1);
    *made = (RegId)lowering->reg_count++;
    VEC_PUSH(lowering->scratch, lowering->extra, 2);
    VEC_PUSH(lowering->arena, lowering->insts,
             (LoweredInst){.writes = made, .write_count = 1, .latency = CONSTANT_LATENCY});
    if (lowering->read_count < READS_MOST)
        lowering->reads[lowering->read_count++] = *made;
}

/* Exact divisions and roots of floating point, and divisions of 64 bits, have subroutines for their rare cases. */
static bool has_subroutine(const Inst *inst)
{
    if (inst_is_opaque(inst) || !opcode_is_slow(inst_op(inst)) || inst_has(inst, MOD_APPROX) ||
        inst_has(inst, MOD_FULL))
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            return type_class(inst->refs[r].type) == CLASS_FLOAT || type_bits(inst->refs[r].type) == 64;
    return false;
}

static LoweredInst inst_lower(Lowering *lowering, Inst *inst)
{
    LoweredInst lowered = {.inst = inst, .latency = latency_of(inst)};
    lowered.splits = has_subroutine(inst) || inst_is_call(inst);
    lowering->read_count = lowering->loaded = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            reads_resolve(lowering, inst->refs[r].reg, 0);
    if (lowering->loads_parameters && lowering->loaded && only_result(inst) != REG_NONE && is_plain(inst))
        parameter_load(lowering);
    lowered.reads = reads_take(lowering, &lowered.read_count);
    RegId *writes = ARENA_ARRAY(lowering->arena, RegId, inst->ref_count + 1u);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && lowering->out->width[inst->refs[r].reg])
            writes[lowered.write_count++] = inst->refs[r].reg;
    lowered.writes = writes;
    return lowered;
}

static void block_lower(Lowering *lowering, Block *block)
{
    LoweredBlock *lowered = &lowering->out->blocks[block->id];
    VEC(RegId) phis = {0};
    lowered->block = lowered->last = block;
    lowering->insts.data = NULL;
    lowering->insts.count = lowering->insts.capacity = 0;
    for (Inst *inst = block->first; inst; inst = inst->next) {
        if (!is_left(lowering, inst))
            continue;
        LoweredInst made = inst_lower(lowering, inst);
        VEC_PUSH(lowering->arena, lowering->insts, made);
    }
    for (size_t p = 0; p < block->phis.count; p++)
        if (lowering->out->width[block->phis.data[p].dst])
            VEC_PUSH(lowering->arena, phis, block->phis.data[p].dst);
    lowered->insts = lowering->insts.data;
    lowered->count = (uint32_t)lowering->insts.count;
    lowered->phis = phis.data;
    lowered->phi_count = (uint32_t)phis.count;
}

/* Regions: short blocks that assemblers make conditional. */

static bool may_be_conditional(const LoweredBlock *block, const Block *from)
{
    if (block->count > MERGED_MOST || block->block->pred_count != 1 || block->block->preds[0] != from || block->merged)
        return false;
    for (const Inst *inst = block->block->first; inst; inst = inst->next)
        if (inst_is_opaque(inst) || inst_is_call(inst) || inst->effects & EFFECT_SYNC ||
            (inst_is_terminator(inst) && (inst->guard != REF_NONE || !inst_is_branch(inst))))
            return false;
    return true;
}

/* The two blocks that may follow; false if there are not two. */
static bool two_ways(const Block *block, Block **taken, Block **other)
{
    const Inst *last = block->last;
    if (!last || !inst_is_branch(last) || last->guard == REF_NONE || last->target_count != 1 || !block->fall)
        return false;
    *taken = last->targets[0];
    *other = block->fall;
    return *taken != *other;
}

static Block *only_successor(const Block *block)
{
    bool jumps = block->last && inst_is_branch(block->last);
    if (jumps && block->last->guard == REF_NONE && block->last->target_count == 1)
        return block->last->targets[0];
    return jumps ? NULL : block->fall;
}

static void region_append(Lowering *lowering, LoweredBlock *region, LoweredBlock *block)
{
    for (uint32_t i = 0; i < region->count + block->count; i++) {
        const LoweredInst *inst = i < region->count ? &region->insts[i] : &block->insts[i - region->count];
        bool inner = i < region->count && inst->inst && inst_is_terminator(inst->inst);
        if (!inner)
            VEC_PUSH(lowering->arena, lowering->insts, *inst);
    }
    region->insts = lowering->insts.data;
    region->count = (uint32_t)lowering->insts.count;
    lowering->insts.data = NULL;
    lowering->insts.count = lowering->insts.capacity = 0;
    block->merged = true;
    block->count = 0;
}

/* The phis of the block where conditional code ends become moves, which need nothing but their operands. */
static void phis_lower(Lowering *lowering, LoweredBlock *join)
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
    Block *taken, *other, *from = region->last, *join;
    if (!two_ways(from, &taken, &other))
        return false;
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
    if (first)
        region_append(lowering, region, &blocks[taken->id]);
    if (second)
        region_append(lowering, region, &blocks[other->id]);
    phis_lower(lowering, &blocks[join->id]);
    region_append(lowering, region, &blocks[join->id]);
    region->last = join;
    region->conditions++;
    return true;
}

/* Live sets, by walking up from each use (Boissinot et al., 2011, section 4). */

/* A block that reads a value before it writes it, or (at_end) at whose end the phi of a successor reads it. */
typedef struct Reader {
    RegId reg;
    uint32_t block;
    bool at_end;
} Reader;

typedef VEC(RegId) RegIds;

typedef struct Walk {
    Lowering *lowering;
    VEC(Reader) readers;
    RegIds *out;       /* by Block.id */
    uint32_t *entered; /* by Block.id: the last value + 1 found live at its top */
    uint32_t *left;    /* by Block.id: the last value + 1 found live at its end */
    VEC(const Block *) stack;
} Walk;

static int compare_readers(const void *a, const void *b)
{
    const Reader *x = a, *y = b;
    return x->reg != y->reg ? (x->reg < y->reg ? -1 : 1) : x->block < y->block ? -1 : x->block > y->block;
}

static void readers_collect(Walk *walk)
{
    Lowering *lowering = walk->lowering;
    const Body *body = lowering->out->body;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const LoweredBlock *block = &lowering->out->blocks[b];
        for (uint32_t i = 0; i < block->count; i++)
            for (unsigned r = 0; r < block->insts[i].read_count; r++)
                if (block->insts[i].reads[r] < lowering->values->reg_count)
                    VEC_PUSH(lowering->scratch, walk->readers, (Reader){block->insts[i].reads[r], (uint32_t)b, false});
        for (size_t p = 0; p < block->block->phis.count; p++) {
            const Phi *phi = &block->block->phis.data[p];
            for (size_t a = 0; a < phi->args.count && lowering->out->width[phi->dst]; a++) {
                lowering->read_count = 0;
                reads_resolve(lowering, phi->args.data[a].reg, 0);
                for (unsigned r = 0; r < lowering->read_count; r++)
                    VEC_PUSH(lowering->scratch, walk->readers,
                             (Reader){lowering->reads[r], phi->args.data[a].pred->id, true});
            }
        }
    }
    if (walk->readers.count)
        qsort(walk->readers.data, walk->readers.count, sizeof(Reader), compare_readers);
}

/* The value is live at the end of the block. */
static void walk_leave(Walk *walk, RegId reg, const Block *block)
{
    if (walk->left[block->id] == reg + 1)
        return;
    walk->left[block->id] = reg + 1;
    VEC_PUSH(walk->lowering->arena, walk->out[block->id], reg);
    if (walk->lowering->values->defs[reg].block != block)
        VEC_PUSH(walk->lowering->scratch, walk->stack, block);
}

static void live_compute(Lowering *lowering)
{
    const Body *body = lowering->out->body;
    Walk walk = {.lowering = lowering};
    walk.out = ARENA_ARRAY(lowering->scratch, RegIds, body->blocks.count);
    walk.entered = ARENA_ARRAY(lowering->scratch, uint32_t, body->blocks.count);
    walk.left = ARENA_ARRAY(lowering->scratch, uint32_t, body->blocks.count);
    readers_collect(&walk);
    for (size_t i = 0; i < walk.readers.count; i++) {
        const Reader *reader = &walk.readers.data[i];
        const Block *from = body->blocks.data[reader->block];
        if (reader->at_end)
            walk_leave(&walk, reader->reg, from);
        else if (lowering->values->defs[reader->reg].block != from)
            VEC_PUSH(lowering->scratch, walk.stack, from);
        while (walk.stack.count) {
            const Block *block = VEC_POP(walk.stack);
            if (walk.entered[block->id] == reader->reg + 1)
                continue;
            walk.entered[block->id] = reader->reg + 1;
            for (unsigned p = 0; p < block->pred_count; p++)
                walk_leave(&walk, reader->reg, block->preds[p]);
        }
    }
    for (size_t b = 0; b < body->blocks.count; b++) {
        lowering->out->blocks[b].out = walk.out[b].data;
        lowering->out->blocks[b].out_count = (uint32_t)walk.out[b].count;
    }
}

static bool adds_to_phi(const Lowering *lowering, RegId reg, const Block *header)
{
    const Inst *inst = value_inst(lowering->values, reg);
    if (!inst || !adds_constant(inst))
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r])) {
            const ValueDef *def = &lowering->values->defs[inst->refs[r].reg];
            return def->block == header && !def->inst;
        }
    return false;
}

/* Whether the branch back depends on a comparison of a counter that grows by a constant. */
static bool is_counted(const Lowering *lowering, const LoweredBlock *region)
{
    const Inst *branch = region->last->last;
    bool loops = false;
    for (unsigned p = 0; p < region->block->pred_count; p++)
        loops |= region->block->preds[p] == region->last;
    if (!loops || !branch || branch->guard == REF_NONE)
        return false;
    const Inst *test = value_inst(lowering->values, branch->refs[branch->guard].reg);
    for (unsigned r = 0; test && r < test->ref_count; r++)
        if (ref_reads(&test->refs[r])) {
            const ValueDef *def = &lowering->values->defs[test->refs[r].reg];
            if (adds_to_phi(lowering, test->refs[r].reg, region->block) || (def->block == region->block && !def->inst))
                return true;
        }
    return false;
}

static void regions_make(Lowering *lowering)
{
    for (size_t b = 0; b < lowering->out->body->blocks.count; b++) {
        LoweredBlock *region = &lowering->out->blocks[b];
        while (!region->merged && region_extend(lowering, region))
            ;
        region->counted = !region->merged && is_counted(lowering, region);
        region->out = lowering->out->blocks[region->last->id].out;
        region->out_count = lowering->out->blocks[region->last->id].out_count;
    }
}

static bool is_loaded(const Inst *inst)
{
    Access access;
    return inst && inst_access(inst, &access) && access.kind != ACCESS_STORE && access.space != SPACE_SHARED;
}

static void widths_set(Lowering *lowering)
{
    const Body *body = lowering->out->body;
    for (size_t reg = 0; reg < lowering->values->reg_count; reg++) {
        const Reg *made = &body->regs.data[reg];
        unsigned vector = made->vector ? made->vector : 1, width = type_registers(made->type) * vector;
        bool own = lowering->kinds[reg] == VALUE_OWN && !value_is_undefined(lowering->values, (RegId)reg);
        lowering->out->width[reg] = own ? (uint8_t)width : 0;
    }
}

/* Now that all registers are known, those for parameters included. */
static void widths_complete(Lowering *lowering)
{
    Lowered *out = lowering->out;
    uint8_t *width = ARENA_ARRAY(lowering->arena, uint8_t, lowering->reg_count + 1);
    out->loose = ARENA_ARRAY(lowering->arena, uint8_t, lowering->reg_count + 1);
    for (size_t reg = 0; reg < lowering->reg_count; reg++) {
        bool extra = reg >= lowering->values->reg_count;
        width[reg] = extra ? lowering->extra.data[reg - lowering->values->reg_count] : out->width[reg];
        bool loaded = !extra && is_loaded(value_inst(lowering->values, (RegId)reg));
        out->loose[reg] = loaded && width[reg] == 1 ? 2 : width[reg];
    }
    out->width = width;
    out->numbers = ARENA_ARRAY(lowering->arena, uint32_t, lowering->reg_count + 1);
    out->reg_count = lowering->reg_count;
}

Lowered *lowered_compute(Arena *arena, const Body *body, const Values *values, bool loads_parameters)
{
    require(body->ssa);
    Arena *scratch = arena_new();
    Lowered *out = ARENA_NEW(arena, Lowered);
    *out = (Lowered){.body = body, .reg_count = values->reg_count};
    Lowering lowering = {.arena = arena,
                         .scratch = scratch,
                         .values = values,
                         .out = out,
                         .loads_parameters = loads_parameters,
                         .reg_count = values->reg_count};
    out->width = ARENA_ARRAY(arena, uint8_t, values->reg_count + 1);
    out->blocks = ARENA_ARRAY(arena, LoweredBlock, body->blocks.count);
    lowering.kinds = ARENA_ARRAY(scratch, uint8_t, values->reg_count + 1);
    for (size_t reg = 0; reg < values->reg_count; reg++)
        if (type_class(body->regs.data[reg].type) == CLASS_PRED)
            lowering.kinds[reg] = VALUE_FREE;
    values_classify(&lowering);
    widths_set(&lowering);
    for (size_t b = 0; b < body->blocks.count; b++)
        block_lower(&lowering, body->blocks.data[b]);
    live_compute(&lowering);
    regions_make(&lowering);
    widths_complete(&lowering);
    arena_free(scratch);
    return out;
}
