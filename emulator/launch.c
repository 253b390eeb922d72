/* Reading launch files. */
#include "emulator/emulator.h"
#include "emulator/launch_size.h"
#include "emulator/semantics/semantics.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { DEEPEST = 4 };
#define TEMPLATE_HINT "; 'ptxopt run -template FILE.ptx KERNEL' prints a launch file"

typedef struct Reader {
    Arena *arena;
    const char *path;
    const Source *source;    /* the text, for places; NULL: it cannot be read */
    JsonStep steps[DEEPEST]; /* to the value that is being read */
    unsigned depth;
    bool of_key;             /* the last step's key is wrong, not its value */
    const char *error;       /* the first error; NULL: none */
} Reader;

static void enter(Reader *reader, JsonStep step)
{
    require(reader->depth < DEEPEST);
    reader->steps[reader->depth++] = step;
}

static void leave(Reader *reader)
{
    reader->depth--;
}

static Position place_now(const Reader *reader)
{
    if (!reader->source)
        return (Position){0, 0};
    return json_place(reader->source->text, reader->source->size, reader->steps, reader->depth, reader->of_key);
}

static Position place_of(Reader *reader, const char *key)
{
    enter(reader, (JsonStep){key, 0});
    const Position place = place_now(reader);
    leave(reader);
    return place;
}

/* "FILE:12:5: argument 3: " */
static void print_place(const Reader *reader, Buf *text)
{
    const Position place = place_now(reader);
    buf_puts(text, reader->path);
    if (place.line)
        buf_printf(text, ":%u:%u", place.line, place.column);
    buf_puts(text, ": ");
    if (reader->depth > 1 && reader->steps[0].key && strcmp(reader->steps[0].key, "args") == 0)
        buf_printf(text, "argument %u: ", reader->steps[1].index + 1);
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

/* Reports an error in the member's value. */
static bool member_fail(Reader *reader, const char *key, const char *format, ...) PRINTF_LIKE(3, 4);
static bool member_fail(Reader *reader, const char *key, const char *format, ...)
{
    Buf text = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    enter(reader, (JsonStep){key, 0});
    reader_fail(reader, "%s", buf_text(&text));
    leave(reader);
    buf_free(&text);
    return false;
}

/* "; did you mean \"uniform\"?", or "; there are \"zero\", \"poison\" and \"uniform\"", in the arena. */
static const char *alternatives(Reader *reader, const char *word, const char *const *words, size_t count)
{
    const char *closest = word ? closest_word(word, words, count) : NULL;
    if (closest)
        return arena_printf(reader->arena, "; did you mean \"%s\"?", closest);
    Buf text = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s\"%s\"", !i ? "; expected " : i + 1 < count ? ", " : " or ", words[i]);
    const char *listed = arena_strndup(reader->arena, buf_text(&text), text.length);
    buf_free(&text);
    return listed;
}

/* Reads a word of a list. False, after an error, if the value is none of them. */
static bool read_word(Reader *reader, const json_t *object, const char *key, const char *const *words, size_t count,
                      size_t *index)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    for (*index = 0; text && *index < count; ++*index)
        if (strcmp(text, words[*index]) == 0)
            return true;
    const bool is_type = strcmp(key, "scalar") == 0;
    return text ? member_fail(reader, key, "unknown %s \"%s\"%s", is_type ? "type" : key, text,
                              alternatives(reader, text, words, count))
                : member_fail(reader, key, "\"%s\" is %s%s", key, value ? "not a word" : "missing",
                              alternatives(reader, NULL, words, count));
}

/* Checks that an object has only these members. A "comment" is allowed in any. */
static bool check_members(Reader *reader, json_t *object, const char *what, const char *const *keys, size_t count)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        bool is_known = strcmp(key, "comment") == 0;
        for (size_t i = 0; i < count && !is_known; i++)
            is_known = strcmp(key, keys[i]) == 0;
        if (is_known)
            continue;
        reader->of_key = true;
        return member_fail(reader, key, "%s has no member \"%s\"%s", what, key,
                           alternatives(reader, key, keys, count));
    }
    return true;
}

/* Reads a number, if present. */
static bool read_number(Reader *reader, const json_t *object, const char *key, double otherwise, double *number)
{
    const json_t *value = json_object_get(object, key);
    *number = value ? json_number_value(value) : otherwise;
    return !value || json_is_number(value) || member_fail(reader, key, "\"%s\" is not a number", key);
}

