/* Images: made from launch arguments, found by handles, and queried. */
#include "emulator/state/state.h"

#define HANDLE_STEP 16

static uint64_t handle_of(size_t index)
{
    return WINDOW_IMAGE + HANDLE_STEP * (index + 1);
}

static uint64_t image_add(Emulator *emulator, Image image)
{
    VEC_PUSH(emulator->arena, emulator->images, image);
    return handle_of(emulator->images.count - 1);
}

uint64_t emulator_image_handle(unsigned index)
{
    return handle_of(index);
}

static uint64_t texel_bytes(const EmulatorImage *given)
{
    return given->shape.channels * (uint64_t)((type_bits(given->type) + 7) / 8);
}

/* The bytes from the first texel to the last. */
static uint64_t image_extent(const EmulatorImage *given)
{
    const LaunchImage *shape = &given->shape;
    uint64_t row = shape->width * texel_bytes(given), rows = shape->height * shape->depth * shape->layers;
    return shape->pitch ? (rows - 1) * shape->pitch + row : rows * row;
}

void images_prepare(Emulator *emulator)
{
    const EmulatorDevice *device = emulator->launch->device;
    for (unsigned i = 0; i < device->image_count; i++) {
        const EmulatorImage *given = &device->images[i];
        Image image = {.name = "no texture or surface"};
        if (given->name) {
            Region *region = ARENA_NEW(emulator->arena, Region);
            *region = (Region){
                .name = given->name, .space = SPACE_GLOBAL, .bytes = given->bytes, .size = image_extent(given)};
            image = (Image){.name = given->name,
                            .shape = &given->shape,
                            .type = given->type,
                            .channel_bytes = type_bits(given->type) / 8,
                            .texel_bytes = (unsigned)texel_bytes(given),
                            .region = region};
            race_prepare(emulator, region);
        }
        image_add(emulator, image);
    }
}

uint64_t image_bytes(const LaunchArgument *argument)
{
    const LaunchImage *shape = argument->image;
    return shape->width * shape->height * shape->depth * shape->layers * shape->channels *
           ((type_bits(argument->type) + 7) / 8);
}

uint64_t image_make(Emulator *emulator, const LaunchArgument *argument, Region *region)
{
    Image image = {.name = argument->name, .shape = argument->image, .type = argument->type, .region = region};
    if (region) {
        image.channel_bytes = type_bits(argument->type) / 8;
        image.texel_bytes = image.channel_bytes * argument->image->channels;
    }
    return image_add(emulator, image);
}

static AddressMode mode_of(const char *word)
{
    static const struct {
        const char *text;
        AddressMode mode;
    } modes[] = {{"wrap", ADDRESS_WRAP},
                 {"mirror", ADDRESS_MIRROR},
                 {"clamp_ogl", ADDRESS_CLAMP},
                 {"clamp_to_edge", ADDRESS_CLAMP},
                 {"clamp_to_border", ADDRESS_BORDER}};
    for (size_t i = 0; word && i < COUNT_OF(modes); i++)
        if (strcmp(word, modes[i].text) == 0)
            return modes[i].mode;
    return ADDRESS_CLAMP;
}

/* The sampling state that a .samplerref's initialiser gives. */
static LaunchImage *sampler_state(Arena *arena, const Variable *variable)
{
    LaunchImage *state = ARENA_NEW(arena, LaunchImage);
    state->normalized = true;
    for (unsigned i = 0; i < variable->init_count; i++) {
        const Init *init = &variable->inits[i];
        if (init->kind != INIT_FIELD)
            continue;
        if (strncmp(init->field, "addr_mode_", 10) == 0 && init->field[10] >= '0' && init->field[10] <= '2')
            state->address[init->field[10] - '0'] = mode_of(init->word);
        else if (strcmp(init->field, "filter_mode") == 0)
            state->linear_filter = init->word && strcmp(init->word, "linear") == 0;
        else if (strcmp(init->field, "force_unnormalized_coords") == 0)
            state->normalized = !init->constant.bits;
    }
    return state;
}

uint64_t image_variable(Emulator *emulator, const Variable *variable)
{
    for (size_t i = 0; i < emulator->images.count; i++) {
        const LaunchImage *shape = emulator->images.data[i].shape;
        if (shape && shape->bind && variable->name && strcmp(shape->bind, variable->name) == 0)
            return handle_of(i);
    }
    Image image = {.name = variable->name};
    if (variable->type == TYPE_SAMPLERREF)
        image.shape = sampler_state(emulator->arena, variable);
    return image_add(emulator, image);
}

