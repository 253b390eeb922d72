/* Reading launch files. */
#include "emulator/emulator.h"
#include "emulator/launch_place.h"
#include "emulator/semantics/semantics.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

typedef struct Reader {
    Arena *arena;
    const char *path;
    const char *key;   /* of the outermost object, whose value is being read; NULL: none */
    int index;         /* of its element; -1: none */
    const char *error; /* the first error; NULL: none */
} Reader;

/* "FILE:12: argument 3: " */
static void print_place(const Reader *reader, Buf *text)
{
    Arena *scratch = arena_new();
    const char *problem;
    Source *source = reader->key ? source_read(scratch, reader->path, &problem) : NULL;
    unsigned line = source ? launch_line(source->text, source->size, reader->key, reader->index) : 0;
    buf_puts(text, reader->path);
    if (line)
        buf_printf(text, ":%u", line);
    buf_puts(text, ": ");
    if (reader->key && reader->index >= 0 && strcmp(reader->key, "args") == 0)
        buf_printf(text, "argument %d: ", reader->index + 1);
    arena_free(scratch);
}

static bool reader_fail(Reader *reader, const char *format, ...) PRINTF_LIKE(2, 3);
static bool reader_fail(Reader *reader, const char *format, ...)
{
    if (reader->error)
        return false;
    Buf text = {0};
    va_list arguments;
    print_place(reader, &text);
    va_start(arguments, format);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    reader->error = arena_strndup(reader->arena, buf_text(&text), text.length);
    buf_free(&text);
    return false;
}

static unsigned type_bytes(Type type)
{
    return (type_bits(type) + 7) / 8;
}

static const char *copy_text(Reader *reader, const json_t *value)
{
    return arena_strndup(reader->arena, json_string_value(value), json_string_length(value));
}

static double number_of(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static bool read_dimensions(Reader *reader, const json_t *root, const char *key, unsigned dims[3])
{
    const json_t *array = json_object_get(root, key);
    reader->key = key;
    for (unsigned i = 0; i < 3; i++)
        dims[i] = 1;
    if (!json_is_array(array) || json_array_size(array) > 3 || json_array_size(array) == 0)
        return reader_fail(reader, "\"%s\" must be an array of one to three numbers", key);
    for (unsigned i = 0; i < json_array_size(array); i++) {
        json_int_t value = json_integer_value(json_array_get(array, i));
        if (value < 1 || value > INT32_MAX)
            return reader_fail(reader, "the numbers of \"%s\" must be from 1 to 2147483647", key);
        dims[i] = (unsigned)value;
    }
    return true;
}

/* The bits in the type of a JSON number, or of a string such as "0x7f800000". */
static bool read_element(Reader *reader, const json_t *value, Type type, uint64_t *bits)
{
    if (json_is_string(value)) {
        char *end;
        *bits = strtoull(json_string_value(value), &end, 0);
        return *end == 0 || reader_fail(reader, "\"%s\" is not a number", json_string_value(value));
    }
    if (json_is_boolean(value)) {
        *bits = json_is_true(value);
        return true;
    }
    if (!json_is_number(value))
        return reader_fail(reader, "a value is not a number");
    if (type_class(type) != CLASS_FLOAT) {
        double real = json_number_value(value);
        if (json_is_integer(value))
            *bits = (uint64_t)json_integer_value(value);
        else if (real >= -0x1p63 && real < 0x1p64)
            *bits = real < 0 ? (uint64_t)(int64_t)real : (uint64_t)real;
        else
            return reader_fail(reader, "%g does not fit in 64 bits", real);
        return true;
    }
    double number = json_number_value(value);
    switch (type) {
    case TYPE_F64: *bits = double_bits(number); return true;
    case TYPE_F16: *bits = format_encode(&FORMAT_F16, number, ROUND_NEAREST_EVEN, false); return true;
    case TYPE_BF16: *bits = format_encode(&FORMAT_BF16, number, ROUND_NEAREST_EVEN, false); return true;
    default: *bits = float_bits((float)number); return true;
    }
}

static bool read_values(Reader *reader, const json_t *array, LaunchArgument *argument)
{
    unsigned size = type_bytes(argument->type);
    size_t count = json_array_size(array);
    uint8_t *bytes = arena_array(reader->arena, count, size);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        if (!read_element(reader, json_array_get(array, i), argument->type, &bits))
            return false;
        memcpy(bytes + i * size, &bits, size < 8 ? size : 8);
    }
    if (!argument->count)
        argument->count = count;
    argument->bytes = bytes;
    argument->size = count * size;
    argument->fill = FILL_BYTES;
    return true;
}

