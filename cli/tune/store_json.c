/* Files of "ptxopt tune -export", in the format of Kernel Tuner's caches (version 1.0.0 of its schema): one kernel in
 * one launch, whose only parameter is the form. Its keys are numbers, so the forms are numbered, and the member
 * "ptxopt" says what they are, and what the format has no place for. A block that a kernel has been launched with is a
 * cache without forms. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/tune/store.h"

static json_t *numbers_json(const unsigned numbers[3])
{
    return json_pack("[i, i, i]", (int)numbers[0], (int)numbers[1], (int)numbers[2]);
}

static const char *time_text(Arena *arena, int64_t when)
{
    const time_t seconds = (time_t)when;
    struct tm utc;
    char text[32] = "1970-01-01T00:00:00Z";
    if (gmtime_r(&seconds, &utc))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return arena_strndup(arena, text, strlen(text));
}

/* The measurement of one form. Times other than that of the kernel are not measured. */
static json_t *entry_json(Arena *arena, const StoreRow *row, size_t number)
{
    return json_pack("{s: i, s: f, s: f, s: f, s: f, s: f, s: f, s: s, s: i, s: f, s: b, s: I}", "form", (int)number,
                     "time", row->milliseconds, "compile_time", 0.0, "verification_time", 0.0, "benchmark_time", 0.0,
                     "strategy_time", 0.0, "framework_time", 0.0, "timestamp", time_text(arena, row->when), "launches",
                     (int)row->launches, "variance", row->variance, "chosen", (int)row->is_chosen, "seconds",
                     (json_int_t)row->when);
}

static json_t *group_json(Arena *arena, const StoreRow *rows, size_t count)
{
    static const unsigned no_grid[3] = {1, 1, 1};
    const unsigned *grid = rows->is_block ? no_grid : rows->grid;
    json_t *cache = json_object(), *words = json_array(), *numbers = json_array();
    for (size_t i = 0; i < count && !rows->is_block; i++) {
        json_object_set_new(cache, arena_printf(arena, "%zu", i), entry_json(arena, &rows[i], i));
        json_array_append_new(words, json_string(rows[i].form));
        json_array_append_new(numbers, json_integer((json_int_t)i));
    }
    json_t *own = json_pack("{s: s, s: o, s: o, s: I, s: i, s: o, s: b, s: I}", "hash",
                            arena_printf(arena, "%016llx", (unsigned long long)rows->hash), "grid",
                            numbers_json(grid), "block", numbers_json(rows->block), "dynamic_shared",
                            (json_int_t)rows->shared, "driver", rows->driver, "forms", words, "block_alone",
                            (int)rows->is_block, "seconds", (json_int_t)rows->when);
    return json_pack("{s: s, s: s, s: s, s: o, s: [s], s: {s: o}, s: s, s: o, s: o}", "schema_version", "1.0.0",
                     "device_name", rows->device, "kernel_name", rows->kernel, "problem_size",
                     numbers_json(grid), "tune_params_keys", "form", "tune_params", "form", numbers, "objective",
                     "time", "ptxopt", own, "cache", cache);
}

const char *rows_export(Arena *arena, const char *folder, const StoreRow *rows, size_t count)
{
    const unsigned *grid = rows->grid, *block = rows->block;
    const char *launch = arena_printf(arena, "%ux%ux%u-%ux%ux%u-%llu-%d", grid[0], grid[1], grid[2], block[0], block[1],
                                      block[2], (unsigned long long)rows->shared, rows->driver);
    if (rows->is_block)
        launch = arena_printf(arena, "%ux%ux%u-block", block[0], block[1], block[2]);
    const char *path = arena_printf(arena, "%s/%016llx-%s.json", folder, (unsigned long long)rows->hash, launch);
    json_t *root = group_json(arena, rows, count);
    char *text = json_dumps(root, JSON_INDENT(2));
    require(text != NULL);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        json_decref(root);
        free(text);
        return arena_printf(arena, "cannot make '%s': %s", folder, strerror(errno));
    }
    const char *error = write_file(arena, path, text, strlen(text));
    json_decref(root);
    free(text);
    return error ? arena_printf(arena, "cannot write '%s': %s", path, error) : NULL;
}

