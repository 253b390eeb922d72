#include "opt/memory/atomics.h"

#include <string.h>

/* An operation with its value that changes nothing, in 32 bits and in 64. */
typedef struct Operation {
    ModId mod;
    const char *name;
    int64_t unsigned_32, signed_32, unsigned_64, signed_64;
} Operation;

static const Operation operations[] = {
    {MOD_ADD, "add", 0, 0, 0, 0},
    {MOD_AND, "and", UINT32_MAX, UINT32_MAX, -1, -1},
    {MOD_OR, "or", 0, 0, 0, 0},
    {MOD_XOR, "xor", 0, 0, 0, 0},
    {MOD_MIN, "min", UINT32_MAX, INT32_MAX, -1, INT64_MAX},
    {MOD_MAX, "max", 0, INT32_MIN, 0, INT64_MIN},
};

typedef struct Results {
    Arena *scratch;
    BitSet seen;
    RegIdVec pending;
} Results;

static void add_results(Results *results, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && !bitset_has(&results->seen, inst->refs[r].reg)) {
            bitset_add(&results->seen, inst->refs[r].reg);
            VEC_PUSH(results->scratch, results->pending, inst->refs[r].reg);
        }
}

/* Follows a use that only keeps the value, in a phi or where a guard is false; false if it is another one. */
static bool follow_use(Results *results, const ValueUse *use)
{
    if (use->inst) {
        const RegRef *ref = &use->inst->refs[use->index];
        add_results(results, use->inst);
        return ref->role == REF_TIED && ref->type == TYPE_NONE;
    }
    const RegId phi = use->block->phis.data[use->index].dst;
    if (!bitset_has(&results->seen, phi)) {
        bitset_add(&results->seen, phi);
        VEC_PUSH(results->scratch, results->pending, phi);
    }
    return true;
}

static bool result_is_used(const Values *values, const Inst *inst)
{
    Results results = {.scratch = arena_new()};
    bool used = false;
    results.seen = bitset_new(results.scratch, values->reg_count);
    add_results(&results, inst);
    while (results.pending.count && !used) {
        const RegId reg = VEC_POP(results.pending);
        for (uint32_t u = 0; u < value_use_count(values, reg) && !used; u++)
            used = !follow_use(&results, &value_uses(values, reg)[u]);
    }
    arena_free(results.scratch);
    return used;
}

static const Operation *operation_of(const Inst *inst)
{
    for (unsigned i = 0; i < COUNT_OF(operations); i++)
        if (inst_has(inst, operations[i].mod))
            return &operations[i];
    return NULL;
}

static bool is_simple_operand(const Inst *inst, const Operand *operand)
{
    uint64_t bits;
    return operand_is_integer(operand, &bits) || operand_plain_reg(inst, operand) != REG_NONE;
}

/* A sum of numbers of 32 or 64 bits, from a register or a literal of the type's bits. */
static bool is_float_sum(const Inst *inst, const Operand *value)
{
    const Type type = inst->signature->types[0];
    const Constant *constant = value->kind == OPERAND_CONSTANT ? value->constant : NULL;
    const bool is_literal = constant && constant->kind == (type == TYPE_F32 ? CONSTANT_F32 : CONSTANT_F64);
    return inst_has(inst, MOD_ADD) && (type == TYPE_F32 || type == TYPE_F64) &&
           (is_literal || operand_plain_reg(inst, value) != REG_NONE);
}

AtomicKind atomic_update(const Body *body, const Values *values, Inst *inst, bool reassociates, AtomicUpdate *out)
{
    const Signature *signature = inst->signature;
    const unsigned place = signature->op == OP_RED ? 1 : 2;
    const Operation *operation = operation_of(inst);
    if (result_is_used(values, inst))
        return ATOMIC_IS_READ;
    if (inst_is_ordered(inst))
        return ATOMIC_IS_ORDERED;
    const bool is_float = signature->type_count == 1 && type_class(signature->types[0]) == CLASS_FLOAT;
    const bool has_value = signature->vector <= 1 && inst->operand_count == place + 1;
    if (is_float && !(reassociates && has_value && is_float_sum(inst, &inst->operands[place])))
        return ATOMIC_IS_FLOAT;
    if (!operation || signature->type_count != 1 || !has_value || type_bits(signature->types[0]) < 32 ||
        type_bits(signature->types[0]) > 64 || inst->pragma ||
        !(is_float || is_simple_operand(inst, &inst->operands[place])))
        return ATOMIC_IS_OTHER;
    const bool is_signed = type_class(signature->types[0]) == CLASS_SIGNED;
    const bool is_wide = type_bits(signature->types[0]) == 64;
    *out = (AtomicUpdate){.inst = inst, .value = &inst->operands[place], .op = operation->name,
                          .type = signature->types[0], .bytes = is_wide ? 8 : 4};
    out->identity = is_wide ? (is_signed ? operation->signed_64 : operation->unsigned_64)
                            : (is_signed ? operation->signed_32 : operation->unsigned_32);
    if (operation->mod == MOD_ADD && !is_float)
        out->type = is_wide ? TYPE_U64 : TYPE_U32;
    RegId reg = operand_plain_reg(inst, out->value);
    const bool is_known = inst_access(inst, &out->access) &&
                          (reg == REG_NONE || type_bits(body->regs.data[reg].type) == type_bits(out->type));
    return is_known ? ATOMIC_IS_UPDATE : ATOMIC_IS_OTHER;
}

bool body_has_atomics(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (inst_access(inst, &access) && access.kind == ACCESS_ATOMIC)
                return true;
        }
    return false;
}

bool updates_commute(const AtomicUpdate *a, const AtomicUpdate *b)
{
    return a->type == b->type && strcmp(a->op, b->op) == 0;
}

const char *update_combine(Arena *arena, const AtomicUpdate *update)
{
    return arena_printf(arena, "%s.%s", update->op, type_name(update->type));
}
