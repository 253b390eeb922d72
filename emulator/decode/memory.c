/* Loads, stores, atomics, asynchronous copies, mbarriers and fences. */
#include "emulator/decode/decode.h"

/* The address operand: a source row and an offset. */
bool decoder_address(Decoder *d, const Operand *operand, Space space, MemoryOp *memory)
{
    if (operand->kind != OPERAND_ADDRESS || !operand->item_count)
        return decoder_refuse(d, "an address of this kind");
    const Operand *base = &operand->items[0];
    memory->space = space;
    memory->offset = operand->constant ? (int64_t)operand->constant->bits : 0;
    if (base->kind == OPERAND_SYMBOL) {
        uint64_t address;
        Space where;
        if (!decoder_symbol(d, &base->symbol, &address, &memory->in_frame, &where))
            return false;
        /* A generic access through a name goes to the variable's space. */
        memory->space = where;
        memory->address_bytes = 8;
        if (operand->item_count == 1) {
            memory->address = decoder_constant(d, address, 8);
            return true;
        }
        /* VAR[REG]: the index counts elements. */
        const Variable *variable = base->symbol.variable;
        uint64_t unit = type_bits(variable->type) / 8 * (variable->vector ? variable->vector : 1);
        uint32_t index = decoder_source(d, &operand->items[1], TYPE_U64);
        if (index == NO_ROW)
            return false;
        uint32_t temp = decoder_temp(d, 8),
                 rows[3] = {index, decoder_constant(d, unit ? unit : 1, 8), decoder_constant(d, address, 8)};
        decoder_emit_row(d, row_function(ROW_MAD_64), temp, 8, rows, 3);
        memory->address = SOURCE(BANK_FRAME, temp);
        return true;
    }
    if (base->kind == OPERAND_CONSTANT) {
        memory->address = decoder_constant(d, base->constant->bits, 8);
        memory->address_bytes = 8;
    } else if (base->kind == OPERAND_REG) {
        unsigned bytes;
        memory->address = SOURCE(BANK_FRAME, decoder_register(d, base, &bytes));
        memory->address_bytes = (uint8_t)bytes;
        if (bytes < 2 || bytes > 8)
            return decoder_refuse(d, "an address of this type");
    } else {
        return decoder_refuse(d, "an address of this kind");
    }
    /* through a register, a device function's parameters are local memory */
    if (space == SPACE_PARAM && !d->code->is_entry)
        memory->space = SPACE_LOCAL;
    return true;
}

static bool is_strong(const Decoder *d)
{
    static const ModId mods[] = {MOD_VOLATILE, MOD_RELAXED, MOD_ACQUIRE, MOD_RELEASE, MOD_ACQ_REL, MOD_MMIO};
    for (size_t i = 0; i < COUNT_OF(mods); i++)
        if (inst_has(d->inst, mods[i]))
            return true;
    return false;
}

/* The scope of a fence, or of an access that includes one. Without a modifier it is the widest; proxy fences order no
 * more than a fence of the block. */
static FenceScope fence_scope(const Decoder *d)
{
    bool narrow = inst_has(d->inst, MOD_CTA) || inst_has(d->inst, MOD_MBARRIER_INIT);
    return narrow ? FENCE_BLOCK : FENCE_DEVICE;
}

static uint8_t release_scope(const Decoder *d)
{
    return inst_has(d->inst, MOD_RELEASE) || inst_has(d->inst, MOD_ACQ_REL) ? (uint8_t)fence_scope(d) : FENCE_NONE;
}

static const MemoryOp *memory_keep(Decoder *d, const MemoryOp *memory)
{
    MemoryOp *kept = ARENA_NEW(d->arena, MemoryOp);
    *kept = *memory;
    return kept;
}

static bool set_type(Decoder *d, MemoryOp *memory, Type type)
{
    memory->type = type;
    memory->element_bytes = (uint8_t)(type_bits(type) / 8);
    memory->sign = type_class(type) == CLASS_SIGNED;
    return memory->element_bytes || decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
}

static Type data_type(const Decoder *d)
{
    return d->signature->type_count ? d->signature->types[d->signature->type_count - 1] : TYPE_NONE;
}

static const Operand *element_of(const Operand *operand, unsigned index)
{
    return operand->kind == OPERAND_VECTOR ? &operand->items[index] : operand;
}

