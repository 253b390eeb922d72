/* mov: of one value, between a value and its parts, of elements, and from special registers. */
#include "emulator/decode/decode.h"

/* One element of a wide value: source row of 'wide' bytes, element i of n. */
static bool move_unpack(Decoder *d, const Operand *elements, const Operand *source, Type type)
{
    unsigned wide = type_bits(type) / 8, count = elements->item_count, part = count ? wide / count : 0;
    unsigned wide_row = type_row_bytes(type);
    uint32_t row = decoder_source(d, source, type);
    if (row == NO_ROW || !part)
        return false;
    Type part_type = type_bits_of_width(8 * part);
    for (unsigned i = 0; i < count; i++) {
        Dest dest;
        if (elements->items[i].kind == OPERAND_SINK)
            continue;
        if (!decoder_dest(d, &elements->items[i], part_type, false, &dest))
            return false;
        if (wide == 8 && part == 4) {
            decoder_emit_row(d, row_function(i ? ROW_HIGH_64_32 : ROW_CUT_64_32), dest.row, 4, &row, 1);
        } else if (wide == 4 && part == 2) {
            decoder_emit_row(d, row_function(i ? ROW_HIGH_32_16 : ROW_CUT_32_16), dest.row, 2, &row, 1);
        } else {
            if (part == 1) {
                uint32_t zero = decoder_constant(d, 0, 2);
                decoder_emit_row(d, decoder_copy_row(2), dest.row, 2, &zero, 1);
            }
            decoder_emit_copy_bytes(d, dest.row, dest.bytes, 0, row, wide_row, i * part, part);
        }
        decoder_dest_done(d, &dest);
    }
    return true;
}

static bool move_pack(Decoder *d, const Operand *destination, const Operand *elements, Type type)
{
    unsigned wide = type_bits(type) / 8, count = elements->item_count, part = count ? wide / count : 0;
    uint32_t rows[MAX_ELEMENTS];
    Dest dest;
    if (!part || count > MAX_ELEMENTS)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
    Type part_type = type_bits_of_width(8 * part);
    for (unsigned i = 0; i < count; i++) {
        rows[i] = elements->items[i].kind == OPERAND_SINK ? decoder_constant(d, 0, type_row_bytes(part_type))
                                                          : decoder_source(d, &elements->items[i], part_type);
        if (rows[i] == NO_ROW)
            return false;
    }
    if (!decoder_dest(d, destination, type, false, &dest))
        return false;
    if (count == 2 && part == 4) {
        decoder_emit_row(d, row_function(ROW_JOIN_32_64), dest.row, 8, rows, 2);
    } else if (count == 2 && part == 2) {
        decoder_emit_row(d, row_function(ROW_JOIN_16_32), dest.row, 4, rows, 2);
    } else {
        if (wide == 1)
            return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
        for (unsigned i = 0; i < count; i++)
            decoder_emit_copy_bytes(d, dest.row, dest.bytes, i * part, rows[i], type_row_bytes(part_type), 0, part);
    }
    decoder_dest_done(d, &dest);
    return true;
}

/* mov.v2 {a, b}, {b, a}: all elements are read before any is written. */
static bool move_elements(Decoder *d, const Operand *to, const Operand *from, Type type)
{
    unsigned bytes = type_row_bytes(type);
    uint32_t temps[MAX_ELEMENTS];
    if (to->item_count != from->item_count || to->item_count > MAX_ELEMENTS || !bytes || bytes > 8)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
    for (unsigned i = 0; i < from->item_count; i++) {
        uint32_t row = from->items[i].kind == OPERAND_SINK ? decoder_constant(d, 0, bytes)
                                                           : decoder_source(d, &from->items[i], type);
        if (row == NO_ROW)
            return false;
        temps[i] = decoder_temp(d, bytes);
        decoder_emit_row(d, decoder_copy_row(bytes), temps[i], bytes, &row, 1);
    }
    for (unsigned i = 0; i < to->item_count; i++) {
        Dest dest;
        uint32_t row = SOURCE(BANK_FRAME, temps[i]);
        if (!decoder_dest(d, &to->items[i], type, false, &dest))
            return false;
        decoder_emit_row(d, decoder_copy_row(bytes), dest.row, bytes, &row, 1);
        decoder_dest_done(d, &dest);
    }
    return true;
}

static bool move_plain(Decoder *d, const Operand *from, Type type)
{
    Operation operation = {.dest = type, .sources = {type}, .source_count = 1};
    if (type == TYPE_PRED)
        operation.scalar = scalar_mov_pred;
    else
        operation.row = decoder_copy_row(type_row_bytes(type));
    return decoder_emit_operation(d, run_scalar, &operation, from);
}

/* mov.v4 {a, b, c, d}, %tid */
static bool move_special_vector(Decoder *d, const Operand *elements, const Sreg *sreg, Type type)
{
    for (unsigned i = 0; i < elements->item_count && i < 4; i++) {
        Operand source = {.kind = OPERAND_SREG, .sreg = sreg_component(sreg, i), .ref = REF_NONE};
        Dest dest;
        if (elements->items[i].kind == OPERAND_SINK)
            continue;
        uint32_t row = decoder_source(d, &source, type);
        if (row == NO_ROW || !decoder_dest(d, &elements->items[i], type, false, &dest))
            return false;
        decoder_emit_row(d, decoder_copy_row(dest.bytes), dest.row, dest.bytes, &row, 1);
        decoder_dest_done(d, &dest);
    }
    return true;
}

bool decode_mov(Decoder *d)
{
    const Inst *inst = d->inst;
    const Operand *to = &inst->operands[0], *from = &inst->operands[1];
    Type type = d->signature->type_count ? d->signature->types[0] : TYPE_NONE;
    if (inst->operand_count != 2 || type == TYPE_NONE)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    if (to->kind == OPERAND_VECTOR && from->kind == OPERAND_SREG && from->sreg->vector > 1)
        return move_special_vector(d, to, from->sreg, type);
    if (to->kind == OPERAND_VECTOR && from->kind == OPERAND_VECTOR)
        return move_elements(d, to, from, type);
    if (to->kind == OPERAND_VECTOR)
        return move_unpack(d, to, from, type);
    if (from->kind == OPERAND_VECTOR)
        return move_pack(d, to, from, type);
    /* VAR[n]: the address of an element. */
    if (from->kind == OPERAND_ADDRESS) {
        Operand symbol = from->items[0];
        if (from->item_count != 1 || symbol.kind != OPERAND_SYMBOL)
            return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
        symbol.constant = from->constant;
        uint32_t row = decoder_source(d, &symbol, type);
        Dest dest;
        if (row == NO_ROW || !decoder_dest(d, to, type, false, &dest))
            return false;
        decoder_emit_row(d, decoder_copy_row(dest.bytes), dest.row, dest.bytes, &row, 1);
        decoder_dest_done(d, &dest);
        return true;
    }
    if (type_bits(type) == 128) {
        Dest dest;
        uint32_t row = decoder_source(d, from, type);
        if (row == NO_ROW || !decoder_dest(d, to, type, false, &dest))
            return false;
        decoder_emit_copy_bytes(d, dest.row, 16, 0, row, 16, 0, 16);
        return true;
    }
    return move_plain(d, from, type);
}