static bool read_file(Reader *reader, const char *name, LaunchArgument *argument)
{
    const char *slash = strrchr(reader->path, '/');
    const char *path = name;
    if (slash && name[0] != '/')
        path = arena_printf(reader->arena, "%.*s/%s", (int)(slash - reader->path), reader->path, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return reader_fail(reader, "cannot open %s", path);
    uint64_t wanted = argument->count * type_bytes(argument->type);
    uint8_t *bytes = arena_alloc(reader->arena, (size_t)wanted);
    size_t got = fread(bytes, 1, (size_t)wanted, file);
    fclose(file);
    if (got != wanted)
        return reader_fail(reader, "%s has only %zu of the %llu bytes that the buffer needs", path, got,
                           (unsigned long long)wanted);
    argument->bytes = bytes;
    argument->size = wanted;
    return true;
}

/* "values", or "init" and its parameters. */
static bool read_contents(Reader *reader, const json_t *object, LaunchArgument *argument)
{
    static const struct {
        const char *text;
        FillKind kind;
    } fills[] = {{"zero", FILL_ZERO},
                 {"poison", FILL_POISON},
                 {"uniform", FILL_UNIFORM},
                 {"iota", FILL_IOTA},
                 {"file", FILL_FILE}};
    const json_t *values = json_object_get(object, "values");
    if (json_is_array(values))
        return read_values(reader, values, argument);
    const json_t *init = json_object_get(object, "init");
    const char *text = json_is_string(init) ? json_string_value(init) : "zero";
    size_t i = 0;
    while (i < COUNT_OF(fills) && strcmp(text, fills[i].text) != 0)
        i++;
    if (i == COUNT_OF(fills))
        return reader_fail(reader, "buffer \"%s\" has an unknown init \"%s\"", argument->name, text);
    argument->fill = fills[i].kind;
    argument->low = number_of(object, "low", 0);
    argument->high = number_of(object, "high", 1);
    argument->step = number_of(object, "step", 1);
    if (argument->fill == FILL_IOTA)
        argument->low = number_of(object, "start", argument->low);
    argument->seed = (uint64_t)json_integer_value(json_object_get(object, "seed"));
    if (argument->fill == FILL_FILE) {
        const json_t *file = json_object_get(object, "file");
        if (!json_is_string(file))
            return reader_fail(reader, "buffer \"%s\" does not name a file", argument->name);
        return read_file(reader, copy_text(reader, file), argument);
    }
    return true;
}

static bool read_fill(Reader *reader, const json_t *object, LaunchArgument *argument)
{
    const json_t *type = json_object_get(object, "type"), *count = json_object_get(object, "count");
    argument->type = json_is_string(type) ? type_from_name(json_string_value(type)) : TYPE_NONE;
    if (type_bits(argument->type) < 8)
        return reader_fail(reader, "buffer \"%s\" has an unknown type or none", argument->name);
    if (count &&
        (!json_is_integer(count) || json_integer_value(count) < 0 || json_integer_value(count) > (json_int_t)1 << 31))
        return reader_fail(reader, "buffer \"%s\" has an invalid count", argument->name);
    argument->count = (uint64_t)json_integer_value(count);
    if (!count && !json_is_array(json_object_get(object, "values")))
        return reader_fail(reader, "buffer \"%s\" has no count", argument->name);
    return read_contents(reader, object, argument);
}

static bool read_size(Reader *reader, const json_t *object, const char *key, uint64_t *size)
{
    const json_t *value = json_object_get(object, key);
    *size = value ? (uint64_t)json_integer_value(value) : 1;
    return (*size >= 1 && *size <= UINT64_C(1) << 27) || reader_fail(reader, "\"%s\" is out of range", key);
}

static bool read_address_mode(Reader *reader, const json_t *value, AddressMode *mode)
{
    static const char *const names[] = {"clamp", "wrap", "mirror", "border"};
    for (unsigned i = 0; json_is_string(value) && i < COUNT_OF(names); i++)
        if (strcmp(json_string_value(value), names[i]) == 0) {
            *mode = (AddressMode)i;
            return true;
        }
    return reader_fail(reader, "\"address\" must be clamp, wrap, mirror or border, or an array of these");
}

/* A word that must be 'no' or 'yes'; *chosen is true for 'yes'. */
static bool read_choice(Reader *reader, const json_t *object, const char *key, const char *no, const char *yes,
                        bool *chosen)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_is_string(value) ? json_string_value(value) : value ? "" : no;
    *chosen = strcmp(text, yes) == 0;
    return *chosen || strcmp(text, no) == 0 || reader_fail(reader, "\"%s\" must be \"%s\" or \"%s\"", key, no, yes);
}

