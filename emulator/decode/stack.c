/* alloca, stacksave and stackrestore. */
#include "emulator/decode/decode.h"

/* Reads the first source operand if there is one, writes the destination if there is one. */
static bool emit_stack(Decoder *d, OpFunction *run, bool writes, bool reads)
{
    const Inst *inst = d->inst;
    Type type = d->signature->types[0];
    uint64_t alignment = 8;
    uint32_t source = NO_ROW;
    Dest dest = {.row = NO_ROW};
    if (reads && (source = decoder_source(d, &inst->operands[writes], type)) == NO_ROW)
        return false;
    if (inst->operand_count > 2 && inst->operands[2].constant)
        alignment = inst->operands[2].constant->bits;
    if (!alignment || alignment & (alignment - 1) || alignment > STACK_BYTES)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    if (writes && !decoder_dest(d, &inst->operands[0], type, false, &dest))
        return false;
    Op *op = decoder_emit(d, run);
    op->dest = dest.row;
    op->dest_bytes = (uint8_t)dest.bytes;
    op->source_count = reads;
    op->sources[0] = source;
    op->source_bytes[0] = (uint8_t)type_row_bytes(type);
    op->value = alignment;
    if (writes)
        decoder_dest_done(d, &dest);
    return true;
}

bool decode_alloca(Decoder *d)
{
    return emit_stack(d, run_alloca, true, true);
}

bool decode_stacksave(Decoder *d)
{
    return emit_stack(d, run_stack_save, true, false);
}

bool decode_stackrestore(Decoder *d)
{
    return emit_stack(d, run_stack_restore, false, true);
}
