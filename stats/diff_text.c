/* The differences of two builds, for people and for programs. The form is that of shader-db's report.py: kernels that
 * were helped and hurt, and for each figure its sum and the mean and median of what changed. */
#include <jansson.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "stats/internal.h"

/* A change of one figure. */
typedef struct Change {
    const StatsPair *pair;
    double base, now;
} Change;

typedef VEC(Change) Changes;

/* All pairs in which the figure is known twice. */
typedef struct Tally {
    double base, now; /* sums */
    Changes helped, hurt;
} Tally;

static Tally tally(const StatsDiff *diff, StatsColumn column)
{
    Tally result = {0};
    for (size_t i = 0; i < diff->pairs.count; i++) {
        const StatsPair *pair = &diff->pairs.data[i];
        if (!pair->base || !pair->now)
            continue;
        const Change change = {pair, pair->base->values[column], pair->now->values[column]};
        const double worse = stats_worse(column, change.base, change.now);
        if (isnan(change.base) || isnan(change.now))
            continue;
        result.base += change.base;
        result.now += change.now;
        if (worse > 0)
            VEC_PUSH(diff->now->arena, result.hurt, change);
        else if (worse < 0)
            VEC_PUSH(diff->now->arena, result.helped, change);
    }
    return result;
}

/* "-20.0%"; "new" from nothing. */
static void print_percent(double base, double now, Buf *out)
{
    if (base == 0)
        buf_puts(out, now == 0 ? "+0.0%" : "new");
    else
        buf_printf(out, "%+.1f%%", (now - base) / base * 100);
}

static int compare_numbers(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return one < other ? -1 : one > other;
}

typedef struct Distribution {
    double least, mean, median, most;
} Distribution;

static Distribution distribution(Arena *arena, const Changes *changes)
{
    const size_t count = changes->count;
    double *sizes = ARENA_ARRAY(arena, double, count), sum = 0;
    for (size_t i = 0; i < count; i++) {
        sizes[i] = changes->data[i].now - changes->data[i].base;
        sum += sizes[i];
    }
    qsort(sizes, count, sizeof *sizes, compare_numbers);
    return (Distribution){sizes[0], sum / (double)count, (sizes[(count - 1) / 2] + sizes[count / 2]) / 2,
                          sizes[count - 1]};
}

static void print_changes(Arena *arena, const char *word, StatsColumn column, const Changes *changes, Buf *out)
{
    if (!changes->count)
        return;
    const Distribution it = distribution(arena, changes);
    const int places = stats_columns[column].places;
    buf_printf(out, "    %-6s %zu kernel%s: %+.*f", word, changes->count, plural(changes->count), places, it.least);
    if (changes->count > 1)
        buf_printf(out, " to %+.*f, mean %+.2f, median %+.*f", places, it.most, it.mean, places, it.median);
    buf_putc(out, '\n');
}

static void print_column(const StatsDiff *diff, StatsColumn column, Buf *out)
{
    const Tally it = tally(diff, column);
    if (!it.helped.count && !it.hurt.count)
        return;
    buf_printf(out, "%s: %.*f -> %.*f (", stats_columns[column].name, stats_columns[column].places, it.base,
               stats_columns[column].places, it.now);
    print_percent(it.base, it.now, out);
    buf_puts(out, ")\n");
    print_changes(diff->now->arena, "helped", column, &it.helped, out);
    print_changes(diff->now->arena, "hurt", column, &it.hurt, out);
}

/* The figure by which a kernel is said to be helped or hurt: the first that differs, of those that people look at
 * first. */
static const StatsColumn leading[] = {STATS_TIME,      STATS_EXECUTED_SPILLS, STATS_SPILLS, STATS_LOOPED, STATS_WARPS,
                                      STATS_REGISTERS, STATS_LOCAL,           STATS_STACK,  STATS_SHARED,
                                      STATS_INSTRUCTIONS};

static double pair_worse(const StatsPair *pair)
{
    double worse = 0;
    for (size_t i = 0; i < COUNT_OF(leading) && worse == 0; i++)
        worse = stats_worse(leading[i], pair->base->values[leading[i]], pair->now->values[leading[i]]);
    return worse;
}

static const char *pair_word(const StatsPair *pair)
{
    if (!pair->base)
        return "added";
    if (!pair->now)
        return "removed";
    const double worse = pair_worse(pair);
    return worse > 0 ? "hurt" : worse < 0 ? "helped" : "same";
}

