/* Memory accesses, decoded from instructions. */
#include "ir/ir.h"

static bool is_entry_input(const Operand *address)
{
    const Operand *base = &address->items[0];
    if (base->kind != OPERAND_SYMBOL || base->symbol.kind != SYMBOL_VARIABLE)
        return false;
    const Variable *variable = base->symbol.variable;
    return variable->is_parameter && variable->function && variable->function->is_entry;
}

static const Operand *find_address(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst->operands[i].kind == OPERAND_ADDRESS && inst->operands[i].item_count)
            return &inst->operands[i];
    return NULL;
}

/* The bytes of one access: the last data type written and the vector's length. */
static unsigned access_bytes(const Signature *signature)
{
    for (unsigned i = signature->type_count; i-- > 0;)
        if (signature->types[i] != TYPE_PRED)
            return type_bits(signature->types[i]) / 8 * signature->vector;
    return 0;
}

bool inst_access(const Inst *inst, Access *access)
{
    *access = (Access){.kind = ACCESS_OTHER};
    if (!(inst->effects & (EFFECT_READ | EFFECT_WRITE)))
        return false;
    const Signature *signature = inst->signature;
    if (inst_is_opaque(inst))
        return true;
    switch (form_category(inst->form)) {
    case CATEGORY_TEXTURE: access->read_only = access->awaited = true; return true;
    case CATEGORY_MEMORY:
    case CATEGORY_ATOMIC: break;
    default: return true;
    }
    AccessKind kind = ACCESS_OTHER;
    switch (signature->op) {
    case OP_LD:
    case OP_LDU: kind = ACCESS_LOAD; break;
    case OP_ST: kind = inst_has(inst, MOD_BULK) ? ACCESS_OTHER : ACCESS_STORE; break;
    case OP_ATOM:
    case OP_RED: kind = ACCESS_ATOMIC; break;
    default: break;
    }
    const Operand *address = find_address(inst);
    if (kind == ACCESS_OTHER || !address || inst->effects & EFFECT_ASYNC)
        return true;
    access->kind = kind;
    access->space = signature->space;
    access->address = address;
    access->bytes = access_bytes(signature);
    access->weak = kind != ACCESS_ATOMIC && inst->sync == SYNC_NONE && !(inst->effects & EFFECT_VOLATILE);
    bool awaited = signature->op == OP_LDU || inst_has(inst, MOD_NC);
    bool constant = signature->space == SPACE_CONST || inst_has(inst, MOD_PARAM_ENTRY) ||
                    (signature->space == SPACE_PARAM && is_entry_input(address));
    access->read_only = kind == ACCESS_LOAD && (awaited || constant);
    access->awaited = access->read_only && !constant;
    return true;
}

bool inst_is_ordered(const Inst *inst)
{
    return inst_has(inst, MOD_ACQUIRE) || inst_has(inst, MOD_RELEASE) || inst_has(inst, MOD_ACQ_REL) ||
           inst_has(inst, MOD_SYS) || inst_has(inst, MOD_CLUSTER) || inst_has(inst, MOD_MMIO);
}

bool inst_is_relaxed_red(const Inst *inst)
{
    Access access;
    return inst_access(inst, &access) && access.kind == ACCESS_ATOMIC && inst->signature->op == OP_RED &&
           inst->sync == SYNC_STRONG && !inst_is_ordered(inst);
}

bool reds_commute(const Inst *a, const Inst *b)
{
    return a->signature == b->signature && a->signature->type_count == 1 &&
           type_class(a->signature->types[0]) != CLASS_FLOAT && !inst_has(a, MOD_INC) && !inst_has(a, MOD_DEC);
}

bool reds_are_alike(const Inst *a, const Inst *b)
{
    uint64_t x, y;
    return reds_commute(a, b) && operand_is_integer(&a->operands[1], &x) && operand_is_integer(&b->operands[1], &y) &&
           x == y;
}

bool inst_may_await(const Inst *inst)
{
    return inst_is_opaque(inst) || inst_is_call(inst) || inst->sync == SYNC_GRID;
}

bool body_may_await(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_may_await(inst))
                return true;
    return false;
}
