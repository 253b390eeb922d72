/* Video instructions: the parts of operands and the mask of lanes. */
#include "emulator/decode/decode.h"

static bool refuse(Decoder *d)
{
    return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
}

/* The part that a selector such as .b2 or .h1 names. */
static unsigned part_of(const Operand *operand)
{
    const char *text = operand->selector;
    if (!text)
        return VIDEO_WHOLE;
    return (text[1] == 'h' ? VIDEO_H0 : VIDEO_B0) + (unsigned)(text[2] - '0');
}

static uint32_t plain_source(Decoder *d, const Operand *operand)
{
    Operand plain = *operand;
    plain.selector = NULL;
    plain.negated = false;
    return decoder_source(d, &plain, TYPE_B32);
}

/* A selector such as .h32 or .b7654, which names the top lane first, as prmt's selector of bytes of {b, a}. */
static uint32_t permutation_of(const Operand *operand, uint32_t otherwise)
{
    const char *text = operand->selector;
    uint32_t selector = 0;
    if (!text)
        return otherwise;
    for (const char *digit = text + 2; *digit; digit++) {
        unsigned index = (unsigned)(*digit - '0');
        selector = text[1] == 'h' ? selector << 8 | (2 * index + 1) << 4 | 2 * index : selector << 4 | index;
    }
    return selector;
}

/* The lanes that a selector such as .h1 or .b310 names. */
static uint32_t mask_of(const char *text)
{
    uint32_t mask = 0;
    for (const char *digit = text + 2; *digit; digit++)
        mask |= 1u << (*digit - '0');
    return mask;
}

static bool emit_video(Decoder *d, const Operation *operation, const uint32_t *rows)
{
    static const uint8_t bytes[3] = {4, 4, 4};
    Operand to = d->inst->operands[0];
    Dest dest;
    to.selector = NULL;
    if (!decoder_dest(d, &to, TYPE_B32, false, &dest))
        return false;
    decoder_emit_scalar(d, operation->scalar, operation->control, dest.row, 4, rows, bytes, operation->source_count);
    decoder_dest_done(d, &dest);
    return true;
}

/* The lanes of a and b are permuted first. */
static bool decode_parts(Decoder *d, Operation *operation)
{
    static const uint8_t bytes[3] = {4, 4, 4};
    const Operand *operands = d->inst->operands;
    uint32_t rows[3], permuted[3];
    for (unsigned i = 0; i < 3; i++)
        if ((rows[i] = plain_source(d, &operands[i + 1])) == NO_ROW)
            return false;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t selector = permutation_of(&operands[i + 1], i ? 0x7654 : 0x3210);
        uint32_t sources[3] = {rows[0], rows[1], decoder_constant(d, selector, 4)}, temp = decoder_temp(d, 4);
        decoder_emit_scalar(d, scalar_prmt, PRMT_INDEX << CONTROL_KIND_SHIFT, temp, 4, sources, bytes, 3);
        permuted[i] = SOURCE(BANK_FRAME, temp);
    }
    permuted[2] = rows[2];
    if (operands[0].selector)
        operation->control = (operation->control & ~(15u << VIDEO_MASK_SHIFT)) | mask_of(operands[0].selector)
                                                                                     << VIDEO_MASK_SHIFT;
    return emit_video(d, operation, permuted);
}

bool decode_video(Decoder *d)
{
    const Inst *inst = d->inst;
    const Operand *operands = inst->operands;
    Operation operation = {0};
    uint32_t rows[3];
    if (inst->operand_count < 3 || !operation_select(&operation, d->signature, inst->form))
        return refuse(d);
    if (operation.scalar == scalar_video_parts)
        return inst->operand_count == 4 ? decode_parts(d, &operation) : refuse(d);
    static const uint32_t negations[3] = {VIDEO_NEGATE_A, VIDEO_NEGATE_B, VIDEO_NEGATE_C};
    operation.source_count = inst->operand_count - 1u;
    for (unsigned i = 0; i < operation.source_count; i++) {
        if ((rows[i] = plain_source(d, &operands[i + 1])) == NO_ROW)
            return false;
        operation.control |= operands[i + 1].negated ? negations[i] : 0;
    }
    if (operation.source_count == 2) {
        /* c is ignored. */
        rows[2] = rows[1];
        operation.source_count = 3;
    }
    operation.control |= part_of(&operands[1]) << VIDEO_A_SHIFT | part_of(&operands[2]) << VIDEO_B_SHIFT;
    if (operation.scalar == scalar_video)
        operation.control |= part_of(&operands[0]) << VIDEO_D_SHIFT;
    return emit_video(d, &operation, rows);
}
