/* The initial contents of buffers. */
#include "emulator/state/state.h"

#include <math.h>

static unsigned type_bytes(Type type)
{
    return (type_bits(type) + 7) / 8;
}

static uint64_t element_bits(Type type, double value)
{
    switch (type) {
    case TYPE_F64: return double_bits(value);
    case TYPE_F32:
    case TYPE_TF32: return float_bits((float)value);
    case TYPE_F16: return format_encode(&FORMAT_F16, value, ROUND_NEAREST_EVEN, false);
    case TYPE_BF16: return format_encode(&FORMAT_BF16, value, ROUND_NEAREST_EVEN, false);
    default:
        value = isnan(value) ? 0 : floor(value); /* an infinite range gives NaN */
        return value < 0 ? (uint64_t)(int64_t)(value < -0x1p63 ? -0x1p63 : value)
                         : (uint64_t)(value >= 0x1p64 ? 0x1.fffffffffffffp63 : value);
    }
}

static inline void fill_uniform(uint8_t *bytes, const LaunchArgument *argument, Type type, unsigned size)
{
    const uint64_t seed = argument->seed * UINT64_C(0x9e3779b97f4a7c15);
    const double low = argument->low, range = argument->high - low + (type_class(type) == CLASS_FLOAT ? 0 : 1);
    for (uint64_t i = 0; i < argument->count; i++) {
        const double unit = (double)(random_next(&(Random){seed + i}) >> 11) * 0x1p-53;
        const uint64_t bits = element_bits(type, low + unit * range);
        memcpy(bytes + i * size, &bits, size);
    }
}

/* The types of most large buffers have loops of their own. */
static void fill_by_type(uint8_t *bytes, const LaunchArgument *argument, unsigned size)
{
    switch (argument->type) {
    case TYPE_F32: fill_uniform(bytes, argument, TYPE_F32, 4); break;
    case TYPE_S32: fill_uniform(bytes, argument, TYPE_S32, 4); break;
    case TYPE_U32: fill_uniform(bytes, argument, TYPE_U32, 4); break;
    case TYPE_S8: fill_uniform(bytes, argument, TYPE_S8, 1); break;
    case TYPE_U8: fill_uniform(bytes, argument, TYPE_U8, 1); break;
    default: fill_uniform(bytes, argument, argument->type, size < 8 ? size : 8); break;
    }
}

void launch_fill_into(uint8_t *bytes, const LaunchArgument *argument)
{
    const unsigned size = type_bytes(argument->type);
    const uint64_t total = argument->count * size;
    switch (argument->fill) {
    case FILL_ZERO: break;
    case FILL_POISON: memset(bytes, POISON_BYTE, (size_t)total); break;
    case FILL_FILE:
    case FILL_BYTES: memcpy(bytes, argument->bytes, (size_t)(argument->size < total ? argument->size : total)); break;
    case FILL_UNIFORM: fill_by_type(bytes, argument, size); break;
    case FILL_IOTA:
        for (uint64_t i = 0; i < argument->count; i++) {
            const uint64_t bits = element_bits(argument->type, argument->low + argument->step * (double)i);
            memcpy(bytes + i * size, &bits, size < 8 ? size : 8);
        }
        break;
    }
}

void *launch_fill(Arena *arena, const LaunchArgument *argument)
{
    const unsigned size = type_bytes(argument->type);
    uint8_t *bytes = arena_array(arena, (size_t)argument->count, size ? size : 1);
    launch_fill_into(bytes, argument);
    return bytes;
}
