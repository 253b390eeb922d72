/* Matrix instructions. */
#include "emulator/decode/decode.h"

static const struct {
    ModId mod;
    ElementType type;
} elements[] = {
    {MOD_F16, ELEMENT_F16},   {MOD_BF16, ELEMENT_BF16}, {MOD_TF32, ELEMENT_TF32}, {MOD_F32, ELEMENT_F32},
    {MOD_F64, ELEMENT_F64},   {MOD_E4M3, ELEMENT_E4M3}, {MOD_E5M2, ELEMENT_E5M2}, {MOD_E3M2, ELEMENT_E3M2},
    {MOD_E2M3, ELEMENT_E2M3}, {MOD_E2M1, ELEMENT_E2M1}, {MOD_S8, ELEMENT_S8},     {MOD_U8, ELEMENT_U8},
    {MOD_S4, ELEMENT_S4},     {MOD_U4, ELEMENT_U4},     {MOD_B1, ELEMENT_B1},     {MOD_S32, ELEMENT_S32},
};

/* The element types in the order written. */
static unsigned element_types(const Decoder *d, ElementType types[4])
{
    unsigned count = 0;
    for (unsigned i = 0; i < d->signature->mod_count; i++)
        for (size_t k = 0; k < COUNT_OF(elements); k++)
            if (d->signature->mods[i].id == elements[k].mod && count < 4)
                types[count++] = elements[k].type;
    return count;
}

/* Reads the shape from a modifier such as .m16n8k16. */
static bool shape(const Decoder *d, MatrixOp *matrix)
{
    for (unsigned i = 0; i < d->signature->mod_count; i++)
        if (sscanf(d->signature->mods[i].text + 1, "m%un%uk%u", &matrix->m, &matrix->n, &matrix->k) == 3)
            return true;
    return false;
}

static bool refuse(Decoder *d)
{
    return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
}

static bool fragment_decode(Decoder *d, const Operand *operand, ElementType type, bool destination, Fragment *fragment)
{
    unsigned count = operand->kind == OPERAND_VECTOR ? operand->item_count : 1;
    Type reg = type == ELEMENT_F64 ? TYPE_F64 : type == ELEMENT_F32 ? TYPE_F32 : TYPE_B32;
    if (count > MAX_FRAGMENT || type == ELEMENT_NONE)
        return refuse(d);
    bool contained = inst_has(d->inst, MOD_KIND_F8F6F4) || inst_has(d->inst, MOD_KIND_MXF8F6F4);
    unsigned bits = element_bits(type);
    *fragment = (Fragment){
        .type = type, .count = count, .row_bytes = type_row_bytes(reg), .bits = contained && bits < 8 ? 8 : bits};
    for (unsigned i = 0; i < count; i++) {
        const Operand *item = operand->kind == OPERAND_VECTOR ? &operand->items[i] : operand;
        unsigned bytes = fragment->row_bytes;
        if (!destination)
            fragment->rows[i] = decoder_source(d, item, reg);
        else
            fragment->rows[i] = item->kind == OPERAND_REG ? decoder_register(d, item, &bytes) : NO_ROW;
        if ((!destination && fragment->rows[i] == NO_ROW) || bytes != fragment->row_bytes)
            return d->failed ? false : refuse(d);
    }
    return true;
}

static bool emit_matrix(Decoder *d, const MatrixOp *matrix)
{
    uint32_t members = decoder_constant(d, ALL_LANES, 4);
    MatrixOp *kept = ARENA_NEW(d->arena, MatrixOp);
    *kept = *matrix;
    uint32_t guard = decoder_guard_open(d);
    Op *op = decoder_emit(d, run_collective);
    op->warp.kind = WARP_MATRIX;
    op->warp.members = members;
    op->warp.dest_predicate = NO_ROW;
    op->warp.matrix = kept;
    decoder_guard_close(d, guard);
    return true;
}

static bool decode_eights(Decoder *d, bool loads)
{
    const Operand *operands = d->inst->operands;
    MatrixOp matrix = {.kind = loads ? MATRIX_LDMATRIX : MATRIX_STMATRIX, .transposed = inst_has(d->inst, MOD_TRANS)};
    return decoder_address(d, &operands[loads ? 1 : 0], SPACE_SHARED, &matrix.memory) &&
           fragment_decode(d, &operands[loads ? 0 : 1], ELEMENT_F16, loads, loads ? &matrix.d : &matrix.a) &&
           emit_matrix(d, &matrix);
}

/* data, {byte, thread} */
static bool scale_decode(Decoder *d, const Operand *data, const Operand *ids, Scale *scale)
{
    scale->vector = inst_has(d->inst, MOD_SCALE_VEC_4X)                                            ? 4
                    : inst_has(d->inst, MOD_SCALE_VEC_2X) || !inst_has(d->inst, MOD_KIND_MXF8F6F4) ? 2
                                                                                                   : 1;
    scale->is_ue4m3 = inst_has(d->inst, MOD_UE4M3);
    if (ids->kind != OPERAND_VECTOR || ids->item_count != 2)
        return refuse(d);
    return (scale->data = decoder_source(d, data, TYPE_B32)) != NO_ROW &&
           (scale->byte = decoder_source(d, &ids->items[0], TYPE_B16)) != NO_ROW &&
           (scale->thread = decoder_source(d, &ids->items[1], TYPE_B16)) != NO_ROW;
}

