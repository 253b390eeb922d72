/* Tables of rows in files: tab-separated values, and JSON. */
#include <jansson.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "stats/internal.h"

#define FORMAT_NAME "ptxopt-stats"

enum { FORMAT_VERSION = 1 };

/* The names of the first columns, which are texts. */
static const char *const text_columns[] = {"file", "arch", "kernel"};
enum { TEXT_COLUMNS = COUNT_OF(text_columns) };

static void print_header(Buf *out)
{
    for (size_t i = 0; i < TEXT_COLUMNS; i++)
        buf_printf(out, "%s\t", text_columns[i]);
    for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++)
        buf_printf(out, "%s%c", stats_columns[column].name, column + 1 < STATS_COLUMN_COUNT ? '\t' : '\n');
}

/* A file's name may hold anything; what would end the field becomes a blank. */
static void print_field(const char *text, Buf *out)
{
    for (; *text; text++)
        buf_putc(out, *text == '\t' || *text == '\n' ? ' ' : *text);
    buf_putc(out, '\t');
}

static void print_row(const StatsRow *row, Buf *out)
{
    print_field(row->file, out);
    print_field(row->arch, out);
    print_field(row->kernel, out);
    for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++) {
        stats_print_value(column, row->values[column], out);
        buf_putc(out, column + 1 < STATS_COLUMN_COUNT ? '\t' : '\n');
    }
}

void stats_print_append(const StatsRows *rows, bool with_header, Buf *out)
{
    if (with_header)
        print_header(out);
    for (size_t i = 0; i < rows->count; i++)
        print_row(&rows->data[i], out);
}

void stats_print_tsv(const Stats *stats, Buf *out)
{
    stats_print_append(&stats->rows, true, out);
}

static json_t *value_json(StatsColumn column, double value)
{
    if (isnan(value))
        return json_null();
    return stats_columns[column].places ? json_real(value) : json_integer((json_int_t)value);
}

static json_t *row_json(Arena *arena, const StatsRow *row)
{
    json_t *object = json_object();
    json_object_set_new(object, "file", json_text(row->file));
    json_object_set_new(object, "arch", json_text(row->arch));
    json_object_set_new(object, "kernel", json_text(row->kernel));
    json_object_set_new(object, "name", json_text(stats_name_shown(arena, row->kernel)));
    for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++)
        json_object_set_new(object, stats_columns[column].name, value_json(column, row->values[column]));
    return object;
}

static json_t *bound_json(const StatsBound *bound)
{
    json_t *object = json_object();
    json_object_set_new(object, "file", json_text(bound->file));
    json_set_number(object, "line", bound->line);
    json_object_set_new(object, "kernel", json_text(bound->kernel));
    json_set_number(object, "maxnreg", bound->maxnreg);
    json_set_number(object, "minnctapersm", bound->minnctapersm);
    json_set_number(object, "registers", bound->registers);
    json_set_number(object, "registers_without", bound->free_registers);
    json_set_number(object, "spills", (uint64_t)bound->spills);
    json_set_number(object, "spills_without", (uint64_t)bound->free_spills);
    json_object_set_new(object, "speedup_without", bound->speedup > 0 ? json_real(bound->speedup) : json_null());
    return object;
}

void stats_print_json(const Stats *stats, Buf *out)
{
    json_t *root = json_object(), *rows = json_array(), *bounds = json_array();
    for (size_t i = 0; i < stats->rows.count; i++)
        json_array_append_new(rows, row_json(stats->arena, &stats->rows.data[i]));
    for (size_t i = 0; i < stats->bounds.count; i++)
        json_array_append_new(bounds, bound_json(&stats->bounds.data[i]));
    json_object_set_new(root, "format", json_string(FORMAT_NAME));
    json_object_set_new(root, "version", json_integer(FORMAT_VERSION));
    json_object_set_new(root, "kernels", rows);
    json_object_set_new(root, "bounds", bounds);
    json_print(root, out);
}

static const char *skip_blanks(const char *text) { return text + strspn(text, " \t\r\n"); }

static bool is_json(const Source *source) { return *skip_blanks(source->text) == '{'; }

bool stats_is_table(const Source *source)
{
    static const char header[] = "file\tarch\tkernel\t";
    return strncmp(source->text, header, sizeof header - 1) == 0 || is_json(source);
}

