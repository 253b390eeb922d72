/* "ptxopt tune -list", "-export" and "-import": what programs with launch adapters have learned about launches. */
#include "cli/tune/store.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli/tune/tune.h"
#include "engine/engine.h"

enum { WAIT = 5000 }; /* milliseconds for which another process may hold up a file */

/* Reading the store. */

typedef struct Reading {
    Arena *arena;
    StoreRows rows;
} Reading;

static const char *text_copy(Arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

static void take(void *context, const StoreRow *row)
{
    Reading *reading = context;
    StoreRow copy = *row;
    copy.kernel = text_copy(reading->arena, row->kernel);
    copy.device = text_copy(reading->arena, row->device);
    copy.form = text_copy(reading->arena, row->form);
    VEC_PUSH(reading->arena, reading->rows, copy);
}

/* Reads the files of all devices; false after a message. */
static bool read_store(Reading *reading)
{
    char folder[STORE_PATH], error[STORE_ERROR];
    if (!store_folder(folder)) {
        fprintf(stderr, "ptxopt: error: neither XDG_CACHE_HOME nor HOME is set\n");
        return false;
    }
    DIR *all = opendir(folder);
    bool is_read = all || errno == ENOENT;
    for (const struct dirent *entry; all && is_read && (entry = readdir(all)) != NULL;) {
        const char *path = arena_printf(reading->arena, "%s/%s", folder, entry->d_name);
        if (!text_ends_with(path, ".sqlite"))
            continue;
        is_read = store_read(path, WAIT, take, reading, error);
        if (!is_read)
            fprintf(stderr, "ptxopt: error: cannot read '%s': %s\n", path, error);
    }
    if (all)
        closedir(all);
    else if (!is_read)
        fprintf(stderr, "ptxopt: error: cannot read '%s': %s\n", folder, strerror(errno));
    return is_read;
}

/* True if both rows are of one kernel, shape, device and driver. */
static bool rows_belong_together(const StoreRow *one, const StoreRow *other)
{
    return one->is_block == other->is_block && one->hash == other->hash &&
           memcmp(one->grid, other->grid, sizeof one->grid) == 0 &&
           memcmp(one->block, other->block, sizeof one->block) == 0 && one->shared == other->shared &&
           one->driver == other->driver && strcmp(one->device, other->device) == 0;
}

/* The number of rows from here on that are of one kernel and shape. */
static size_t group_size(const StoreRows *rows, size_t first)
{
    size_t end = first + 1;
    while (end < rows->count && rows_belong_together(&rows->data[first], &rows->data[end]))
        end++;
    return end - first;
}

static const char *day_of(Arena *arena, const StoreRow *row)
{
    char day[16] = "";
    const time_t when = (time_t)row->when;
    struct tm local;
    if (localtime_r(&when, &local))
        strftime(day, sizeof day, "%Y-%m-%d", &local);
    return text_copy(arena, day);
}

static const char *name_of(Arena *arena, const StoreRow *row)
{
    const char *name = kernel_name_demangled(arena, row->kernel, false);
    return name ? name : row->kernel;
}

static void print_block(Arena *arena, const StoreRow *row)
{
    printf("%s, %s: launched with blocks of %u,%u,%u (%s)\n", row->device, name_of(arena, row), row->block[0],
           row->block[1], row->block[2], day_of(arena, row));
}

static void print_group(Arena *arena, const StoreRow *rows, size_t count)
{
    const StoreRow *chosen = &rows[0], *original = NULL;
    for (size_t i = 0; i < count; i++) {
        chosen = rows[i].is_chosen ? &rows[i] : chosen;
        original = *rows[i].form ? original : &rows[i];
    }
    printf("%s, driver %d.%d, %s: grid %u,%u,%u, block %u,%u,%u", chosen->device, chosen->driver / 1000,
           chosen->driver % 1000 / 10, name_of(arena, chosen), chosen->grid[0], chosen->grid[1], chosen->grid[2],
           chosen->block[0], chosen->block[1], chosen->block[2]);
    if (chosen->shared)
        printf(", %llu bytes", (unsigned long long)chosen->shared);
    printf(": %s, %.4g ms", *chosen->form ? chosen->form : "the original", chosen->milliseconds);
    if (original && original != chosen && original->milliseconds > 0)
        printf(", %.2f of the original's", chosen->milliseconds / original->milliseconds);
    printf(" (%zu form%s, %s)\n", count, plural(count), day_of(arena, chosen));
}

static int print_list(Reading *reading)
{
    for (size_t i = 0, count; i < reading->rows.count; i += count) {
        count = group_size(&reading->rows, i);
        if (reading->rows.data[i].is_block)
            print_block(reading->arena, &reading->rows.data[i]);
        else
            print_group(reading->arena, &reading->rows.data[i], count);
    }
    return fflush(stdout) == 0 ? EXIT_DONE : EXIT_INPUT;
}

static int export_all(Reading *reading, const char *folder)
{
    const char *error = NULL;
    for (size_t i = 0, count; i < reading->rows.count && !error; i += count) {
        count = group_size(&reading->rows, i);
        error = rows_export(reading->arena, folder, &reading->rows.data[i], count);
    }
    if (error)
        fprintf(stderr, "ptxopt: error: %s\n", error);
    return error ? EXIT_INPUT : EXIT_DONE;
}

/* Writes the rows of a device, which are next to each other. */
static bool write_device(const StoreRow *rows, size_t count)
{
    char path[STORE_PATH], error[STORE_ERROR] = "there is no home folder";
    if (store_file(rows->device, path) && store_write(path, WAIT, rows, count, error))
        return true;
    fprintf(stderr, "ptxopt: error: cannot write the store: %s\n", error);
    return false;
}

static int import_all(Arena *arena, const CommandFiles *files)
{
    StoreRows rows = {0};
    bool is_done = true;
    for (size_t i = 0; i < files->count; i++) {
        const char *error = rows_import(arena, files->data[i], &rows);
        if (!error)
            continue;
        fprintf(stderr, "ptxopt: error: %s\n", error);
        return EXIT_INPUT;
    }
    for (size_t i = 0, end; i < rows.count && is_done; i = end) {
        for (end = i + 1; end < rows.count && strcmp(rows.data[i].device, rows.data[end].device) == 0; end++)
            ;
        is_done = write_device(&rows.data[i], end - i);
    }
    return is_done ? EXIT_DONE : EXIT_INPUT;
}

ExitStatus tune_store(Arena *arena, const TuneOptions *options)
{
    Reading reading = {.arena = arena};
    if (options->imports)
        return import_all(arena, &options->files);
    if (!read_store(&reading))
        return EXIT_INPUT;
    if (!reading.rows.count)
        fprintf(stderr, "ptxopt: nothing has been learned yet; docs/tuning.md says how programs do\n");
    return options->lists ? print_list(&reading) : export_all(&reading, options->exports);
}
