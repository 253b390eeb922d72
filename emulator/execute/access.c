/* Loads, stores and atomics. Most loads and stores are done row by row: all lanes access one region, aligned, in bounds
 * and without a fault. The others go lane by lane, which also finds faults. */
#include "emulator/execute/execute.h"

#include <pthread.h>

/* The access of a row. Inactive lanes have the offset of an active one. */
typedef struct RowAccess {
    Region *region;
    uint32_t offsets[LANES];
} RowAccess;

/* False if the lanes may access several regions, or some lane must not access memory. */
static bool row_translate(Exec *x, const MemoryOp *memory, uint32_t mask, bool writes, RowAccess *at)
{
    const LaneLoops *loops = x->emulator->loops;
    unsigned bytes = (unsigned)memory->element_bytes * memory->count, first = (unsigned)__builtin_ctz(mask);
    const void *row = source_row(x, memory->address);
    uint64_t window = window_of(memory->space), add = (uint64_t)memory->offset + window;
    bool is_wide = memory->address_bytes == 8;
    uint64_t place = is_wide ? ((const uint64_t *)row)[first] + add
                             : (uint32_t)(((const uint32_t *)row)[first] + (uint32_t)memory->offset) + window;
    at->region = memory_find(x, &place, bytes);
    if (!at->region || (writes && at->region->read_only))
        return false;
    uint64_t limit = at->region->size - bytes;
    return is_wide ? loops->offsets(at->offsets, row, add - at->region->base, mask, first, limit, bytes - 1)
                   : at->region->base == window && loops->offsets_narrow(at->offsets, row, (uint32_t)memory->offset,
                                                                          mask, first, (uint32_t)limit, bytes - 1);
}

static void count_bytes(Exec *x, uint32_t mask, const MemoryOp *memory, Space space, bool writes)
{
    EmulatorCounters *counters = &x->emulator->result->counters;
    uint64_t asked = (uint64_t)memory->element_bytes * memory->count *
                     (mask == ALL_LANES ? LANES : (unsigned)__builtin_popcount(mask));
    if (writes) {
        counters->stores[space]++;
        counters->store_bytes[space] += asked;
    } else {
        counters->loads[space]++;
        counters->load_bytes[space] += asked;
    }
}

/* Translates, checks and counts the access. If it returns false, nothing has been done. */
static bool row_begin(Exec *x, const MemoryOp *memory, uint32_t mask, bool writes, RowAccess *at)
{
    if (!memory->simple || !row_translate(x, memory, mask, writes, at))
        return false;
    Region *region = at->region;
    if ((writes && region->watched) || (memory->strong && region->race) || region->pieces)
        return false;
    if (memory->shape && !row_track(x, memory->shape, region, mask, at->offsets,
                                    (unsigned)memory->element_bytes * memory->count, writes))
        return false;
    count_bytes(x, mask, memory, region->space, writes);
    return true;
}

static Space lane_space(const Translation *at, unsigned lane)
{
    return at->region[lane] ? at->region[lane]->space : SPACE_LOCAL;
}

static bool access_begin(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask, AccessMode mode, Translation *at,
                         const void *stored)
{
    unsigned bytes = (unsigned)memory->element_bytes * memory->count;
    if (!access_addresses(x, op, memory, mask, at) || !access_translate(x, op, mask, bytes, mode, memory->strong, at))
        return false;
    Space space = lane_space(at, (unsigned)__builtin_ctz(mask));
    if (mode == MODE_ATOMIC)
        x->emulator->result->counters.atomics[space]++;
    if (mode == MODE_ATOMIC && x->emulator->options.count_reuse)
        updates_count(mask, memory->type, at);
    if (mode != MODE_ATOMIC)
        count_bytes(x, mask, memory, space, mode == MODE_STORE);
    if (x->emulator->options.count_memory)
        count_access(x, mask, bytes, mode, at);
    return !x->emulator->tracks_memory || track_access(x, op, mask, bytes, mode, memory, at, stored, bytes);
}

static uint64_t memory_get(const uint8_t *from, unsigned bytes, bool sign)
{
    uint64_t value = 0;
    memcpy(&value, from, bytes);
    return sign ? (uint64_t)sign_extend(value, 8 * bytes) : value;
}