const Image *image_find(Exec *x, const Op *op, unsigned lane, uint64_t handle, bool sampler)
{
    const Emulator *emulator = x->emulator;
    uint64_t index = (handle - WINDOW_IMAGE) / HANDLE_STEP - 1;
    if (handle <= WINDOW_IMAGE || handle % HANDLE_STEP || index >= emulator->images.count) {
        fault_at(x, op, lane, FAULT_BOUNDS, "0x%llx is not the handle of a texture, surface or sampler",
                 (unsigned long long)handle);
        return NULL;
    }
    const Image *image = &emulator->images.data[index];
    if (!image->shape || (!image->region && !sampler)) {
        fault_at(x, op, lane, FAULT_BOUNDS, "the launch binds %s to %s", image->shape ? "a sampler" : "nothing",
                 image->name);
        return NULL;
    }
    return image;
}

uint64_t image_offset(const Image *image, uint64_t layer, uint64_t z, uint64_t y, uint64_t byte)
{
    const LaunchImage *shape = image->shape;
    uint64_t pitch = shape->pitch ? shape->pitch : shape->width * image->texel_bytes;
    return ((layer * shape->depth + z) * shape->height + y) * pitch + byte;
}

/* The byte's place in the memory of a GPU, which keeps arrays in tiles of 64 bytes x 8 rows: a sector has 16 bytes of
 * two rows, and a line 32 bytes of four. Pitch-linear pictures, and those whose last tiles are not whole, stay rows. */
static uint64_t tiled_offset(const Image *image, uint64_t offset)
{
    enum { TILE_BYTES = 64, TILE_ROWS = 8 };
    const LaunchImage *shape = image->shape;
    const uint64_t row = shape->width * image->texel_bytes;
    if (shape->pitch || shape->linear_memory || row % TILE_BYTES || shape->height % TILE_ROWS)
        return offset;
    const uint64_t x = offset % row, y = offset / row;
    const uint64_t tile = y / TILE_ROWS * (row / TILE_BYTES) + x / TILE_BYTES;
    return tile * TILE_BYTES * TILE_ROWS + (x / 32 % 2 << 8 | y / 2 % 4 << 6 | x / 16 % 2 << 5 | y % 2 << 4 | x % 16);
}

void image_touch(ImageTouches *touches, unsigned corner, unsigned lane, const Image *image, uint64_t offset,
                 unsigned bytes)
{
    if (!touches)
        return;
    touches->bytes = bytes > touches->bytes ? bytes : touches->bytes;
    touches->lanes[corner] |= 1u << lane;
    touches->at[corner].address[lane] = image->region->base + tiled_offset(image, offset);
    touches->at[corner].region[lane] = image->region;
}

uint8_t *image_access(Exec *x, const Op *op, unsigned lane, const Image *image, uint64_t offset, unsigned bytes,
                      AccessMode mode)
{
    EmulatorCounters *counters = &x->emulator->result->counters;
    Region *region = image->region;
    if (mode == MODE_LOAD)
        counters->load_bytes[SPACE_TEX] += bytes;
    else if (mode == MODE_STORE)
        counters->store_bytes[SPACE_TEX] += bytes;
    if (x->emulator->tracks_memory) {
        Translation at;
        at.address[lane] = region->base + offset;
        at.host[lane] = region->bytes + offset;
        at.region[lane] = region;
        at.written[lane] = region->written ? region->written + offset : NULL;
        if (!track_access(x, op, 1u << lane, bytes, mode, NULL, &at, NULL, 0))
            return NULL;
    }
    return region->bytes + offset;
}

int64_t channel_bits(const Image *image, const uint8_t *from)
{
    uint64_t bits = 0;
    memcpy(&bits, from, image->channel_bytes);
    return type_class(image->type) == CLASS_SIGNED ? sign_extend(bits, 8 * image->channel_bytes) : (int64_t)bits;
}

double channel_unit(Type type, int64_t value)
{
    unsigned bits = type_bits(type);
    if (type_class(type) != CLASS_SIGNED)
        return (double)value / (double)width_mask(bits);
    double unit = (double)value / (double)width_mask(bits - 1);
    return unit < -1 ? -1 : unit;
}