/* "registers 40 -> 32 (-20.0%)", for each figure that differs. */
static void print_figures(const StatsPair *pair, Buf *out)
{
    const char *between = "";
    for (size_t i = 0; i < COUNT_OF(leading); i++) {
        const double base = pair->base->values[leading[i]], now = pair->now->values[leading[i]];
        if (stats_worse(leading[i], base, now) == 0)
            continue;
        buf_printf(out, "%s%s ", between, stats_columns[leading[i]].name);
        stats_print_value(leading[i], base, out);
        buf_puts(out, " -> ");
        stats_print_value(leading[i], now, out);
        buf_puts(out, " (");
        print_percent(base, now, out);
        buf_putc(out, ')');
        between = ", ";
    }
}

static void print_kernels(const StatsDiff *diff, const char *word, Buf *out)
{
    for (size_t i = 0; i < diff->pairs.count; i++) {
        const StatsPair *pair = &diff->pairs.data[i];
        const StatsRow *row = pair->now ? pair->now : pair->base;
        if (strcmp(pair_word(pair), word) != 0)
            continue;
        const char *name = stats_name_shown(diff->now->arena, row->kernel);
        buf_printf(out, "%-8s %s (%s, %s)", word, name, row->file, row->arch);
        if (pair->base && pair->now && pair_worse(pair) != 0) {
            buf_puts(out, ": ");
            print_figures(pair, out);
        }
        buf_putc(out, '\n');
    }
}

static size_t count_of(const StatsDiff *diff, const char *word)
{
    size_t count = 0;
    for (size_t i = 0; i < diff->pairs.count; i++)
        count += strcmp(pair_word(&diff->pairs.data[i]), word) == 0;
    return count;
}

static const char *const words[] = {"hurt", "helped", "added", "removed", "same"};

void stats_print_diff(const StatsDiff *diff, bool lists_all, Buf *out)
{
    for (size_t i = 0; i < COUNT_OF(words) - !lists_all; i++)
        print_kernels(diff, words[i], out);
    if (out->length)
        buf_putc(out, '\n');
    for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++)
        print_column(diff, column, out);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        buf_printf(out, "%s%zu %s", i ? ", " : "", count_of(diff, words[i]), words[i]);
    buf_putc(out, '\n');
}

void stats_print_diff_tsv(const StatsDiff *diff, Buf *out)
{
    buf_puts(out, "change\tfile\tarch\tkernel\tfigure\tbase\tnow\n");
    for (size_t i = 0; i < diff->pairs.count; i++) {
        const StatsPair *pair = &diff->pairs.data[i];
        const StatsRow *row = pair->now ? pair->now : pair->base;
        for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++) {
            buf_printf(out, "%s\t%s\t%s\t%s\t%s\t", pair_word(pair), row->file, row->arch, row->kernel,
                       stats_columns[column].name);
            stats_print_value(column, pair->base ? pair->base->values[column] : NAN, out);
            buf_putc(out, '\t');
            stats_print_value(column, pair->now ? pair->now->values[column] : NAN, out);
            buf_putc(out, '\n');
        }
    }
}

static json_t *figure_json(double value) { return isnan(value) ? json_null() : json_real(value); }

static json_t *pair_json(Arena *arena, const StatsPair *pair)
{
    const StatsRow *row = pair->now ? pair->now : pair->base;
    json_t *object = json_object(), *figures = json_object();
    json_object_set_new(object, "change", json_string(pair_word(pair)));
    json_object_set_new(object, "file", json_text(row->file));
    json_object_set_new(object, "arch", json_text(row->arch));
    json_object_set_new(object, "kernel", json_text(row->kernel));
    json_object_set_new(object, "name", json_text(stats_name_shown(arena, row->kernel)));
    for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++) {
        json_t *both = json_array();
        json_array_append_new(both, figure_json(pair->base ? pair->base->values[column] : NAN));
        json_array_append_new(both, figure_json(pair->now ? pair->now->values[column] : NAN));
        json_object_set_new(figures, stats_columns[column].name, both);
    }
    json_object_set_new(object, "figures", figures);
    return object;
}

void stats_print_diff_json(const StatsDiff *diff, Buf *out)
{
    json_t *root = json_object(), *pairs = json_array();
    for (size_t i = 0; i < diff->pairs.count; i++)
        json_array_append_new(pairs, pair_json(diff->now->arena, &diff->pairs.data[i]));
    json_object_set_new(root, "format", json_string("ptxopt-stats-diff"));
    json_object_set_new(root, "version", json_integer(1));
    json_object_set_new(root, "kernels", pairs);
    json_print(root, out);
}