static unsigned element_count(const Operand *operand)
{
    return operand->kind == OPERAND_VECTOR ? operand->item_count : 1;
}

static void set_simple(Decoder *d, MemoryOp *memory)
{
    const EmulatorOptions *options = &d->emulator->options;
    unsigned bytes = (unsigned)memory->element_bytes * memory->count;
    memory->simple = !memory->in_frame && memory->space != SPACE_LOCAL && (bytes & (bytes - 1)) == 0 &&
                     (memory->address_bytes == 8 || (memory->address_bytes == 4 && window_of(memory->space)));
    if (memory->simple && (d->emulator->tracks_memory || options->count_memory))
        memory->shape = shape_new(d->emulator);
}

bool decode_ld(Decoder *d)
{
    const Inst *inst = d->inst;
    MemoryOp memory = {.strong = is_strong(d)};
    if (inst->operand_count < 2 || !set_type(d, &memory, data_type(d)) ||
        !decoder_address(d, &inst->operands[1], d->signature->space, &memory))
        return false;
    memory.count = (uint8_t)element_count(&inst->operands[0]);
    if (!memory.count || memory.count > MAX_ELEMENTS)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    for (unsigned i = 0; i < memory.count; i++) {
        const Operand *element = element_of(&inst->operands[0], i);
        unsigned row_bytes = 0;
        memory.elements[i] = NO_ROW;
        if (element->kind == OPERAND_REG) {
            memory.elements[i] = decoder_register(d, element, &row_bytes);
            memory.row_bytes[i] = (uint8_t)row_bytes;
        } else if (element->kind != OPERAND_SINK) {
            return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
        }
    }
    set_simple(d, &memory);
    Op *op = decoder_emit(d, run_load);
    op->memory = memory_keep(d, &memory);
    return true;
}

static bool store_sources(Decoder *d, const Operand *value, MemoryOp *memory, uint32_t *rows)
{
    memory->count = (uint8_t)element_count(value);
    if (!memory->count || memory->count > MAX_ELEMENTS)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
    for (unsigned i = 0; i < memory->count; i++) {
        const Operand *element = element_of(value, i);
        rows[i] = NO_ROW;
        if (element->kind == OPERAND_SINK)
            continue;
        /* A register may be wider than the value stored. */
        Type type = memory->type;
        if (element->kind == OPERAND_REG && !element->constant && !element->selector) {
            unsigned row_bytes;
            rows[i] = SOURCE(BANK_FRAME, decoder_register(d, element, &row_bytes));
            memory->row_bytes[i] = (uint8_t)row_bytes;
            if (row_bytes < memory->element_bytes)
                return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
        } else {
            memory->row_bytes[i] = (uint8_t)type_row_bytes(type);
            rows[i] = decoder_source(d, element, type);
            if (rows[i] == NO_ROW)
                return false;
        }
    }
    return true;
}

static CopyBulk *copy_new(Decoder *d)
{
    CopyBulk *copy = ARENA_NEW(d->arena, CopyBulk);
    copy->size = copy->multicast = copy->byte_mask = NO_ROW;
    return copy;
}

/* st.async [to], value, [mbarrier]; red.async likewise */
static bool store_async(Decoder *d, AtomicKind atomic)
{
    const Inst *inst = d->inst;
    CopyBulk *copy = copy_new(d);
    copy->signals = true;
    copy->to.strong = true;
    copy->to.atomic = atomic;
    for (unsigned i = 0; i < MAX_ELEMENTS; i++)
        copy->to.elements[i] = NO_ROW;
    if (inst->operand_count != 3 || !set_type(d, &copy->to, data_type(d)) ||
        !decoder_address(d, &inst->operands[0], SPACE_SHARED, &copy->to) ||
        !store_sources(d, &inst->operands[1], &copy->to,
                       atomic == ATOMIC_NONE ? copy->to.elements : copy->to.operands) ||
        !decoder_address(d, &inst->operands[2], SPACE_SHARED, &copy->mbarrier))
        return d->failed ? false : decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    decoder_emit(d, run_store_async)->copy_bulk = copy;
    return true;
}

