/* Fits addresses in brackets, in their state space and in the width of the register that holds them (PTX ISA,
 * "Addresses as Operands", as ptxas applies it). */
#include "ir/table/internal.h"

static bool has_rule(const Binder *binder, unsigned rule)
{
    return opcode_has(binder->signature->op, rule);
}

/* True if a register of less than 64 bits is too narrow for the address. 'far': it is in generic or global space. */
static bool too_narrow(const Binder *binder, unsigned bits, bool far)
{
    bool generic = binder->signature->space == SPACE_NONE;
    if (far && bits == 32)
        return !has_rule(binder, RULE_FAR_32) && !(binder->match->form->effects & EFFECT_ASYNC);
    if (far)
        return bits < 32 && !has_rule(binder, RULE_ACCESS);
    if (bits < 32)
        return has_rule(binder, RULE_ADDRESS_32) || (generic && has_rule(binder, RULE_GENERIC_32));
    return bits == 32 && generic && !module_allows_32_bit_addresses(binder->module) &&
           has_rule(binder, RULE_GENERIC_64);
}

static bool fit_address_register(Binder *binder, Operand *operand, const Slot *slot, bool wide)
{
    const Reg *reg = &binder->regs->data[binder->inst->refs[operand->ref].reg];
    TypeClass class = type_class(reg->type);
    unsigned bits = type_bits(reg->type);
    bool integer = class_is_integer(class);
    if (slot->pattern->flags & PATTERN_TENSOR_MEMORY && (!integer || bits != 32))
        return binder_refuse(binder, operand->span,
                             "register '%s' of type .%s where an address in tensor memory of type .b32 is expected",
                             reg->name, type_name(reg->type));
    if (!integer || bits > 64 || operand->negated || operand->inverted)
        return binder_refuse(binder, operand->span, "register '%s' of type .%s cannot hold an address", reg->name,
                             type_name(reg->type));
    if (too_narrow(binder, bits, wide))
        return binder_refuse(binder, operand->span, "register '%s' of type .%s is too narrow for a %s address",
                             reg->name, type_name(reg->type),
                             binder->signature->space == SPACE_NONE ? "generic" : space_name(binder->signature->space));
    return binder_register(binder, operand, reg->type, REF_USE);
}

static bool is_input(const Variable *variable)
{
    if (!variable->is_parameter)
        return false;
    const Prototype *prototype = variable->function ? &variable->function->prototype : NULL;
    for (unsigned i = 0; prototype && i < prototype->return_count; i++)
        if (prototype->returns[i] == variable)
            return false;
    return true;
}

/* The state space of the variables that an address may name, SPACE_NONE for generic; false if any will do. If an
 * instruction names two spaces, the row marks the addresses in shared memory. */
static bool address_space(const Binder *binder, const Slot *slot, Space *space)
{
    const Signature *signature = binder->signature;
    *space = signature->space;
    if (has_rule(binder, RULE_ANY_SPACE))
        return false;
    if (has_rule(binder, RULE_SHARED_SPACE))
        *space = SPACE_SHARED;
    else if (has_rule(binder, RULE_GLOBAL_SPACE))
        *space = SPACE_GLOBAL;
    else if (!binder->match->one_space)
        *space = slot->pattern->flags & PATTERN_NEAR ? SPACE_SHARED : SPACE_GLOBAL;
    return true;
}

bool binder_variable_space(Binder *binder, const Operand *operand, Space space)
{
    const Variable *variable = operand->symbol.variable;
    if (space == SPACE_NONE ? variable->space != SPACE_CONST && variable->space != SPACE_PARAM
                            : variable->space == space)
        return true;
    return binder_refuse(binder, operand->span, "'%s' is in .%s, not in %s%s", variable->name,
                         space_name(variable->space), space == SPACE_NONE ? "generic space" : ".", space_name(space));
}

static bool fit_address_variable(Binder *binder, const Operand *operand, const Slot *slot)
{
    const Variable *variable = operand->symbol.variable;
    Space space;
    if (type_class(variable->type) == CLASS_OPAQUE && has_rule(binder, RULE_ACCESS))
        return binder_refuse(binder, operand->span, "'%s' is a .%s, which is not read or written as memory",
                             variable->name, type_name(variable->type));
    if (!address_space(binder, slot, &space))
        return true;
    if (!binder_variable_space(binder, operand, space))
        return false;
    if (space != SPACE_PARAM)
        return true;
    if (binder->match->form->effects & EFFECT_WRITE && is_input(variable))
        return binder_refuse(binder, operand->span, "input parameter '%s' cannot be written", variable->name);
    if (inst_is_guarded(binder->inst) && !variable->is_parameter)
        return binder_refuse(binder, operand->span, "an access to call parameter '%s' cannot be predicated",
                             variable->name);
    return true;
}

bool binder_address(Binder *binder, Operand *operand, const Slot *slot)
{
    const Signature *signature = binder->signature;
    unsigned flags = slot->pattern->flags;
    if (operand->kind != OPERAND_ADDRESS || !operand->item_count)
        return binder_refuse(binder, operand->span, "an address in brackets is expected, not %s",
                             operand_describe(operand));
    if (operand->indexed && !has_rule(binder, RULE_INDEXED))
        return binder_refuse(binder, operand->span, "an address in brackets is expected, not an indexed variable");
    if (operand->unified != !!(flags & PATTERN_UNIFIED))
        return binder_refuse(binder, operand->span,
                             operand->unified ? "'.unified' is not allowed with '%s' here"
                                              : "'.unified' must follow the address of '%s'",
                             signature->opcode);
    bool far = !module_allows_32_bit_addresses(binder->module) && binder->match->one_space &&
               !(flags & (PATTERN_NEAR | PATTERN_TENSOR_MEMORY)) &&
               (signature->space == SPACE_NONE || signature->space == SPACE_GLOBAL);
    for (unsigned i = 0; i < operand->item_count; i++) {
        Operand *base = &operand->items[i];
        bool fits = false;
        switch (base->kind) {
        case OPERAND_REG:
            fits = binder_no_element(binder, base) &&
                   fit_address_register(binder, base, slot, far && !operand->indexed);
            break;
        case OPERAND_SYMBOL:
            if (flags & PATTERN_TENSOR_MEMORY)
                return binder_refuse(binder, base->span, "the address in tensor memory must be in a register of type "
                                     ".b32, but '%s' is not one", symbol_name(&base->symbol));
            if (base->symbol.kind != SYMBOL_VARIABLE)
                return binder_refuse(binder, base->span, "'%s' has no address in memory", symbol_name(&base->symbol));
            fits = fit_address_variable(binder, base, slot);
            break;
        case OPERAND_CONSTANT:
            if (base->constant->kind != CONSTANT_INT)
                return binder_refuse(binder, base->span, "an address cannot be a floating-point constant");
            fits = operand->indexed || signature->space == SPACE_LOCAL || has_rule(binder, RULE_ANY_SPACE);
            if (!fits)
                return binder_refuse(binder, base->span, "absolute addresses are allowed in .local only");
            break;
        default: return binder_refuse(binder, base->span, "an address cannot start with %s", operand_describe(base));
        }
        if (!fits)
            return false;
    }
    if (operand->constant && operand->constant->kind != CONSTANT_INT)
        return binder_refuse(binder, operand->span, "the offset of an address must be an integer");
    return true;
}
