/* From a body to flat code: the walk over its blocks, and for each instruction the function that its row of the
 * instruction table names. */
#include "emulator/decode/decode.h"

static DecodeFunction *const functions[FORM_COUNT] = {
#define SCALAR(form, name) [form] = decode_operation,
#define OPERATION(form, name) [form] = decode_operation,
#define VIDEO(form, name) [form] = decode_video,
#define DECODE(form, name) [form] = decode_##name,
#include "ir/table/ops_run.inc"
#undef SCALAR
#undef OPERATION
#undef VIDEO
#undef DECODE
};

static const Variable *register_formal(const Operand *operand)
{
    bool is_variable = operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE;
    return is_variable && operand->symbol.variable->space == SPACE_REG ? operand->symbol.variable : NULL;
}

/* The body form copies parameters and results in registers to registers of its own and back (ir/body/formals.c). Like
 * other parameters, they are in the frame's local memory. */
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

static bool decode_inst(Decoder *d, const Inst *inst)
{
    d->inst = inst;
    d->signature = inst->signature;
    d->temp = d->code->temps_begin;
    d->first = true;
    d->guard = NO_ROW;
    d->guard_inverted = inst->guard_inverted;
    if (inst_is_guarded(inst))
        d->guard = d->code->registers[inst_predicate(inst)];
    if (!inst->form)
        return decoder_refuse(d, "the unknown instruction %s", inst_spelling(d->arena, inst));
    for (unsigned i = 0; i < 2 && inst->operand_count == 2; i++)
        if (register_formal(&inst->operands[i]))
            return decode_formal(d, register_formal(&inst->operands[i]), &inst->operands[1 - i], i == 0);
    DecodeFunction *function = functions[form_id(inst->form)];
    return function ? function(d) : decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
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

/* The blocks where lanes may reconverge. */
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

bool code_decode(Emulator *emulator, Code *code)
{
    Decoder decoder = {.emulator = emulator, .code = code, .arena = emulator->arena}, *d = &decoder;
    d->constant_index.arena = emulator->arena;
    Body *body = code->body;
    body_renumber(body);
    if (emulator->options.check_registers)
        code_watch_registers(emulator, code);
    d->block_pcs = ARENA_ARRAY(d->arena, uint32_t, body->blocks.count);
    d->postdominators = body_postdominators(d->arena, body);
    if (code->is_entry)
        d->agreements = body_agreements(d->arena, body, d->postdominators);
    BitSet meets = meeting_blocks(d);
    for (uint32_t i = 0; i < body->blocks.count; i++)
        if (!decode_block(d, body->blocks.data[i], i, bitset_has(&meets, i)))
            return false;
    fixups_apply(d);
    code->frame_bytes += 64;
    uint8_t *memory = emulator_alloc(emulator, d->constants.count + 128, 1);
    code->constants = (uint8_t *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    if (d->constants.count)
        memcpy(code->constants, d->constants.data, d->constants.count);
    code->executed = emulator_alloc(emulator, code->ops.count, sizeof *code->executed);
    code->threads = emulator_alloc(emulator, code->ops.count, sizeof *code->threads);
    return true;
}
