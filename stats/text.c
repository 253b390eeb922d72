/* The table for people. */
#include "stats/internal.h"

/* A column of the table: a figure with a short heading. */
typedef struct Shown {
    StatsColumn column;
    const char *heading;
    bool is_optional; /* left out if no kernel has it */
} Shown;

static const Shown shown[] = {
    {STATS_REGISTERS, "registers", false}, {STATS_SPILLS, "spills", false}, {STATS_LOCAL, "local", false},
    {STATS_LOOPED, "in loops", false},     {STATS_STACK, "stack", false},   {STATS_SHARED, "shared", false},
    {STATS_INSTRUCTIONS, "code", false},   {STATS_WARPS, "warps", true},    {STATS_BOUNDARY, "more at", true},
    {STATS_EXECUTED_SPILLS, "executed spills", true},                       {STATS_TIME, "time (us)", true},
};

static bool any_has(const Stats *stats, StatsColumn column)
{
    for (size_t i = 0; i < stats->rows.count; i++)
        if (!isnan(stats->rows.data[i].values[column]))
            return true;
    return false;
}

static bool is_shown(const Stats *stats, const Shown *it) { return !it->is_optional || any_has(stats, it->column); }

static void print_heading(const Stats *stats, Buf *out)
{
    for (size_t i = 0; i < COUNT_OF(shown); i++)
        if (is_shown(stats, &shown[i]))
            buf_printf(out, "%s%s", i ? "  " : "", shown[i].heading);
    buf_puts(out, "  kernel\n");
}

static void print_row(const Stats *stats, const StatsRow *row, Buf *out)
{
    for (size_t i = 0; i < COUNT_OF(shown); i++) {
        if (!is_shown(stats, &shown[i]))
            continue;
        Buf value = {0};
        stats_print_value(shown[i].column, row->values[shown[i].column], &value);
        buf_printf(out, "%s%*s", i ? "  " : "", (int)strlen(shown[i].heading), buf_text(&value));
        buf_free(&value);
    }
    buf_printf(out, "  %s\n", stats_name_shown(stats->arena, row->kernel));
}

static bool same_place(const StatsRow *one, const StatsRow *other)
{
    return strcmp(one->file, other->file) == 0 && strcmp(one->arch, other->arch) == 0;
}

static void print_summary(const Stats *stats, Buf *out)
{
    size_t spilling = 0, unknown = 0;
    for (size_t i = 0; i < stats->rows.count; i++) {
        spilling += stats->rows.data[i].values[STATS_SPILLS] > 0;
        unknown += isnan(stats->rows.data[i].values[STATS_SPILLS]);
    }
    buf_printf(out, "\n%zu kernel%s in %zu file%s, %zu of them with spills", stats->rows.count,
               plural(stats->rows.count), stats->files, plural(stats->files), spilling);
    if (unknown)
        buf_printf(out, "; %zu access%s local memory, and only the assembler's log would say whether %s spill", unknown,
                   unknown == 1 ? "es" : "", unknown == 1 ? "it does" : "they");
    buf_putc(out, '\n');
}

void stats_print_text(const Stats *stats, Buf *out)
{
    const StatsRows *rows = &stats->rows;
    for (size_t i = 0; i < rows->count; i++) {
        if (i == 0 || !same_place(&rows->data[i - 1], &rows->data[i])) {
            buf_printf(out, "%s%s (%s)\n", i ? "\n" : "", rows->data[i].file, rows->data[i].arch);
            print_heading(stats, out);
        }
        print_row(stats, &rows->data[i], out);
    }
    print_summary(stats, out);
}

void stats_print_bound(Arena *arena, const StatsBound *bound, Buf *out)
{
    buf_printf(out, "kernel '%s' spills %.0f bytes to meet ", stats_name_shown(arena, bound->kernel), bound->spills);
    if (bound->maxnreg)
        buf_printf(out, ".maxnreg %u", bound->maxnreg);
    if (bound->minnctapersm)
        buf_printf(out, "%s.minnctapersm %u", bound->maxnreg ? " and " : "", bound->minnctapersm);
    buf_printf(out, " (%u registers); without, it has %u registers and ", bound->registers, bound->free_registers);
    if (bound->free_spills > 0)
        buf_printf(out, "spills %.0f bytes", bound->free_spills);
    else
        buf_puts(out, "no spills");
    if (bound->speedup > 0)
        buf_printf(out, ", and is predicted to be %.2f times as fast", bound->speedup);
}