/* st.bulk [to], size, 0 */
bool decode_st_bulk(Decoder *d)
{
    const Inst *inst = d->inst;
    CopyBulk *copy = copy_new(d);
    if (inst->operand_count != 3 || !decoder_address(d, &inst->operands[0], SPACE_SHARED, &copy->to) ||
        (copy->size = decoder_source(d, &inst->operands[1], TYPE_U64)) == NO_ROW)
        return d->failed ? false : decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    decoder_emit(d, run_store_bulk)->copy_bulk = copy;
    return true;
}

bool decode_st_async(Decoder *d)
{
    return store_async(d, ATOMIC_NONE);
}

bool decode_red_async(Decoder *d)
{
    return store_async(d, decoder_atomic(d));
}

bool decode_st(Decoder *d)
{
    const Inst *inst = d->inst;
    MemoryOp memory = {.strong = is_strong(d), .releases = release_scope(d)};
    if (inst->operand_count < 2 || !set_type(d, &memory, data_type(d)) ||
        !decoder_address(d, &inst->operands[0], d->signature->space, &memory) ||
        !store_sources(d, &inst->operands[1], &memory, memory.elements))
        return false;
    set_simple(d, &memory);
    for (unsigned i = 0; i < memory.count; i++)
        memory.simple &= memory.elements[i] != NO_ROW;
    Op *op = decoder_emit(d, run_store);
    op->memory = memory_keep(d, &memory);
    return true;
}