/* Three numbers of a launch; false if they are not. */
static bool read_numbers(const json_t *array, unsigned numbers[3])
{
    for (size_t d = 0; d < 3; d++) {
        const json_t *value = json_array_get(array, d);
        if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > UINT32_MAX)
            return false;
        numbers[d] = (unsigned)json_integer_value(value);
    }
    return json_array_size(array) == 3;
}

/* The members that all rows of the file share. NULL, or what is wrong. */
static const char *read_shared(Arena *arena, const json_t *root, StoreRow *row)
{
    const json_t *own = json_object_get(root, "ptxopt");
    const char *device = json_string_value(json_object_get(root, "device_name"));
    const char *kernel = json_string_value(json_object_get(root, "kernel_name"));
    const char *hash = json_string_value(json_object_get(own, "hash"));
    char *end = NULL;
    if (!own)
        return "it was not written by 'ptxopt tune -export': it has no member \"ptxopt\"";
    if (!device || !kernel || !hash || !json_is_array(json_object_get(own, "forms")))
        return "\"device_name\", \"kernel_name\", or \"hash\" or \"forms\" of \"ptxopt\" is missing";
    row->hash = strtoull(hash, &end, 16);
    row->device = arena_strndup(arena, device, strlen(device));
    row->kernel = arena_strndup(arena, kernel, strlen(kernel));
    row->shared = (uint64_t)json_integer_value(json_object_get(own, "dynamic_shared"));
    row->driver = (int)json_integer_value(json_object_get(own, "driver"));
    if (!*hash || *end || !read_numbers(json_object_get(own, "grid"), row->grid) ||
        !read_numbers(json_object_get(own, "block"), row->block))
        return "\"hash\", \"grid\" or \"block\" of \"ptxopt\" is not one";
    return NULL;
}

/* A file about a block alone. */
static void read_block(Arena *arena, const json_t *root, const StoreRow *shared, StoreRows *rows)
{
    StoreRow row = *shared;
    row.is_block = true;
    row.form = "";
    row.when = (int64_t)json_integer_value(json_object_get(json_object_get(root, "ptxopt"), "seconds"));
    memset(row.grid, 0, sizeof row.grid);
    VEC_PUSH(arena, *rows, row);
}

static const char *read_entries(Arena *arena, const json_t *root, const StoreRow *shared, StoreRows *rows)
{
    const json_t *forms = json_object_get(json_object_get(root, "ptxopt"), "forms");
    const json_t *cache = json_object_get(root, "cache");
    for (size_t i = 0; i < json_array_size(forms); i++) {
        const char *words = json_string_value(json_array_get(forms, i));
        const json_t *entry = json_object_get(cache, arena_printf(arena, "%zu", i));
        const json_t *time = json_object_get(entry, "time");
        if (!words || !json_is_object(entry))
            return arena_printf(arena, "form %zu has no words, or no entry in \"cache\"", i);
        if (!json_is_number(time) || json_number_value(time) <= 0)
            continue; /* a form that could not be measured */
        StoreRow row = *shared;
        row.form = arena_strndup(arena, words, strlen(words));
        row.is_chosen = json_is_true(json_object_get(entry, "chosen"));
        row.milliseconds = json_number_value(time);
        row.variance = json_number_value(json_object_get(entry, "variance"));
        row.launches = (unsigned)json_integer_value(json_object_get(entry, "launches"));
        row.when = json_integer_value(json_object_get(entry, "seconds"));
        VEC_PUSH(arena, *rows, row);
    }
    return NULL;
}

const char *rows_import(Arena *arena, const char *path, StoreRows *rows)
{
    const char *error = NULL;
    json_t *root = json_file_read(arena, path, &error);
    StoreRow shared = {0};
    if (!root)
        return error;
    error = read_shared(arena, root, &shared);
    if (!error && json_is_true(json_object_get(json_object_get(root, "ptxopt"), "block_alone")))
        read_block(arena, root, &shared, rows);
    else if (!error)
        error = read_entries(arena, root, &shared, rows);
    json_decref(root);
    return error ? arena_printf(arena, "%s: %s", path, error) : NULL;
}
