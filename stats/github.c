/* Annotations of GitHub workflows: https://docs.github.com/actions, "Workflow commands". */
#include "stats/internal.h"

/* A message ends at the line end, and '%' escapes; in a property, so do ':' and ','. */
static void print_escaped(const char *text, bool is_property, Buf *out)
{
    for (; *text; text++)
        if (*text == '%' || *text == '\n' || *text == '\r' || (is_property && (*text == ':' || *text == ',')))
            buf_printf(out, "%%%02X", (unsigned)*text);
        else
            buf_putc(out, *text);
}

static void print_file(const char *file, unsigned line, Buf *out)
{
    buf_puts(out, "file=");
    print_escaped(file, true, out);
    if (line)
        buf_printf(out, ",line=%u", line);
}

void stats_print_github(Arena *arena, const StatsFailures *failures, const Stats *stats, Buf *out)
{
    for (size_t i = 0; i < failures->count; i++) {
        const StatsRow *row = failures->data[i].row;
        buf_puts(out, "::error ");
        print_file(row->file, 0, out);
        buf_puts(out, "::");
        print_escaped(stats_name_shown(arena, row->kernel), false, out);
        buf_printf(out, " (%s): ", row->arch);
        print_escaped(failures->data[i].reason, false, out);
        buf_putc(out, '\n');
    }
    for (size_t i = 0; i < stats->bounds.count; i++) {
        Buf sentence = {0};
        stats_print_bound(arena, &stats->bounds.data[i], &sentence);
        buf_puts(out, "::warning ");
        print_file(stats->bounds.data[i].file, stats->bounds.data[i].line, out);
        buf_puts(out, "::");
        print_escaped(buf_text(&sentence), false, out);
        buf_putc(out, '\n');
        buf_free(&sentence);
    }
}
