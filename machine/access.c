/* Loads, stores and atomic operations. */
#include "machine/internal.h"

/* The sum of an address's parts. The register of a global address is a pair unless .U32 says otherwise. */
static uint64_t address_of(const Thread *thread, const Place *place, bool is_long)
{
    const uint32_t *registers = place->index_is_uniform ? thread->warp->uniform : thread->registers;
    Place index = {.kind = place->index_is_uniform ? PLACE_UNIFORM : PLACE_REGISTER, .index = place->index};
    Place base = {.kind = PLACE_UNIFORM, .index = place->base};
    uint64_t address = (uint64_t)place->number;
    if (!is_long)
        return (uint32_t)(address + (registers[place->index] << place->shift) + thread->warp->uniform[place->base]);
    address += raw64(thread, &base);
    return address + (place->narrow ? registers[place->index] : raw64(thread, &index));
}

/* The bytes that a thread moves, and whether a narrow value has a sign. */
static unsigned access_bytes(const Decoded *it, bool *is_signed)
{
    *is_signed = has(it, SUFFIX_S8) || has(it, SUFFIX_S16);
    if (has(it, SUFFIX_U8) || has(it, SUFFIX_S8))
        return 1;
    if (has(it, SUFFIX_U16) || has(it, SUFFIX_S16))
        return 2;
    return has(it, SUFFIX_64) ? 8 : has(it, SUFFIX_128) ? 16 : 4;
}

static void give_loaded(Thread *thread, const Place *to, const uint8_t *from, unsigned bytes, bool is_signed)
{
    uint32_t words[4] = {0};
    memcpy(words, from, bytes);
    if (is_signed)
        words[0] = bytes == 1 ? (uint32_t)(int32_t)(int8_t)words[0] : (uint32_t)(int32_t)(int16_t)words[0];
    Place word = *to;
    for (unsigned i = 0; i < (bytes + 3) / 4 && to->index != ZERO_REGISTER; i++, word.index++)
        set32(thread, &word, words[i]);
}

typedef enum SpaceKind { IN_GLOBAL, IN_SHARED, IN_LOCAL } SpaceKind;

static uint8_t *find_bytes(Thread *thread, const Place *place, SpaceKind space, unsigned bytes, bool stores)
{
    const uint64_t address = address_of(thread, place, space == IN_GLOBAL);
    if (space == IN_GLOBAL && place->base != ZERO_REGISTER && !place->wide && !place->narrow) {
        stop(thread, MACHINE_UNDECIDED, "this form of an address");
        return NULL;
    }
    switch (space) {
    case IN_SHARED: return memory_shared(thread, address, bytes);
    case IN_LOCAL: return memory_local(thread, address, bytes);
    default: return memory_global(thread, address, bytes, stores);
    }
}

static Step load(Thread *thread, const Decoded *it, SpaceKind space)
{
    bool is_signed;
    const unsigned bytes = access_bytes(it, &is_signed);
    if (it->operand_count != 2 || it->operands[1].kind != PLACE_MEMORY)
        return stop(thread, MACHINE_UNDECIDED, "this form of a load");
    const uint8_t *from = find_bytes(thread, &it->operands[1], space, bytes, false);
    if (!from)
        return STEP_STOPPED;
    give_loaded(thread, &it->operands[0], from, bytes, is_signed);
    return STEP_ON;
}

static Step store(Thread *thread, const Decoded *it, SpaceKind space)
{
    bool is_signed;
    const unsigned bytes = access_bytes(it, &is_signed);
    if (it->operand_count != 2 || it->operands[0].kind != PLACE_MEMORY)
        return stop(thread, MACHINE_UNDECIDED, "this form of a store");
    uint8_t *to = find_bytes(thread, &it->operands[0], space, bytes, true);
    if (!to)
        return STEP_STOPPED;
    uint32_t words[4] = {0};
    Place word = it->operands[1];
    for (unsigned i = 0; i < (bytes + 3) / 4; i++, word.index += word.index != ZERO_REGISTER)
        words[i] = raw32(thread, &word);
    memcpy(to, words, bytes);
    return STEP_ON;
}

Step execute_load_global(Thread *thread, const Decoded *it) { return load(thread, it, IN_GLOBAL); }
Step execute_load_shared(Thread *thread, const Decoded *it) { return load(thread, it, IN_SHARED); }
Step execute_load_local(Thread *thread, const Decoded *it) { return load(thread, it, IN_LOCAL); }
Step execute_store_global(Thread *thread, const Decoded *it) { return store(thread, it, IN_GLOBAL); }
Step execute_store_shared(Thread *thread, const Decoded *it) { return store(thread, it, IN_SHARED); }
Step execute_store_local(Thread *thread, const Decoded *it) { return store(thread, it, IN_LOCAL); }