/* Reads a whole number in a range, if present. */
static bool read_integer(Reader *reader, const json_t *object, const char *key, json_int_t least, json_int_t most,
                         uint64_t *number)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return true;
    const json_int_t integer = json_integer_value(value);
    if (!json_is_integer(value) || integer < least || integer > most)
        return member_fail(reader, key, "\"%s\" is not a whole number from %lld to %lld", key, (long long)least,
                           (long long)most);
    *number = (uint64_t)integer;
    return true;
}

static const char *const type_words[] = {"b8",  "b16", "b32", "b64", "u8",  "u16", "u32", "u64",
                                         "s8",  "s16", "s32", "s64", "f16", "bf16", "f32", "f64"};

static unsigned type_bytes(Type type)
{
    return (type_bits(type) + 7) / 8;
}

static const char *copy_text(Reader *reader, const json_t *value)
{
    return arena_strndup(reader->arena, json_string_value(value), json_string_length(value));
}

static bool read_dimensions(Reader *reader, const json_t *root, const char *key, unsigned dims[3])
{
    const json_t *array = json_object_get(root, key);
    for (unsigned i = 0; i < 3; i++)
        dims[i] = 1;
    if (!array)
        return reader_fail(reader, "\"%s\" is missing" TEMPLATE_HINT, key);
    if (!json_is_array(array) || json_array_size(array) > 3 || json_array_size(array) == 0)
        return member_fail(reader, key, "\"%s\" must be an array of one to three numbers", key);
    for (unsigned i = 0; i < json_array_size(array); i++) {
        json_int_t value = json_integer_value(json_array_get(array, i));
        if (value < 1 || value > INT32_MAX)
            return member_fail(reader, key, "the numbers of \"%s\" must be from 1 to 2147483647", key);
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
        return reader_fail(reader, "%s has only %zu of the %llu byte%s that the buffer needs", path, got,
                           (unsigned long long)wanted, plural(wanted));
    argument->bytes = bytes;
    argument->size = wanted;
    return true;
}

/* Reads the parameters of a rule that fills a buffer. */
static bool read_rule(Reader *reader, const json_t *object, LaunchArgument *argument)
{
    const bool counts = argument->fill == FILL_IOTA;
    return read_number(reader, object, "low", 0, &argument->low) &&
           read_number(reader, object, "high", 1, &argument->high) &&
           read_number(reader, object, "step", 1, &argument->step) &&
           (!counts || read_number(reader, object, "start", argument->low, &argument->low)) &&
           read_integer(reader, object, "seed", 0, INT64_MAX, &argument->seed);
}

/* "values", or "init" and its parameters. */
static bool read_contents(Reader *reader, const json_t *object, LaunchArgument *argument)
{
    static const char *const words[] = {"zero", "poison", "uniform", "iota", "file"};
    static const FillKind kinds[] = {FILL_ZERO, FILL_POISON, FILL_UNIFORM, FILL_IOTA, FILL_FILE};
    const json_t *values = json_object_get(object, "values");
    size_t init = 0;
    if (values && !json_is_array(values))
        return member_fail(reader, "values", "\"values\" is not an array");
    if (values) {
        enter(reader, (JsonStep){"values", 0});
        const bool fine = read_values(reader, values, argument);
        leave(reader);
        return fine;
    }
    if (json_object_get(object, "init") && !read_word(reader, object, "init", words, COUNT_OF(words), &init))
        return false;
    argument->fill = kinds[init];
    if (!read_rule(reader, object, argument))
        return false;
    if (argument->fill != FILL_FILE)
        return true;
    const json_t *file = json_object_get(object, "file");
    if (!json_is_string(file))
        return reader_fail(reader, "buffer \"%s\" does not name a \"file\"", argument->name);
    enter(reader, (JsonStep){"file", 0});
    const bool fine = read_file(reader, copy_text(reader, file), argument);
    leave(reader);
    return fine;
}

/* A type of at least 8 bits; 'words' are the suggestions. */
static bool read_type(Reader *reader, const json_t *object, const char *key, const char *const *words, size_t count,
                      Type *type)
{
    const char *text = json_string_value(json_object_get(object, key));
    size_t index;
    *type = text ? type_from_name(text) : TYPE_NONE;
    return type_bits(*type) >= 8 || read_word(reader, object, key, words, count, &index);
}

static bool read_fill(Reader *reader, const json_t *object, LaunchArgument *argument)
{
    if (!read_type(reader, object, "type", type_words, COUNT_OF(type_words), &argument->type) ||
        !read_integer(reader, object, "count", 0, (json_int_t)1 << 31, &argument->count))
        return false;
    if (!json_object_get(object, "count") && !json_object_get(object, "values"))
        return reader_fail(reader, "buffer \"%s\" has no count", argument->name);
    return read_contents(reader, object, argument);
}

static bool read_size(Reader *reader, const json_t *object, const char *key, uint64_t *size)
{
    *size = 1;
    return read_integer(reader, object, key, 1, (json_int_t)1 << 27, size);
}

/* The value of "address", or, with an index, an element of it. */
static bool read_address_mode(Reader *reader, const json_t *value, AddressMode *mode)
{
    static const char *const names[] = {"clamp", "wrap", "mirror", "border"};
    for (unsigned i = 0; json_is_string(value) && i < COUNT_OF(names); i++)
        if (strcmp(json_string_value(value), names[i]) == 0) {
            *mode = (AddressMode)i;
            return true;
        }
    return member_fail(reader, "address", "\"address\" must be clamp, wrap, mirror or border, or an array of these");
}

/* Reads a word that must be 'no', the default, or 'yes'; *chosen is true for 'yes'. */
static bool read_choice(Reader *reader, const json_t *object, const char *key, const char *no, const char *yes,
                        bool *chosen)
{
    const char *const words[] = {no, yes};
    size_t index = 0;
    bool fine = !json_object_get(object, key) || read_word(reader, object, key, words, COUNT_OF(words), &index);
    *chosen = index == 1;
    return fine;
}

static bool read_sampling(Reader *reader, const json_t *object, LaunchImage *image)
{
    const json_t *address = json_object_get(object, "address");
    const json_t *normalized = json_object_get(object, "normalized");
    if (normalized && !json_is_boolean(normalized))
        return member_fail(reader, "normalized", "\"normalized\" must be true or false");
    image->normalized = json_is_true(normalized);
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
    static const char *const words[] = {"u8", "s8", "u16", "s16", "u32", "s32", "f16", "f32"};
    uint64_t channels = 1;
    size_t index;
    if (!read_word(reader, object, "type", words, COUNT_OF(words), &index) ||
        !read_integer(reader, object, "channels", 1, 4, &channels))
        return false;
    argument->type = type_from_name(words[index]);
    image->channels = (unsigned)channels;
    if (channels == 3)
        return member_fail(reader, "channels", "\"%s\" must have 1, 2 or 4 channels", argument->name);
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

static bool read_scalar(Reader *reader, const json_t *object, LaunchArgument *argument)
{
    if (!read_type(reader, object, "scalar", type_words, COUNT_OF(type_words), &argument->type))
        return false;
    json_t *value = json_object_get(object, "value");
    if (!value)
        return reader_fail(reader, "a scalar has no \"value\"");
    /* An array is a structure whose elements have the type. */
    json_t *array = json_is_array(value) ? json_incref(value) : json_pack("[O]", value);
    enter(reader, (JsonStep){"value", 0});
    bool fine = array && read_values(reader, array, argument);
    leave(reader);
    json_decref(array);
    argument->fill = FILL_ZERO;
    return fine;
}

static bool read_pointer(Reader *reader, const json_t *object, LaunchArgument *argument)
{
    return read_integer(reader, object, "offset", INT32_MIN, INT64_MAX, &argument->offset);
}

/* The kinds of arguments, each with the members that it may have besides its name. */
#define CONTENTS "type", "init", "values", "low", "high", "seed", "start", "step", "file"
#define SAMPLING "filter", "address", "normalized", "read", "bind"
#define SHAPE "channels", "width", "height", "depth", "layers", "of", "memory"
enum { MOST_MEMBERS = 24 };
static const struct {
    const char *key;
    ArgumentKind kind;
    bool (*read)(Reader *reader, const json_t *object, LaunchArgument *argument);
    const char *members[MOST_MEMBERS];
} argument_kinds[] = {
    {"buffer", ARGUMENT_BUFFER, read_fill, {"count", CONTENTS}},
    {"pointer", ARGUMENT_POINTER, read_pointer, {"offset"}},
    {"scalar", ARGUMENT_SCALAR, read_scalar, {"value"}},
    {"symbol", ARGUMENT_SYMBOL, read_fill, {"count", CONTENTS}},
    {"texture", ARGUMENT_TEXTURE, read_image, {CONTENTS, SHAPE, SAMPLING}},
    {"surface", ARGUMENT_SURFACE, read_image, {CONTENTS, SHAPE, SAMPLING}},
    {"sampler", ARGUMENT_SAMPLER, read_image, {"memory", SAMPLING}},
};

/* Reports an argument of an unknown kind; a member with a similar name is taken for a misspelling. */
static bool fail_kind(Reader *reader, json_t *object)
{
    const char *words[COUNT_OF(argument_kinds)], *key;
    json_t *value;
    for (size_t i = 0; i < COUNT_OF(argument_kinds); i++)
        words[i] = argument_kinds[i].key;
    json_object_foreach(object, key, value)
        if (closest_word(key, words, COUNT_OF(words)))
            return check_members(reader, object, "an argument", words, COUNT_OF(words));
    return reader_fail(reader, "an argument must be a buffer, pointer, scalar, symbol, texture, surface or sampler");
}

static bool read_argument(Reader *reader, json_t *object, LaunchArgument *argument)
{
    size_t i = 0, count = 0;
    const char *keys[MOST_MEMBERS + 1];
    argument->place = place_now(reader);
    while (i < COUNT_OF(argument_kinds) && !json_object_get(object, argument_kinds[i].key))
        i++;
    if (i == COUNT_OF(argument_kinds))
        return fail_kind(reader, object);
    const char *key = argument_kinds[i].key;
    if (!json_is_string(json_object_get(object, key)))
        return member_fail(reader, key, "\"%s\" is not a text", key);
    keys[count++] = key;
    for (size_t m = 0; m < MOST_MEMBERS && argument_kinds[i].members[m]; m++)
        keys[count++] = argument_kinds[i].members[m];
    argument->kind = argument_kinds[i].kind;
    if (argument->kind != ARGUMENT_SCALAR)
        argument->name = read_name(reader, object, key);
    return check_members(reader, object, arena_printf(reader->arena, "a %s", key), keys, count) &&
           argument_kinds[i].read(reader, object, argument);
}

static bool read_tolerance(Reader *reader, const json_t *root, const char *key, Tolerance *tolerance)
{
    static const char *const keys[] = {"kind", "relative", "absolute"}, *const words[] = {"exact", "close"};
    json_t *object = json_object_get(root, key);
    size_t kind = 0;
    *tolerance = (Tolerance){.kind = TOLERANCE_EXACT};
    if (!object)
        return true;
    if (!json_is_object(object))
        return member_fail(reader, key, "\"%s\" is not an object", key);
    enter(reader, (JsonStep){key, 0});
    bool fine = check_members(reader, object, "a tolerance", keys, COUNT_OF(keys)) &&
                read_word(reader, object, "kind", words, COUNT_OF(words), &kind) &&
                read_number(reader, object, "relative", 0, &tolerance->relative) &&
                read_number(reader, object, "absolute", 0, &tolerance->absolute);
    leave(reader);
    tolerance->kind = kind == 1 ? TOLERANCE_CLOSE : TOLERANCE_EXACT;
    return fine;
}

/* Names of buffers of the launch, "; did you mean ...", for one that is none of them. */
static const char *other_buffers(Reader *reader, const Launch *launch, const char *name)
{
    const char **names = ARENA_ARRAY(reader->arena, const char *, launch->argument_count + 1);
    size_t count = 0;
    for (unsigned k = 0; k < launch->argument_count; k++)
        if (launch->arguments[k].name)
            names[count++] = launch->arguments[k].name;
    return alternatives(reader, name, names, count);
}

static bool read_names(Reader *reader, const json_t *root, const Launch *launch, const char *key, const char ***names,
                       unsigned *count)
{
    const json_t *array = json_object_get(root, key);
    if (array && !json_is_array(array))
        return member_fail(reader, key, "\"%s\" must be an array of buffer names", key);
    *count = (unsigned)json_array_size(array);
    *names = ARENA_ARRAY(reader->arena, const char *, *count);
    enter(reader, (JsonStep){key, 0});
    for (unsigned i = 0; i < *count && !reader->error; i++) {
        const json_t *name = json_array_get(array, i);
        bool found = false;
        (*names)[i] = json_is_string(name) ? copy_text(reader, name) : "";
        for (unsigned k = 0; k < launch->argument_count; k++)
            found |= launch->arguments[k].name && strcmp(launch->arguments[k].name, (*names)[i]) == 0;
        enter(reader, (JsonStep){NULL, i});
        if (!json_is_string(name))
            reader_fail(reader, "\"%s\" must be an array of buffer names", key);
        /* module variables may be ignored too, but are not known here */
        else if (!found && strcmp(key, "check") == 0)
            reader_fail(reader, "\"%s\" names \"%s\", which is not a buffer of the launch%s", key, (*names)[i],
                        other_buffers(reader, launch, (*names)[i]));
        leave(reader);
    }
    leave(reader);
    return !reader->error;
}

static bool read_arguments(Reader *reader, const json_t *root, Launch *launch)
{
    const json_t *arguments = json_object_get(root, "args");
    if (arguments && !json_is_array(arguments))
        return member_fail(reader, "args", "\"args\" must be an array of objects");
    launch->argument_count = (unsigned)json_array_size(arguments);
    launch->arguments = ARENA_ARRAY(reader->arena, LaunchArgument, launch->argument_count);
    enter(reader, (JsonStep){"args", 0});
    bool fine = true;
    for (unsigned i = 0; i < launch->argument_count && fine; i++) {
        enter(reader, (JsonStep){NULL, i});
        fine = read_argument(reader, json_array_get(arguments, i), &launch->arguments[i]);
        leave(reader);
    }
    leave(reader);
    return fine;
}

static void note_places(Reader *reader, const json_t *root, Launch *launch)
{
    launch->path = reader->path;
    launch->places = (LaunchPlaces){.kernel = place_of(reader, "kernel"),
                                    .grid = place_of(reader, "grid"),
                                    .block = place_of(reader, "block"),
                                    .args = place_of(reader, "args")};
    if (json_object_get(root, "cluster"))
        launch->places.cluster = place_of(reader, "cluster");
}

/* With "threads", the grid follows from them; if it is given too, it must agree. */
static bool settle_grid(Reader *reader, const json_t *root, Launch *launch)
{
    const bool is_given = json_object_get(root, "grid") != NULL;
    if (!read_dimensions(reader, root, "threads", launch->threads))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned grid = launch_grid_along(launch, i);
        if (is_given && launch->grid[i] != grid)
            return member_fail(reader, "threads", "%u thread%s along %c are %u block%s of %u, but \"grid\" says %u",
                               launch->threads[i], plural(launch->threads[i]), "xyz"[i], grid, plural(grid),
                               launch->block[i], launch->grid[i]);
        launch->grid[i] = grid;
    }
    return true;
}

static bool read_sizes(Reader *reader, const json_t *root, Launch *launch)
{
    const bool has_threads = json_object_get(root, "threads") != NULL;
    const bool has_grid = !has_threads || json_object_get(root, "grid");
    return (!has_grid || read_dimensions(reader, root, "grid", launch->grid)) &&
           read_dimensions(reader, root, "block", launch->block) &&
           (!has_threads || settle_grid(reader, root, launch));
}

static bool read_shared(Reader *reader, const json_t *root, Launch *launch)
{
    if (!read_integer(reader, root, "dynamic_shared", 0, INT32_MAX, &launch->dynamic_shared) ||
        !read_integer(reader, root, "dynamic_shared_per_thread", 0, INT32_MAX >> 10, &launch->shared_per_thread))
        return false;
    launch->dynamic_shared += launch_shared_of_threads(launch);
    return true;
}

static bool read_launch(Reader *reader, json_t *root, Launch *launch)
{
    static const char *const keys[] = {
        "kernel", "grid",  "block",  "threads",   "cluster",             "dynamic_shared", "dynamic_shared_per_thread",
        "args",   "check", "ignore", "tolerance", "reference_tolerance",
    };
    const json_t *kernel = json_object_get(root, "kernel");
    if (!json_is_object(root))
        return reader_fail(reader, "a launch must be an object" TEMPLATE_HINT);
    if (!check_members(reader, root, "a launch", keys, COUNT_OF(keys)))
        return false;
    if (!json_is_string(kernel))
        return reader_fail(reader, "\"kernel\" is missing" TEMPLATE_HINT);
    launch->kernel = copy_text(reader, kernel);
    note_places(reader, root, launch);
    return read_sizes(reader, root, launch) &&
           (!json_object_get(root, "cluster") || read_dimensions(reader, root, "cluster", launch->cluster)) &&
           read_shared(reader, root, launch) && read_arguments(reader, root, launch) &&
           read_names(reader, root, launch, "check", &launch->check, &launch->check_count) &&
           read_names(reader, root, launch, "ignore", &launch->ignore, &launch->ignore_count) &&
           read_tolerance(reader, root, "tolerance", &launch->tolerance) &&
           read_tolerance(reader, root, "reference_tolerance", &launch->reference_tolerance);
}

Launch *launch_read(Arena *arena, const char *path, const char **error)
{
    const char *problem = NULL;
    Reader reader = {.arena = arena, .path = arena_printf(arena, "%s", path)};
    Launch *launch = ARENA_NEW(arena, Launch);
    reader.source = source_read(arena, path, &problem);
    json_t *root = reader.source ? json_text_read(arena, reader.source, &reader.error) : NULL;
    if (!reader.source)
        reader_fail(&reader, "%s" TEMPLATE_HINT, problem);
    if (root)
        read_launch(&reader, root, launch);
    json_decref(root);
    *error = reader.error;
    return reader.error ? NULL : launch;
}