static void load_element(Exec *x, const MemoryOp *memory, unsigned element, uint32_t mask, const Translation *at)
{
    unsigned bytes = memory->element_bytes, row_bytes = memory->row_bytes[element];
    unsigned offset = element * bytes;
    uint8_t *dest = x->frame->registers + memory->elements[element];
    if (row_bytes > 8) {
        EACH_ACTIVE(lane, mask)
        {
            memset(dest + lane * row_bytes, 0, row_bytes);
            memcpy(dest + lane * row_bytes, at->host[lane] + offset, bytes);
        }
    } else {
        EACH_ACTIVE(lane, mask)
        {
            row_set(dest, row_bytes, lane, memory_get(at->host[lane] + offset, bytes, memory->sign));
        }
    }
}

#define COPY_ROW(T, to, from)                                                                                          \
    do {                                                                                                               \
        if (mask == ALL_LANES)                                                                                         \
            for (unsigned lane = 0; lane < LANES; lane++)                                                              \
                memcpy(to, from, sizeof(T));                                                                           \
        else                                                                                                           \
            EACH_ACTIVE(lane, mask)                                                                                    \
            {                                                                                                          \
                memcpy(to, from, sizeof(T));                                                                           \
            }                                                                                                          \
    } while (0)

static void row_load(Exec *x, const MemoryOp *memory, uint32_t mask, const RowAccess *at)
{
    unsigned bytes = memory->element_bytes;
    for (unsigned i = 0; i < memory->count; i++) {
        const uint8_t *from = at->region->bytes + i * bytes;
        unsigned row_bytes = memory->row_bytes[i];
        if (memory->elements[i] == NO_ROW)
            continue;
        uint8_t *dest = x->frame->registers + memory->elements[i];
        if (bytes == 4 && row_bytes == 4 && mask == ALL_LANES) {
            x->emulator->loops->load_words((uint32_t *)dest, from, at->offsets);
        } else if (bytes == 4 && row_bytes == 4) {
            COPY_ROW(uint32_t, dest + 4 * lane, from + at->offsets[lane]);
        } else if (bytes == 8 && row_bytes == 8) {
            COPY_ROW(uint64_t, dest + 8 * lane, from + at->offsets[lane]);
        } else if (bytes == 2 && row_bytes == 2) {
            COPY_ROW(uint16_t, dest + 2 * lane, from + at->offsets[lane]);
        } else if (row_bytes <= 8) {
            EACH_ACTIVE(lane, mask)
            {
                row_set(dest, row_bytes, lane, memory_get(from + at->offsets[lane], bytes, memory->sign));
            }
        } else {
            EACH_ACTIVE(lane, mask)
            {
                memset(dest + lane * row_bytes, 0, row_bytes);
                memcpy(dest + lane * row_bytes, from + at->offsets[lane], bytes);
            }
        }
    }
}

Step run_load(Exec *x, const Op *op, uint32_t mask)
{
    Translation at;
    RowAccess row;
    if (!mask)
        return STEP_NEXT;
    if (row_begin(x, op->memory, mask, false, &row)) {
        row_load(x, op->memory, mask, &row);
        return STEP_NEXT;
    }
    if (!access_begin(x, op, op->memory, mask, MODE_LOAD, &at, NULL))
        return STEP_FAULT;
    for (unsigned i = 0; i < op->memory->count; i++)
        if (op->memory->elements[i] != NO_ROW)
            load_element(x, op->memory, i, mask, &at);
    return STEP_NEXT;
}

#define STORE_ROW(T)                                                                                                   \
    do {                                                                                                               \
        T differ = 0;                                                                                                  \
        EACH_ACTIVE(lane, mask)                                                                                        \
        {                                                                                                              \
            T value, old;                                                                                              \
            memcpy(&value, from + lane * row_bytes, sizeof value);                                                     \
            memcpy(&old, to + at->offsets[lane], sizeof old);                                                          \
            differ |= value ^ old;                                                                                     \
            memcpy(to + at->offsets[lane], &value, sizeof value);                                                      \
        }                                                                                                              \
        changed |= differ != 0;                                                                                        \
    } while (0)

