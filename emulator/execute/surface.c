/* suld, sust and sured: PTX ISA, "Surface Instructions". Unformatted accesses (.b) count x in bytes and do not convert
 * them; formatted ones (.p) count texels and convert 32-bit values to the surface's channels. */
#include "emulator/execute/execute.h"

typedef struct SurfacePlace {
    uint64_t offset;
    bool inside; /* else .zero drops the access */
} SurfacePlace;

static bool limit(int64_t *value, int64_t most, ImageBounds bounds)
{
    if (*value >= 0 && *value <= most)
        return true;
    if (bounds == IMAGE_CLAMP)
        *value = *value < 0 ? 0 : most;
    return bounds == IMAGE_CLAMP;
}

static bool surface_place(Exec *x, const Op *op, unsigned lane, const Image *image, unsigned bytes,
                          SurfacePlace *place)
{
    const ImageOp *image_op = op->image;
    const LaunchImage *shape = image->shape;
    unsigned step = image_op->formatted ? image->texel_bytes : 1;
    int64_t at[3] = {0}, layer = 0, row = (int64_t)(shape->width * image->texel_bytes);
    int64_t most[3] = {(row - (int64_t)bytes) / step, (int64_t)shape->height - 1, (int64_t)shape->depth - 1};
    for (unsigned i = 0; i < image_op->rank; i++)
        at[i] = (int32_t)row_get(source_row(x, image_op->coordinates[i]), 4, lane);
    if (image_op->layered)
        layer = (int32_t)row_get(source_row(x, image_op->layer), 4, lane);
    if (bytes > row) {
        fault_at(x, op, lane, FAULT_BOUNDS, "%u byte%s of the surface %s, whose rows have %lld", bytes, plural(bytes),
                 image->name, (long long)row);
        return false;
    }
    if (!image_op->formatted && at[0] % bytes) {
        fault_at(x, op, lane, FAULT_ALIGNMENT, "%u byte%s at byte %lld of a row of the surface %s", bytes,
                 plural(bytes), (long long)at[0], image->name);
        return false;
    }
    place->inside = true;
    for (unsigned i = 0; i < 3; i++)
        place->inside &= limit(&at[i], most[i], image_op->bounds);
    place->inside &= limit(&layer, (int64_t)shape->layers - 1, image_op->bounds);
    if (!place->inside && image_op->bounds == IMAGE_TRAP) {
        fault_at(x, op, lane, FAULT_BOUNDS, "%s %lld,%lld,%lld of layer %lld of the surface %s",
                 image_op->formatted ? "texel" : "byte", (long long)at[0], (long long)at[1], (long long)at[2],
                 (long long)layer, image->name);
        return false;
    }
    /* The last whole element of a row need not begin at a multiple of its size. */
    uint64_t byte = (uint64_t)at[0] * step;
    byte -= image_op->formatted ? 0 : byte % bytes;
    if (place->inside)
        place->offset = image_offset(image, (uint64_t)layer, (uint64_t)at[2], (uint64_t)at[1], byte);
    return true;
}

/* A 32-bit value as a channel: numbers for float and unit formats, else an integer that is clamped. */
static uint64_t channel_encode(const Image *image, uint32_t value)
{
    if (image->type == TYPE_F32)
        return value;
    double number = float_from_bits(value);
    if (image->type == TYPE_F16)
        return format_encode(&FORMAT_F16, number, ROUND_NEAREST_EVEN, false);
    unsigned bits = type_bits(image->type);
    bool is_signed = type_class(image->type) == CLASS_SIGNED;
    if (image->shape->read_normalized) {
        double low = is_signed ? -1 : 0, scale = (double)width_mask(is_signed ? bits - 1 : bits);
        number = number != number ? 0 : number < low ? low : number > 1 ? 1 : number;
        return (uint64_t)(int64_t)round_integral(number * scale, ROUND_NEAREST_EVEN);
    }
    if (!is_signed)
        return value < width_mask(bits) ? value : width_mask(bits);
    int64_t number_signed = (int32_t)value, most = (int64_t)width_mask(bits - 1);
    number_signed = number_signed > most ? most : number_signed < -most - 1 ? -most - 1 : number_signed;
    return (uint64_t)number_signed;
}

