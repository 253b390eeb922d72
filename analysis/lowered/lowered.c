/* Lowering: the instructions that remain in machine code, and the registers that are live. */
#include "analysis/lowered/internal.h"

#include <stdlib.h>

enum {
    SHORT_LATENCY = 4, /* cycles; arithmetic */
    PREDICATE_LATENCY = 12,
    SLOW_LATENCY = 20, /* the special function unit, conversions */
    CONSTANT_LATENCY = 30,
    SHARED_LATENCY = 30,
    MEMORY_LATENCY = 200,
};

static uint16_t latency_of(const Inst *inst)
{
    Access access;
    if (inst_access(inst, &access))
        return access.kind == ACCESS_STORE     ? SHORT_LATENCY
               : access.space == SPACE_SHARED  ? SHARED_LATENCY
                                               : MEMORY_LATENCY;
    if (!inst_is_opaque(inst) && inst_op(inst) == OP_SETP)
        return PREDICATE_LATENCY;
    bool slow = !inst_is_opaque(inst) && (opcode_is_special_function(inst_op(inst)) || opcode_is_slow(inst_op(inst)));
    return slow ? SLOW_LATENCY : SHORT_LATENCY;
}

static bool is_left(const Lowering *lowering, const Inst *inst)
{
    RegId reg = inst_result(inst);
    bool predicate = reg != REG_NONE && type_class(lowering->out->body->regs.data[reg].type) == CLASS_PRED;
    return reg == REG_NONE || predicate || lowering->kinds[reg] == VALUE_OWN;
}

/* An instruction that loads an operand for the next one, which reads the register that it writes. */
static LoweredInst *operand_load(Lowering *lowering, uint8_t width, uint16_t latency)
{
    RegId *made = ARENA_ARRAY(lowering->arena, RegId, 1);
    *made = (RegId)lowering->reg_count++;
    VEC_PUSH(lowering->scratch, lowering->extra, width);
    VEC_PUSH(lowering->arena, lowering->insts, (LoweredInst){.writes = made, .write_count = 1, .latency = latency});
    reads_add(lowering, *made);
    return &lowering->insts.data[lowering->insts.count - 1];
}

/* Loads an address that is the same in all threads, once in each block that accesses it. */
static void address_load(Lowering *lowering, RegId address, const Block *block)
{
    address = lowering->roots[address];
    if (lowering->loaded_in[address] == block->id + 1) {
        reads_add(lowering, lowering->loaded_as[address]);
        return;
    }
    lowering->loaded_in[address] = block->id + 1;
    LoweredInst *load = operand_load(lowering, 2, CONSTANT_LATENCY);
    load->loads = true;
    lowering->loaded_as[address] = load->writes[0];
}

/* Lowers the register operands of an access: addresses, except those that uniform registers hold, and stored values. */
static void access_loads(Lowering *lowering, const Inst *inst, const Access *access)
{
    for (unsigned o = 0; o < inst->operand_count; o++) {
        const Operand *operand = &inst->operands[o];
        bool constant = operand->kind == OPERAND_CONSTANT && operand->constant->bits;
        if (operand->kind == OPERAND_REG && ref_reads(operand_ref(inst, operand)))
            constant = operand_is_uniform(lowering, operand_reg(inst, operand));
        if (constant && access->kind != ACCESS_LOAD)
            operand_load(lowering, 1, SHORT_LATENCY);
    }
    bool global = access->space == SPACE_GLOBAL || access->space == SPACE_NONE;
    RegId base = address_base(inst, access->address);
    if (lowering->loads != LOADS_NOWHERE && global && base != REG_NONE && operand_is_uniform(lowering, base))
        address_load(lowering, base, inst->block);
}

