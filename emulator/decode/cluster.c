/* Addresses of shared memory in a cluster: mapa, getctarank and isspacep. */
#include "emulator/decode/decode.h"

#define OWN_RANK SOURCE(BANK_SPECIAL, SPECIAL_CLUSTER_CTARANK *SPECIAL_ROW_BYTES)

static bool emit_scalar(Decoder *d, ScalarFunction *function, uint32_t control, Type dest_type, const uint32_t *rows,
                        const uint8_t *bytes, unsigned count)
{
    Dest dest;
    for (unsigned i = 0; i < count; i++)
        if (rows[i] == NO_ROW)
            return false;
    if (!decoder_dest(d, &d->inst->operands[0], dest_type, false, &dest))
        return false;
    decoder_emit_scalar(d, function, control, dest.row, dest.bytes, rows, bytes, count);
    decoder_dest_done(d, &dest);
    return true;
}

bool decode_mapa(Decoder *d)
{
    Type type = d->signature->types[0];
    uint32_t rows[2] = {decoder_source(d, &d->inst->operands[1], type), NO_ROW};
    uint8_t bytes[2] = {(uint8_t)type_row_bytes(type), 4};
    if (rows[0] != NO_ROW)
        rows[1] = decoder_source(d, &d->inst->operands[2], TYPE_U32);
    return emit_scalar(d, scalar_mapa, 0, type, rows, bytes, 2);
}

bool decode_getctarank(Decoder *d)
{
    Type type = d->signature->types[0];
    uint32_t rows[2] = {decoder_source(d, &d->inst->operands[1], type), OWN_RANK};
    uint8_t bytes[2] = {(uint8_t)type_row_bytes(type), 4};
    return emit_scalar(d, scalar_rank, 0, TYPE_U32, rows, bytes, 2);
}

bool decode_isspacep(Decoder *d)
{
    uint32_t rows[3] = {decoder_source(d, &d->inst->operands[1], TYPE_U64),
                        decoder_constant(d, window_of(decoder_space(d)), 8), OWN_RANK};
    static const uint8_t bytes[3] = {8, 8, 4};
    /* Plain .shared is the block's own memory. */
    bool own = decoder_space(d) == SPACE_SHARED && !inst_has(d->inst, MOD_SHARED_CLUSTER);
    return emit_scalar(d, scalar_in_window, (uint32_t)own << CONTROL_KIND_SHIFT, TYPE_PRED, rows, bytes, 3);
}
