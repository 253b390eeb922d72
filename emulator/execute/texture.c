/* tex and tld4: PTX ISA, "Texture Instructions"; sampling as in the CUDA C++ programming guide, appendix "Texture
 * Fetching".
 *
 * A texture has one mipmap level, so that .level and .grad choose that one. Integer coordinates, and all coordinates
 * of linear memory, count texels and are not filtered. Weights of the linear filter have 8 fractional bits, rounded to
 * nearest; the weighted sum is exact up to a double and rounded once. Channels that a texture does not have are 0, the
 * fourth 1. */
#include "emulator/execute/execute.h"

#include <math.h>

/* One coordinate's texels: 'first', and with the linear filter the next one by 'weight' 256ths. */
typedef struct Axis {
    int64_t first;
    unsigned weight;
    int64_t size;
    AddressMode mode;
} Axis;

#define OUTSIDE INT64_MIN

static double fraction_of(double value)
{
    return value - floor(value);
}

/* A coordinate in texels; wrap and mirror go by the whole texture, so they need normalized coordinates. */
static double texel_position(double coordinate, const LaunchImage *sampler, AddressMode *mode, int64_t size)
{
    if (!(fabs(coordinate) <= 0x1p30))
        coordinate = coordinate > 0 ? 0x1p30 : coordinate < 0 ? -0x1p30 : 0;
    if (!sampler->normalized) {
        if (*mode == ADDRESS_WRAP || *mode == ADDRESS_MIRROR)
            *mode = ADDRESS_CLAMP;
        return coordinate;
    }
    if (*mode == ADDRESS_WRAP)
        coordinate = fraction_of(coordinate);
    else if (*mode == ADDRESS_MIRROR)
        coordinate = fraction_of(floor(coordinate) * 0.5) > 0 ? 1 - fraction_of(coordinate) : fraction_of(coordinate);
    return coordinate * (double)size;
}

static Axis axis_place(double coordinate, bool whole, const LaunchImage *sampler, unsigned axis, int64_t size,
                       bool linear, int64_t offset)
{
    Axis place = {.size = size, .mode = sampler->address[axis]};
    if (whole) {
        place.first = (int64_t)coordinate + offset;
        if (place.mode != ADDRESS_BORDER)
            place.mode = ADDRESS_CLAMP;
        return place;
    }
    double position = texel_position(coordinate, sampler, &place.mode, size) - (linear ? 0.5 : 0);
    place.first = (int64_t)floor(position) + offset;
    if (linear)
        place.weight = (unsigned)floor(fraction_of(position) * 256 + 0.5);
    return place;
}

static int64_t axis_texel(const Axis *axis, unsigned next)
{
    int64_t index = axis->first + next, size = axis->size;
    switch (axis->mode) {
    case ADDRESS_WRAP: index %= size; return index < 0 ? index + size : index;
    case ADDRESS_MIRROR:
        index %= 2 * size;
        index = index < 0 ? index + 2 * size : index;
        return index < size ? index : 2 * size - 1 - index;
    case ADDRESS_BORDER: return index < 0 || index >= size ? OUTSIDE : index;
    default: return index < 0 ? 0 : index >= size ? size - 1 : index;
    }
}

typedef struct Fetch {
    Exec *x;
    const Op *op;
    unsigned lane;
    const Image *image;
    uint64_t layer;
    Axis axes[3];
    bool linear;
    ImageTouches *touches; /* NULL: nothing is counted */
} Fetch;

/* A texel's channels as they are in memory; zeros outside. 'corner': bit i takes the next texel along axis i. */
static bool fetch_texel(const Fetch *fetch, unsigned corner, int64_t bits[IMAGE_CHANNELS])
{
    const Image *image = fetch->image;
    int64_t at[3];
    memset(bits, 0, IMAGE_CHANNELS * sizeof *bits);
    for (unsigned i = 0; i < 3; i++)
        if ((at[i] = axis_texel(&fetch->axes[i], corner >> i & 1)) == OUTSIDE)
            return true;
    uint64_t offset = image_offset(image, fetch->layer, (uint64_t)at[2], (uint64_t)at[1],
                                   (uint64_t)at[0] * image->texel_bytes);
    const uint8_t *from =
        image_access(fetch->x, fetch->op, fetch->lane, image, offset, image->texel_bytes, MODE_LOAD);
    if (from)
        image_touch(fetch->touches, corner, fetch->lane, image, offset, image->texel_bytes);
    for (unsigned i = 0; from && i < image->shape->channels; i++)
        bits[i] = channel_bits(image, from + i * image->channel_bytes);
    return from != NULL;
}

