/* Texture and surface instructions. */
#include "emulator/decode/decode.h"

static bool refuse(Decoder *d)
{
    return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
}

/* Decodes a handle: it is in a register, or is that of an opaque variable, which is known at this point. */
static bool handle_decode(Decoder *d, const Operand *operand, uint32_t *row)
{
    if (operand->kind == OPERAND_REG || operand->kind == OPERAND_CONSTANT)
        return (*row = decoder_source(d, operand, TYPE_U64)) != NO_ROW;
    if (operand->kind != OPERAND_SYMBOL || operand->symbol.kind != SYMBOL_VARIABLE)
        return refuse(d);
    uint64_t value;
    bool in_frame;
    Space space;
    if (operand->symbol.variable->dim_count || !decoder_symbol(d, &operand->symbol, &value, &in_frame, &space))
        return d->failed ? false : refuse(d);
    if (space == SPACE_PARAM && value + 8 <= d->emulator->params.size)
        memcpy(&value, d->emulator->params.bytes + value, 8);
    else if (space != SPACE_GLOBAL)
        return refuse(d);
    *row = decoder_constant(d, value, 8);
    return true;
}

/* Decodes the geometry: a layer, if there is one, and the number of coordinates after it. */
static bool geometry_decode(Decoder *d, ImageOp *op)
{
    const Geometry *geometry = NULL;
    for (unsigned i = 0; i < d->signature->mod_count && !geometry; i++)
        geometry = geometry_of(d->signature->mods[i].id);
    if (!geometry || geometry->samples)
        return refuse(d);
    op->rank = geometry->dimensions;
    op->layered = geometry->layered;
    op->cube = geometry->cube;
    return true;
}

static bool coordinates_decode(Decoder *d, const Operand *operand, Type type, ImageOp *op)
{
    unsigned given = operand->kind == OPERAND_VECTOR ? operand->item_count : 1, next = 0;
    const Operand *items = operand->kind == OPERAND_VECTOR ? operand->items : operand;
    if (given < op->rank + op->layered)
        return refuse(d);
    if (op->layered && (op->layer = decoder_source(d, &items[next++], TYPE_B32)) == NO_ROW)
        return false;
    for (unsigned i = 0; i < op->rank; i++)
        if ((op->coordinates[i] = decoder_source(d, &items[next++], type)) == NO_ROW)
            return false;
    return true;
}

static bool offsets_decode(Decoder *d, const Operand *operand, ImageOp *op)
{
    unsigned count = operand->kind == OPERAND_VECTOR ? operand->item_count : 1;
    /* Layers have no offset; lists of three are padded. */
    for (unsigned i = 0; i < count && i < op->rank; i++) {
        const Operand *item = operand->kind == OPERAND_VECTOR ? &operand->items[i] : operand;
        if ((op->offsets[i] = decoder_source(d, item, TYPE_S32)) == NO_ROW)
            return false;
    }
    return true;
}

/* Emits the op of a fetch or load, with its destinations. */
static bool emit_results(Decoder *d, OpFunction *run, ImageOp *op, const Operand *operand)
{
    Dest dests[IMAGE_CHANNELS];
    const Operand *values = operand->kind == OPERAND_PAIR ? &operand->items[0] : operand;
    op->resident = NO_ROW;
    if (operand->kind == OPERAND_PAIR && operand->items[1].kind == OPERAND_REG) {
        unsigned bytes;
        op->resident = decoder_register(d, &operand->items[1], &bytes);
    }
    op->count = values->kind == OPERAND_VECTOR ? values->item_count : 1;
    if (op->count > IMAGE_CHANNELS)
        return refuse(d);
    for (unsigned i = 0; i < op->count; i++) {
        const Operand *item = values->kind == OPERAND_VECTOR ? &values->items[i] : values;
        if (!decoder_dest(d, item, op->type, false, &dests[i]))
            return false;
        op->rows[i] = dests[i].row;
        op->row_bytes[i] = (uint8_t)dests[i].bytes;
    }
    ImageOp *kept = ARENA_NEW(d->arena, ImageOp);
    *kept = *op;
    decoder_emit(d, run)->image = kept;
    for (unsigned i = 0; i < op->count; i++)
        decoder_dest_done(d, &dests[i]);
    return true;
}

/* Decodes a fetch, whose offsets follow the level of detail or the gradients. */
static bool decode_fetch(Decoder *d, bool gathers, bool offsets)
{
    static const ModId channels[] = {MOD_R, MOD_G, MOD_B, MOD_A};
    const Inst *inst = d->inst;
    ImageOp op = {.kind = gathers ? IMAGE_GATHER : IMAGE_TEX, .sampler = NO_ROW, .offsets = {NO_ROW, NO_ROW, NO_ROW}};
    const Operand *where = inst->operand_count > 1 ? &inst->operands[1] : NULL;
    if (!where || where->kind != OPERAND_COMPOSITE || d->signature->type_count != 2 || !geometry_decode(d, &op))
        return d->failed ? false : refuse(d);
    op.type = d->signature->types[0];
    op.whole = d->signature->types[1] == TYPE_S32;
    for (unsigned i = 0; gathers && i < COUNT_OF(channels); i++)
        if (inst_has(d->inst, channels[i]))
            op.channel = i;
    if (!handle_decode(d, &where->items[0], &op.handle) ||
        (where->item_count > 2 && !handle_decode(d, &where->items[1], &op.sampler)) ||
        !coordinates_decode(d, &where->items[where->item_count - 1], TYPE_B32, &op))
        return false;
    /* Textures have one level, so the level of detail and the gradients are ignored. */
    if (offsets) {
        unsigned at = 2 + (inst_has(d->inst, MOD_LEVEL) ? 1u : inst_has(d->inst, MOD_GRAD) ? 2u : 0u);
        if (at >= inst->operand_count || !offsets_decode(d, &inst->operands[at], &op))
            return d->failed ? false : refuse(d);
    }
    return emit_results(d, run_texture, &op, &inst->operands[0]);
}

