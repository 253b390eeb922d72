/* The functions that compute values, as column RUN of the instruction table names them.
 *
 * "scalar:bmsk" is scalar_bmsk(), the value of one lane. The row gives the types of the operands. The control word has
 * the width and signedness of the first type modifier, and the bits that modifier_control() gives for the other
 * modifiers.
 *
 * "add" is operation_add(), which chooses by the modifiers: a function of whole rows if there is one, else of lanes.
 * "video:vadd" is operation_vadd(); only the decoder treats it differently. */
#ifndef PTXOPT_EMULATOR_OPERATION_H
#define PTXOPT_EMULATOR_OPERATION_H

#include "emulator/semantics/semantics.h"

typedef Operation OperationFunction(const Signature *signature);

#define SCALAR(form, name) ScalarFunction scalar_##name;
#define OPERATION(form, name) OperationFunction operation_##name;
#define VIDEO(form, name) OperationFunction operation_##name;
#define DECODE(form, name)
#include "ir/table/ops_run.inc"
#undef SCALAR
#undef OPERATION
#undef VIDEO
#undef DECODE

/* All operands and the result are of the type. */
Operation operation_on_rows(RowId row, Type type, unsigned source_count);
Operation operation_by_lane(ScalarFunction *function, uint32_t control, Type type, unsigned source_count);
/* The row for 16, 32 or 64 bits of three in this order. */
RowId row_of_width(RowId first, Type type);
/* The control bits of the modifiers that mean the same in every instruction. */
uint32_t modifier_control(const Signature *signature);

static inline unsigned control_width(uint32_t control)
{
    return control & CONTROL_WIDTH;
}

#endif
