/* Matches the kernels of two builds. */
#include <stdlib.h>

#include "stats/internal.h"

/* A row while it is matched. */
typedef struct Candidate {
    const StatsRow *row;
    const char *name; /* stable */
    size_t place;     /* in its build */
    const StatsRow *other; /* NULL: none yet */
} Candidate;

typedef VEC(Candidate) Candidates;

static int compare_keys(const Candidate *one, const Candidate *other)
{
    const int order = strcmp(one->name, other->name);
    return order ? order : strcmp(one->row->arch, other->row->arch);
}

static int compare(const void *a, const void *b)
{
    const Candidate *one = a, *other = b;
    const int order = compare_keys(one, other);
    return order ? order : one->place < other->place ? -1 : one->place > other->place;
}

static int compare_places(const void *a, const void *b)
{
    const Candidate *one = a, *other = b;
    return one->place < other->place ? -1 : one->place > other->place;
}

/* Of rows with the same file, kernel and architecture, which a table has when something was built again, the last. */
static bool is_superseded(const Candidates *sorted, size_t at)
{
    const Candidate *it = &sorted->data[at];
    for (size_t i = at + 1; i < sorted->count && compare_keys(it, &sorted->data[i]) == 0; i++)
        if (strcmp(it->row->file, sorted->data[i].row->file) == 0)
            return true;
    return false;
}

static Candidates sorted_rows(Arena *arena, const Stats *stats)
{
    Candidates all = {0}, kept = {0};
    for (size_t i = 0; i < stats->rows.count; i++)
        VEC_PUSH(arena, all,
                 ((Candidate){&stats->rows.data[i], stats_name_stable(arena, stats->rows.data[i].kernel), i, NULL}));
    if (all.count)
        qsort(all.data, all.count, sizeof *all.data, compare);
    for (size_t i = 0; i < all.count; i++)
        if (!is_superseded(&all, i))
            VEC_PUSH(arena, kept, all.data[i]);
    return kept;
}

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

/* How much two places in a build look the same. */
typedef enum Likeness { ANY_FILE, SAME_NAME, SAME_FILE } Likeness;

static bool is_like(const Candidate *one, const Candidate *other, Likeness likeness)
{
    switch (likeness) {
    case ANY_FILE: return true;
    case SAME_NAME: return strcmp(base_name(one->row->file), base_name(other->row->file)) == 0;
    case SAME_FILE: return strcmp(one->row->file, other->row->file) == 0;
    }
    return false;
}

/* Both ranges have the same key. */
static void match_group(Candidate *base, size_t base_count, Candidate *now, size_t now_count)
{
    for (int likeness = SAME_FILE; likeness >= ANY_FILE; likeness--)
        for (size_t i = 0; i < now_count; i++)
            for (size_t j = 0; j < base_count && !now[i].other; j++)
                if (!base[j].other && is_like(&now[i], &base[j], (Likeness)likeness)) {
                    now[i].other = base[j].row;
                    base[j].other = now[i].row;
                }
}

static size_t group_end(const Candidates *sorted, size_t begin)
{
    size_t end = begin;
    while (end < sorted->count && compare_keys(&sorted->data[begin], &sorted->data[end]) == 0)
        end++;
    return end;
}

static void match_sorted(Candidates *base, Candidates *now)
{
    for (size_t b = 0, n = 0; b < base->count && n < now->count;) {
        const int order = compare_keys(&base->data[b], &now->data[n]);
        const size_t base_end = group_end(base, b), now_end = group_end(now, n);
        if (order == 0)
            match_group(base->data + b, base_end - b, now->data + n, now_end - n);
        b = order <= 0 ? base_end : b;
        n = order >= 0 ? now_end : n;
    }
}

void stats_match(const Stats *base, const Stats *now, StatsDiff *diff)
{
    Arena *arena = now->arena;
    Candidates before = sorted_rows(arena, base), after = sorted_rows(arena, now);
    *diff = (StatsDiff){.base = base, .now = now};
    match_sorted(&before, &after);
    if (after.count)
        qsort(after.data, after.count, sizeof *after.data, compare_places);
    if (before.count)
        qsort(before.data, before.count, sizeof *before.data, compare_places);
    for (size_t i = 0; i < after.count; i++)
        VEC_PUSH(arena, diff->pairs, ((StatsPair){after.data[i].other, after.data[i].row}));
    for (size_t i = 0; i < before.count; i++)
        if (!before.data[i].other)
            VEC_PUSH(arena, diff->pairs, ((StatsPair){before.data[i].row, NULL}));
}