bool decode_txq(Decoder *d)
{
    static const ModId names[] = {
        [QUERY_WIDTH] = MOD_WIDTH,
        [QUERY_HEIGHT] = MOD_HEIGHT,
        [QUERY_DEPTH] = MOD_DEPTH,
        [QUERY_CHANNEL_DATA_TYPE] = MOD_CHANNEL_DATA_TYPE,
        [QUERY_CHANNEL_ORDER] = MOD_CHANNEL_ORDER,
        [QUERY_NORMALIZED_COORDS] = MOD_NORMALIZED_COORDS,
        [QUERY_ARRAY_SIZE] = MOD_ARRAY_SIZE,
        [QUERY_NUM_MIPMAP_LEVELS] = MOD_NUM_MIPMAP_LEVELS,
        [QUERY_NUM_SAMPLES] = MOD_NUM_SAMPLES,
        [QUERY_FORCE_UNNORMALIZED_COORDS] = MOD_FORCE_UNNORMALIZED_COORDS,
        [QUERY_FILTER_MODE] = MOD_FILTER_MODE,
        [QUERY_ADDR_MODE_0] = MOD_ADDR_MODE_0,
        [QUERY_ADDR_MODE_1] = MOD_ADDR_MODE_1,
        [QUERY_ADDR_MODE_2] = MOD_ADDR_MODE_2,
        [QUERY_MEMORY_LAYOUT] = MOD_MEMORY_LAYOUT,
    };
    _Static_assert(COUNT_OF(names) == QUERY_COUNT, "every query has a name");
    const Operand *operands = d->inst->operands;
    ImageOp op = {.kind = IMAGE_QUERY, .sampler = NO_ROW, .type = TYPE_B32};
    while (op.query < QUERY_COUNT && !inst_has(d->inst, names[op.query]))
        op.query++;
    if (op.query == QUERY_COUNT || d->inst->operand_count < 2 || !operands[1].item_count)
        return refuse(d);
    return handle_decode(d, &operands[1].items[0], &op.handle) && emit_results(d, run_image_query, &op, &operands[0]);
}

static bool surface_sources(Decoder *d, const Operand *value, ImageOp *op)
{
    op->count = value->kind == OPERAND_VECTOR ? value->item_count : 1;
    if (op->count > IMAGE_CHANNELS)
        return refuse(d);
    for (unsigned i = 0; i < op->count; i++) {
        const Operand *item = value->kind == OPERAND_VECTOR ? &value->items[i] : value;
        if ((op->rows[i] = decoder_source(d, item, op->type)) == NO_ROW)
            return false;
        op->row_bytes[i] = (uint8_t)type_row_bytes(op->type);
    }
    return true;
}

static bool decode_surface(Decoder *d, ImageKind kind)
{
    const Inst *inst = d->inst;
    ImageOp op = {.kind = kind, .sampler = NO_ROW, .formatted = inst_has(d->inst, MOD_P), .resident = NO_ROW};
    unsigned at = kind == IMAGE_LOAD ? 1 : 0;
    if (inst->operand_count != 2 || d->signature->type_count != 1 || inst->operands[at].kind != OPERAND_COMPOSITE ||
        !geometry_decode(d, &op))
        return d->failed ? false : refuse(d);
    const Operand *where = &inst->operands[at];
    op.type = d->signature->types[0];
    op.bounds = inst_has(d->inst, MOD_CLAMP) ? IMAGE_CLAMP : inst_has(d->inst, MOD_ZERO) ? IMAGE_ZERO : IMAGE_TRAP;
    op.atomic = kind == IMAGE_REDUCE ? decoder_atomic(d) : ATOMIC_NONE;
    if (!handle_decode(d, &where->items[0], &op.handle) || !coordinates_decode(d, &where->items[1], TYPE_B32, &op))
        return false;
    if (kind == IMAGE_LOAD)
        return emit_results(d, run_surface, &op, &inst->operands[0]);
    if (!surface_sources(d, &inst->operands[1], &op))
        return false;
    ImageOp *kept = ARENA_NEW(d->arena, ImageOp);
    *kept = op;
    decoder_emit(d, run_surface)->image = kept;
    return true;
}

bool decode_tex(Decoder *d)
{
    return decode_fetch(d, false, false);
}

bool decode_tex_off(Decoder *d)
{
    return decode_fetch(d, false, true);
}

bool decode_tld4(Decoder *d)
{
    return decode_fetch(d, true, false);
}

bool decode_tld4_off(Decoder *d)
{
    return decode_fetch(d, true, true);
}

bool decode_suld(Decoder *d)
{
    return decode_surface(d, IMAGE_LOAD);
}

bool decode_sust(Decoder *d)
{
    return decode_surface(d, IMAGE_STORE);
}

bool decode_sured(Decoder *d)
{
    return decode_surface(d, IMAGE_REDUCE);
}
