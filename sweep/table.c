/* Tables of configurations in files: tab-separated values, whose first line names the columns. */
#include <stdlib.h>

#include "sweep/internal.h"

enum { TEXT_COLUMNS = 12 };

static const char *const text_columns[TEXT_COLUMNS] = {"kernel", "launch", "arch",   "block", "level", "dimension",
                                                       "factor", "stride", "status", "basis", "bound", "inputs"};
static const char reason_column[] = "reason"; /* the last one */
static const char *const status_words[SWEEP_STATUS_COUNT] = {"ok", "refused", "unmet", "rejected", "fault", "no room",
                                                              "different"};

static const struct {
    const char *name;
    int places;
} columns[SWEEP_COLUMN_COUNT] = {
#define COLUMN(id, name, places, help) {name, places},
#include "sweep/columns.def"
};

SweepRow sweep_row_new(void)
{
    SweepRow row = {.bound = "-", .reason = "-", .factor = 1};
    for (SweepColumn column = 0; column < SWEEP_COLUMN_COUNT; column++)
        row.values[column] = NAN;
    return row;
}

static void print_header(Buf *out)
{
    for (size_t i = 0; i < TEXT_COLUMNS; i++)
        buf_printf(out, "%s\t", text_columns[i]);
    for (SweepColumn column = 0; column < SWEEP_COLUMN_COUNT; column++)
        buf_printf(out, "%s\t", columns[column].name);
    buf_printf(out, "%s\n", reason_column);
}

/* A text may hold anything; what would end the field becomes a blank. */
static void print_text(const char *text, char end, Buf *out)
{
    for (; *text; text++)
        buf_putc(out, *text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text);
    buf_putc(out, end);
}

static void print_stride(const SweepRow *row, Buf *out)
{
    if (row->factor == 1 || row->dimension.of_blocks)
        buf_puts(out, "-\t");
    else if (row->stride.kind == STRIDE_NUMBER)
        buf_printf(out, "%u\t", row->stride.number);
    else
        buf_puts(out, row->stride.kind == STRIDE_UNIT ? "unit\t" : "block\t");
}

static void print_value(SweepColumn column, double value, Buf *out)
{
    if (isnan(value))
        buf_puts(out, "-\t");
    else
        buf_printf(out, "%.*f\t", columns[column].places, value);
}

void sweep_row_print(const SweepRow *row, Buf *out)
{
    const bool is_original = row->factor == 1;
    print_text(row->kernel, '\t', out);
    print_text(row->launch, '\t', out);
    buf_printf(out, "%s\t%ux%ux%u\t", row->arch, row->block[0], row->block[1], row->block[2]);
    buf_printf(out, "%s\t", is_original ? "-" : row->dimension.of_blocks ? "block" : "thread");
    buf_printf(out, "%c\t%u\t", is_original ? '-' : "xyz"[row->dimension.axis], row->factor);
    print_stride(row, out);
    const bool is_predicted = row->status == SWEEP_OK;
    buf_printf(out, "%s\t%s\t%s\t", status_words[row->status],
               !is_predicted ? "-" : row->by_machine ? "machine" : "ptx", row->bound);
    buf_printf(out, "%016llx\t", (unsigned long long)row->inputs);
    for (SweepColumn column = 0; column < SWEEP_COLUMN_COUNT; column++)
        print_value(column, row->values[column], out);
    print_text(row->reason, '\n', out);
}

void sweep_print(const SweepTable *table, size_t first, Buf *out)
{
    if (!first)
        print_header(out);
    for (size_t i = first; i < table->rows.count; i++)
        sweep_row_print(&table->rows.data[i], out);
}

static bool read_words(const char *text, const char *const *words, size_t count, unsigned *index)
{
    for (*index = 0; *index < count; ++*index)
        if (strcmp(text, words[*index]) == 0)
            return true;
    return false;
}

static bool read_whole(const char *text, unsigned *number)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    *number = (unsigned)value;
    return *text >= '0' && *text <= '9' && *end == 0 && value && value <= INT32_MAX;
}

