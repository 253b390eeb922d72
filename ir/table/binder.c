/* The reason why an operand of any kind does not fit. */
#include "ir/table/internal.h"

bool binder_refuse(Binder *binder, Span where, const char *format, ...)
{
    if (!binder->why)
        return false;
    va_list arguments;
    va_start(arguments, format);
    buf_clear(binder->why);
    binder->where = where;
    if (binder->operand) {
        buf_printf(binder->why, "operand %u of '", binder->operand);
        signature_print(binder->signature, binder->why);
        buf_puts(binder->why, "': ");
    }
    buf_vprintf(binder->why, format, arguments);
    va_end(arguments);
    return false;
}

const char *operand_describe(const Operand *operand)
{
    switch (operand->kind) {
    case OPERAND_REG: return "a register";
    case OPERAND_SREG: return "a special register";
    case OPERAND_CONSTANT: return "a constant";
    case OPERAND_SYMBOL:
        switch (operand->symbol.kind) {
        case SYMBOL_VARIABLE: return "a variable";
        case SYMBOL_FUNCTION: return "a function";
        case SYMBOL_LABEL: return "a label";
        case SYMBOL_TABLE: return "a table of targets";
        }
        return "a symbol";
    case OPERAND_SINK: return "the sink '_'";
    case OPERAND_VECTOR: return "a list in braces";
    case OPERAND_PAIR: return "a pair of destinations";
    case OPERAND_ADDRESS: return operand->indexed ? "an indexed variable" : "an address";
    case OPERAND_COMPOSITE: return "an address with coordinates";
    case OPERAND_LIST: return "a list in parentheses";
    }
    return "an operand";
}

bool binder_no_element(Binder *binder, const Operand *operand)
{
    if (operand->kind != OPERAND_REG || !operand->selector)
        return true;
    return binder_refuse(binder, operand->span,
                         "an element of a vector register is not allowed here; move it to a register");
}
