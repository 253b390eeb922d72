/* Compares the buffers of two runs. */
#include "emulator/state/state.h"

#include <inttypes.h>
#include <math.h>

static double element_value(Type type, const uint8_t *bytes)
{
    uint64_t bits = 0;
    unsigned size = type_bits(type) / 8;
    memcpy(&bits, bytes, size < 8 ? size : 8);
    switch (type) {
    case TYPE_F32:
    case TYPE_TF32: return float_from_bits((uint32_t)bits);
    case TYPE_F64: return double_from_bits(bits);
    case TYPE_F16: return format_decode(&FORMAT_F16, (uint32_t)bits);
    case TYPE_BF16: return format_decode(&FORMAT_BF16, (uint32_t)bits);
    default: return type_class(type) == CLASS_SIGNED ? (double)sign_extend(bits, 8 * size) : (double)bits;
    }
}

/* How far neighbours are apart, relative to the greater one, of floating-point numbers of 16 bits; 0: of others. */
static double distance_of_neighbours(Type type)
{
    return type == TYPE_F16 ? 1.0 / 1024 : type == TYPE_BF16 ? 1.0 / 128 : 0;
}

/* The index of the first element that 'tolerance' does not accept, or UINT64_MAX. */
static uint64_t elements_difference(Type type, const void *expected, const void *actual, uint64_t count,
                                    Tolerance tolerance)
{
    unsigned size = type_bits(type) / 8;
    const uint8_t *a = expected, *b = actual;
    const double step = tolerance.is_rounded ? distance_of_neighbours(type) : 0;
    for (uint64_t i = 0; i < count; i++, a += size, b += size) {
        if (memcmp(a, b, size) == 0)
            continue;
        if (tolerance.kind == TOLERANCE_EXACT)
            return i;
        double x = element_value(type, b), y = element_value(type, a);
        bool both_nan = x != x && y != y;
        const double most = fmax(tolerance.absolute + tolerance.relative * fabs(y), step * fmax(fabs(x), fabs(y)));
        if (!both_nan && x != y && !(fabs(x - y) <= most))
            return i;
    }
    return UINT64_MAX;
}

static bool is_checked(const Launch *launch, const char *name)
{
    for (unsigned i = 0; i < launch->check_count; i++)
        if (strcmp(launch->check[i], name) == 0)
            return true;
    return !launch->check_count;
}

const char *emulator_difference(Arena *arena, const Launch *launch, const EmulatorResult *expected,
                                const EmulatorResult *actual, Tolerance tolerance)
{
    for (unsigned i = 0; i < expected->buffer_count; i++) {
        const EmulatorBuffer *a = &expected->buffers[i], *b = emulator_buffer(actual, a->name);
        if (!is_checked(launch, a->name))
            continue;
        if (!b || b->size != a->size)
            return arena_printf(arena, "buffer %s is missing", a->name);
        uint64_t at = elements_difference(a->type, a->bytes, b->bytes, a->count, tolerance);
        if (at == UINT64_MAX)
            continue;
        unsigned size = type_bits(a->type) / 8;
        uint64_t x = 0, y = 0;
        memcpy(&x, a->bytes + at * size, size < 8 ? size : 8);
        memcpy(&y, b->bytes + at * size, size < 8 ? size : 8);
        return arena_printf(arena, "%s[%llu] is 0x%llx (%g), expected 0x%llx (%g)", a->name, (unsigned long long)at,
                            (unsigned long long)y, element_value(a->type, b->bytes + at * size), (unsigned long long)x,
                            element_value(a->type, a->bytes + at * size));
    }
    return NULL;
}

static bool is_ignored(const Launch *launch, const char *name)
{
    for (unsigned i = 0; i < launch->ignore_count; i++)
        if (strcmp(launch->ignore[i], name) == 0)
            return true;
    return false;
}

static const EmulatorBuffer *find_counterpart(const EmulatorResult *result, const EmulatorBuffer *buffer)
{
    for (unsigned i = 0; i < result->buffer_count; i++)
        if (result->buffers[i].is_variable == buffer->is_variable &&
            strcmp(result->buffers[i].name, buffer->name) == 0)
            return &result->buffers[i];
    return NULL;
}