static bool read_sampling(Reader *reader, const json_t *object, LaunchImage *image)
{
    const json_t *address = json_object_get(object, "address");
    image->normalized = json_is_true(json_object_get(object, "normalized"));
    for (unsigned i = 0; address && i < COUNT_OF(image->address); i++) {
        const json_t *mode = json_is_array(address) ? json_array_get(address, i) : address;
        if ((mode || i == 0) && !read_address_mode(reader, mode, &image->address[i]))
            return false;
    }
    return read_choice(reader, object, "filter", "point", "linear", &image->linear_filter) &&
           read_choice(reader, object, "read", "element", "normalized", &image->read_normalized) &&
           read_choice(reader, object, "memory", "array", "linear", &image->linear_memory);
}

static bool read_shape(Reader *reader, const json_t *object, LaunchArgument *argument, LaunchImage *image)
{
    static const Type types[] = {TYPE_U8, TYPE_S8, TYPE_U16, TYPE_S16, TYPE_U32, TYPE_S32, TYPE_F16, TYPE_F32};
    const json_t *type = json_object_get(object, "type"), *channels = json_object_get(object, "channels");
    argument->type = json_is_string(type) ? type_from_name(json_string_value(type)) : TYPE_NONE;
    size_t known = 0;
    while (known < COUNT_OF(types) && types[known] != argument->type)
        known++;
    if (known == COUNT_OF(types))
        return reader_fail(reader, "the channels of \"%s\" have an unknown type or none", argument->name);
    image->channels = channels ? (unsigned)json_integer_value(channels) : 1;
    if (image->channels != 1 && image->channels != 2 && image->channels != 4)
        return reader_fail(reader, "\"%s\" must have 1, 2 or 4 channels", argument->name);
    if (!read_size(reader, object, "width", &image->width) || !read_size(reader, object, "height", &image->height) ||
        !read_size(reader, object, "depth", &image->depth) || !read_size(reader, object, "layers", &image->layers))
        return false;
    const uint64_t sizes[] = {image->height, image->depth, image->layers, image->channels};
    argument->count = image->width;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        if (argument->count > (UINT64_C(1) << 31) / sizes[i])
            return reader_fail(reader, "\"%s\" is too large", argument->name);
        else
            argument->count *= sizes[i];
    return true;
}

static const char *read_name(Reader *reader, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? copy_text(reader, value) : NULL;
}

