/* From a body to flat code: pure instructions, moves, and the walk over the blocks. */
#include "emulator/decode/decode.h"

/* ---- Pure instructions ------------------------------------------------------------------------------------------ */

static bool emit_operation(Decoder *d, OpFunction *run, const Operation *operation, const Operand *dest_operand,
                           const Operand *sources)
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
    if (!decoder_dest(d, dest_operand, operation->dest, sign, &dest))
        return false;
    if (operation->row)
        decoder_emit_row(d, operation->row, dest.row, dest.bytes, rows, operation->source_count);
    else
        decoder_emit_lanes(d, run, operation->scalar, operation->control, dest.row, dest.bytes, rows, bytes,
                           operation->source_count);
    decoder_dest_done(d, &dest);
    return true;
}

/* Elements of a vector operand, in place of the one source of a four-element cvt. */
static bool decode_pure(Decoder *d)
{
    const Inst *inst = d->inst;
    Operation operation;
    Operand sources[MAX_SOURCES];
    unsigned count = 0;
    for (unsigned i = 1; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        unsigned items = operand->kind == OPERAND_VECTOR ? operand->item_count : 1;
        for (unsigned k = 0; k < items; k++) {
            if (count == MAX_SOURCES)
                return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
            sources[count++] = operand->kind == OPERAND_VECTOR ? operand->items[k] : *operand;
        }
    }
    if (!inst->operand_count || !operation_select(&operation, d->signature, count))
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    bool divides = inst_op(inst) == OP_DIV || inst_op(inst) == OP_REM;
    bool checks = divides && type_class(operation.sources[1]) != CLASS_FLOAT && d->machine->options.check_division;
    return emit_operation(d, checks ? run_divide : run_scalar, &operation, &inst->operands[0], sources);
}

static bool decode_setp(Decoder *d)
{
    const Inst *inst = d->inst;
    Operation operation;
    BoolKind combine;
    uint32_t rows[3] = {0}, dests[2] = {NO_ROW, NO_ROW};
    if (!comparison_select(&operation, d->signature, &combine))
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    for (unsigned i = 0; i < 2; i++)
        if ((rows[i] = decoder_source(d, &inst->operands[i + 1], operation.sources[i])) == NO_ROW)
            return false;
    if (combine != BOOL_NONE && (rows[2] = decoder_source(d, &inst->operands[3], TYPE_PRED)) == NO_ROW)
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
    op->source_count = combine != BOOL_NONE ? 3 : 2;
    for (unsigned i = 0; i < 3; i++) {
        op->sources[i] = rows[i];
        op->source_bytes[i] = i < 2 ? (uint8_t)type_row_bytes(operation.sources[i]) : 0;
    }
    op->scalar.function = operation.scalar;
    op->scalar.compare = operation.row;
    op->scalar.control = operation.control;
    op->scalar.combine = (uint8_t)combine;
    op->scalar.dest_false = dests[1];
    return true;
}

