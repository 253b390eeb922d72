/* Emitting ops, with their constants and temporary rows. */
#include "emulator/decode/decode.h"

bool decoder_refuse(Decoder *d, const char *format, ...)
{
    Buf text = {0};
    va_list arguments;
    d->failed = true;
    va_start(arguments, format);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    fault_static(d->emulator, FAULT_UNSUPPORTED, d->code->function, d->inst, "%s", buf_text(&text));
    buf_free(&text);
    return false;
}

Space decoder_space(const Decoder *d)
{
    static const struct {
        ModId mod;
        Space space;
    } spaces[] = {
        {MOD_GLOBAL, SPACE_GLOBAL},         {MOD_SHARED, SPACE_SHARED},     {MOD_SHARED_CTA, SPACE_SHARED},
        {MOD_SHARED_CLUSTER, SPACE_SHARED}, {MOD_LOCAL, SPACE_LOCAL},       {MOD_CONST, SPACE_CONST},
        {MOD_PARAM, SPACE_PARAM},           {MOD_PARAM_ENTRY, SPACE_PARAM}, {MOD_PARAM_FUNC, SPACE_PARAM},
    };
    for (size_t i = 0; i < COUNT_OF(spaces); i++)
        if (inst_has(d->inst, spaces[i].mod))
            return spaces[i].space;
    return SPACE_NONE;
}

Op *decoder_emit(Decoder *d, OpFunction *run)
{
    Op op = {
        .run = run,
        .dest = NO_ROW,
        .guard = d->guard,
        .guard_inverted = d->guard_inverted,
        .first = d->first && d->inst,
        .inst = d->inst,
        .category = d->inst && d->inst->form ? (uint8_t)form_category(d->inst->form) : (uint8_t)CATEGORY_MISC,
    };
    op.watched = op.first && code_watches(d->code, d->inst);
    d->first = false;
    VEC_PUSH(d->arena, d->code->ops, op);
    return &VEC_LAST(d->code->ops);
}

void decoder_emit_row(Decoder *d, RowFunction *row, uint32_t dest, unsigned dest_bytes, const uint32_t *sources,
                      unsigned count)
{
    Op *op = decoder_emit(d, NULL);
    op->row = row;
    op->dest = dest;
    op->dest_bytes = (uint8_t)dest_bytes;
    op->source_count = (uint8_t)count;
    for (unsigned i = 0; i < count; i++)
        op->sources[i] = sources[i];
}

void decoder_emit_copy_bytes(Decoder *d, uint32_t dest, unsigned dest_bytes, unsigned dest_offset, uint32_t source,
                             unsigned source_bytes, unsigned source_offset, unsigned bytes)
{
    Op *op = decoder_emit(d, run_copy_bytes);
    op->dest = dest;
    op->dest_bytes = (uint8_t)dest_bytes;
    op->sources[0] = source;
    op->source_bytes[0] = (uint8_t)source_bytes;
    op->source_count = 1;
    op->copy.dest_offset = dest_offset;
    op->copy.source_offset = source_offset;
    op->copy.bytes = bytes;
}

void decoder_emit_lanes(Decoder *d, OpFunction *run, ScalarFunction *function, uint32_t control, uint32_t dest,
                        unsigned dest_bytes, const uint32_t *sources, const uint8_t *source_bytes, unsigned count)
{
    Op *op = decoder_emit(d, run);
    op->dest = dest;
    op->dest_bytes = (uint8_t)dest_bytes;
    op->source_count = (uint8_t)count;
    for (unsigned i = 0; i < count; i++) {
        op->sources[i] = sources[i];
        op->source_bytes[i] = source_bytes[i];
    }
    op->scalar.function = function;
    op->scalar.control = control;
}

void decoder_emit_scalar(Decoder *d, ScalarFunction *function, uint32_t control, uint32_t dest, unsigned dest_bytes,
                         const uint32_t *sources, const uint8_t *source_bytes, unsigned count)
{
    decoder_emit_lanes(d, run_scalar, function, control, dest, dest_bytes, sources, source_bytes, count);
}

uint32_t decoder_temp(Decoder *d, unsigned row_bytes)
{
    uint32_t at = d->temp;
    d->temp += row_bytes ? LANES * row_bytes : 64;
    if (d->temp > d->code->frame_bytes)
        d->code->frame_bytes = d->temp;
    return at;
}

uint32_t decoder_constant(Decoder *d, uint64_t bits, unsigned row_bytes)
{
    uint64_t key = hash_mix(row_bytes, bits) | 1;
    const uint64_t *found;
    unsigned size = row_bytes ? LANES * row_bytes : 64;
    if (row_bytes && row_bytes < 8)
        bits &= width_mask(8 * row_bytes);
    if ((found = map_get(&d->constant_index, key)) != NULL) {
        uint64_t value = 0;
        memcpy(&value, d->constants.data + *found, row_bytes && row_bytes < 8 ? row_bytes : 8);
        /* Two constants may share a hash; the later one is then stored every time. */
        if (value == (row_bytes ? bits : bits ? UINT64_MAX : 0) && d->constants.data[*found + size] == row_bytes)
            return SOURCE(BANK_CONSTANTS, *found);
    }
    size_t at = d->constants.count;
    for (unsigned i = 0; i < size + 64; i++)
        VEC_PUSH(d->arena, d->constants, (uint8_t)0);
    for (unsigned lane = 0; lane < LANES && row_bytes; lane++)
        memcpy(d->constants.data + at + lane * row_bytes, &bits, row_bytes < 8 ? row_bytes : 8);
    if (!row_bytes && bits)
        memset(d->constants.data + at, 0xff, 8);
    d->constants.data[at + size] = (uint8_t)row_bytes; /* after the row: its width */
    map_put(&d->constant_index, key, at);
    return SOURCE(BANK_CONSTANTS, at);
}

RowFunction *decoder_copy_row(unsigned bytes)
{
    return row_function(bytes == 2 ? ROW_COPY_16 : bytes == 4 ? ROW_COPY_32 : ROW_COPY_64);
}

/* Emits a branch with which lanes whose guard is false skip the next ops; they meet the others after them. Returns the
 * branch's index, or NO_ROW without a guard. */
uint32_t decoder_guard_open(Decoder *d)
{
    if (d->guard == NO_ROW)
        return NO_ROW;
    uint32_t at = (uint32_t)d->code->ops.count;
    d->guard_inverted = !d->guard_inverted;
    Op *op = decoder_emit(d, run_branch);
    op->branch.fall = at + 1;
    op->skips = true;
    d->guard = NO_ROW;
    return at;
}

void decoder_guard_close(Decoder *d, uint32_t at)
{
    if (at == NO_ROW)
        return;
    uint32_t meet = (uint32_t)d->code->ops.count;
    decoder_emit(d, run_reconverge);
    d->code->ops.data[at].branch.target = meet;
    d->code->ops.data[at].branch.reconvergence = meet;
}

void decoder_fixup(Decoder *d, uint32_t op, uint32_t block, uint32_t field)
{
    VEC_PUSH(d->arena, d->fixups, ((Fixup){op, block, field}));
}
