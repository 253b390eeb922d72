/* Words for matching instructions. */
#include "ir/ir.h"

RegId address_base(const Inst *inst, const Operand *address)
{
    return address && address->kind == OPERAND_ADDRESS && address->item_count ? operand_reg(inst, address->items)
                                                                              : REG_NONE;
}

static bool constant_equal(const Constant *a, const Constant *b)
{
    if (!a || !b)
        return a == b;
    return a->kind == b->kind && a->bits == b->bits && a->is_unsigned == b->is_unsigned;
}

static bool symbol_equal(const Symbol *a, const Symbol *b)
{
    return a->kind == b->kind && a->variable == b->variable;
}

/* Operands nest two deep at most. */
bool operand_equal(const Operand *a, const Operand *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->negated != b->negated || a->inverted != b->inverted || a->indexed != b->indexed ||
        a->unified != b->unified || a->item_count != b->item_count || a->selector != b->selector ||
        !constant_equal(a->constant, b->constant))
        return false;
    if (a->kind == OPERAND_SREG && a->sreg != b->sreg)
        return false;
    if (a->kind == OPERAND_SYMBOL && !symbol_equal(&a->symbol, &b->symbol))
        return false;
    for (unsigned i = 0; i < a->item_count; i++)
        if (!operand_equal(&a->items[i], &b->items[i]))
            return false;
    return true;
}

RegId inst_result(const Inst *inst)
{
    RegId result = REG_NONE;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        if (!ref_writes(&inst->refs[r]))
            continue;
        if (result != REG_NONE)
            return REG_NONE;
        result = inst->refs[r].reg;
    }
    return result;
}

RegId inst_destination(const Inst *inst)
{
    RegId first = inst_reg(inst, 0);
    return first != REG_NONE && operand_ref(inst, inst->operands)->role == REF_DEF && inst_result(inst) == first
               ? first : REG_NONE;
}

bool inst_comes_before(const Inst *first, const Inst *second)
{
    for (const Inst *inst = first->next; inst; inst = inst->next)
        if (inst == second)
            return true;
    return false;
}

const Sreg *inst_sreg(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst->operands[i].kind == OPERAND_SREG)
            return inst->operands[i].sreg;
    return NULL;
}

Function *inst_callee(const Inst *inst)
{
    for (unsigned i = 0; inst_is_call(inst) && i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_FUNCTION)
            return operand->symbol.function;
    }
    return NULL;
}

unsigned inst_index_axis(const Inst *inst, unsigned role)
{
    const Sreg *sreg = inst_sreg(inst);
    const bool is_read = sreg && sreg->role == role && sreg->vector == 1 && inst->operand_count == 2 &&
                         inst->operands[1].kind == OPERAND_SREG;
    return is_read && sreg->axis <= SREG_AXIS_Z ? sreg->axis : 3;
}

bool inst_is_taken_alike(const Inst *inst)
{
    return inst_has(inst, MOD_UNI) && (inst_is_guarded(inst) || inst->target_count > 1);
}

RegId phi_argument(const Phi *phi, const Block *pred)
{
    for (size_t a = 0; a < phi->args.count; a++)
        if (phi->args.data[a].pred == pred)
            return phi->args.data[a].reg;
    return REG_NONE;
}

Inst *block_two_way_branch(const Block *block)
{
    Inst *last = block->last;
    bool is_two_way = last && inst_is_branch(last) && inst_is_guarded(last) && last->target_count == 1 &&
                      block->fall && block->fall != last->targets[0];
    return is_two_way ? last : NULL;
}

Variable *operand_shared_variable(const Operand *operand)
{
    Variable *found = NULL;
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE &&
        operand->symbol.variable->space == SPACE_SHARED)
        found = operand->symbol.variable;
    for (unsigned i = 0; i < operand->item_count && !found; i++)
        found = operand_shared_variable(&operand->items[i]);
    return found;
}

bool inst_names_shared(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (operand_shared_variable(&inst->operands[i]))
            return true;
    return false;
}