/* lop3.BoolOp d|p, a, b, c, lut, q */
static bool decode_lop3(Decoder *d)
{
    const Inst *inst = d->inst;
    if (inst->operands[0].kind != OPERAND_PAIR)
        return decode_pure(d);
    Operation operation;
    operation_select(&operation, d->signature, 4);
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
    decoder_emit_scalar(d, operation.scalar, operation.control, dest.row, 4, rows, bytes, 4);
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

static bool decode_carry(Decoder *d)
{
    const Inst *inst = d->inst;
    Type type = d->signature->types[0];
    Opcode op = inst_op(inst);
    unsigned sources = inst->operand_count - 1u;
    unsigned kind = op == OP_ADD || op == OP_ADDC   ? 0
                    : op == OP_SUB || op == OP_SUBC ? 1
                    : inst_has(d->inst, MOD_HI)     ? 3
                                                    : 2;
    kind |= op == OP_ADDC || op == OP_SUBC || op == OP_MADC ? 8 : 0;
    kind |= inst_has(d->inst, MOD_CC) ? 16 : 0;
    Operation operation = {
        .control =
            type_bits(type) | (type_class(type) == CLASS_SIGNED ? CONTROL_SIGNED : 0) | kind << CONTROL_KIND_SHIFT,
        .dest = type,
        .sources = {type, type, type},
        .source_count = sources,
    };
    return emit_operation(d, run_carry, &operation, &inst->operands[0], &inst->operands[1]);
}

/* ---- mov -------------------------------------------------------------------------------------------------------- */

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

/* mov.v2 {a, b}, {b, a}: all are read before any is written. */
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

/* mov.v4 {a, b, c, d}, %tid */
static bool move_special_vector(Decoder *d, const Operand *elements, const Sreg *sreg, Type type)
{
    static const char *const axes[] = {"x", "y", "z", "w"};
    for (unsigned i = 0; i < elements->item_count && i < 4; i++) {
        const char *name = arena_printf(d->arena, "%s.%s", sreg->name, axes[i]);
        const Sreg *part = sreg_find(name);
        Operand source = {.kind = OPERAND_SREG, .sreg = part, .ref = REF_NONE};
        Dest dest;
        if (!part)
            return decoder_refuse(d, "the special register %s", name);
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

static bool decode_mov(Decoder *d)
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
    return decode_pure(d);
}

/* ---- Parameters and results in registers ------------------------------------------------------------------------- */

static const Variable *register_formal(const Operand *operand)
{
    bool is_variable = operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE;
    return is_variable && operand->symbol.variable->space == SPACE_REG ? operand->symbol.variable : NULL;
}

/* The body form copies them to registers of its own and back (ir/body/formals.c).  Like other parameters they lie in
 * the frame's local memory. */
static bool decode_formal(Decoder *d, const Variable *formal, const Operand *other, bool is_result)
{
    uint64_t place;
    unsigned row_bytes, count = other->kind == OPERAND_VECTOR ? other->item_count : 1u;
    const Operand *items = other->kind == OPERAND_VECTOR ? other->items : other;
    if (!place_find(&d->code->locals, formal, &place))
        return decoder_refuse(d, "the parameter %s", formal->name);
    for (unsigned i = 0; i < count; i++) {
        unsigned bytes = type_bits(formal->type) / 8;
        uint32_t row = decoder_register(d, &items[i], &row_bytes);
        Op *op = decoder_emit(d, is_result ? run_result_write : run_parameter_read);
        op->dest = is_result ? NO_ROW : row;
        op->sources[0] = SOURCE(BANK_FRAME, row);
        op->source_count = is_result;
        op->dest_bytes = op->source_bytes[0] = (uint8_t)row_bytes;
        op->copy.source_offset = op->copy.dest_offset = (uint32_t)place + i * bytes;
        op->copy.bytes = bytes;
    }
    return true;
}

/* ---- Addresses as values ---------------------------------------------------------------------------------------- */

static bool decode_cvta(Decoder *d)
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

/* A value that is the same whatever the operands: createpolicy, istypep. */
static bool decode_fixed(Decoder *d, Type type)
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
        decoder_emit_scalar(d, scalar_predicate, PREDICATE_MOVE << CONTROL_KIND_SHIFT, dest.row, 0, &row, &bytes, 1);
    }
    return true;
}

/* ---- One instruction -------------------------------------------------------------------------------------------- */

static bool decode_other(Decoder *d)
{
    const Inst *inst = d->inst;
    switch (inst_op(inst)) {
    case OP_SETP: return decode_setp(d);
    case OP_LOP3: return decode_lop3(d);
    case OP_MOV: return decode_mov(d);
    case OP_ADD:
    case OP_SUB:
    case OP_MAD: return inst_has(d->inst, MOD_CC) ? decode_carry(d) : decode_pure(d);
    case OP_ADDC:
    case OP_SUBC:
    case OP_MADC: return decode_carry(d);
    case OP_CVTA: return decode_cvta(d);
    case OP_ISSPACEP: return decode_isspacep(d);
    case OP_ALLOCA:
    case OP_STACKSAVE:
    case OP_STACKRESTORE: return decode_stack(d);
    case OP_MAPA: return decode_mapa(d);
    case OP_GETCTARANK: return decode_rank(d);
    case OP_CREATEPOLICY: return decode_fixed(d, TYPE_B64);
    case OP_ISTYPEP: return decode_fixed(d, TYPE_PRED);
    default: return decode_pure(d);
    }
}

static bool inst_is_memory(Opcode op)
{
    switch (op) {
    case OP_LD:
    case OP_LDU:
    case OP_ST:
    case OP_ATOM:
    case OP_RED:
    case OP_CP:
    case OP_MBARRIER:
    case OP_MEMBAR:
    case OP_FENCE:
    case OP_PREFETCH:
    case OP_PREFETCHU:
    case OP_APPLYPRIORITY:
    case OP_DISCARD: return true;
    default: return false;
    }
}

static bool inst_is_image(Opcode op)
{
    switch (op) {
    case OP_TEX:
    case OP_TLD4:
    case OP_TXQ:
    case OP_SUQ:
    case OP_SULD:
    case OP_SUST:
    case OP_SURED: return true;
    default: return false;
    }
}

static bool inst_is_warp(Opcode op)
{
    switch (op) {
    case OP_SHFL:
    case OP_VOTE:
    case OP_MATCH:
    case OP_REDUX:
    case OP_ACTIVEMASK:
    case OP_ELECT:
    case OP_BAR:
    case OP_BARRIER:
    case OP_LDMATRIX:
    case OP_STMATRIX:
    case OP_MOVMATRIX:
    case OP_MMA:
    case OP_WMMA: return true;
    default: return false;
    }
}