static double channel_value(const Image *image, int64_t bits)
{
    switch (image->type) {
    case TYPE_F32: return float_from_bits((uint32_t)bits);
    case TYPE_F16: return format_decode(&FORMAT_F16, (uint32_t)bits);
    default: return image->shape->read_normalized ? channel_unit(image->type, bits) : (double)bits;
    }
}

static uint32_t encode(Type type, double value)
{
    bool half = type == TYPE_F16 || type == TYPE_F16X2;
    return format_encode(half ? &FORMAT_F16 : &FORMAT_F32, value, ROUND_NEAREST_EVEN, false);
}

/* An unfiltered channel in the type of the result: numbers only if the texture holds them. */
static uint32_t channel_result(const Image *image, Type type, int64_t bits)
{
    bool half = type == TYPE_F16 || type == TYPE_F16X2;
    if (image->type == TYPE_F32 && !half)
        return (uint32_t)bits;
    if (type_class(image->type) == CLASS_FLOAT || image->shape->read_normalized)
        return encode(half ? type : TYPE_F32, channel_value(image, bits));
    return (uint32_t)bits;
}

static bool is_filtered(const Image *image, const LaunchImage *sampler)
{
    return sampler->linear_filter && !image->shape->linear_memory &&
           (type_class(image->type) == CLASS_FLOAT || image->shape->read_normalized);
}

static bool filtered(const Fetch *fetch, Type type, unsigned rank, uint32_t result[IMAGE_CHANNELS])
{
    double sums[IMAGE_CHANNELS] = {0};
    unsigned channels = fetch->image->shape->channels;
    for (unsigned corner = 0; corner < 1u << rank; corner++) {
        int64_t bits[IMAGE_CHANNELS];
        double weight = 1;
        for (unsigned i = 0; i < rank; i++)
            weight *= (corner >> i & 1 ? fetch->axes[i].weight : 256 - fetch->axes[i].weight) / 256.0;
        /* A texel without weight is not read, so that its infinity does not make a NaN. */
        if (weight == 0)
            continue;
        if (!fetch_texel(fetch, corner, bits))
            return false;
        for (unsigned i = 0; i < channels; i++)
            sums[i] += weight * channel_value(fetch->image, bits[i]);
    }
    for (unsigned i = 0; i < channels; i++)
        result[i] = encode(type == TYPE_F16 || type == TYPE_F16X2 ? type : TYPE_F32, sums[i]);
    return true;
}

/* The face of a cube that a direction meets, and the point on it: CUDA C++ programming guide, "Cubemap Textures". */
static unsigned cube_face(double direction[3])
{
    double x = direction[0], y = direction[1], z = direction[2], m, s, t;
    unsigned face;
    if (fabs(x) >= fabs(y) && fabs(x) >= fabs(z)) {
        face = x < 0;
        m = fabs(x);
        s = x < 0 ? z : -z;
        t = -y;
    } else if (fabs(y) >= fabs(z)) {
        face = 2 + (y < 0);
        m = fabs(y);
        s = x;
        t = y < 0 ? -z : z;
    } else {
        face = 4 + (z < 0);
        m = fabs(z);
        s = z < 0 ? -x : x;
        t = -y;
    }
    direction[0] = (s / m + 1) / 2;
    direction[1] = (t / m + 1) / 2;
    return face;
}