AtomicKind decoder_atomic(const Decoder *d)
{
    static const struct {
        ModId mod;
        AtomicKind kind;
    } kinds[] = {{MOD_ADD, ATOMIC_ADD},   {MOD_MIN, ATOMIC_MIN}, {MOD_MAX, ATOMIC_MAX}, {MOD_INC, ATOMIC_INC},
                 {MOD_DEC, ATOMIC_DEC},   {MOD_AND, ATOMIC_AND}, {MOD_OR, ATOMIC_OR},   {MOD_XOR, ATOMIC_XOR},
                 {MOD_EXCH, ATOMIC_EXCH}, {MOD_CAS, ATOMIC_CAS}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (inst_has(d->inst, kinds[i].mod))
            return kinds[i].kind;
    return ATOMIC_NONE;
}

static bool decode_atomic(Decoder *d, bool returns)
{
    const Inst *inst = d->inst;
    MemoryOp memory = {.strong = true, .releases = release_scope(d), .atomic = decoder_atomic(d)};
    unsigned first = returns ? 1 : 0;
    if (memory.atomic == ATOMIC_NONE || inst->operand_count < first + 2u)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    if (!set_type(d, &memory, data_type(d)) ||
        !decoder_address(d, &inst->operands[first], d->signature->space, &memory) ||
        !store_sources(d, &inst->operands[first + 1], &memory, memory.operands))
        return false;
    if (memory.atomic == ATOMIC_CAS) {
        memory.compare = decoder_source(d, &inst->operands[first + 2], memory.type);
        if (memory.compare == NO_ROW)
            return false;
    }
    for (unsigned i = 0; i < memory.count; i++) {
        memory.elements[i] = NO_ROW;
        const Operand *element = returns ? element_of(&inst->operands[0], i) : NULL;
        if (!element || element->kind != OPERAND_REG)
            continue;
        unsigned row_bytes;
        memory.elements[i] = decoder_register(d, element, &row_bytes);
        if (row_bytes != type_row_bytes(memory.type) || memory.row_bytes[i] != row_bytes)
            return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    }
    if (memory.atomic == ATOMIC_CAS && memory.row_bytes[0] != type_row_bytes(memory.type))
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    Op *op = decoder_emit(d, run_atomic);
    op->memory = memory_keep(d, &memory);
    return true;
}

/* atom d, [a], b {, c} */
bool decode_atom(Decoder *d)
{
    return decode_atomic(d, true);
}

/* red [a], b */
bool decode_red(Decoder *d)
{
    return decode_atomic(d, false);
}

/* True if the copy tells its mbarrier about the data, which is not emulated. */
static bool copy_reports(const Inst *inst)
{
    static const ModId mods[] = {MOD_MBARRIER_REPORT_VALIDITY_PER_16BYTES_8,
                                 MOD_MBARRIER_REPORT_VALIDITY_PER_16BYTES_80,
                                 MOD_MBARRIER_REPORT_VALIDITY_PER_16BYTES_8000,
                                 MOD_MBARRIER_REPORT_VALIDITY_PER_16BYTES_80000000,
                                 MOD_MBARRIER_REPORT_VALIDITY_PER_ELEMENT_FF};
    for (unsigned i = 0; i < COUNT_OF(mods); i++)
        if (inst_has(inst, mods[i]))
            return true;
    return false;
}

/* cp{.reduce}.async.bulk [to], [from], size {, [mbarrier]} {, multicast} {, policy} {, byte mask} */
static bool decode_copy_bulk(Decoder *d, bool reduces)
{
    const Inst *inst = d->inst;
    CopyBulk *copy = copy_new(d);
    bool to_global = inst_has(d->inst, MOD_BULK_GROUP);
    bool multicasts = inst_has(d->inst, MOD_MULTICAST_CLUSTER) || inst_has(d->inst, MOD_MULTICAST_CLUSTER_16B);
    bool masks = inst_has(d->inst, MOD_CP_MASK);
    copy->signals = inst_has(d->inst, MOD_MBARRIER_COMPLETE_TX_BYTES);
    unsigned next = copy->signals ? 4 : 3, policy = inst_has(d->inst, MOD_L2_CACHE_HINT);
    if (inst->operand_count != next + multicasts + policy + masks || copy_reports(inst))
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    Space source = to_global || !inst_has(d->inst, MOD_GLOBAL) ? SPACE_SHARED : SPACE_GLOBAL;
    if (!decoder_address(d, &inst->operands[0], to_global ? SPACE_GLOBAL : SPACE_SHARED, &copy->to) ||
        !decoder_address(d, &inst->operands[1], source, &copy->from) ||
        (copy->size = decoder_source(d, &inst->operands[2], TYPE_U32)) == NO_ROW ||
        (copy->signals && !decoder_address(d, &inst->operands[3], SPACE_SHARED, &copy->mbarrier)))
        return false;
    if (multicasts && (copy->multicast = decoder_source(d, &inst->operands[next], TYPE_B16)) == NO_ROW)
        return false;
    if (masks && (copy->byte_mask = decoder_source(d, &inst->operands[next + policy], TYPE_B16)) == NO_ROW)
        return false;
    if (reduces) {
        copy->atomic = decoder_atomic(d);
        copy->type = data_type(d);
        if (copy->atomic == ATOMIC_NONE || type_bits(copy->type) < 16 || type_bits(copy->type) > 64)
            return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    }
    decoder_emit(d, run_copy_bulk)->copy_bulk = copy;
    return true;
}

bool decode_cp_bulk(Decoder *d)
{
    return decode_copy_bulk(d, false);
}

bool decode_cp_reduce(Decoder *d)
{
    return decode_copy_bulk(d, true);
}

/* The copies it waits for are done. With .noinc it arrives at once; otherwise it raises the count first, so nothing
 * changes. */
bool decode_cp_async_commit(Decoder *d)
{
    decoder_emit(d, run_copy_commit);
    return true;
}

/* cp.async.wait_group n, cp.async.wait_all */
bool decode_cp_async_wait(Decoder *d)
{
    const Operand *left = d->inst->operand_count ? &d->inst->operands[0] : NULL;
    decoder_emit(d, run_copy_wait)->value = left && left->constant ? left->constant->bits : COPY_WAIT_ALL;
    return true;
}

/* The copies count as waited for: the mbarrier tells other threads when they are done. */
bool decode_cp_async_arrive(Decoder *d)
{
    MemoryOp memory = {.strong = true, .element_bytes = 8, .count = 1, .type = TYPE_B64};
    decoder_emit(d, run_copy_wait)->value = COPY_WAIT_ALL;
    if (!inst_has(d->inst, MOD_NOINC))
        return true;
    if (!decoder_address(d, &d->inst->operands[0], d->signature->space, &memory))
        return false;
    Op *op = decoder_emit(d, run_mbarrier);
    op->mbarrier.kind = MBARRIER_ARRIVE;
    op->mbarrier.memory = memory_keep(d, &memory);
    return true;
}

/* cp.async [to], [from], n {, size} {, policy} */
bool decode_cp_async(Decoder *d)
{
    const Inst *inst = d->inst;
    if (inst->operand_count < 3)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    CopyAsync *copy = ARENA_NEW(d->arena, CopyAsync);
    copy->size = copy->ignore = NO_ROW;
    if (!decoder_address(d, &inst->operands[0], SPACE_SHARED, &copy->to) ||
        !decoder_address(d, &inst->operands[1], SPACE_GLOBAL, &copy->from))
        return false;
    uint64_t bytes = inst->operands[2].constant ? inst->operands[2].constant->bits : 0;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    copy->to.element_bytes = copy->from.element_bytes = (uint8_t)bytes;
    copy->to.count = copy->from.count = 1;
    /* A fourth operand is the source's size or a predicate; with a cache hint the policy comes last. */
    unsigned last = inst->operand_count - (inst_has(d->inst, MOD_L2_CACHE_HINT) ? 1u : 0u);
    if (last > 3) {
        const Operand *extra = &inst->operands[3];
        RegId reg = operand_reg(inst, extra);
        bool predicate = reg != REG_NONE && d->code->body->regs.data[reg].type == TYPE_PRED;
        uint32_t row = decoder_source(d, extra, predicate ? TYPE_PRED : TYPE_U32);
        if (row == NO_ROW)
            return false;
        *(predicate ? &copy->ignore : &copy->size) = row;
    }
    Op *op = decoder_emit(d, run_copy_async);
    op->copy_async = copy;
    return true;
}

/* {state,} [mbarrier] {, operand}: 'dest_type' is that of the result, TYPE_NONE without one. */
static bool emit_mbarrier(Decoder *d, unsigned kind, Type dest_type, Type operand_type)
{
    const Inst *inst = d->inst;
    unsigned at = dest_type != TYPE_NONE ? 1 : 0;
    MemoryOp memory = {.strong = true, .element_bytes = 8, .count = 1, .type = TYPE_B64};
    uint32_t operand = NO_ROW;
    Dest dest = {.row = NO_ROW};
    if (inst->operand_count <= at)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    if (!decoder_address(d, &inst->operands[at], d->signature->space, &memory) ||
        (inst->operand_count > at + 1 &&
         (operand = decoder_source(d, &inst->operands[at + 1], operand_type)) == NO_ROW) ||
        (at && inst->operands[0].kind != OPERAND_SINK && !decoder_dest(d, &inst->operands[0], dest_type, false, &dest)))
        return false;
    Op *op = decoder_emit(d, run_mbarrier);
    op->dest = dest.row;
    op->dest_bytes = dest_type == TYPE_PRED ? 0 : 8;
    op->source_count = operand != NO_ROW;
    op->sources[0] = operand;
    op->source_bytes[0] = (uint8_t)type_row_bytes(operand_type);
    op->mbarrier.kind = kind;
    op->mbarrier.memory = memory_keep(d, &memory);
    if (dest.row != NO_ROW)
        decoder_dest_done(d, &dest);
    return true;
}

bool decode_mbarrier_init(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_INIT, TYPE_NONE, TYPE_U32);
}

