/* Columns for PTX values, which are many more than registers: values that are not there at once share one, as intervals
 * of rows do in linear scan (Poletto and Sarkar, "Linear Scan Register Allocation", 1999). */
#include "view/internal.h"

#include <stdlib.h>

/* A column, up to the value that was given it last. */
typedef struct Column {
    uint32_t end;  /* the first row at which it is free again */
    bool is_given; /* its value is only read in the row before: one that begins there may have it */
} Column;

typedef struct Assignment {
    Arena *arena;
    const ValueRows *values;
    VEC(Column) columns;
    uint32_t *usual; /* by register: its last column + 1; 0: it had none */
} Assignment;

static bool is_free(const Assignment *assignment, size_t column, const ValueRows *value)
{
    if (column >= assignment->columns.count)
        return true;
    const Column *held = &assignment->columns.data[column];
    return held->end <= value->first || (held->is_given && value->is_new && held->end == value->first + 1);
}

static bool fits(const Assignment *assignment, size_t column, const ValueRows *value)
{
    for (uint32_t w = 0; w < value->width; w++)
        if (!is_free(assignment, column + w, value))
            return false;
    return true;
}

static uint32_t place_value(Assignment *assignment, const ValueRows *value)
{
    size_t column = assignment->usual[value->reg];
    if (!column || !fits(assignment, --column, value))
        for (column = 0; !fits(assignment, column, value);)
            column++;
    while (assignment->columns.count < column + value->width)
        VEC_PUSH(assignment->arena, assignment->columns, (Column){0});
    for (uint32_t w = 0; w < value->width; w++)
        assignment->columns.data[column + w] = (Column){value->last + 1, value->ends};
    assignment->usual[value->reg] = (uint32_t)column + 1;
    return (uint32_t)column;
}

typedef struct Start {
    uint32_t first, value;
    bool is_new;
} Start;

/* By first rows; where they are equal, values that come from elsewhere, which keep the columns of their registers. */
static int compare_starts(const void *a, const void *b)
{
    const Start *one = a, *other = b;
    if (one->first != other->first)
        return one->first < other->first ? -1 : 1;
    if (one->is_new != other->is_new)
        return one->is_new ? 1 : -1;
    return one->value < other->value ? -1 : one->value > other->value;
}

uint32_t view_assign_columns(const ValueRows *values, size_t count, SassFile file, uint32_t *columns)
{
    Arena *scratch = arena_new();
    Assignment assignment = {.arena = scratch, .values = values};
    assignment.usual = ARENA_ARRAY(scratch, uint32_t, count + 1);
    VEC(Start) order = {0};
    for (size_t v = 0; v < count; v++)
        if (values[v].file == file && values[v].first <= values[v].last)
            VEC_PUSH(scratch, order, ((Start){values[v].first, (uint32_t)v, values[v].is_new}));
    if (order.count)
        qsort(order.data, order.count, sizeof *order.data, compare_starts);
    for (size_t i = 0; i < order.count; i++)
        columns[order.data[i].value] = place_value(&assignment, &values[order.data[i].value]);
    const uint32_t used = (uint32_t)assignment.columns.count;
    arena_free(scratch);
    return used;
}