static bool inst_is_control(Opcode op)
{
    switch (op) {
    case OP_BRA:
    case OP_BRX:
    case OP_CALL:
    case OP_RET:
    case OP_EXIT:
    case OP_TRAP:
    case OP_BRKPT:
    case OP_NANOSLEEP:
    case OP_PMEVENT:
    case OP_GRIDDEPCONTROL:
    case OP_SETMAXNREG: return true;
    default: return false;
    }
}

static bool decode_inst(Decoder *d, const Inst *inst)
{
    d->inst = inst;
    d->signature = inst->signature;
    d->temp = d->code->temps_begin;
    d->first = true;
    d->guard = NO_ROW;
    d->guard_inverted = inst->guard_inverted;
    if (inst->guard != REF_NONE)
        d->guard = d->code->registers[inst->refs[inst->guard].reg];
    if (!inst->form)
        return decoder_refuse(d, "the unknown instruction %s", inst_spelling(d->arena, inst));
    for (unsigned i = 0; i < 2 && inst->operand_count == 2; i++)
        if (register_formal(&inst->operands[i]))
            return decode_formal(d, register_formal(&inst->operands[i]), &inst->operands[1 - i], i == 0);
    Opcode op = inst_op(inst);
    if (inst_is_control(op))
        return decode_control(d);
    if (inst_is_memory(op))
        return decode_memory(d);
    if (inst_is_warp(op))
        return decode_warp(d);
    Category category = form_category(inst->form);
    if (category == CATEGORY_VIDEO || category == CATEGORY_SIMD_VIDEO)
        return decode_video(d);
    if (inst_is_image(op))
        return decode_image(d);
    return decode_other(d);
}

static void fixups_apply(Decoder *d)
{
    for (size_t i = 0; i < d->fixups.count; i++) {
        const Fixup *fixup = &d->fixups.data[i];
        Op *op = &d->code->ops.data[fixup->op];
        uint32_t pc = fixup->block == UINT32_MAX ? PC_EXIT : d->block_pcs[fixup->block];
        if (fixup->field >= FIXUP_TABLE)
            op->table.targets[fixup->field - FIXUP_TABLE] = pc;
        else if (op->run == run_table_branch)
            op->table.reconvergence = pc;
        else if (fixup->field == FIXUP_TARGET)
            op->branch.target = pc;
        else
            op->branch.reconvergence = pc;
    }
}

/* Where lanes may meet again. */
static BitSet meeting_blocks(Decoder *d)
{
    const Body *body = d->code->body;
    BitSet meets = bitset_new(d->arena, body->blocks.count);
    for (size_t i = 0; i < body->blocks.count; i++)
        if (d->postdominators[i] != UINT32_MAX)
            bitset_add(&meets, d->postdominators[i]);
    return meets;
}

static bool decode_block(Decoder *d, const Block *block, uint32_t index, bool meets)
{
    Body *body = d->code->body;
    d->block_pcs[index] = (uint32_t)d->code->ops.count;
    d->inst = NULL;
    d->guard = NO_ROW;
    if (meets)
        decoder_emit(d, run_reconverge);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (!decode_inst(d, inst))
            return false;
    d->inst = NULL;
    d->guard = NO_ROW;
    const Op *last = d->code->ops.count ? &VEC_LAST(d->code->ops) : NULL;
    if (block->fall) {
        if (index + 1 == body->blocks.count || body->blocks.data[index + 1] != block->fall) {
            uint32_t op = (uint32_t)d->code->ops.count;
            decoder_emit(d, run_jump);
            decoder_fixup(d, op, block->fall->id, FIXUP_TARGET);
        }
    } else if (!last || last->guard != NO_ROW || !block->last ||
               (last->run != run_jump && last->run != run_return && last->run != run_exit &&
                last->run != run_table_branch)) {
        decoder_emit(d, run_return);
    }
    return true;
}

bool code_decode(Machine *machine, Code *code)
{
    Decoder decoder = {.machine = machine, .code = code, .arena = machine->arena}, *d = &decoder;
    d->constant_index.arena = machine->arena;
    Body *body = code->body;
    body_renumber(body);
    d->block_pcs = ARENA_ARRAY(d->arena, uint32_t, body->blocks.count);
    d->postdominators = body_postdominators(d->arena, body);
    BitSet meets = meeting_blocks(d);
    for (uint32_t i = 0; i < body->blocks.count; i++)
        if (!decode_block(d, body->blocks.data[i], i, bitset_has(&meets, i)))
            return false;
    fixups_apply(d);
    code->frame_bytes += 64;
    uint8_t *memory = machine_alloc(machine, d->constants.count + 128, 1);
    code->constants = (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    if (d->constants.count)
        memcpy(code->constants, d->constants.data, d->constants.count);
    code->executed = machine_alloc(machine, code->ops.count, sizeof *code->executed);
    code->threads = machine_alloc(machine, code->ops.count, sizeof *code->threads);
    return true;
}
