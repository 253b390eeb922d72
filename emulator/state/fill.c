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

void *launch_fill(Arena *arena, const LaunchArgument *argument)
{
    unsigned size = type_bytes(argument->type);
    uint8_t *bytes = arena_array(arena, (size_t)argument->count, size ? size : 1);
    uint64_t total = argument->count * size;
    bool is_float = type_class(argument->type) == CLASS_FLOAT;
    switch (argument->fill) {
    case FILL_ZERO: break;
    case FILL_POISON: memset(bytes, POISON_BYTE, (size_t)total); break;
    case FILL_FILE:
    case FILL_BYTES: memcpy(bytes, argument->bytes, (size_t)(argument->size < total ? argument->size : total)); break;
    case FILL_UNIFORM:
    case FILL_IOTA:
        for (uint64_t i = 0; i < argument->count; i++) {
            uint64_t hash = random_next(&(Random){argument->seed * UINT64_C(0x9e3779b97f4a7c15) + i});
            double unit = (double)(hash >> 11) * 0x1p-53;
            double range = argument->high - argument->low + (is_float ? 0 : 1);
            double value =
                argument->fill == FILL_IOTA ? argument->low + argument->step * (double)i : argument->low + unit * range;
            uint64_t bits = element_bits(argument->type, value);
            memcpy(bytes + i * size, &bits, size < 8 ? size : 8);
        }
        break;
    }
    return bytes;
}