bool results_differ(const Launch *launch, const EmulatorResult *expected, const EmulatorResult *actual,
                    Tolerance tolerance, EmulatorDifference *difference)
{
    for (unsigned i = 0; i < expected->buffer_count; i++) {
        const EmulatorBuffer *a = &expected->buffers[i], *b = find_counterpart(actual, a);
        if (is_ignored(launch, a->name) || !b || b->size != a->size)
            continue;
        unsigned bytes = type_bits(a->type) / 8;
        uint64_t at = elements_difference(a->type, a->bytes, b->bytes, a->count, tolerance);
        if (at == UINT64_MAX)
            continue;
        *difference = (EmulatorDifference){
            .buffer = a->name,
            .type = a->type,
            .index = at,
            .bytes = bytes,
            .expected = a->bytes + at * bytes,
            .actual = b->bytes + at * bytes,
        };
        return true;
    }
    return false;
}

void element_print(Type type, const uint8_t *bytes, Buf *out)
{
    unsigned size = type_bits(type) / 8;
    uint64_t bits = 0;
    memcpy(&bits, bytes, size < 8 ? size : 8);
    double value;
    switch (type) {
    case TYPE_F16X2:
    case TYPE_BF16X2:
    case TYPE_F32X2:
    case TYPE_U16X2:
    case TYPE_S16X2: {
        Type half = type == TYPE_F16X2    ? TYPE_F16
                    : type == TYPE_BF16X2 ? TYPE_BF16
                    : type == TYPE_F32X2  ? TYPE_F32
                    : type == TYPE_U16X2  ? TYPE_U16
                                          : TYPE_S16;
        buf_putc(out, '(');
        element_print(half, bytes, out);
        buf_puts(out, ", ");
        element_print(half, bytes + size / 2, out);
        buf_putc(out, ')');
        return;
    }
    case TYPE_F16:
    case TYPE_BF16:
    case TYPE_TF32:
    case TYPE_F32:
    case TYPE_F64:
        value = element_value(type, bytes);
        if (value != value)
            buf_printf(out, "nan:0x%" PRIx64, bits);
        else
            buf_printf(out, "%.*g", type == TYPE_F64 ? 17 : 9, value);
        return;
    default: break;
    }
    if (type_class(type) == CLASS_SIGNED) {
        buf_printf(out, "%" PRId64, sign_extend(bits, 8 * size));
    } else if (type_class(type) == CLASS_UNSIGNED) {
        buf_printf(out, "%" PRIu64, bits);
    } else {
        buf_puts(out, "0x");
        for (unsigned i = size; i-- > 0;)
            buf_printf(out, "%02x", bytes[i]);
    }
}

/* A message if a launch does not fulfil the contract, else NULL. 'grown': what multiplies the size before; NULL:
 * nothing does. */
static const char *undivided(Arena *arena, const unsigned size[3], const unsigned grown[3], const unsigned factor[3],
                             const char *what)
{
    for (unsigned i = 0; i < 3; i++)
        if (factor[i] > 1 && (uint64_t)(size[i] ? size[i] : 1) * (grown && grown[i] ? grown[i] : 1) % factor[i])
            return arena_printf(arena, "the %s has %u along %c, which is not a multiple of %u", what,
                                size[i] ? size[i] : 1, "xyz"[i], factor[i]);
    return NULL;
}

EmulatorComparison *emulator_compare(Arena *arena, const Module *original, const Module *changed, const char *kernel,
                                     const Launch *launch, const LaunchChange *change, const EmulatorOptions *options)
{
    EmulatorComparison *comparison = ARENA_NEW(arena, EmulatorComparison);
    Launch first = *launch;
    if (kernel)
        first.kernel = kernel;
    comparison->message = change ? undivided(arena, launch->block, change->grown, change->block, "block") : NULL;
    if (change && !comparison->message)
        comparison->message = undivided(arena, launch->grid, NULL, change->grid, "grid");
    if (comparison->message)
        return comparison;
    Launch *second = launch_changed(arena, &first, change);
    comparison->original = emulator_run(arena, original, &first, options);
    comparison->changed = emulator_run(arena, changed, second, options);
    if (comparison->original->fault.kind != FAULT_NONE)
        comparison->message = fault_text(arena, original, &comparison->original->fault);
    else if (comparison->changed->fault.kind != FAULT_NONE)
        comparison->message = fault_text(arena, changed, &comparison->changed->fault);
    else
        comparison->message =
            emulator_difference(arena, &first, comparison->original, comparison->changed, first.tolerance);
    comparison->equal = comparison->message == NULL;
    return comparison;
}