/* The first of .row and .col is A's layout, the second B's. */
static void layouts(const Decoder *d, MatrixOp *matrix)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < d->signature->mod_count; i++) {
        ModId mod = d->signature->mods[i].id;
        bool row = mod == MOD_ROW;
        if (!row && mod != MOD_COL)
            continue;
        if (seen++ == 0)
            matrix->a_column = !row;
        else
            matrix->b_row = row;
    }
}

static bool decode_product(Decoder *d, bool wmma)
{
    const Operand *operands = d->inst->operands;
    ElementType types[4] = {ELEMENT_NONE};
    MatrixOp matrix = {.kind = wmma ? MATRIX_WMMA : MATRIX_MMA};
    unsigned count = element_types(d, types);
    /* wmma of f16 names only D and C. */
    if (wmma && count == 2) {
        types[3] = types[1];
        types[1] = types[2] = ELEMENT_F16;
        count = 4;
    }
    bool scales = inst_has(d->inst, MOD_BLOCK_SCALE);
    if (count != 4 || d->inst->operand_count != (scales ? 8 : 4) || !shape(d, &matrix))
        return refuse(d);
    if (scales && (!scale_decode(d, &operands[4], &operands[5], &matrix.a_scale) ||
                   !scale_decode(d, &operands[6], &operands[7], &matrix.b_scale)))
        return false;
    matrix.quarters = !wmma && matrix.m == 8 && types[1] == ELEMENT_F16;
    if (matrix.quarters)
        layouts(d, &matrix);
    matrix.saturates = inst_has(d->inst, MOD_SATFINITE);
    matrix.is_and = inst_has(d->inst, MOD_AND);
    matrix.rounding = inst_has(d->inst, MOD_RZ)   ? ROUND_ZERO
                      : inst_has(d->inst, MOD_RM) ? ROUND_DOWN
                      : inst_has(d->inst, MOD_RP) ? ROUND_UP
                                                  : ROUND_NEAREST_EVEN;
    if (!fragment_decode(d, &operands[0], types[0], true, &matrix.d) ||
        !fragment_decode(d, &operands[1], types[1], false, &matrix.a) ||
        !fragment_decode(d, &operands[2], types[2], false, &matrix.b) ||
        !fragment_decode(d, &operands[3], types[3], false, &matrix.c))
        return false;
    /* The fragments must cover the matrices exactly, those of wmma at least. */
    unsigned lanes = matrix.quarters ? LANES / 4 : LANES;
    unsigned a = matrix.a.count * 8 * matrix.a.row_bytes / matrix.a.bits * lanes;
    unsigned b = matrix.b.count * 8 * matrix.b.row_bytes / matrix.b.bits * lanes;
    if (a < matrix.m * matrix.k || b < matrix.k * matrix.n ||
        (!wmma && (a > matrix.m * matrix.k || b > matrix.k * matrix.n)))
        return refuse(d);
    return emit_matrix(d, &matrix);
}

static bool decode_wmma_memory(Decoder *d, bool loads)
{
    const Operand *operands = d->inst->operands;
    ElementType types[4] = {ELEMENT_NONE};
    MatrixOp matrix = {.kind = loads ? MATRIX_WMMA_LOAD : MATRIX_WMMA_STORE, .stride = NO_ROW};
    if (!element_types(d, types) || !shape(d, &matrix) || d->inst->operand_count < 2)
        return refuse(d);
    matrix.column_major = inst_has(d->inst, MOD_COL);
    matrix.role = inst_has(d->inst, MOD_A) ? 'a' : inst_has(d->inst, MOD_B) ? 'b' : 'c';
    if (d->inst->operand_count > 2 && (matrix.stride = decoder_source(d, &operands[2], TYPE_U32)) == NO_ROW)
        return false;
    return decoder_address(d, &operands[loads ? 1 : 0], d->signature->space, &matrix.memory) &&
           fragment_decode(d, &operands[loads ? 0 : 1], types[0], loads, loads ? &matrix.d : &matrix.a) &&
           emit_matrix(d, &matrix);
}

bool decode_ldmatrix(Decoder *d)
{
    return decode_eights(d, true);
}

bool decode_stmatrix(Decoder *d)
{
    return decode_eights(d, false);
}

bool decode_movmatrix(Decoder *d)
{
    const Operand *operands = d->inst->operands;
    MatrixOp matrix = {.kind = MATRIX_MOVMATRIX};
    return fragment_decode(d, &operands[0], ELEMENT_F16, true, &matrix.d) &&
           fragment_decode(d, &operands[1], ELEMENT_F16, false, &matrix.a) && emit_matrix(d, &matrix);
}

bool decode_mma(Decoder *d)
{
    return decode_product(d, false);
}

bool decode_wmma_mma(Decoder *d)
{
    return decode_product(d, true);
}

bool decode_wmma_load(Decoder *d)
{
    return decode_wmma_memory(d, true);
}

bool decode_wmma_store(Decoder *d)
{
    return decode_wmma_memory(d, false);
}
