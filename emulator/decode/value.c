/* Instructions that compute a value from their operands. */
#include "emulator/decode/decode.h"

/* The elements of vector operands (cvt of four elements) and all other operands except the first; returns their
 * number. */
static unsigned list_sources(const Inst *inst, Operand sources[MAX_SOURCES])
{
    unsigned count = 0;
    for (unsigned i = 1; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        unsigned items = operand->kind == OPERAND_VECTOR ? operand->item_count : 1;
        for (unsigned k = 0; k < items; k++, count++)
            if (count < MAX_SOURCES)
                sources[count] = operand->kind == OPERAND_VECTOR ? operand->items[k] : *operand;
    }
    return count;
}

bool decoder_emit_operation(Decoder *d, OpFunction *run, const Operation *operation, const Operand *sources)
{
    uint32_t rows[MAX_SOURCES];
    uint8_t bytes[MAX_SOURCES];
    Dest dest;
    for (unsigned i = 0; i < operation->source_count; i++) {
        rows[i] = decoder_source(d, &sources[i], operation->sources[i]);
        bytes[i] = (uint8_t)type_row_bytes(operation->sources[i]);
        if (rows[i] == NO_ROW)
            return false;
    }
    bool sign = type_class(operation->dest) == CLASS_SIGNED;
    if (!decoder_dest(d, &d->inst->operands[0], operation->dest, sign, &dest))
        return false;
    if (operation->row)
        decoder_emit_row(d, operation->row, dest.row, dest.bytes, rows, operation->source_count);
    else
        decoder_emit_lanes(d, run, operation->scalar, operation->control, dest.row, dest.bytes, rows, bytes,
                           operation->source_count);
    decoder_dest_done(d, &dest);
    return true;
}

bool decode_operation(Decoder *d)
{
    const Inst *inst = d->inst;
    Operation operation;
    Operand sources[MAX_SOURCES];
    if (!inst->operand_count || !operation_select(&operation, d->signature, inst->form) ||
        operation.source_count != list_sources(inst, sources))
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    bool checks = operation.divides && d->emulator->options.check_division;
    return decoder_emit_operation(d, checks ? run_divide : run_scalar, &operation, sources);
}

bool decode_setp(Decoder *d)
{
    const Inst *inst = d->inst;
    Operation operation = comparison_select(d->signature);
    uint32_t rows[3] = {0}, dests[2] = {NO_ROW, NO_ROW};
    for (unsigned i = 0; i < operation.source_count; i++)
        if ((rows[i] = decoder_source(d, &inst->operands[i + 1], operation.sources[i])) == NO_ROW)
            return false;
    const Operand *first = &inst->operands[0];
    bool pair = first->kind == OPERAND_PAIR;
    for (unsigned i = 0; i < (pair ? 2u : 1u); i++) {
        const Operand *operand = pair ? &first->items[i] : first;
        unsigned bytes;
        if (operand->kind == OPERAND_REG)
            dests[i] = decoder_register(d, operand, &bytes);
    }
    Op *op = decoder_emit(d, run_setp);
    op->dest = dests[0];
    op->source_count = (uint8_t)operation.source_count;
    for (unsigned i = 0; i < operation.source_count; i++) {
        op->sources[i] = rows[i];
        op->source_bytes[i] = (uint8_t)type_row_bytes(operation.sources[i]);
    }
    op->scalar.function = operation.scalar;
    op->scalar.compare = operation.row;
    op->scalar.control = operation.control;
    op->scalar.combine = (uint8_t)operation.combine;
    op->scalar.dest_false = dests[1];
    return true;
}