static bool fetch_begin(Fetch *fetch, const ImageOp *op)
{
    Exec *x = fetch->x;
    unsigned lane = fetch->lane;
    fetch->image = image_find(x, fetch->op, lane, row_get(source_row(x, op->handle), 8, lane), false);
    if (!fetch->image)
        return false;
    const LaunchImage *shape = fetch->image->shape, *sampler = shape;
    if (op->sampler != NO_ROW) {
        const Image *other = image_find(x, fetch->op, lane, row_get(source_row(x, op->sampler), 8, lane), true);
        if (!other)
            return false;
        sampler = other->shape;
    }
    LaunchImage state = *sampler;
    bool whole = op->whole || shape->linear_memory;
    double coordinates[3] = {0};
    for (unsigned i = 0; i < op->rank; i++) {
        uint32_t bits = (uint32_t)row_get(source_row(x, op->coordinates[i]), 4, lane);
        coordinates[i] = op->whole ? (double)(int32_t)bits : float_from_bits(bits);
    }
    if (whole && !op->whole) {
        double position = floor(coordinates[0]);
        coordinates[0] = fabs(position) <= 0x1p40 ? position : position > 0 ? 0x1p40 : -1;
    }
    if (shape->linear_memory)
        state.address[0] = ADDRESS_BORDER;
    unsigned face = 0;
    if (op->cube) {
        face = cube_face(coordinates);
        state.normalized = true;
        state.address[0] = state.address[1] = ADDRESS_CLAMP;
    }
    int64_t sizes[3] = {(int64_t)shape->width, (int64_t)shape->height, (int64_t)shape->depth};
    fetch->linear = !whole && (op->kind == IMAGE_GATHER || is_filtered(fetch->image, sampler));
    unsigned rank = op->cube ? 2 : op->rank;
    for (unsigned i = 0; i < 3; i++) {
        int64_t offset = 0;
        if (op->offsets[i] != NO_ROW)
            offset = (int32_t)row_get(source_row(x, op->offsets[i]), 4, lane);
        /* Along axes that the instruction does not name there is one texel to take. */
        fetch->axes[i] = i < rank ? axis_place(coordinates[i], whole, &state, i, sizes[i], fetch->linear, offset)
                                  : (Axis){.size = sizes[i], .mode = ADDRESS_CLAMP};
    }
    uint64_t faces = op->cube ? 6 : 1, layers = shape->layers / faces;
    if (!layers) {
        fault_at(x, fetch->op, lane, FAULT_BOUNDS, "%s is not a cube map", fetch->image->name);
        return false;
    }
    int64_t layer = op->layered ? (int32_t)row_get(source_row(x, op->layer), 4, lane) : 0;
    layer = layer < 0 ? 0 : (uint64_t)layer >= layers ? (int64_t)layers - 1 : layer;
    fetch->layer = (uint64_t)layer * faces + face;
    return true;
}

/* Four texels' channel, counter-clockwise from the lower left, y growing downwards. */
static bool gather(const Fetch *fetch, const ImageOp *op, uint32_t result[IMAGE_CHANNELS])
{
    static const unsigned corners[] = {2, 3, 1, 0};
    for (unsigned i = 0; i < 4; i++) {
        int64_t bits[IMAGE_CHANNELS];
        if (!fetch_texel(fetch, corners[i], bits))
            return false;
        result[i] = channel_result(fetch->image, op->type, bits[op->channel]);
    }
    return true;
}

static bool fetch_lane(Fetch *fetch, const ImageOp *op, uint32_t result[IMAGE_CHANNELS])
{
    if (!fetch_begin(fetch, op))
        return false;
    if (op->kind == IMAGE_GATHER)
        return gather(fetch, op, result);
    bool numbers = type_class(fetch->image->type) == CLASS_FLOAT || fetch->image->shape->read_normalized;
    for (unsigned i = 0; i < IMAGE_CHANNELS; i++)
        result[i] = i < 3 ? 0 : numbers ? encode(op->type == TYPE_F16X2 ? TYPE_F16 : op->type, 1) : 1;
    if (fetch->linear)
        return filtered(fetch, op->type, op->cube ? 2 : op->rank, result);
    int64_t bits[IMAGE_CHANNELS];
    if (!fetch_texel(fetch, 0, bits))
        return false;
    for (unsigned i = 0; i < fetch->image->shape->channels; i++)
        result[i] = channel_result(fetch->image, op->type, bits[i]);
    return true;
}

Step run_texture(Exec *x, const Op *op, uint32_t mask)
{
    const ImageOp *image_op = op->image;
    if (!mask)
        return STEP_NEXT;
    x->emulator->result->counters.loads[SPACE_TEX]++;
    ImageTouches counted = {0}, *touches = x->emulator->options.count_memory ? &counted : NULL;
    EACH_ACTIVE(lane, mask)
    {
        Fetch fetch = {.x = x, .op = op, .lane = lane, .touches = touches};
        uint32_t result[IMAGE_CHANNELS];
        if (!fetch_lane(&fetch, image_op, result))
            return STEP_FAULT;
        if (image_op->type == TYPE_F16X2) {
            result[0] = result[0] | result[1] << 16;
            result[1] = result[2] | result[3] << 16;
        }
        for (unsigned i = 0; i < image_op->count; i++)
            if (image_op->rows[i] != NO_ROW)
                row_set(x->frame->registers + image_op->rows[i], image_op->row_bytes[i], lane, result[i]);
        if (image_op->resident != NO_ROW)
            row_set(x->frame->registers + image_op->resident, 0, lane, 1);
    }
    if (touches)
        count_image(x, touches, MODE_LOAD);
    return STEP_NEXT;
}
