/* Sets of values that share one register, and the copies that vanish because both ends are in one set: the
 * coalescing part of leaving SSA form (Boissinot et al. 2009, sections 3 and 4).
 *
 * Single copies are joined greedily, the most deeply nested first, but by halves: if all copies of a connected part
 * can be joined at once, a single check of its values suffices and gives the same result as joining them one by one;
 * a part is split only if that check fails. */
#include "ir/ssa/destruct.h"

#include <stdlib.h>
#include <string.h>

typedef struct Coalescer {
    Leaver *leaver;
    const uint32_t *order; /* all defined values in the order of the dominator tree */
    uint32_t defined;
    uint32_t *merged, *stack; /* room for all values */
    size_t work;              /* members looked at */
} Coalescer;

/* Copies are joined, and sets merged to preserve names, up to this many steps; the remaining copies become moves, which
 * the assembler coalesces too. Only functions with tens of thousands of conflicting copies get near the limit. */
static const size_t WORK_LIMIT = 50 * 1000 * 1000;

typedef struct Place { /* of a definition, in the order in which a walk of the dominator tree meets them */
    uint64_t key;
    uint32_t value;
} Place;

static int place_compare(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static void values_rank(Coalescer *c)
{
    Leaver *leaver = c->leaver;
    Place *places = ARENA_ARRAY(leaver->scratch, Place, leaver->values.count);
    uint32_t *order = ARENA_ARRAY(leaver->scratch, uint32_t, leaver->values.count);
    for (uint32_t i = 0; i < leaver->values.count; i++)
        if (value_defined(leaver, i)) {
            const Value *value = &leaver->values.data[i];
            uint64_t key = (uint64_t)leaver->dominance->enter[value->block] << 32 | value->position;
            places[c->defined++] = (Place){key, i};
        }
    if (c->defined)
        qsort(places, c->defined, sizeof *places, place_compare);
    for (uint32_t i = 0; i < c->defined; i++) {
        order[i] = places[i].value;
        leaver->values.data[order[i]].rank = i;
    }
    c->order = order;
}

static int rank_compare(const void *a, const void *b, void *values)
{
    const Value *all = values;
    uint32_t x = all[*(const uint32_t *)a].rank, y = all[*(const uint32_t *)b].rank;
    return x < y ? -1 : x > y;
}

const uint32_t *set_members(const Leaver *leaver, const uint32_t *root, uint32_t *count)
{
    const Set *set = &leaver->sets[*root];
    *count = set->members ? set->count : value_defined(leaver, *root);
    return set->members ? set->members : root;
}

/* True if two of the values, which are in tree order, are live together with different contents. The stack holds the
 * chain of members that dominate the current one; if the one on top does not interfere, neither do those below it,
 * except that a member with the contents of the top one may live where that no longer does: Value.equal leads to
 * those. */
static bool members_interfere(Coalescer *c, const uint32_t *members, uint32_t count)
{
    Leaver *leaver = c->leaver;
    Value *values = leaver->values.data;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++, c->work++) {
        uint32_t current = members[i];
        while (depth && !value_dominates(leaver, c->stack[depth - 1], current))
            depth--;
        values[current].equal = VALUE_NONE;
        if (depth) {
            uint32_t above = c->stack[depth - 1];
            bool same = values[above].same == values[current].same;
            while (above != VALUE_NONE && !values_intersect(leaver, above, current))
                above = values[above].equal;
            if (above != VALUE_NONE && !same)
                return true;
            values[current].equal = above;
        }
        c->stack[depth++] = current;
    }
    return false;
}

static void set_store(Coalescer *c, uint32_t root, const uint32_t *members, uint32_t count)
{
    Set *set = &c->leaver->sets[root];
    if (count > set->capacity) {
        set->capacity = count * 2;
        set->members = ARENA_ARRAY(c->leaver->scratch, uint32_t, set->capacity);
    }
    memcpy(set->members, members, count * sizeof *members);
    set->count = count;
}

/* Joins the sets of a and b if that leaves the union free of interference. */
static bool sets_join(Coalescer *c, uint32_t a, uint32_t b)
{
    Leaver *leaver = c->leaver;
    Value *values = leaver->values.data;
    uint32_t x = find(leaver, a), y = find(leaver, b), m, n, used = 0;
    if (x == y)
        return true;
    if (values[x].type != values[y].type)
        return false;
    const uint32_t *p = set_members(leaver, &x, &m), *q = set_members(leaver, &y, &n);
    for (uint32_t i = 0, j = 0; i < m || j < n;)
        c->merged[used++] = j == n || (i < m && values[p[i]].rank < values[q[j]].rank) ? p[i++] : q[j++];
    c->work += used;
    if (members_interfere(c, c->merged, used))
        return false;
    if (leaver->sets[x].capacity < leaver->sets[y].capacity) {
        uint32_t swap = x;
        x = y;
        y = swap;
    }
    values[y].parent = x;
    set_store(c, x, c->merged, used);
    return true;
}

