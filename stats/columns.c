/* The columns, and single figures. */
#include "stats/internal.h"

const StatsColumnInfo stats_columns[STATS_COLUMN_COUNT] = {
#define COLUMN(id, name, better, places, help) {name, better, places, help},
#include "stats/columns.def"
};

StatsColumn stats_column_find(const char *name, size_t length)
{
    StatsColumn column = 0;
    while (column < STATS_COLUMN_COUNT && (strlen(stats_columns[column].name) != length ||
                                           memcmp(stats_columns[column].name, name, length) != 0))
        column++;
    return column;
}

StatsRow stats_row_new(const char *file, const char *kernel, const char *arch)
{
    StatsRow row = {.file = file, .kernel = kernel, .arch = arch};
    for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++)
        row.values[column] = NAN;
    return row;
}

void stats_print_value(StatsColumn column, double value, Buf *out)
{
    if (isnan(value))
        buf_puts(out, "-");
    else
        buf_printf(out, "%.*f", stats_columns[column].places, value);
}

double stats_worse(StatsColumn column, double base, double now)
{
    const StatsBetter better = stats_columns[column].better;
    if (better == NEITHER || isnan(base) || isnan(now))
        return 0;
    return better == LESS ? now - base : base - now;
}

void stats_set_spills(StatsRow *row, double stores, double loads)
{
    row->values[STATS_SPILL_STORES] = stores;
    row->values[STATS_SPILL_LOADS] = loads;
    row->values[STATS_SPILLS] = stores + loads;
}