static bool read_image(Reader *reader, const json_t *object, LaunchArgument *argument)
{
    LaunchImage *image = ARENA_NEW(reader->arena, LaunchImage);
    argument->image = image;
    image->of = read_name(reader, object, "of");
    image->bind = read_name(reader, object, "bind");
    if (!read_sampling(reader, object, image))
        return false;
    if (argument->kind == ARGUMENT_SAMPLER)
        return true;
    if (!read_shape(reader, object, argument, image))
        return false;
    uint64_t count = argument->count;
    if (image->of)
        return true;
    if (!read_contents(reader, object, argument))
        return false;
    return argument->size / type_bytes(argument->type) <= count || argument->fill != FILL_BYTES ||
           reader_fail(reader, "\"%s\" has more values than texels", argument->name);
}

static bool read_argument(Reader *reader, const json_t *object, LaunchArgument *argument)
{
    const json_t *buffer = json_object_get(object, "buffer"), *pointer = json_object_get(object, "pointer");
    const json_t *symbol = json_object_get(object, "symbol"), *scalar = json_object_get(object, "scalar");
    if (json_is_string(buffer) || json_is_string(symbol)) {
        argument->kind = buffer ? ARGUMENT_BUFFER : ARGUMENT_SYMBOL;
        argument->name = copy_text(reader, buffer ? buffer : symbol);
        return read_fill(reader, object, argument);
    }
    static const struct {
        const char *key;
        ArgumentKind kind;
    } images[] = {{"texture", ARGUMENT_TEXTURE}, {"surface", ARGUMENT_SURFACE}, {"sampler", ARGUMENT_SAMPLER}};
    for (size_t i = 0; i < COUNT_OF(images); i++)
        if (json_is_string(json_object_get(object, images[i].key))) {
            argument->kind = images[i].kind;
            argument->name = read_name(reader, object, images[i].key);
            return read_image(reader, object, argument);
        }
    if (json_is_string(pointer)) {
        argument->kind = ARGUMENT_POINTER;
        argument->name = copy_text(reader, pointer);
        argument->offset = (uint64_t)json_integer_value(json_object_get(object, "offset"));
        return true;
    }
    if (!json_is_string(scalar))
        return reader_fail(reader,
                           "an argument must be a buffer, pointer, scalar, symbol, texture, surface or sampler");
    argument->kind = ARGUMENT_SCALAR;
    argument->type = type_from_name(json_string_value(scalar));
    if (type_bits(argument->type) < 8)
        return reader_fail(reader, "unknown type \"%s\"", json_string_value(scalar));
    /* An array is a structure whose elements have the type. */
    json_t *value = json_object_get(object, "value");
    json_t *array = json_is_array(value) ? json_incref(value) : json_pack("[O]", value ? value : json_null());
    bool fine = array && read_values(reader, array, argument);
    json_decref(array);
    argument->fill = FILL_ZERO;
    return fine || reader_fail(reader, "a scalar has no value");
}

static bool read_tolerance(Reader *reader, const json_t *root, const char *key, Tolerance *tolerance)
{
    const json_t *object = json_object_get(root, key);
    reader->key = key;
    *tolerance = (Tolerance){TOLERANCE_EXACT, 0, 0};
    if (!object)
        return true;
    const char *kind = json_string_value(json_object_get(object, "kind"));
    if (kind && strcmp(kind, "close") == 0) {
        tolerance->kind = TOLERANCE_CLOSE;
        tolerance->relative = number_of(object, "relative", 0);
        tolerance->absolute = number_of(object, "absolute", 0);
        return true;
    }
    return (kind && strcmp(kind, "exact") == 0) || reader_fail(reader, "a tolerance must be exact or close");
}

