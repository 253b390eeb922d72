/* Finds the function that computes an instruction's value, by its row of the instruction table, then by its
 * modifiers. */
#include "emulator/semantics/operation.h"

static const struct {
    ScalarFunction *scalar;
    OperationFunction *operation;
} functions[FORM_COUNT] = {
#define SCALAR(form, name) [form] = {.scalar = scalar_##name},
#define OPERATION(form, name) [form] = {.operation = operation_##name},
#define VIDEO(form, name) [form] = {.operation = operation_##name},
#define DECODE(form, name)
#include "ir/table/ops_run.inc"
#undef SCALAR
#undef OPERATION
#undef VIDEO
#undef DECODE
};

/* The result is the first operand. */
static Operation operation_of_row(ScalarFunction *function, const Signature *signature, const Form *form)
{
    Type types[MAX_SOURCES + 1] = {TYPE_NONE};
    unsigned count = signature_operand_types(signature, form, types, COUNT_OF(types));
    Operation operation = {
        .scalar = function,
        .control = integer_control(signature->types[0]) | modifier_control(signature),
        .dest = types[0],
        .source_count = count - 1,
    };
    memcpy(operation.sources, types + 1, operation.source_count * sizeof *types);
    return operation;
}

bool operation_select(Operation *operation, const Signature *signature, const Form *form)
{
    FormId id = form_id(form);
    if (functions[id].scalar)
        *operation = operation_of_row(functions[id].scalar, signature, form);
    else if (functions[id].operation)
        *operation = functions[id].operation(signature);
    else
        *operation = (Operation){0};
    return operation->row || operation->scalar;
}