static Type reduced_type(const ImageOp *op, const Image *image)
{
    if (!op->formatted || type_class(op->type) != CLASS_BITS)
        return op->type;
    bool is_signed = type_class(image->type) == CLASS_SIGNED, wide = type_bits(op->type) == 64;
    return wide ? is_signed ? TYPE_S64 : TYPE_U64 : is_signed ? TYPE_S32 : TYPE_U32;
}

static void load_lane(Exec *x, const ImageOp *op, unsigned lane, const uint8_t *from)
{
    unsigned bytes = type_bits(op->type) / 8;
    for (unsigned i = 0; i < op->count; i++) {
        uint64_t value = 0;
        if (op->rows[i] == NO_ROW)
            continue;
        if (from)
            memcpy(&value, from + i * bytes, bytes);
        row_set(x->frame->registers + op->rows[i], op->row_bytes[i], lane, value);
    }
}

static void store_lane(Exec *x, const ImageOp *op, unsigned lane, const Image *image, uint8_t *to)
{
    unsigned bytes = op->formatted ? image->channel_bytes : type_bits(op->type) / 8;
    unsigned count = op->formatted && op->count > image->shape->channels ? image->shape->channels : op->count;
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = row_get(source_row(x, op->rows[i]), op->row_bytes[i], lane);
        if (op->formatted)
            value = channel_encode(image, (uint32_t)value);
        if (memcmp(to + i * bytes, &value, bytes) != 0)
            effect_note(x);
        memcpy(to + i * bytes, &value, bytes);
    }
}

static void reduce_lane(Exec *x, const ImageOp *op, unsigned lane, const Image *image, uint8_t *at)
{
    Type type = reduced_type(op, image);
    MemoryOp memory = {.atomic = op->atomic, .type = type, .element_bytes = (uint8_t)(type_bits(type) / 8)};
    uint64_t old = 0, operand = row_get(source_row(x, op->rows[0]), op->row_bytes[0], lane);
    memcpy(&old, at, memory.element_bytes);
    uint64_t value = atomic_value(&memory, old, operand & width_mask(8u * memory.element_bytes), 0, false);
    if (value != old)
        effect_note(x);
    memcpy(at, &value, memory.element_bytes);
}

Step run_surface(Exec *x, const Op *op, uint32_t mask)
{
    const ImageOp *image_op = op->image;
    EmulatorCounters *counters = &x->emulator->result->counters;
    if (!mask)
        return STEP_NEXT;
    AccessMode mode = image_op->kind == IMAGE_LOAD    ? MODE_LOAD
                      : image_op->kind == IMAGE_STORE ? MODE_STORE
                                                      : MODE_ATOMIC;
    *(mode == MODE_LOAD    ? &counters->loads[SPACE_TEX]
      : mode == MODE_STORE ? &counters->stores[SPACE_TEX]
                           : &counters->atomics[SPACE_TEX]) += 1;
    ImageTouches counted = {0}, *touches = x->emulator->options.count_memory ? &counted : NULL;
    EACH_ACTIVE(lane, mask)
    {
        const Image *image = image_find(x, op, lane, row_get(source_row(x, image_op->handle), 8, lane), false);
        SurfacePlace place = {0};
        if (!image)
            return STEP_FAULT;
        unsigned bytes = image_op->count * type_bits(image_op->type) / 8;
        if (image_op->formatted && mode == MODE_STORE)
            bytes = image->texel_bytes;
        if (!surface_place(x, op, lane, image, bytes, &place))
            return STEP_FAULT;
        uint8_t *host = NULL;
        if (place.inside && !(host = image_access(x, op, lane, image, place.offset, bytes, mode)))
            return STEP_FAULT;
        if (place.inside)
            image_touch(touches, 0, lane, image, place.offset, bytes);
        if (mode == MODE_LOAD)
            load_lane(x, image_op, lane, host);
        else if (host && mode == MODE_STORE)
            store_lane(x, image_op, lane, image, host);
        else if (host)
            reduce_lane(x, image_op, lane, image, host);
    }
    if (touches)
        count_image(x, touches, mode);
    return STEP_NEXT;
}