static bool read_names(Reader *reader, const json_t *root, const Launch *launch, const char *key, const char ***names,
                       unsigned *count)
{
    const json_t *array = json_object_get(root, key);
    reader->key = key;
    if (array && !json_is_array(array))
        return reader_fail(reader, "\"%s\" must be an array of buffer names", key);
    *count = (unsigned)json_array_size(array);
    *names = ARENA_ARRAY(reader->arena, const char *, *count);
    for (unsigned i = 0; i < *count; i++) {
        const json_t *name = json_array_get(array, i);
        if (!json_is_string(name))
            return reader_fail(reader, "\"%s\" must be an array of buffer names", key);
        (*names)[i] = copy_text(reader, name);
        bool found = false;
        for (unsigned k = 0; k < launch->argument_count; k++)
            found |= launch->arguments[k].name && strcmp(launch->arguments[k].name, (*names)[i]) == 0;
        /* Module variables may be ignored, too, but are not known here. */
        if (!found && strcmp(key, "check") == 0)
            return reader_fail(reader, "\"%s\" names \"%s\", which is not a buffer of the launch", key, (*names)[i]);
    }
    return true;
}

static bool read_launch(Reader *reader, const json_t *root, Launch *launch)
{
    const json_t *kernel = json_object_get(root, "kernel"), *arguments = json_object_get(root, "args");
    if (!json_is_string(kernel))
        return reader_fail(reader, "\"kernel\" is missing");
    launch->kernel = copy_text(reader, kernel);
    if (!read_dimensions(reader, root, "grid", launch->grid) || !read_dimensions(reader, root, "block", launch->block))
        return false;
    if (json_object_get(root, "cluster") && !read_dimensions(reader, root, "cluster", launch->cluster))
        return false;
    reader->key = "dynamic_shared";
    json_int_t dynamic = json_integer_value(json_object_get(root, "dynamic_shared"));
    if (dynamic < 0 || dynamic > INT32_MAX)
        return reader_fail(reader, "\"dynamic_shared\" is not a valid number of bytes");
    launch->dynamic_shared = (uint64_t)dynamic;
    launch->argument_count = (unsigned)json_array_size(arguments);
    launch->arguments = ARENA_ARRAY(reader->arena, LaunchArgument, launch->argument_count);
    reader->key = "args";
    for (unsigned i = 0; i < launch->argument_count; i++) {
        reader->index = (int)i;
        if (!read_argument(reader, json_array_get(arguments, i), &launch->arguments[i]))
            return false;
    }
    reader->index = -1;
    return read_names(reader, root, launch, "check", &launch->check, &launch->check_count) &&
           read_names(reader, root, launch, "ignore", &launch->ignore, &launch->ignore_count) &&
           read_tolerance(reader, root, "tolerance", &launch->tolerance) &&
           read_tolerance(reader, root, "reference_tolerance", &launch->reference_tolerance);
}

Launch *launch_read(Arena *arena, const char *path, const char **error)
{
    Reader reader = {.arena = arena, .path = path, .index = -1};
    json_t *root = json_file_read(arena, path, &reader.error);
    Launch *launch = ARENA_NEW(arena, Launch);
    if (root)
        read_launch(&reader, root, launch);
    json_decref(root);
    *error = reader.error;
    return reader.error ? NULL : launch;
}

Launch *launch_changed(Arena *arena, const Launch *launch, const LaunchChange *change)
{
    const LaunchChange none = {0};
    Launch *changed = ARENA_NEW(arena, Launch);
    *changed = *launch;
    change = change ? change : &none;
    for (unsigned i = 0; i < 3; i++) {
        unsigned block = launch->block[i] ? launch->block[i] : 1, grid = launch->grid[i] ? launch->grid[i] : 1;
        changed->block[i] = (unsigned)divide_up(block, change->block[i] ? change->block[i] : 1);
        changed->grid[i] = (unsigned)divide_up(grid, change->grid[i] ? change->grid[i] : 1);
    }
    changed->dynamic_shared = launch_change_shared(change, launch->dynamic_shared);
    return changed;
}
