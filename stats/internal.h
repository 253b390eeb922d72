/* The interface between the files of this folder; no other folder includes it. The files in the order of their calls,
 * each calling only those before it: columns.c, name.c; table.c, append.c; cubin.c, module.c; collect.c; text.c;
 * diff.c, diff_text.c; condition.c, github.c. */
#ifndef PTXOPT_STATS_INTERNAL_H
#define PTXOPT_STATS_INTERNAL_H

#include <math.h>

#include "stats/stats.h"

/* columns.c */
/* The column of a name, which ends at 'length'; STATS_COLUMN_COUNT: there is none. */
StatsColumn stats_column_find(const char *name, size_t length);
/* A row all of whose figures are unknown. */
StatsRow stats_row_new(const char *file, const char *kernel, const char *arch);
/* Prints a figure with the column's places; "-": unknown. */
void stats_print_value(StatsColumn column, double value, Buf *out);
/* How much worse the second figure is: below 0, better; 0 for columns that are no result, and if one is unknown. */
double stats_worse(StatsColumn column, double base, double now);
/* The bytes that the columns of spills have together, for a figure that has both. */
void stats_set_spills(StatsRow *row, double stores, double loads);

/* name.c */
/* The name without what differs from build to build: hashes of files become '*'. In the arena. */
const char *stats_name_stable(Arena *arena, const char *kernel);

/* table.c */
/* True if the text is a table of ours. */
/* Prints rows for the end of a table, or for its beginning. */
void stats_print_append(const StatsRows *rows, bool with_header, Buf *out);
bool stats_is_table(const Source *source);
/* Adds its rows. NULL, or a message that names the file and the place, in the arena. */
const char *stats_read_table(Stats *stats, const Source *source);

/* module.c */
bool stats_add_module(Stats *stats, const StatsRequest *request, Source *source);

#endif