/* The sets that phis and ties form from the start. */
static void sets_begin(Coalescer *c)
{
    Leaver *leaver = c->leaver;
    uint32_t count = (uint32_t)leaver->values.count;
    uint32_t *sizes = ARENA_ARRAY(leaver->scratch, uint32_t, count);
    leaver->sets = ARENA_ARRAY(leaver->scratch, Set, count);
    c->merged = ARENA_ARRAY(leaver->scratch, uint32_t, count);
    c->stack = ARENA_ARRAY(leaver->scratch, uint32_t, count);
    for (uint32_t i = 0; i < c->defined; i++)
        sizes[find(leaver, c->order[i])]++;
    for (uint32_t i = 0; i < c->defined; i++) {
        uint32_t root = find(leaver, c->order[i]);
        Set *set = &leaver->sets[root];
        if (sizes[root] < 2)
            continue;
        if (!set->members) {
            set->capacity = sizes[root];
            set->members = ARENA_ARRAY(leaver->scratch, uint32_t, set->capacity);
        }
        set->members[set->count++] = c->order[i];
    }
}

/* Defined values by the register of the source, in tree order: members[starts[r] .. starts[r + 1]). */
typedef struct Groups {
    uint32_t *starts, *members;
} Groups;

static Groups groups_by_origin(const Coalescer *c)
{
    Leaver *leaver = c->leaver;
    const Value *values = leaver->values.data;
    Groups groups = {0};
    groups.starts = ARENA_ARRAY(leaver->scratch, uint32_t, leaver->registers + (size_t)2);
    groups.members = ARENA_ARRAY(leaver->scratch, uint32_t, c->defined);
    uint32_t *ends = groups.starts + 1; /* counts first, then running ends: each becomes the next one's start */
    for (uint32_t i = 0; i < c->defined; i++)
        ends[values[c->order[i]].origin + 1]++;
    for (uint32_t i = 1; i <= leaver->registers; i++)
        ends[i] += ends[i - 1];
    for (uint32_t i = 0; i < c->defined; i++)
        groups.members[ends[values[c->order[i]].origin]++] = c->order[i];
    return groups;
}

/* Joins the values, which are in tree order and make up whole sets, into one set if they do not interfere. */
static bool group_join(Coalescer *c, const uint32_t *members, uint32_t count)
{
    Leaver *leaver = c->leaver;
    Value *values = leaver->values.data;
    for (uint32_t i = 0; i < count; i++)
        if (values[members[i]].type != values[members[0]].type)
            return false;
    if (members_interfere(c, members, count))
        return false;
    uint32_t root = find(leaver, members[0]);
    for (uint32_t i = 1; i < count; i++)
        values[find(leaver, members[i])].parent = root;
    set_store(c, root, members, count);
    return true;
}

static void whole_groups_join(Coalescer *c, const Groups *groups)
{
    Leaver *leaver = c->leaver;
    const Value *values = leaver->values.data;
    bool *foreign = ARENA_ARRAY(leaver->scratch, bool, leaver->registers);
    for (size_t i = 0; i < leaver->copies.count; i++) {
        RegId dst = values[leaver->copies.data[i].dst].origin, src = values[leaver->copies.data[i].src].origin;
        if (dst != src)
            foreign[dst] = foreign[src] = true;
    }
    for (uint32_t o = 0; o < leaver->registers; o++) {
        uint32_t count = groups->starts[o + 1] - groups->starts[o];
        if (count > 1 && !foreign[o])
            group_join(c, groups->members + groups->starts[o], count);
    }
}

/* Joins the remaining versions of each register to the largest of their sets. */
static void group_remains_join(Coalescer *c, const Groups *groups)
{
    Leaver *leaver = c->leaver;
    c->work = 0;
    for (uint32_t o = 0; o < leaver->registers && c->work < WORK_LIMIT; o++) {
        const uint32_t *members = groups->members + groups->starts[o];
        uint32_t count = groups->starts[o + 1] - groups->starts[o];
        if (count < 2)
            continue;
        uint32_t owner = find(leaver, members[0]);
        for (uint32_t i = 1; i < count; i++) {
            uint32_t root = find(leaver, members[i]);
            if (leaver->sets[root].count > leaver->sets[owner].count)
                owner = root;
        }
        for (uint32_t i = 0; i < count && c->work < WORK_LIMIT; i++)
            sets_join(c, owner, members[i]);
    }
}