static bool read_configuration(char *const fields[TEXT_COLUMNS], SweepRow *row)
{
    static const char *const levels[] = {"thread", "block", "-"}, *const axes[] = {"x", "y", "z", "-"};
    unsigned level, axis, status;
    char rest;
    if (sscanf(fields[3], "%ux%ux%u%c", &row->block[0], &row->block[1], &row->block[2], &rest) != 3 ||
        !read_words(fields[4], levels, COUNT_OF(levels), &level) ||
        !read_words(fields[5], axes, COUNT_OF(axes), &axis) || !read_whole(fields[6], &row->factor) ||
        !read_words(fields[8], status_words, SWEEP_STATUS_COUNT, &status))
        return false;
    row->dimension = row->factor == 1 ? (SweepDimension){0} : (SweepDimension){level == 1, axis};
    row->status = (SweepStatus)status;
    row->by_machine = strcmp(fields[9], "machine") == 0;
    return strcmp(fields[7], "-") == 0 || stride_read(fields[7], &row->stride);
}

static bool read_values(char *const *fields, SweepRow *row)
{
    for (SweepColumn column = 0; column < SWEEP_COLUMN_COUNT; column++) {
        char *end = fields[column];
        const bool is_known = strcmp(fields[column], "-") != 0;
        row->values[column] = is_known ? strtod(fields[column], &end) : NAN;
        if (is_known && (end == fields[column] || *end))
            return false;
    }
    return true;
}

bool sweep_row_read(Arena *arena, char *line, SweepRow *row)
{
    enum { FIELDS = TEXT_COLUMNS + SWEEP_COLUMN_COUNT + 1 };
    char *fields[FIELDS], *rest = line, *end;
    size_t count = 0;
    for (char *field; count < FIELDS && (field = strsep(&rest, "\t")) != NULL; count++)
        fields[count] = field;
    if (count != FIELDS || rest)
        return false;
    *row = sweep_row_new();
    row->kernel = arena_printf(arena, "%s", fields[0]);
    row->launch = arena_printf(arena, "%s", fields[1]);
    row->arch = arena_printf(arena, "%s", fields[2]);
    row->bound = arena_printf(arena, "%s", fields[10]);
    row->reason = arena_printf(arena, "%s", fields[FIELDS - 1]);
    row->inputs = strtoull(fields[11], &end, 16);
    return end != fields[11] && *end == 0 && read_configuration(fields, row) && read_values(fields + TEXT_COLUMNS, row);
}

static bool is_header(const char *line)
{
    Buf header = {0};
    print_header(&header);
    const bool is_same = strncmp(line, buf_text(&header), header.length - 1) == 0 && strlen(line) == header.length - 1;
    buf_free(&header);
    return is_same;
}

/* A file that is being written may end within a line, which is then left out. */
const char *sweep_read(SweepTable *table, const char *path)
{
    const char *error = NULL;
    Source *source = source_read(table->arena, path, &error);
    if (!source)
        return arena_printf(table->arena, "%s: %s", path, error);
    char *line = source->text, *end;
    for (unsigned number = 1; (end = strchr(line, '\n')) != NULL; number++, line = end + 1) {
        SweepRow row;
        *end = 0;
        if (number == 1 ? !is_header(line) : !sweep_row_read(table->arena, line, &row))
            return arena_printf(table->arena, "%s:%u: this is not a table of 'ptxopt sweep'%s", path, number,
                                number == 1 ? " of this version" : "");
        if (number > 1)
            VEC_PUSH(table->arena, table->rows, row);
    }
    return NULL;
}

static int compare_numbers(double a, double b)
{
    return a < b ? -1 : a > b;
}

int sweep_form_compare(const SweepRow *a, const SweepRow *b)
{
    const unsigned level_a = a->factor == 1 ? 0 : 1 + a->dimension.of_blocks;
    const unsigned level_b = b->factor == 1 ? 0 : 1 + b->dimension.of_blocks;
    int order = compare_numbers(level_a, level_b);
    order = order ? order : compare_numbers(a->dimension.axis, b->dimension.axis);
    order = order ? order : compare_numbers(a->factor, b->factor);
    if (order || level_a != 1)
        return order;
    order = compare_numbers(a->stride.kind, b->stride.kind);
    return order ? order : compare_numbers(a->stride.number, b->stride.number);
}

int sweep_row_compare(const SweepRow *a, const SweepRow *b)
{
    int order = strcmp(a->kernel, b->kernel);
    order = order ? order : strcmp(a->launch, b->launch);
    order = order ? order : strcmp(a->arch, b->arch);
    order = order ? order : sweep_form_compare(a, b);
    for (unsigned i = 0; i < 3; i++)
        order = order ? order : compare_numbers(a->block[i], b->block[i]);
    return order || a->factor > 1 ? order : compare_numbers(b->by_machine, a->by_machine);
}