/* The fields of a line, which is taken apart; *next is the line after it. */
typedef VEC(const char *) Fields;

static Fields split_line(Arena *arena, char *line, char **next)
{
    Fields fields = {0};
    char *end = line + strcspn(line, "\n");
    *next = *end ? end + 1 : end;
    *end = 0;
    if (end > line && end[-1] == '\r')
        end[-1] = 0;
    while (line) {
        const char *field = strsep(&line, "\t");
        VEC_PUSH(arena, fields, field);
    }
    return fields;
}

/* False if the text is not a figure. */
static bool read_value(const char *text, double *value)
{
    char *end;
    *value = NAN;
    if (strcmp(text, "-") == 0)
        return true;
    *value = strtod(text, &end);
    return *text && !*end && isfinite(*value);
}

/* Columns that this version does not know are passed over, and those that are missing are unknown. */
static const char *read_tsv_row(Stats *stats, const char *path, unsigned line, const Fields *header,
                                const Fields *fields)
{
    if (fields->count != header->count)
        return arena_printf(stats->arena, "%s:%u: there are %zu fields, but the first line names %zu columns", path,
                            line, fields->count, header->count);
    StatsRow row = stats_row_new(fields->data[0], fields->data[2], fields->data[1]);
    for (size_t i = TEXT_COLUMNS; i < fields->count; i++) {
        const char *name = header->data[i];
        const StatsColumn column = stats_column_find(name, strlen(name));
        double value;
        if (!read_value(fields->data[i], &value))
            return arena_printf(stats->arena, "%s:%u: %s '%s' is not a number", path, line, name, fields->data[i]);
        if (column < STATS_COLUMN_COUNT)
            row.values[column] = value;
    }
    VEC_PUSH(stats->arena, stats->rows, row);
    return NULL;
}

static const char *read_tsv(Stats *stats, const Source *source)
{
    char *text = arena_strndup(stats->arena, source->text, source->size), *next;
    const Fields header = split_line(stats->arena, text, &next);
    const char *error = NULL;
    for (unsigned line = 2; *next && !error; line++) {
        const Fields fields = split_line(stats->arena, next, &next);
        if (fields.count > 1 || *fields.data[0])
            error = read_tsv_row(stats, source->path, line, &header, &fields);
    }
    return error;
}

static const char *read_json_row(Stats *stats, const char *path, const json_t *object, size_t index)
{
    const char *file = json_member_text(stats->arena, object, "file");
    const char *arch = json_member_text(stats->arena, object, "arch");
    const char *kernel = json_member_text(stats->arena, object, "kernel");
    if (!file || !arch || !kernel)
        return arena_printf(stats->arena, "%s: kernel %zu has no file, arch or kernel", path, index + 1);
    StatsRow row = stats_row_new(file, kernel, arch);
    for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++) {
        const json_t *value = json_object_get(object, stats_columns[column].name);
        if (value && !json_is_number(value) && !json_is_null(value))
            return arena_printf(stats->arena, "%s: kernel %zu: %s is not a number", path, index + 1,
                                stats_columns[column].name);
        if (json_is_number(value))
            row.values[column] = json_number_value(value);
    }
    VEC_PUSH(stats->arena, stats->rows, row);
    return NULL;
}

static const char *read_json(Stats *stats, const Source *source)
{
    const char *error = NULL;
    json_t *root = json_text_read(stats->arena, source, &error);
    if (!root)
        return error;
    const char *format = json_string_value(json_object_get(root, "format"));
    const json_t *rows = json_object_get(root, "kernels");
    if (!format || strcmp(format, FORMAT_NAME) != 0 || !json_is_array(rows))
        error = arena_printf(stats->arena, "%s: it is not a table of 'ptxopt stats'", source->path);
    else if (json_integer_value(json_object_get(root, "version")) != FORMAT_VERSION)
        error = arena_printf(stats->arena, "%s: it was written by another version of 'ptxopt stats'", source->path);
    for (size_t i = 0; !error && i < json_array_size(rows); i++)
        error = read_json_row(stats, source->path, json_array_get(rows, i), i);
    json_decref(root);
    return error;
}

const char *stats_read_table(Stats *stats, const Source *source)
{
    return is_json(source) ? read_json(stats, source) : read_tsv(stats, source);
}