/* The number of natural loops around each block. */
static uint32_t *depths_compute(Leaver *leaver)
{
    Body *body = leaver->body;
    uint32_t *depths = ARENA_ARRAY(leaver->scratch, uint32_t, body->blocks.count);
    uint32_t *seen = ARENA_ARRAY(leaver->scratch, uint32_t, body->blocks.count);
    VEC(uint32_t) work = {0};
    for (uint32_t header = 0; header < body->blocks.count; header++) {
        const Block *block = body->blocks.data[header];
        for (unsigned i = 0; i < block->pred_count; i++) {
            uint32_t latch = block->preds[i]->id;
            if (dominance_has_id(leaver->dominance, header, latch) && seen[latch] != header + 1) {
                seen[latch] = header + 1;
                VEC_PUSH(leaver->scratch, work, latch);
            }
        }
        if (!work.count)
            continue;
        seen[header] = header + 1;
        depths[header]++;
        while (work.count) {
            uint32_t inside = VEC_POP(work);
            if (inside == header)
                continue;
            depths[inside]++;
            for (unsigned i = 0; i < body->blocks.data[inside]->pred_count; i++) {
                uint32_t pred = body->blocks.data[inside]->preds[i]->id;
                if (seen[pred] != header + 1) {
                    seen[pred] = header + 1;
                    VEC_PUSH(leaver->scratch, work, pred);
                }
            }
        }
    }
    return depths;
}

/* Copies and sets that are connected to each other: slices of Halver.copies and Halver.roots. */
typedef struct Part {
    uint32_t first_copy, copy_count, first_root, root_count;
} Part;

typedef struct Range {
    uint32_t first, count;
} Range;

typedef struct Halver {
    Coalescer *coalescer;
    Copy **copies; /* those to be joined; each slice in order of preference */
    uint32_t *roots;
    Part *parts;
    VEC(Range) ranges; /* slices of 'copies' that are still to be tried, the next one last */
    /* While looking for parts: */
    uint32_t *parents, *numbers; /* by root: the forest of parts, and the number of the part at its top; VALUE_NONE */
    Copy **moved_copies;
    uint32_t *moved_roots;
} Halver;

static Halver halver_new(Coalescer *c)
{
    Leaver *leaver = c->leaver;
    Arena *scratch = leaver->scratch;
    size_t values = leaver->values.count, copies = leaver->copies.count;
    Halver h = {.coalescer = c};
    h.copies = ARENA_ARRAY(scratch, Copy *, copies);
    h.moved_copies = ARENA_ARRAY(scratch, Copy *, copies);
    h.roots = ARENA_ARRAY(scratch, uint32_t, values);
    h.moved_roots = ARENA_ARRAY(scratch, uint32_t, values);
    h.parts = ARENA_ARRAY(scratch, Part, copies);
    h.parents = ARENA_ARRAY(scratch, uint32_t, values);
    h.numbers = ARENA_ARRAY(scratch, uint32_t, values);
    memset(h.parents, 0xff, values * sizeof *h.parents);
    memset(h.numbers, 0xff, values * sizeof *h.numbers);
    return h;
}

static bool copy_pending(Leaver *leaver, const Copy *copy)
{
    uint32_t a = find(leaver, copy->dst), b = find(leaver, copy->src);
    return a != b && leaver->values.data[a].type == leaver->values.data[b].type;
}

static uint32_t part_top(Halver *h, uint32_t root)
{
    while (h->parents[root] != root)
        root = h->parents[root] = h->parents[h->parents[root]];
    return root;
}

static Part *copy_part(Halver *h, const Copy *copy)
{
    return &h->parts[h->numbers[part_top(h, find(h->coalescer->leaver, copy->dst))]];
}

/* Connects the sets at the ends of the pending copies in the forest h->parents, and returns the number of sets. */
static uint32_t parts_connect(Halver *h, Copy *const *copies, uint32_t count)
{
    Leaver *leaver = h->coalescer->leaver;
    uint32_t roots = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t ends[2] = {find(leaver, copies[i]->dst), find(leaver, copies[i]->src)};
        for (unsigned e = 0; e < 2; e++)
            if (h->parents[ends[e]] == VALUE_NONE) {
                h->parents[ends[e]] = ends[e];
                h->roots[roots++] = ends[e];
            }
        uint32_t top = part_top(h, ends[1]);
        h->parents[part_top(h, ends[0])] = top;
    }
    return roots;
}

/* Sorts the slice of copies, all pending, into parts, without changing the order within one; returns the number of
 * parts. */
