/* The parts from which the functions of operation.h make an Operation. */
#include "emulator/semantics/operation.h"

unsigned type_row_bytes(Type type)
{
    unsigned bits = type_bits(type);
    return bits == 1 ? 0 : bits <= 16 ? 2 : bits / 8;
}

uint64_t width_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

int64_t sign_extend(uint64_t value, unsigned bits)
{
    uint64_t top = UINT64_C(1) << (bits - 1);
    value &= width_mask(bits);
    return (int64_t)((value ^ top) - top);
}

uint32_t modifier_control(const Signature *signature)
{
    static const struct {
        ModId mod;
        uint32_t control;
    } flags[] = {
        {MOD_FTZ, CONTROL_FTZ},
        {MOD_SAT, CONTROL_SAT},
        {MOD_RELU, CONTROL_RELU},
        {MOD_NaN, CONTROL_NAN},
        {MOD_XORSIGN, CONTROL_XORSIGN},
        {MOD_HI, CONTROL_HIGH},
        {MOD_WRAP, CONTROL_WRAP},
        {MOD_OOB, CONTROL_OOB},
        {MOD_RZ, ROUND_ZERO << CONTROL_ROUNDING_SHIFT},
        {MOD_RM, ROUND_DOWN << CONTROL_ROUNDING_SHIFT},
        {MOD_RP, ROUND_UP << CONTROL_ROUNDING_SHIFT},
    };
    uint32_t control = 0;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (signature_has(signature, flags[i].mod))
            control |= flags[i].control;
    /* .xorsign.abs is one modifier in two words. */
    if (signature_has(signature, MOD_ABS) && !(control & CONTROL_XORSIGN))
        control |= CONTROL_ABS;
    return control;
}

uint32_t integer_control(Type type)
{
    return type_bits(type) | (type_class(type) == CLASS_SIGNED ? CONTROL_SIGNED : 0);
}

static Operation operation_of_type(Type type, unsigned source_count)
{
    Operation operation = {.dest = type, .source_count = source_count};
    for (unsigned i = 0; i < source_count; i++)
        operation.sources[i] = type;
    return operation;
}

Operation operation_on_rows(RowId row, Type type, unsigned source_count)
{
    Operation operation = operation_of_type(type, source_count);
    operation.row = row_function(row);
    return operation;
}

Operation operation_by_lane(ScalarFunction *function, uint32_t control, Type type, unsigned source_count)
{
    Operation operation = operation_of_type(type, source_count);
    operation.scalar = function;
    operation.control = control;
    return operation;
}

RowId row_of_width(RowId first, Type type)
{
    unsigned bits = type_bits(type);
    return (RowId)(first + (bits == 64 ? 2 : bits == 32 ? 1 : 0));
}
_Static_assert(ROW_ADD_64 == ROW_ADD_16 + 2 && ROW_SHL_64 == ROW_SHL_16 + 2 && ROW_MAX_S64 == ROW_MAX_S16 + 2 &&
                   ROW_SELECT_64 == ROW_SELECT_16 + 2 && ROW_COPY_64 == ROW_COPY_16 + 2 && ROW_NOT_64 == ROW_NOT_16 + 2,
               "rows of a kind are in the order 16, 32, 64");
