/* The operands of machine instructions. */
#include "machine/internal.h"

#include <stdarg.h>

static uint64_t pair(const uint32_t *registers, unsigned index)
{
    return index == ZERO_REGISTER ? 0 : registers[index] | (uint64_t)registers[(index + 1) & 0xff] << 32;
}

/* A word of a constant bank. Outside of the bank is zero: loads there happen before the test of an index. */
static uint64_t bank_word(const Thread *thread, const Place *place, unsigned bytes)
{
    const Program *program = thread->block->program;
    const uint32_t *registers = place->index_is_uniform ? thread->warp->uniform : thread->registers;
    uint64_t at = (uint32_t)(registers[place->index] + (uint32_t)place->number), value = 0;
    if (place->bank < BANKS && at < program->bank_sizes[place->bank] && program->bank_sizes[place->bank] - at >= bytes)
        memcpy(&value, program->banks[place->bank] + at, bytes);
    return value;
}

uint32_t raw32(const Thread *thread, const Place *place)
{
    switch (place->kind) {
    case PLACE_REGISTER: return thread->registers[place->index];
    case PLACE_UNIFORM: return thread->warp->uniform[place->index];
    case PLACE_BANK: return (uint32_t)bank_word(thread, place, 4);
    default: return (uint32_t)place->number;
    }
}

uint64_t raw64(const Thread *thread, const Place *place)
{
    switch (place->kind) {
    case PLACE_REGISTER: return pair(thread->registers, place->index);
    case PLACE_UNIFORM: return pair(thread->warp->uniform, place->index);
    case PLACE_BANK: return bank_word(thread, place, 8);
    case PLACE_FLOAT: return (uint64_t)place->number << 32;
    default: return (uint64_t)place->number;
    }
}

uint32_t integer32(const Thread *thread, const Place *place)
{
    uint32_t value = raw32(thread, place);
    if (place->absolute && value >> 31)
        value = -value;
    if (place->inverted)
        value = ~value;
    return place->negated ? -value : value;
}

uint64_t integer64(const Thread *thread, const Place *place)
{
    uint64_t value = raw64(thread, place);
    if (place->inverted)
        value = ~value;
    return place->negated ? -value : value;
}

uint32_t float32(const Thread *thread, const Place *place)
{
    uint32_t value = raw32(thread, place);
    if (place->kind == PLACE_FLOAT)
        return value;
    if (place->absolute)
        value &= UINT32_C(0x7fffffff);
    return place->negated ? value ^ UINT32_C(0x80000000) : value;
}

uint64_t float64(const Thread *thread, const Place *place)
{
    uint64_t value = raw64(thread, place), sign = UINT64_C(1) << 63;
    if (place->kind == PLACE_FLOAT)
        return value;
    if (place->absolute)
        value &= ~sign;
    return place->negated ? value ^ sign : value;
}

bool predicate(const Thread *thread, const Place *place)
{
    const bool *predicates =
        place->kind == PLACE_UNIFORM_PREDICATE ? thread->warp->uniform_predicates : thread->predicates;
    return predicates[place->index] != place->inverted;
}

static uint32_t *registers_of(Thread *thread, const Place *place)
{
    return place->kind == PLACE_UNIFORM ? thread->warp->uniform : thread->registers;
}

/* Also forgets that a uniform register had several values. */
static void set_register(Thread *thread, const Place *place, unsigned index, uint32_t value)
{
    registers_of(thread, place)[index] = value;
    if (place->kind == PLACE_UNIFORM)
        thread->warp->mixed[index] = NULL;
}

void set32(Thread *thread, const Place *place, uint32_t value)
{
    if (place->index != ZERO_REGISTER)
        set_register(thread, place, place->index, value);
}

void set64(Thread *thread, const Place *place, uint64_t value)
{
    if (place->index == ZERO_REGISTER)
        return;
    set_register(thread, place, place->index, (uint32_t)value);
    if (place->index + 1 < ZERO_REGISTER)
        set_register(thread, place, place->index + 1u, (uint32_t)(value >> 32));
}

void set_predicate(Thread *thread, const Place *place, bool value)
{
    if (place->index != TRUE_PREDICATE)
        (place->kind == PLACE_UNIFORM_PREDICATE ? thread->warp->uniform_predicates
                                                : thread->predicates)[place->index] = value;
}

Step stop(Thread *thread, MachineEndKind kind, const char *format, ...)
{
    MachineEnd *end = thread->block->end;
    va_list arguments;
    va_start(arguments, format);
    end->message = arena_vprintf(thread->block->arena, format, arguments);
    va_end(arguments);
    end->kind = kind;
    end->instruction = thread->at;
    return STEP_STOPPED;
}

unsigned skip_predicates(const Decoded *it, unsigned from)
{
    while (from < it->operand_count && is_predicate(&it->operands[from]))
        from++;
    return from;
}

bool combine(const Decoded *it, bool result, bool with)
{
    if (has(it, SUFFIX_AND))
        return result && with;
    return has(it, SUFFIX_OR) ? result || with : result != with;
}

void set_comparison(Thread *thread, const Decoded *it, bool result, const Place *with)
{
    const bool other = predicate(thread, with);
    set_predicate(thread, &it->operands[0], combine(it, result, other));
    if (it->operands[1].kind == PLACE_PREDICATE || it->operands[1].kind == PLACE_UNIFORM_PREDICATE)
        set_predicate(thread, &it->operands[1], combine(it, !result, other));
}

Rounding rounding_of(const Decoded *it)
{
    if (has(it, SUFFIX_RZ) || has(it, SUFFIX_TRUNC))
        return ROUND_ZERO;
    if (has(it, SUFFIX_RM) || has(it, SUFFIX_FLOOR))
        return ROUND_DOWN;
    return has(it, SUFFIX_RP) || has(it, SUFFIX_CEIL) ? ROUND_UP : ROUND_NEAREST_EVEN;
}
