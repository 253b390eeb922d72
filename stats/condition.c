/* Conditions by which a build fails. */
#include <stdlib.h>

#include "options/options.h"
#include "stats/internal.h"

typedef enum Comparison { ABOVE, AT_LEAST, BELOW, AT_MOST, EQUAL, GROWS, SHRINKS } Comparison;

struct StatsCondition {
    const char *kernel; /* as options name kernels; NULL: all */
    StatsColumn column;
    Comparison comparison;
    bool is_relative; /* the limit is a percentage of the figure before */
    double limit;
};

/* By the length of their spellings, the longest first. */
static const struct { const char *spelling; Comparison comparison; } comparisons[] = {
    {">=", AT_LEAST}, {"<=", AT_MOST}, {"==", EQUAL}, {">", ABOVE}, {"<", BELOW}, {"=", EQUAL}, {"+", GROWS},
    {"-", SHRINKS},
};

static const char *comparison_spelling(Comparison comparison)
{
    size_t i = 0;
    while (comparisons[i].comparison != comparison)
        i++;
    return comparisons[i].spelling;
}

static const char *unknown_column(Arena *arena, const char *text, size_t length)
{
    Buf list = {0};
    for (StatsColumn column = 0; column < STATS_COLUMN_COUNT; column++)
        buf_printf(&list, "%s%s", column ? ", " : "", stats_columns[column].name);
    const char *error = arena_printf(arena, "'%.*s' is not a figure; there are %s", (int)length, text, buf_text(&list));
    buf_free(&list);
    return error;
}

/* The last ':' that is not in a C++ name: what comes after it is the condition itself. */
static const char *condition_itself(const char *text)
{
    const char *last = strrchr(text, ':');
    return last && (last == text || last[-1] != ':') && !strpbrk(last, "()") ? last + 1 : text;
}

static const char *read_limit(Arena *arena, const char *text, StatsCondition *condition)
{
    const bool compares = condition->comparison == GROWS || condition->comparison == SHRINKS;
    char *end;
    condition->limit = strtod(text, &end);
    if (end != text && *end == '%' && compares) {
        condition->is_relative = true;
        end++;
    }
    if (end == text || *end || !isfinite(condition->limit) || condition->limit < 0)
        return arena_printf(arena, "'%s' is not a number%s", text, compares ? ", nor one with a percent sign" : "");
    if (compares && condition->limit == 0)
        return "a change of 0 is none";
    return NULL;
}

const StatsCondition *stats_condition_read(Arena *arena, const char *text, const char **error)
{
    StatsCondition *condition = ARENA_NEW(arena, StatsCondition);
    const char *itself = condition_itself(text);
    const size_t length = strcspn(itself, "<>=+-");
    size_t i = 0;
    if (itself != text)
        condition->kernel = arena_strndup(arena, text, (size_t)(itself - text) - 1);
    condition->column = stats_column_find(itself, length);
    *error = condition->column < STATS_COLUMN_COUNT ? NULL : unknown_column(arena, itself, length);
    if (!*error && !itself[length])
        *error = "expected a comparison, such as spills>0, registers+8 or time+2%";
    if (*error)
        return NULL;
    while (strncmp(itself + length, comparisons[i].spelling, strlen(comparisons[i].spelling)) != 0)
        i++;
    condition->comparison = comparisons[i].comparison;
    *error = read_limit(arena, itself + length + strlen(comparisons[i].spelling), condition);
    return *error ? NULL : condition;
}

bool stats_condition_compares(const StatsCondition *condition)
{
    return condition->comparison == GROWS || condition->comparison == SHRINKS;
}

static bool value_holds(const StatsCondition *condition, double value)
{
    switch (condition->comparison) {
    case ABOVE: return value > condition->limit;
    case AT_LEAST: return value >= condition->limit;
    case BELOW: return value < condition->limit;
    case AT_MOST: return value <= condition->limit;
    case EQUAL: return value == condition->limit;
    case GROWS:
    case SHRINKS: break;
    }
    return false;
}

/* From nothing, any growth is more than every percentage. */
static bool change_holds(const StatsCondition *condition, double base, double now)
{
    const double change = condition->comparison == GROWS ? now - base : base - now;
    return change > 0 && change >= (condition->is_relative ? condition->limit / 100 * base : condition->limit);
}

/* Figures that are unknown fulfil no condition. */
static bool holds(const StatsCondition *condition, const StatsPair *pair)
{
    if (!stats_condition_compares(condition))
        return value_holds(condition, pair->now->values[condition->column]);
    return pair->base && change_holds(condition, pair->base->values[condition->column],
                                      pair->now->values[condition->column]);
}

static const char *reason(Arena *arena, const StatsCondition *condition, const StatsPair *pair)
{
    Buf text = {0};
    buf_printf(&text, "%s ", stats_columns[condition->column].name);
    if (stats_condition_compares(condition)) {
        stats_print_value(condition->column, pair->base->values[condition->column], &text);
        buf_puts(&text, " -> ");
    }
    stats_print_value(condition->column, pair->now->values[condition->column], &text);
    buf_printf(&text, " (-fail-if %s%s%g%s)", stats_columns[condition->column].name,
               comparison_spelling(condition->comparison), condition->limit, condition->is_relative ? "%" : "");
    const char *result = arena_strndup(arena, text.data, text.length);
    buf_free(&text);
    return result;
}

void stats_condition_check(Arena *arena, const StatsCondition *condition, const StatsPair *pair,
                           StatsFailures *failures)
{
    if (!pair->now || (condition->kernel && !kernel_name_matches(condition->kernel, pair->now->kernel)))
        return;
    if (holds(condition, pair))
        VEC_PUSH(arena, *failures, ((StatsFailure){pair->now, reason(arena, condition, pair)}));
}
