/* What is relative to other rows of a table. */
#include <stdlib.h>

#include "sweep/internal.h"

/* A row and its place, so that of equal ones the later is found. */
typedef struct Place {
    const SweepRow *row;
    size_t at;
} Place;

static int compare_places(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    const int order = sweep_row_compare(x->row, y->row);
    return order ? order : x->at < y->at ? -1 : 1;
}

static void sort_rows(SweepTable *table)
{
    const size_t count = table->rows.count;
    Place *places = ARENA_ARRAY(table->arena, Place, count + 1);
    SweepRow *rows = ARENA_ARRAY(table->arena, SweepRow, count + 1);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        places[i] = (Place){&table->rows.data[i], i};
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || sweep_row_compare(places[i].row, places[i + 1].row) != 0)
            rows[kept++] = *places[i].row;
    table->rows.data = rows;
    table->rows.count = kept;
    table->rows.capacity = count + 1;
}

static bool is_of_launch(const SweepRow *row, const SweepRow *first)
{
    return strcmp(row->kernel, first->kernel) == 0 && strcmp(row->launch, first->launch) == 0 &&
           strcmp(row->arch, first->arch) == 0;
}

/* The speedup over an original, by one of the times; unknown if one of them is. */
static double speedup_over(const SweepRow *original, const SweepRow *row, SweepColumn time)
{
    return original && row->status == SWEEP_OK ? original->values[time] / row->values[time] : NAN;
}

/* The fastest original of the rows by one of the times, by machine code or by PTX; NULL if there is none. */
static const SweepRow *best_original(const SweepRow *rows, size_t count, bool by_machine, SweepColumn time)
{
    const SweepRow *best = NULL;
    for (size_t i = 0; i < count && rows[i].factor == 1; i++)
        if (rows[i].status == SWEEP_OK && rows[i].by_machine == by_machine && !isnan(rows[i].values[time]) &&
            (!best || rows[i].values[time] < best->values[time]))
            best = &rows[i];
    return best;
}

static const SweepRow *original_with_block(const SweepRow *rows, size_t count, const SweepRow *like)
{
    for (size_t i = 0; i < count && rows[i].factor == 1; i++)
        if (memcmp(rows[i].block, like->block, sizeof like->block) == 0 && rows[i].by_machine == like->by_machine)
            return rows[i].status == SWEEP_OK ? &rows[i] : NULL;
    return NULL;
}

/* Sets the speedups of the rows of one launch on one architecture, of which the originals come first. */
static void set_speedups(SweepRow *rows, size_t count)
{
    const SweepRow *best[2] = {best_original(rows, count, false, SWEEP_CYCLES),
                               best_original(rows, count, true, SWEEP_CYCLES)};
    const SweepRow *measured = best_original(rows, count, false, SWEEP_MEASURED); /* all originals have such a row */
    for (size_t i = 0; i < count; i++) {
        SweepRow *row = &rows[i];
        row->values[SWEEP_STRICT] = speedup_over(best[row->by_machine], row, SWEEP_CYCLES);
        row->values[SWEEP_SAME_BLOCK] = speedup_over(original_with_block(rows, count, row), row, SWEEP_CYCLES);
        row->values[SWEEP_MEASURED_STRICT] = speedup_over(measured, row, SWEEP_MEASURED);
    }
}

void sweep_settle(SweepTable *table)
{
    sort_rows(table);
    for (size_t first = 0, end; first < table->rows.count; first = end) {
        for (end = first + 1; end < table->rows.count; end++)
            if (!is_of_launch(&table->rows.data[end], &table->rows.data[first]))
                break;
        set_speedups(&table->rows.data[first], end - first);
    }
}