static void row_store(Exec *x, const MemoryOp *memory, uint32_t mask, const RowAccess *at)
{
    unsigned bytes = memory->element_bytes;
    bool changed = false;
    for (unsigned i = 0; i < memory->count; i++) {
        uint8_t *to = at->region->bytes + i * bytes;
        const uint8_t *from = source_row(x, memory->elements[i]);
        unsigned row_bytes = memory->row_bytes[i];
        if (bytes == 4 && row_bytes == 4 && mask == ALL_LANES) {
            changed |= x->emulator->loops->store_words(to, at->offsets, (const uint32_t *)from);
            continue;
        }
        switch (bytes) {
        case 1: STORE_ROW(uint8_t); break;
        case 2: STORE_ROW(uint16_t); break;
        case 4: STORE_ROW(uint32_t); break;
        case 8: STORE_ROW(uint64_t); break;
        default:
            EACH_ACTIVE(lane, mask)
            {
                changed |= memcmp(to + at->offsets[lane], from + lane * row_bytes, bytes) != 0;
                memcpy(to + at->offsets[lane], from + lane * row_bytes, bytes);
            }
        }
    }
    if (changed)
        effect_note(x);
}

/* Gathers the values that the lanes store: values[lane][stride]. */
static void store_gather(Exec *x, const MemoryOp *memory, uint32_t mask, uint8_t *values)
{
    unsigned bytes = memory->element_bytes, stride = bytes * memory->count;
    for (unsigned i = 0; i < memory->count; i++) {
        if (memory->elements[i] == NO_ROW)
            continue;
        const uint8_t *row = source_row(x, memory->elements[i]);
        unsigned row_bytes = memory->row_bytes[i];
        EACH_ACTIVE(lane, mask)
        {
            memcpy(values + lane * stride + i * bytes, row + lane * row_bytes, bytes);
        }
    }
}

Step access_store(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask)
{
    Translation at;
    RowAccess row;
    _Alignas(16) uint8_t values[LANES * 32];
    unsigned stride = (unsigned)memory->element_bytes * memory->count;
    bool changed = false, whole = true;
    if (!mask)
        return STEP_NEXT;
    if (row_begin(x, memory, mask, true, &row)) {
        row_store(x, memory, mask, &row);
        return STEP_NEXT;
    }
    for (unsigned i = 0; i < memory->count; i++)
        whole &= memory->elements[i] != NO_ROW;
    store_gather(x, memory, mask, values);
    if (!access_begin(x, op, memory, mask, MODE_STORE, &at, whole ? values : NULL))
        return STEP_FAULT;
    /* An element written as "_" leaves memory unchanged. */
    for (unsigned i = 0; i < memory->count && !whole; i++)
        if (memory->elements[i] == NO_ROW)
            EACH_ACTIVE(lane, mask)
            {
                memcpy(values + lane * stride + i * memory->element_bytes, at.host[lane] + i * memory->element_bytes,
                       memory->element_bytes);
            }
    if (stride == 4) {
        EACH_ACTIVE(lane, mask)
        {
            changed |= memcmp(at.host[lane], values + 4 * lane, 4) != 0;
            memcpy(at.host[lane], values + 4 * lane, 4);
        }
    } else {
        EACH_ACTIVE(lane, mask)
        {
            changed |= memcmp(at.host[lane], values + lane * stride, stride) != 0;
            memcpy(at.host[lane], values + lane * stride, stride);
        }
    }
    if (changed)
        effect_note(x);
    return STEP_NEXT;
}

Step run_store(Exec *x, const Op *op, uint32_t mask)
{
    return access_store(x, op, op->memory, mask);
}

/* The address of a variable in the frame of a device function. */
Step run_local_address(Exec *x, const Op *op, uint32_t mask)
{
    EACH_ACTIVE(lane, mask)
    {
        row_set(x->frame->registers + op->dest, op->dest_bytes, lane, x->frame->local_base + op->value);
    }
    return STEP_NEXT;
}

static uint64_t atomic_float(AtomicKind kind, Type type, uint64_t old, uint64_t operand, bool flushes)
{
    unsigned operation = kind == ATOMIC_ADD ? FLOAT_ADD : kind == ATOMIC_MIN ? FLOAT_MIN : FLOAT_MAX;
    if (type == TYPE_F64) {
        uint64_t s[3] = {old, operand, 0};
        return scalar_double(s, (uint32_t)operation << CONTROL_KIND_SHIFT);
    }
    if (type == TYPE_F32)
        return float_operation(operation, FORMAT_ID_F32, old, operand, flushes ? CONTROL_FTZ : 0);
    unsigned format = type == TYPE_BF16 || type == TYPE_BF16X2 ? FORMAT_ID_BF16 : FORMAT_ID_F16;
    uint64_t result = 0;
    for (unsigned shift = 0; shift < type_bits(type); shift += 16)
        result |= float_operation(operation, format, old >> shift & 0xffff, operand >> shift & 0xffff, 0) << shift;
    return result;
}

