/* Fits the names of functions, labels, tables and variables. */
#include "ir/table/internal.h"

bool binder_own_space(Binder *binder, const Operand *operand)
{
    const Signature *signature = binder->signature;
    if (opcode_has(signature->op, RULE_SHARED_VARIABLE))
        return binder_variable_space(binder, operand, SPACE_SHARED);
    return !opcode_has(signature->op, RULE_OWN_SPACE) || signature_has(signature, MOD_TO) ||
           binder_variable_space(binder, operand, signature->space);
}

bool binder_function(Binder *binder, const Operand *operand, bool entry)
{
    if (operand->kind != OPERAND_SYMBOL || operand->symbol.kind != SYMBOL_FUNCTION || operand->constant)
        return binder_refuse(binder, operand->span, "a function is expected, not %s", operand_describe(operand));
    if (operand->symbol.function->is_entry != entry)
        return binder_refuse(binder, operand->span,
                             entry ? "'%s' is a function, not a kernel" : "'%s' is a kernel, not a device function",
                             operand->symbol.function->name);
    return true;
}

const Function *variable_first_function(const Variable *variable)
{
    for (unsigned i = 0; i < variable->init_count; i++)
        if (variable->inits[i].kind == INIT_SYMBOL && variable->inits[i].symbol.kind == SYMBOL_FUNCTION)
            return variable->inits[i].symbol.function;
    return NULL;
}

bool binder_label(Binder *binder, const Operand *operand)
{
    bool symbol = operand->kind == OPERAND_SYMBOL && !operand->constant;
    if (binder->signature->op == OP_BRA)
        return (symbol && operand->symbol.kind == SYMBOL_LABEL) ||
               binder_refuse(binder, operand->span, "a label is expected, not %s", operand_describe(operand));
    bool branch = binder->signature->op == OP_BRX;
    if (symbol && !branch && operand->symbol.kind == SYMBOL_VARIABLE &&
        variable_first_function(operand->symbol.variable))
        return true;
    if (!symbol || operand->symbol.kind != SYMBOL_TABLE)
        return binder_refuse(binder, operand->span, "the label of a %s is expected, not %s",
                             branch ? ".branchtargets list" : ".calltargets list or a .callprototype",
                             operand_describe(operand));
    if ((operand->symbol.table->kind == TABLE_BRANCH_TARGETS) != branch)
        return binder_refuse(binder, operand->span, "'%s' does not label a %s", operand->symbol.table->name,
                             branch ? ".branchtargets list" : ".calltargets list or a .callprototype");
    return true;
}

bool binder_variable(Binder *binder, Operand *operand)
{
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE) {
        const Variable *variable = operand->symbol.variable;
        if (variable->space == SPACE_PARAM && !variable->is_parameter)
            return binder_refuse(binder, operand->span, "call parameter '%s' has no address", variable->name);
        return binder_own_space(binder, operand);
    }
    if (operand->kind == OPERAND_ADDRESS && operand->indexed && !operand->unified && operand->item_count == 1 &&
        operand->items[0].kind == OPERAND_SYMBOL && operand->items[0].symbol.kind == SYMBOL_VARIABLE)
        return true;
    return binder_refuse(binder, operand->span, "a variable is expected, not %s", operand_describe(operand));
}