/* LDGSTS [shared], [global] [, reads]: copies at once, which the code must allow for. With .ZFILL, the lower bits of
 * the global address are the number of bytes that are zero, at the end; all are if a predicate says so. */
Step execute_copy_async(Thread *thread, const Decoded *it)
{
    bool is_signed;
    const unsigned bytes = access_bytes(it, &is_signed);
    const Place *to = &it->operands[0], *from = &it->operands[1];
    const bool has_predicate = it->operand_count == 3 && is_predicate(&it->operands[2]);
    if (it->operand_count != 2u + has_predicate || to->kind != PLACE_MEMORY || from->kind != PLACE_MEMORY)
        return stop(thread, MACHINE_UNDECIDED, "this form of an asynchronous copy");
    uint8_t *shared = find_bytes(thread, to, IN_SHARED, bytes, true);
    if (!shared)
        return STEP_STOPPED;
    memset(shared, 0, bytes);
    if (has_predicate && !predicate(thread, &it->operands[2]))
        return STEP_ON;
    Place aligned = *from;
    const unsigned zeros = has(it, SUFFIX_ZFILL) ? (unsigned)(address_of(thread, from, true) % bytes) : 0;
    aligned.number -= zeros;
    const uint8_t *global = find_bytes(thread, &aligned, IN_GLOBAL, bytes, false);
    if (!global)
        return STEP_STOPPED;
    memcpy(shared, global, bytes - zeros);
    return STEP_ON;
}

/* LDC, ULDC, LDCU d, c[bank][...] */
Step execute_load_constant(Thread *thread, const Decoded *it)
{
    bool is_signed;
    const unsigned bytes = access_bytes(it, &is_signed);
    Place place = it->operands[1];
    uint64_t words[2];
    if (place.kind != PLACE_BANK)
        return stop(thread, MACHINE_UNDECIDED, "this form of a load");
    words[0] = bytes < 8 ? raw32(thread, &place) : raw64(thread, &place);
    if (bytes < 4) {
        /* The word may run past the end of the bank. */
        const Program *program = thread->block->program;
        const uint32_t *registers = place.index_is_uniform ? thread->warp->uniform : thread->registers;
        const uint64_t at = (uint32_t)(registers[place.index] + (uint32_t)place.number);
        words[0] = 0;
        if (at + bytes <= program->bank_sizes[place.bank])
            memcpy(words, program->banks[place.bank] + at, bytes);
    }
    place.number += 8;
    words[1] = bytes == 16 ? raw64(thread, &place) : 0;
    give_loaded(thread, &it->operands[0], (const uint8_t *)words, bytes, is_signed);
    return STEP_ON;
}

/* QSPC.E.S and .L p, RZ, [a]: whether a generic address is one of shared or local memory. */
Step execute_query_space(Thread *thread, const Decoded *it)
{
    const uint32_t window = has(it, SUFFIX_S) ? SHARED_WINDOW : LOCAL_WINDOW;
    if (it->operand_count != 3 || !is_predicate(&it->operands[0]) || it->operands[1].index != ZERO_REGISTER ||
        it->operands[2].kind != PLACE_MEMORY || has(it, SUFFIX_S) == has(it, SUFFIX_L))
        return stop(thread, MACHINE_UNDECIDED, "this form of a question about an address");
    const uint64_t address = address_of(thread, &it->operands[2], true);
    if (!memory_has(thread, address))
        return stop(thread, MACHINE_UNDECIDED, "the kind of an address outside all memory");
    set_predicate(thread, &it->operands[0], address >> 32 == window);
    return STEP_ON;
}

/* The new value of an atomic operation on integers of 'bits'. */
static uint64_t atomic_integer(const Decoded *it, uint64_t old, uint64_t value, unsigned bits)
{
    const bool is_signed = has(it, SUFFIX_S32) || has(it, SUFFIX_S64);
    const unsigned unused = 64 - bits;
    const bool less = is_signed ? (int64_t)(value << unused) < (int64_t)(old << unused) : value < old;
    if (has(it, SUFFIX_MIN))
        return less ? value : old;
    if (has(it, SUFFIX_MAX))
        return less ? old : value;
    if (has(it, SUFFIX_AND))
        return old & value;
    if (has(it, SUFFIX_OR))
        return old | value;
    if (has(it, SUFFIX_XOR))
        return old ^ value;
    if (has(it, SUFFIX_INC))
        return old >= value ? 0 : old + 1;
    if (has(it, SUFFIX_DEC))
        return !old || old > value ? value : old - 1;
    return has(it, SUFFIX_EXCH) ? value : old + value;
}

