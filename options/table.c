#include "options/table.h"

#include <string.h>

enum { HELP_COLUMN = 30 };

const struct option *option_rows_for_getopt(Arena *arena, const OptionRow *rows)
{
    size_t count = 0;
    while (rows[count].name)
        count++;
    struct option *table = ARENA_ARRAY(arena, struct option, count + 1);
    for (size_t i = 0; i < count; i++)
        table[i] = (struct option){rows[i].name, rows[i].takes, NULL, FIRST_OPTION + (int)i};
    table[count] = (struct option){0};
    return table;
}

const OptionRow *option_row_find(const OptionRow *rows, const char *name)
{
    for (const OptionRow *row = rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* The first line follows the option if that leaves room. */
static void begin_lines(Buf *out, size_t start)
{
    size_t width = out->length - start;
    if (width >= HELP_COLUMN)
        buf_putc(out, '\n');
    buf_printf(out, "%*s", width >= HELP_COLUMN ? HELP_COLUMN : (int)(HELP_COLUMN - width), "");
}

static void print_lines(const OptionRow *row, Buf *out)
{
    for (const char *at = row->help; *at; at++)
        if (*at == '\n') {
            buf_printf(out, "\n%*s", HELP_COLUMN, "");
        } else if (row->choice && at[0] == '%' && at[1] == 's') {
            row->choice(out, ", ", " or ");
            at++;
        } else {
            buf_putc(out, *at);
        }
}

void option_row_print_help(const OptionRow *row, Buf *out)
{
    if (!row->help || row->is_hidden)
        return;
    size_t start = out->length;
    bool has_blank = *row->argument && *row->argument != ',' && strncmp(row->argument, "[=", 2) != 0;
    buf_printf(out, "  -%s%s%s", row->name, has_blank ? " " : "", row->argument);
    if (*row->help)
        begin_lines(out, start);
    print_lines(row, out);
    buf_putc(out, '\n');
}

void option_rows_print_help(const OptionRow *rows, Buf *out)
{
    for (const OptionRow *row = rows; row->name; row++)
        option_row_print_help(row, out);
}

bool option_row_print_words(const OptionRow *row, Buf *out)
{
    if (row->choice)
        row->choice(out, " ", " ");
    else if (row->words)
        buf_puts(out, row->words);
    return row->choice || row->words;
}