/* lop3.and d|p, a, b, c, lut, q: p is "d is not 0", combined with q. */
bool decode_lop3_bool(Decoder *d)
{
    const Inst *inst = d->inst;
    uint32_t q = decoder_source(d, &inst->operands[5], TYPE_PRED);
    if (q == NO_ROW)
        return false;
    /* The value may overwrite an operand, but never a predicate. */
    const Operand *value = &inst->operands[0].items[0], *predicate = &inst->operands[0].items[1];
    Dest dest;
    uint32_t rows[4];
    uint8_t bytes[4] = {4, 4, 4, 4};
    for (unsigned i = 0; i < 4; i++)
        if ((rows[i] = decoder_source(d, &inst->operands[i + 1], TYPE_B32)) == NO_ROW)
            return false;
    if (!decoder_dest(d, value, TYPE_B32, false, &dest))
        return false;
    decoder_emit_scalar(d, scalar_lop3, 0, dest.row, 4, rows, bytes, 4);
    decoder_dest_done(d, &dest);
    if (predicate->kind != OPERAND_REG)
        return true;
    unsigned predicate_bytes;
    uint32_t predicate_row = decoder_register(d, predicate, &predicate_bytes);
    Op *op = decoder_emit(d, run_lop3_predicate);
    op->dest = predicate_row;
    op->sources[0] = SOURCE(BANK_FRAME, dest.row);
    op->sources[1] = q;
    op->source_count = 2;
    op->scalar.combine = inst_has(d->inst, MOD_AND) ? BOOL_AND : BOOL_OR;
    return true;
}

static bool emit_carry(Decoder *d, unsigned kind)
{
    Type type = d->signature->types[0];
    if (inst_has(d->inst, MOD_CC))
        kind |= CARRY_WRITES;
    Operation operation = {
        .control = integer_control(type) | kind << CONTROL_KIND_SHIFT,
        .dest = type,
        .sources = {type, type, type},
        .source_count = d->inst->operand_count - 1u,
    };
    return decoder_emit_operation(d, run_carry, &operation, &d->inst->operands[1]);
}

static unsigned carry_product(const Decoder *d)
{
    return inst_has(d->inst, MOD_HI) ? CARRY_MAD_HI : CARRY_MAD_LO;
}

bool decode_add_cc(Decoder *d)
{
    return emit_carry(d, CARRY_ADD);
}

bool decode_addc(Decoder *d)
{
    return emit_carry(d, CARRY_ADD | CARRY_READS);
}

bool decode_sub_cc(Decoder *d)
{
    return emit_carry(d, CARRY_SUB);
}

bool decode_subc(Decoder *d)
{
    return emit_carry(d, CARRY_SUB | CARRY_READS);
}

bool decode_mad_cc(Decoder *d)
{
    return emit_carry(d, carry_product(d));
}

bool decode_madc(Decoder *d)
{
    return emit_carry(d, carry_product(d) | CARRY_READS);
}

bool decode_cvta(Decoder *d)
{
    const Inst *inst = d->inst;
    Type type = d->signature->type_count ? d->signature->types[0] : TYPE_U64;
    uint64_t window = window_of(decoder_space(d));
    Dest dest;
    uint32_t rows[2] = {decoder_source(d, &inst->operands[1], type)};
    if (rows[0] == NO_ROW || !decoder_dest(d, &inst->operands[0], type, false, &dest))
        return false;
    if (type_bits(type) == 32)
        return decoder_refuse(d, "32-bit generic addresses");
    rows[1] = decoder_constant(d, inst_has(d->inst, MOD_TO) ? -window : window, 8);
    decoder_emit_row(d, row_function(ROW_ADD_64), dest.row, 8, rows, 2);
    decoder_dest_done(d, &dest);
    return true;
}

/* Zero, whatever the operands. */
static bool emit_zero(Decoder *d, Type type)
{
    Dest dest;
    uint32_t row = decoder_constant(d, 0, type_row_bytes(type));
    if (row == NO_ROW || !decoder_dest(d, &d->inst->operands[0], type, false, &dest))
        return false;
    if (dest.bytes) {
        decoder_emit_row(d, decoder_copy_row(dest.bytes), dest.row, dest.bytes, &row, 1);
        decoder_dest_done(d, &dest);
    } else {
        uint8_t bytes = 0;
        decoder_emit_scalar(d, scalar_mov_pred, 0, dest.row, 0, &row, &bytes, 1);
    }
    return true;
}

/* Policies only guide caches. */
bool decode_createpolicy(Decoder *d)
{
    return emit_zero(d, TYPE_B64);
}

bool decode_istypep(Decoder *d)
{
    return emit_zero(d, TYPE_PRED);
}
