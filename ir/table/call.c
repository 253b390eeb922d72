/* Fits the lists of a call to the prototype of the callee. */
#include "ir/table/internal.h"

static const Prototype *callee_prototype(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        if (operand->kind != OPERAND_SYMBOL)
            continue;
        if (operand->symbol.kind == SYMBOL_FUNCTION)
            return &operand->symbol.function->prototype;
        if (operand->symbol.kind == SYMBOL_VARIABLE && variable_first_function(operand->symbol.variable))
            return &variable_first_function(operand->symbol.variable)->prototype;
        if (operand->symbol.kind != SYMBOL_TABLE)
            continue;
        const Table *table = operand->symbol.table;
        if (table->kind == TABLE_CALL_PROTOTYPE)
            return &table->prototype;
        if (table->kind == TABLE_CALL_TARGETS && table->count)
            return &table->functions[0]->prototype;
    }
    return NULL;
}

/* ".param .b8 rest[]", the last parameter of a function with a variable number of arguments. */
static bool is_open_array(const Variable *formal)
{
    return formal->is_array && formal->dim_count && !formal->dims[0];
}

/* Fits one value of a call's list. 'formal' is its parameter, or NULL if the prototype is not known. */
static bool fit_value(Binder *binder, Operand *item, const Variable *formal, RefRole role)
{
    bool aggregate = formal && formal->is_array;
    switch (item->kind) {
    case OPERAND_REG: {
        Reg *reg = &binder->regs->data[binder->inst->refs[item->ref].reg];
        Type type = formal && type_bits(formal->type) >= 16 ? formal->type : reg->type;
        if (item->constant)
            return binder_refuse(binder, item->span, "an argument has no offset");
        if (aggregate)
            return binder_refuse(binder, item->span, "a register cannot be passed to array parameter '%s'",
                                 formal->name ? formal->name : "_");
        /* Only the size of vectors must agree, and the parser has checked it. */
        if (!item->selector && (reg->vector > 1 || (formal && formal->vector > 1))) {
            binder->inst->refs[item->ref].role = (uint8_t)role;
            binder->inst->refs[item->ref].type = reg->type;
            return true;
        }
        return binder_register(binder, item, type, role);
    }
    case OPERAND_CONSTANT:
        if (role != REF_USE || aggregate)
            break;
        /* A parameter of type .b32 accepts a decimal number as well. */
        return !formal || (formal->type == TYPE_B32 && item->constant->kind != CONSTANT_INT) ||
               binder_constant(binder, item, formal->type);
    case OPERAND_SINK:
        if (role == REF_DEF)
            return true;
        break;
    case OPERAND_SYMBOL:
        if (item->symbol.kind != SYMBOL_VARIABLE || item->constant || item->symbol.variable->space != SPACE_PARAM)
            break;
        if (item->symbol.variable->is_parameter)
            return binder_refuse(binder, item->span,
                                 "'%s' is a parameter of the caller; only a .param variable of its body can be passed",
                                 item->symbol.variable->name);
        if (formal && !is_open_array(formal) && variable_bytes(item->symbol.variable) != variable_bytes(formal))
            return binder_refuse(binder, item->span, "'%s' differs in size from parameter '%s'",
                                 item->symbol.variable->name, formal->name ? formal->name : "_");
        return true;
    default: break;
    }
    return binder_refuse(binder, item->span,
                         role == REF_DEF ? "a register or a .param variable is expected"
                                         : "a register, a constant or a .param variable is expected");
}

static bool fit_values(Binder *binder, Operand *list, const Prototype *prototype, bool results)
{
    unsigned given = list ? list->item_count : 0;
    unsigned expected = prototype ? results ? prototype->return_count : prototype->param_count : given;
    bool open = prototype && !results && expected && is_open_array(prototype->params[expected - 1]);
    if (given != expected && !(open && given + 1 == expected)) {
        binder->operand = 0;
        return binder_refuse(binder, list ? list->span : binder->inst->span,
                             "the call has %u %s, but the callee has %u", given, results ? "results" : "arguments",
                             expected);
    }
    for (unsigned i = 0; i < given; i++) {
        const Variable *formal = prototype ? results ? prototype->returns[i] : prototype->params[i] : NULL;
        if (!fit_value(binder, &list->items[i], formal, results ? REF_DEF : REF_USE))
            return false;
    }
    return true;
}

bool binder_call(Binder *binder)
{
    const Prototype *prototype = callee_prototype(binder->inst);
    const Form *form = binder->match->form;
    Operand *results = NULL, *arguments = NULL;
    for (unsigned i = 0; i < form->pattern_count; i++) {
        if (form_patterns(form)[i].kind == PATTERN_RESULTS)
            results = &binder->inst->operands[i];
        if (form_patterns(form)[i].kind == PATTERN_ARGUMENTS)
            arguments = &binder->inst->operands[i];
    }
    binder->operand = results ? (unsigned)(results - binder->inst->operands) + 1 : 0;
    if (!fit_values(binder, results, prototype, true))
        return false;
    binder->operand = arguments ? (unsigned)(arguments - binder->inst->operands) + 1 : 0;
    return fit_values(binder, arguments, prototype, false);
}