bool decode_mbarrier_inval(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_INVAL, TYPE_NONE, TYPE_U32);
}

bool decode_mbarrier_expect_tx(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_EXPECT_TX, TYPE_NONE, TYPE_U32);
}

bool decode_mbarrier_complete_tx(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_COMPLETE_TX, TYPE_NONE, TYPE_U32);
}

bool decode_mbarrier_arrive(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_ARRIVE, TYPE_B64, TYPE_U32);
}

bool decode_mbarrier_arrive_expect_tx(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_ARRIVE_EXPECT_TX, TYPE_B64, TYPE_U32);
}

bool decode_mbarrier_drop(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_ARRIVE_DROP, TYPE_B64, TYPE_U32);
}

bool decode_mbarrier_drop_expect_tx(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_ARRIVE_DROP_EXPECT_TX, TYPE_B64, TYPE_U32);
}

bool decode_mbarrier_test(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_TEST, TYPE_PRED, TYPE_B64);
}

bool decode_mbarrier_test_parity(Decoder *d)
{
    return emit_mbarrier(d, MBARRIER_TEST_PARITY, TYPE_PRED, TYPE_U32);
}

bool decode_fence(Decoder *d)
{
    decoder_emit(d, run_fence)->value = fence_scope(d);
    return true;
}

/* Hints, and waits for copies, which complete at once. */
bool decode_nothing(Decoder *d)
{
    decoder_emit(d, run_fence)->value = FENCE_NONE;
    return true;
}