static uint64_t atomic_value(const Decoded *it, uint64_t old, uint64_t value, unsigned bytes)
{
    if (has(it, SUFFIX_F64))
        return double_bits(sum_double(double_from_bits(old), double_from_bits(value), ROUND_NEAREST_EVEN));
    if (!has(it, SUFFIX_F32))
        return atomic_integer(it, old, value, 8 * bytes);
    const double sum = sum_odd(float_from_bits(format_flush(&FORMAT_F32, (uint32_t)old)),
                               float_from_bits(format_flush(&FORMAT_F32, (uint32_t)value)));
    return format_encode_flushed(&FORMAT_F32, sum, ROUND_NEAREST_EVEN);
}

static uint64_t read_value(const Thread *thread, const Place *place, unsigned bytes)
{
    return bytes == 8 ? raw64(thread, place) : raw32(thread, place);
}

/* Performs it at *where; the operands after the address are the value, or the one to compare with and the new one. */
static uint64_t atomic_perform(Thread *thread, const Decoded *it, unsigned address, unsigned bytes, uint8_t *where)
{
    uint64_t old = 0, value = read_value(thread, &it->operands[address + 1], bytes), changed;
    memcpy(&old, where, bytes);
    if (has(it, SUFFIX_CAS) || has(it, SUFFIX_CAST))
        changed = old == value ? read_value(thread, &it->operands[address + 2], bytes) : old;
    else
        changed = atomic_value(it, old, value, bytes);
    memcpy(where, &changed, bytes);
    if (has(it, SUFFIX_CAST))
        return old == value;
    return old;
}

/* True if an operation on a generic address has a predicate that says whether it was performed. It is not where the
 * address is one of shared or local memory: after a false predicate, ptxas's code asks which (QSPC), and does it by
 * other instructions. */
static bool says_whether(const Decoded *it, unsigned predicates)
{
    return predicates && !has(it, SUFFIX_CAST) && it->operands[0].index != TRUE_PREDICATE;
}

static bool is_global(const Thread *thread, const Place *place)
{
    const uint64_t window = address_of(thread, place, true) >> 32;
    return window != SHARED_WINDOW && window != LOCAL_WINDOW;
}

static Step atomic(Thread *thread, const Decoded *it, SpaceKind space)
{
    const unsigned to = skip_predicates(it, 0);
    const unsigned address = it->operands[to].kind == PLACE_MEMORY ? to : to + 1;
    const unsigned values = has(it, SUFFIX_CAS) || has(it, SUFFIX_CAST) ? 2 : 1;
    const unsigned bytes = has(it, SUFFIX_64) || has(it, SUFFIX_F64) || has(it, SUFFIX_S64) ? 8 : 4;
    MachineEnd *end = thread->block->end;
    if (address + 1 + values != it->operand_count || it->operands[address].kind != PLACE_MEMORY)
        return stop(thread, MACHINE_UNDECIDED, "this form of an atomic operation");
    const bool needs_order = address > to || has(it, SUFFIX_F32) || has(it, SUFFIX_F64) || has(it, SUFFIX_EXCH);
    if (needs_order && end->ordered == MACHINE_NONE)
        end->ordered = thread->at;
    if (says_whether(it, to) && space != IN_GLOBAL)
        return stop(thread, MACHINE_UNDECIDED, "the predicate of an atomic operation");
    if (says_whether(it, to) && !is_global(thread, &it->operands[address])) {
        set_predicate(thread, &it->operands[0], false);
        return STEP_ON;
    }
    uint8_t *where = find_bytes(thread, &it->operands[address], space, bytes, true);
    if (!where)
        return STEP_STOPPED;
    const uint64_t old = atomic_perform(thread, it, address, bytes, where);
    if (address > to && bytes == 8)
        set64(thread, &it->operands[to], old);
    else if (address > to)
        set32(thread, &it->operands[to], (uint32_t)old);
    if (to && has(it, SUFFIX_CAST))
        set_predicate(thread, &it->operands[0], old);
    else if (says_whether(it, to))
        set_predicate(thread, &it->operands[0], true);
    return STEP_ON;
}

/* ATOMS.POPC.INC RZ, [shared]: one more for each thread. */
Step execute_atomic_count(Thread *thread, const Decoded *it)
{
    if (it->operand_count != 2 || it->operands[0].kind != PLACE_REGISTER ||
        it->operands[0].index != ZERO_REGISTER || it->operands[1].kind != PLACE_MEMORY)
        return stop(thread, MACHINE_UNDECIDED, "this form of an atomic operation");
    uint8_t *where = find_bytes(thread, &it->operands[1], IN_SHARED, 4, true);
    uint32_t count;
    if (!where)
        return STEP_STOPPED;
    memcpy(&count, where, sizeof count);
    count++;
    memcpy(where, &count, sizeof count);
    return STEP_ON;
}

Step execute_atomic_global(Thread *thread, const Decoded *it) { return atomic(thread, it, IN_GLOBAL); }
Step execute_atomic_shared(Thread *thread, const Decoded *it) { return atomic(thread, it, IN_SHARED); }