uint64_t atomic_value(const MemoryOp *memory, uint64_t old, uint64_t operand, uint64_t second, bool flushes)
{
    unsigned bits = 8u * memory->element_bytes;
    bool is_signed = type_class(memory->type) == CLASS_SIGNED;
    if (type_class(memory->type) == CLASS_FLOAT && memory->atomic != ATOMIC_EXCH && memory->atomic != ATOMIC_CAS)
        return atomic_float(memory->atomic, memory->type, old, operand, flushes);
    switch (memory->atomic) {
    case ATOMIC_ADD: return (old + operand) & width_mask(bits);
    case ATOMIC_MIN:
    case ATOMIC_MAX: {
        bool less = is_signed ? sign_extend(old, bits) < sign_extend(operand, bits) : old < operand;
        return less == (memory->atomic == ATOMIC_MIN) ? old : operand;
    }
    case ATOMIC_INC: return old >= operand ? 0 : old + 1;
    case ATOMIC_DEC: return old == 0 || old > operand ? operand : old - 1;
    case ATOMIC_AND: return old & operand;
    case ATOMIC_OR: return old | operand;
    case ATOMIC_XOR: return old ^ operand;
    case ATOMIC_CAS: return old == operand ? second : old;
    default: return operand;
    }
}

/* exch and cas of 128 bits. */
static bool atomic_wide(Exec *x, const MemoryOp *memory, unsigned lane, uint8_t *host)
{
    const uint8_t *operand = (const uint8_t *)source_row(x, memory->operands[0]) + lane * 16;
    uint8_t old[16];
    memcpy(old, host, 16);
    bool changed = false;
    if (memory->atomic == ATOMIC_EXCH) {
        memcpy(host, operand, 16);
        changed = memcmp(old, operand, 16) != 0;
    } else if (memcmp(old, operand, 16) == 0) {
        const uint8_t *value = (const uint8_t *)source_row(x, memory->compare) + lane * 16;
        changed = memcmp(old, value, 16) != 0;
        memcpy(host, value, 16);
    }
    if (memory->elements[0] != NO_ROW)
        memcpy(x->frame->registers + memory->elements[0] + lane * 16, old, 16);
    return changed;
}

Step access_atomic(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask)
{
    Translation at;
    bool changed = false;
    if (!mask)
        return STEP_NEXT;
    if (!access_begin(x, op, memory, mask, MODE_ATOMIC, &at, NULL))
        return STEP_FAULT;
    unsigned bytes = memory->element_bytes;
    EACH_ACTIVE(lane, mask)
    {
        if (bytes == 16) {
            changed |= atomic_wide(x, memory, lane, at.host[lane]);
            continue;
        }
        /* Reads all operands first, because a destination may also be an operand. */
        uint64_t old[MAX_ELEMENTS], value[MAX_ELEMENTS], second = 0;
        if (memory->atomic == ATOMIC_CAS)
            second = row_get(source_row(x, memory->compare), memory->row_bytes[0], lane) & width_mask(8 * bytes);
        bool global = lane_space(&at, lane) == SPACE_GLOBAL;
        for (unsigned i = 0; i < memory->count; i++) {
            old[i] = memory_get(at.host[lane] + i * bytes, bytes, false);
            uint64_t operand = row_get(source_row(x, memory->operands[i]), memory->row_bytes[i], lane);
            value[i] = atomic_value(memory, old[i], operand & width_mask(8 * bytes), second, global);
        }
        for (unsigned i = 0; i < memory->count; i++) {
            memcpy(at.host[lane] + i * bytes, &value[i], bytes);
            changed |= value[i] != old[i];
            if (memory->elements[i] != NO_ROW)
                row_set(x->frame->registers + memory->elements[i], memory->row_bytes[i], lane, old[i]);
        }
    }
    if (changed)
        effect_note(x);
    else
        x->yield = true; /* probably a lock that another thread holds */
    return STEP_NEXT;
}

static Step atomic_run(Exec *x, const Op *op, uint32_t mask)
{
    return access_atomic(x, op, op->memory, mask);
}

Step run_atomic(Exec *x, const Op *op, uint32_t mask)
{
    pthread_mutex_t *lock = x->emulator->atomics;
    if (!lock || op->memory->space == SPACE_SHARED)
        return atomic_run(x, op, mask);
    pthread_mutex_lock(lock);
    Step step = atomic_run(x, op, mask);
    pthread_mutex_unlock(lock);
    return step;
}

