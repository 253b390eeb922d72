/* Operands as rows. */
#include "emulator/decode/decode.h"

/* Extends or truncates a value of 'bits' significant bits from one row width to another. */
static void decoder_resize(Decoder *d, uint32_t dest, unsigned dest_bytes, uint32_t source, unsigned source_bytes,
                           bool sign, unsigned bits)
{
    RowId row = ROW_NONE;
    if (dest_bytes == 16 || source_bytes == 16) {
        if (dest_bytes > source_bytes)
            decoder_emit_copy_bytes(d, dest, dest_bytes, 0, decoder_constant(d, 0, 16), 16, 0, 16);
        decoder_emit_copy_bytes(d, dest, dest_bytes, 0, source, source_bytes, 0,
                                dest_bytes < source_bytes ? dest_bytes : source_bytes);
        return;
    }
    if (bits == 8 && source_bytes == 2)
        row = dest_bytes == 2   ? sign ? ROW_EXTEND_S8_16 : ROW_EXTEND_U8_16
              : dest_bytes == 4 ? sign ? ROW_EXTEND_S8_32 : ROW_EXTEND_U8_32
              : sign            ? ROW_EXTEND_S8_64
                                : ROW_EXTEND_U8_64;
    else if (dest_bytes == source_bytes)
        row = dest_bytes == 2 ? ROW_COPY_16 : dest_bytes == 4 ? ROW_COPY_32 : ROW_COPY_64;
    else if (dest_bytes < source_bytes)
        row = source_bytes == 4 ? ROW_CUT_32_16 : dest_bytes == 2 ? ROW_CUT_64_16 : ROW_CUT_64_32;
    else if (source_bytes == 2)
        row = dest_bytes == 4 ? sign ? ROW_EXTEND_S16_32 : ROW_EXTEND_U16_32
              : sign          ? ROW_EXTEND_S16_64
                              : ROW_EXTEND_U16_64;
    else
        row = sign ? ROW_EXTEND_S32_64 : ROW_EXTEND_U32_64;
    decoder_emit_row(d, row_function(row), dest, dest_bytes, &source, 1);
}

uint32_t decoder_register(const Decoder *d, const Operand *operand, unsigned *row_bytes)
{
    RegId reg = operand_reg(d->inst, operand);
    *row_bytes = type_row_bytes(d->code->body->regs.data[reg].type);
    return d->code->registers[reg];
}

static uint64_t constant_bits(const Constant *constant, Type type)
{
    if (type_bits(type) == 32 && (constant->kind == CONSTANT_DECIMAL || constant->kind == CONSTANT_F64))
        return float_bits((float)double_from_bits(constant->bits));
    if (type == TYPE_F64 && constant->kind == CONSTANT_F32)
        return double_bits(float_from_bits((uint32_t)constant->bits));
    return constant->bits;
}

bool decoder_symbol(Decoder *d, const Symbol *symbol, uint64_t *address, bool *in_frame, Space *space)
{
    bool found;
    *in_frame = false;
    *space = SPACE_NONE;
    if (symbol->kind == SYMBOL_FUNCTION) {
        *address = function_address(d->emulator, symbol->function);
        return true;
    }
    if (symbol->kind != SYMBOL_VARIABLE)
        return decoder_refuse(d, "the address of %s", symbol_name(symbol));
    *space = symbol->variable->space;
    if (d->code->is_entry && place_find(&d->emulator->parameters, symbol->variable, address))
        return true;
    if (place_find(&d->code->locals, symbol->variable, address)) {
        *in_frame = !d->code->is_entry;
        /* A device function's parameters are in its frame, in local space. */
        *space = SPACE_LOCAL;
        return true;
    }
    *address = variable_address(d->emulator, symbol->variable, &found);
    return found || decoder_refuse(d, "the variable %s", symbol->variable->name);
}