static uint32_t parts_find(Halver *h, Range range)
{
    Copy **copies = h->copies + range.first;
    uint32_t roots = parts_connect(h, copies, range.count), parts = 0;
    for (uint32_t i = 0; i < roots; i++) {
        uint32_t top = part_top(h, h->roots[i]);
        if (h->numbers[top] == VALUE_NONE) {
            h->numbers[top] = parts;
            h->parts[parts++] = (Part){0};
        }
        h->parts[h->numbers[top]].root_count++;
    }
    for (uint32_t i = 0; i < range.count; i++)
        copy_part(h, copies[i])->copy_count++;
    uint32_t copy = range.first, root = 0;
    for (uint32_t i = 0; i < parts; i++) {
        Part *part = &h->parts[i];
        part->first_copy = copy;
        part->first_root = root;
        copy += part->copy_count;
        root += part->root_count;
        part->copy_count = part->root_count = 0;
    }
    for (uint32_t i = 0; i < range.count; i++) {
        Part *part = copy_part(h, copies[i]);
        h->moved_copies[part->first_copy - range.first + part->copy_count++] = copies[i];
    }
    for (uint32_t i = 0; i < roots; i++) {
        Part *part = &h->parts[h->numbers[part_top(h, h->roots[i])]];
        h->moved_roots[part->first_root + part->root_count++] = h->roots[i];
    }
    memcpy(copies, h->moved_copies, range.count * sizeof *copies);
    memcpy(h->roots, h->moved_roots, roots * sizeof *h->roots);
    for (uint32_t i = 0; i < roots; i++)
        h->parents[h->roots[i]] = h->numbers[h->roots[i]] = VALUE_NONE;
    return parts;
}

/* Joins the sets into one if they do not interfere. */
static bool sets_join_all(Coalescer *c, const uint32_t *roots, uint32_t root_count)
{
    Leaver *leaver = c->leaver;
    uint32_t total = 0;
    for (uint32_t i = 0; i < root_count; i++) {
        uint32_t root = roots[i], count;
        const uint32_t *members = set_members(leaver, &root, &count);
        memcpy(c->merged + total, members, count * sizeof *members);
        total += count;
    }
    c->work += total;
    if (total)
        qsort_r(c->merged, total, sizeof *c->merged, rank_compare, leaver->values.data);
    return group_join(c, c->merged, total);
}

/* Joins the parts of a slice that can be joined as wholes; the halves of the others are put on the list. */
static void range_join(Halver *h, Range range)
{
    Coalescer *c = h->coalescer;
    uint32_t pending = 0;
    for (uint32_t i = 0; i < range.count; i++)
        if (copy_pending(c->leaver, h->copies[range.first + i]))
            h->copies[range.first + pending++] = h->copies[range.first + i];
    range.count = pending;
    uint32_t parts = parts_find(h, range);
    for (uint32_t i = 0; i < parts; i++) {
        const Part *part = &h->parts[i];
        const uint32_t *roots = h->roots + part->first_root;
        if (part->root_count == 2) {
            sets_join(c, roots[0], roots[1]);
        } else if (!sets_join_all(c, roots, part->root_count)) {
            uint32_t half = part->copy_count / 2;
            Range left = {part->first_copy, half}, right = {part->first_copy + half, part->copy_count - half};
            VEC_PUSH(c->leaver->scratch, h->ranges, right);
            VEC_PUSH(c->leaver->scratch, h->ranges, left);
        }
    }
}

static int copy_compare(const void *a, const void *b)
{
    const Copy *x = *(const Copy *const *)a, *y = *(const Copy *const *)b;
    if (x->depth != y->depth)
        return x->depth > y->depth ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The order only matters if not all can be joined. */
static void copies_join(Coalescer *c)
{
    Leaver *leaver = c->leaver;
    Halver h = halver_new(c);
    uint32_t pending = 0;
    for (size_t i = 0; i < leaver->copies.count; i++)
        if (copy_pending(leaver, &leaver->copies.data[i]))
            h.copies[pending++] = &leaver->copies.data[i];
    range_join(&h, (Range){0, pending});
    if (!h.ranges.count)
        return;
    const uint32_t *depths = depths_compute(leaver);
    for (uint32_t i = 0; i < pending; i++)
        h.copies[i]->depth = depths[h.copies[i]->block];
    qsort(h.copies, pending, sizeof *h.copies, copy_compare);
    h.ranges.count = 0;
    VEC_PUSH(leaver->scratch, h.ranges, ((Range){0, pending}));
    while (h.ranges.count && c->work < WORK_LIMIT)
        range_join(&h, VEC_POP(h.ranges));
}

void copies_coalesce(Leaver *leaver)
{
    Coalescer c = {.leaver = leaver};
    values_rank(&c);
    sets_begin(&c);
    Groups groups = groups_by_origin(&c);
    whole_groups_join(&c, &groups);
    copies_join(&c);
    group_remains_join(&c, &groups);
}