/* Exact floating-point divisions and roots, and 64-bit divisions, have subroutines for their rare cases. */
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
    Access access;
    LoweredInst lowered = {.inst = inst, .latency = latency_of(inst)};
    lowered.splits = has_subroutine(inst) || inst_is_call(inst);
    lowering->read_count = lowering->loaded = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            reads_resolve(lowering, inst->refs[r].reg, 0);
    bool adds = lowering->loads == LOADS_IN_ARITHMETIC && inst_result(inst) != REG_NONE && is_plain(inst);
    if (adds && lowering->loaded && lowering->close)
        address_load(lowering, lowering->loaded_last, inst->block);
    else if (adds && lowering->loaded)
        operand_load(lowering, 2, CONSTANT_LATENCY);
    if (inst_access(inst, &access) && access.address)
        access_loads(lowering, inst, &access);
    lowered.reads = reads_take(lowering, &lowered.read_count);
    RegId *writes = ARENA_ARRAY(lowering->arena, RegId, inst->ref_count + 1u);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && lowering->kinds[inst->refs[r].reg] == VALUE_OWN)
            writes[lowered.write_count++] = inst->refs[r].reg;
    lowered.writes = writes;
    return lowered;
}

static void block_lower(Lowering *lowering, Block *block)
{
    LoweredBlock *lowered = &lowering->out->blocks[block->id];
    VEC(RegId) phis = {0};
    lowered->block = lowered->last = block;
    for (Inst *inst = block->first; inst; inst = inst->next) {
        if (!is_left(lowering, inst))
            continue;
        LoweredInst made = inst_lower(lowering, inst);
        VEC_PUSH(lowering->arena, lowering->insts, made);
    }
    for (size_t p = 0; p < block->phis.count; p++)
        if (lowering->out->width[block->phis.data[p].dst])
            VEC_PUSH(lowering->arena, phis, block->phis.data[p].dst);
    insts_take(lowering, lowered);
    lowered->phis = phis.data;
    lowered->phi_count = (uint32_t)phis.count;
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

/* Marks the value as live at the end of the block. */
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

static void widths_set(Lowering *lowering)
{
    const Body *body = lowering->out->body;
    for (size_t reg = 0; reg < lowering->values->reg_count; reg++) {
        const Reg *made = &body->regs.data[reg];
        unsigned vector = made->vector ? made->vector : 1, width = type_registers(made->type) * vector;
        bool own = lowering->kinds[reg] == VALUE_OWN && type_class(made->type) != CLASS_PRED &&
                   !value_is_undefined(lowering->values, (RegId)reg);
        lowering->out->width[reg] = !own ? 0 : lowering->narrow[reg] ? 1 : (uint8_t)width;
    }
}

/* Completes the widths now that all registers are known, including those for parameters. */
static void widths_complete(Lowering *lowering)
{
    Lowered *out = lowering->out;
    uint8_t *width = ARENA_ARRAY(lowering->arena, uint8_t, lowering->reg_count + 1);
    for (size_t reg = 0; reg < lowering->reg_count; reg++) {
        bool extra = reg >= lowering->values->reg_count;
        width[reg] = extra ? lowering->extra.data[reg - lowering->values->reg_count] : out->width[reg];
    }
    out->width = width;
    out->numbers = ARENA_ARRAY(lowering->arena, uint32_t, lowering->reg_count + 1);
    out->reg_count = lowering->reg_count;
}

Lowered *lowered_compute(Arena *arena, const Body *body, const Values *values, ParameterLoads loads,
                         LoweredDetail detail)
{
    require(body->ssa);
    Arena *scratch = arena_new();
    Lowered *out = ARENA_NEW(arena, Lowered);
    *out = (Lowered){.body = body, .reg_count = values->reg_count};
    Lowering lowering = {.arena = arena,
                         .scratch = scratch,
                         .values = values,
                         .out = out,
                         .loads = loads,
                         .close = detail == LOWERED_CLOSELY,
                         .reg_count = values->reg_count};
    out->width = ARENA_ARRAY(arena, uint8_t, values->reg_count + 1);
    out->blocks = ARENA_ARRAY(arena, LoweredBlock, body->blocks.count);
    lowering.kinds = ARENA_ARRAY(scratch, uint8_t, values->reg_count + 1);
    lowering.narrow = ARENA_ARRAY(scratch, uint8_t, values->reg_count + 1);
    lowering.roots = ARENA_ARRAY(scratch, RegId, values->reg_count + 1);
    lowering.loaded_in = ARENA_ARRAY(scratch, uint32_t, values->reg_count + 1);
    lowering.loaded_as = ARENA_ARRAY(scratch, RegId, values->reg_count + 1);
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