static uint32_t symbol_source(Decoder *d, const Operand *operand, unsigned row_bytes, bool generic)
{
    uint64_t address;
    bool in_frame;
    Space space;
    if (!decoder_symbol(d, &operand->symbol, &address, &in_frame, &space))
        return NO_ROW;
    if (operand->constant)
        address += operand->constant->bits;
    if (generic)
        address += window_of(space);
    if (!in_frame)
        return decoder_constant(d, address, row_bytes);
    uint32_t temp = decoder_temp(d, row_bytes);
    Op *op = decoder_emit(d, run_local_address);
    op->dest = temp;
    op->dest_bytes = (uint8_t)row_bytes;
    op->value = address;
    return SOURCE(BANK_FRAME, temp);
}

static uint32_t register_source(Decoder *d, const Operand *operand, Type type)
{
    unsigned have, wanted = type_row_bytes(type);
    uint32_t source = SOURCE(BANK_FRAME, decoder_register(d, operand, &have));
    if (operand->constant && have) {
        uint32_t temp = decoder_temp(d, have), sum[2] = {source, decoder_constant(d, operand->constant->bits, have)};
        decoder_emit_row(d,
                         row_function(have == 2   ? ROW_ADD_16
                                      : have == 4 ? ROW_ADD_32
                                                  : ROW_ADD_64),
                         temp, have, sum, 2);
        source = SOURCE(BANK_FRAME, temp);
    }
    if (!have != !wanted) {
        decoder_refuse(d, "a predicate where a number is wanted");
        return NO_ROW;
    }
    if (have != wanted) {
        uint32_t temp = decoder_temp(d, wanted);
        decoder_resize(d, temp, wanted, source, have, false, 8 * have);
        source = SOURCE(BANK_FRAME, temp);
    }
    if (operand->inverted && !wanted) {
        uint32_t temp = decoder_temp(d, 0);
        uint8_t bytes = 0;
        decoder_emit_scalar(d, scalar_not_pred, 0, temp, 0, &source, &bytes, 1);
        source = SOURCE(BANK_FRAME, temp);
    }
    return source;
}

uint32_t decoder_source(Decoder *d, const Operand *operand, Type type)
{
    unsigned wanted = type_row_bytes(type);
    switch (operand->kind) {
    case OPERAND_REG:
        if (operand->selector || operand->negated)
            break;
        return register_source(d, operand, type);
    case OPERAND_CONSTANT: return decoder_constant(d, constant_bits(operand->constant, type), wanted);
    case OPERAND_SYMBOL: return symbol_source(d, operand, wanted, false);
    case OPERAND_SREG: {
        unsigned natural = type_row_bytes(operand->sreg->type);
        uint32_t source = decoder_special(d, operand->sreg);
        if (source == NO_ROW || natural == wanted)
            return source;
        uint32_t temp = decoder_temp(d, wanted);
        decoder_resize(d, temp, wanted, source, natural, false, 8 * natural);
        return SOURCE(BANK_FRAME, temp);
    }
    default: break;
    }
    decoder_refuse(d, "an operand of this kind");
    return NO_ROW;
}

bool decoder_dest(Decoder *d, const Operand *operand, Type type, bool sign, Dest *dest)
{
    *dest = (Dest){.row = NO_ROW, .bytes = type_row_bytes(type), .type = type, .sign = sign};
    if (operand->kind == OPERAND_SINK) {
        dest->row = decoder_temp(d, dest->bytes);
        dest->real = dest->row;
        dest->real_bytes = dest->bytes;
        return true;
    }
    if (operand->kind != OPERAND_REG || operand->selector)
        return decoder_refuse(d, "a destination of this kind");
    dest->real = decoder_register(d, operand, &dest->real_bytes);
    if (!dest->bytes != !dest->real_bytes)
        return decoder_refuse(d, "a predicate where a number is wanted");
    Type declared = d->code->body->regs.data[operand_reg(d->inst, operand)].type;
    bool extends = dest->bytes != dest->real_bytes || (type_bits(type) == 8 && type_bits(declared) > 8 && sign);
    dest->row = extends ? decoder_temp(d, dest->bytes) : dest->real;
    return true;
}

void decoder_dest_done(Decoder *d, const Dest *dest)
{
    if (dest->row != dest->real)
        decoder_resize(d, dest->real, dest->real_bytes, SOURCE(BANK_FRAME, dest->row), dest->bytes, dest->sign,
                       type_bits(dest->type));
}
