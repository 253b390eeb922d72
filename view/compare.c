/* Compares two forms of a kernel, instruction by instruction.
 *
 * Two instructions are the same if their texts are, apart from the numbers of registers and from labels. First the two
 * lists are aligned: between instructions that each has once (patience sorting, as in Bazaar's diff), or where there
 * are none, by their longest common subsequence. The others are told apart by whether the other list has such an
 * instruction. */
#include "view/internal.h"

#include <ctype.h>
#include <string.h>

/* The largest table for a longest common subsequence; longer stretches without anchors are taken as different. */
enum { MOST_CELLS = 1 << 20 };

typedef struct Range {
    uint32_t begin[2], end[2]; /* rows before, and after */
} Range;

typedef struct Comparison {
    Arena *arena; /* scratch */
    uint32_t rows[2];
    uint32_t *keys[2];     /* by row; equal instructions have equal keys */
    uint32_t *partners[2]; /* by row: of the other side; MACHINE_NONE */
    uint32_t key_count;
    uint32_t *found[2]; /* by key: occurrences in a range; all 0 between uses */
    uint32_t *place;    /* by key: the last row before with it */
    VEC(Range) open;
} Comparison;

/* True of "R12", "UR4", "P0" and "UP1", whose length without digits is then *letters. */
static bool is_register(const char *word, size_t length, size_t *letters)
{
    size_t at = word[0] == 'U';
    if (at >= length || (word[at] != 'R' && word[at] != 'P'))
        return false;
    *letters = ++at;
    while (at < length && isdigit((unsigned char)word[at]))
        at++;
    return at == length && at > *letters;
}

/* The text without what depends on the allocation of registers and on the place of the code. */
static Name print_key(Interner *names, Buf *key, const char *text)
{
    buf_clear(key);
    for (const char *at = text; *at && *at != '`';) {
        size_t length = 0, letters;
        while (isalnum((unsigned char)at[length]))
            length++;
        if (length)
            buf_write(key, at, is_register(at, length, &letters) ? letters : length);
        else if (strncmp(at, ".reuse", 6) == 0)
            length = 6;
        else
            buf_putc(key, at[length++]);
        at += length;
    }
    return intern(names, buf_text(key));
}

static void set_keys(Comparison *comparison, const View *const sides[2])
{
    Interner *names = interner_new(comparison->arena, 256);
    PointerMap numbers = {.arena = comparison->arena};
    Buf key = {0};
    for (unsigned s = 0; s < 2; s++)
        for (uint32_t row = 0; row < comparison->rows[s]; row++) {
            const Name name = print_key(names, &key, sides[s]->code.rows[row].text);
            uintptr_t number = (uintptr_t)pointer_map_get(&numbers, name);
            if (!number) {
                number = ++comparison->key_count;
                pointer_map_put(&numbers, name, (const void *)number);
            }
            comparison->keys[s][row] = (uint32_t)number;
        }
    buf_free(&key);
}

static void join(Comparison *comparison, uint32_t before, uint32_t after)
{
    comparison->partners[0][before] = after;
    comparison->partners[1][after] = before;
}

static bool equal(const Comparison *comparison, uint32_t before, uint32_t after)
{
    return comparison->keys[0][before] == comparison->keys[1][after];
}

/* Joins what is equal at both ends of a range. False if nothing is left of it on one side. */
static bool trim(Comparison *comparison, Range *range)
{
    while (range->begin[0] < range->end[0] && range->begin[1] < range->end[1] &&
           equal(comparison, range->begin[0], range->begin[1]))
        join(comparison, range->begin[0]++, range->begin[1]++);
    while (range->begin[0] < range->end[0] && range->begin[1] < range->end[1] &&
           equal(comparison, range->end[0] - 1, range->end[1] - 1))
        join(comparison, --range->end[0], --range->end[1]);
    return range->begin[0] < range->end[0] && range->begin[1] < range->end[1];
}

/* Counts each key of the range, or forgets the counts again. */
static void count_keys(Comparison *comparison, const Range *range, bool forget)
{
    for (unsigned s = 0; s < 2; s++)
        for (uint32_t row = range->begin[s]; row < range->end[s]; row++) {
            const uint32_t key = comparison->keys[s][row];
            comparison->found[s][key] = forget ? 0 : comparison->found[s][key] + 1;
            if (s == 0)
                comparison->place[key] = row;
        }
}

/* A row after whose instruction both sides of the range have once. */
typedef struct Anchor {
    uint32_t before, after;
    uint32_t previous; /* in the chain that it ends: an index, MACHINE_NONE */
} Anchor;
typedef VEC(Anchor) AnchorVec;

static AnchorVec find_anchors(Comparison *comparison, const Range *range)
{
    AnchorVec anchors = {0};
    count_keys(comparison, range, false);
    for (uint32_t row = range->begin[1]; row < range->end[1]; row++) {
        const uint32_t key = comparison->keys[1][row];
        if (comparison->found[0][key] == 1 && comparison->found[1][key] == 1)
            VEC_PUSH(comparison->arena, anchors, ((Anchor){comparison->place[key], row, MACHINE_NONE}));
    }
    count_keys(comparison, range, true);
    return anchors;
}

/* Links the anchors' longest chain in which both rows ascend; its last one, or MACHINE_NONE. */
static uint32_t link_anchors(Comparison *comparison, const AnchorVec *anchors)
{
    uint32_t *ends = ARENA_ARRAY(comparison->arena, uint32_t, anchors->count + 1), length = 0;
    for (uint32_t a = 0; a < anchors->count; a++) {
        uint32_t low = 0, high = length;
        while (low < high) {
            const uint32_t middle = (low + high) / 2;
            if (anchors->data[ends[middle]].before < anchors->data[a].before)
                low = middle + 1;
            else
                high = middle;
        }
        anchors->data[a].previous = low ? ends[low - 1] : MACHINE_NONE;
        ends[low] = a;
        length += low == length;
    }
    return length ? ends[length - 1] : MACHINE_NONE;
}

/* Joins the rows of the chain and opens the ranges between them. */
static void split(Comparison *comparison, Range range, const AnchorVec *anchors, uint32_t last)
{
    for (uint32_t a = last; a != MACHINE_NONE; a = anchors->data[a].previous) {
        const Anchor *anchor = &anchors->data[a];
        join(comparison, anchor->before, anchor->after);
        VEC_PUSH(comparison->arena, comparison->open,
                 ((Range){{anchor->before + 1, anchor->after + 1}, {range.end[0], range.end[1]}}));
        range.end[0] = anchor->before;
        range.end[1] = anchor->after;
    }
    VEC_PUSH(comparison->arena, comparison->open, range);
}

/* Joins the longest common subsequence of a range. */
static void join_subsequence(Comparison *comparison, const Range *range)
{
    const uint32_t height = range->end[0] - range->begin[0], width = range->end[1] - range->begin[1];
    if (height > MOST_CELLS / width)
        return;
    /* The length for the rows from (i, j) on, at i * (width + 1) + j. */
    uint32_t *lengths = ARENA_ARRAY(comparison->arena, uint32_t, (size_t)(height + 1) * (width + 1));
    for (uint32_t i = height; i-- > 0;)
        for (uint32_t j = width; j-- > 0;) {
            uint32_t *here = &lengths[i * (width + 1) + j], below = here[width + 1], right = here[1];
            *here = equal(comparison, range->begin[0] + i, range->begin[1] + j) ? here[width + 2] + 1
                    : below > right                                             ? below
                                                                                : right;
        }
    for (uint32_t i = 0, j = 0; i < height && j < width;) {
        const uint32_t *here = &lengths[i * (width + 1) + j];
        if (equal(comparison, range->begin[0] + i, range->begin[1] + j))
            join(comparison, range->begin[0] + i++, range->begin[1] + j++);
        else if (here[width + 1] >= here[1])
            i++;
        else
            j++;
    }
}

static void align(Comparison *comparison)
{
    VEC_PUSH(comparison->arena, comparison->open, ((Range){{0, 0}, {comparison->rows[0], comparison->rows[1]}}));
    while (comparison->open.count) {
        Range range = VEC_POP(comparison->open);
        if (!trim(comparison, &range))
            continue;
        const AnchorVec anchors = find_anchors(comparison, &range);
        const uint32_t last = link_anchors(comparison, &anchors);
        if (last == MACHINE_NONE)
            join_subsequence(comparison, &range);
        else
            split(comparison, range, &anchors, last);
    }
}

/* Joins equal instructions that are left over on both sides, in their order. */
static void find_moves(Comparison *comparison, ViewChanges *changes)
{
    uint32_t *first = ARENA_ARRAY(comparison->arena, uint32_t, comparison->key_count + 1);
    uint32_t *next = ARENA_ARRAY(comparison->arena, uint32_t, comparison->rows[0] + 1);
    memset(first, 0xff, (comparison->key_count + 1) * sizeof *first);
    for (uint32_t row = comparison->rows[0]; row-- > 0;)
        if (comparison->partners[0][row] == MACHINE_NONE) {
            next[row] = first[comparison->keys[0][row]];
            first[comparison->keys[0][row]] = row;
        }
    for (uint32_t row = 0; row < comparison->rows[1]; row++) {
        uint32_t *before = &first[comparison->keys[1][row]];
        if (comparison->partners[1][row] != MACHINE_NONE || *before == MACHINE_NONE)
            continue;
        changes->kinds[0][*before] = changes->kinds[1][row] = CHANGE_MOVED;
        const uint32_t following = next[*before];
        join(comparison, *before, row);
        *before = following;
    }
}

/* Says of each row without a partner whether the other side has its instruction at all. */
static void find_others(const Comparison *comparison, ViewChanges *changes)
{
    static const ViewChange kinds[2][2] = {{CHANGE_REMOVED, CHANGE_MERGED}, {CHANGE_NEW, CHANGE_AGAIN}};
    for (unsigned s = 0; s < 2; s++)
        for (uint32_t row = 0; row < comparison->rows[s]; row++)
            if (comparison->partners[s][row] == MACHINE_NONE)
                changes->kinds[s][row] =
                    (uint8_t)kinds[s][comparison->found[!s][comparison->keys[s][row]] != 0];
}

const ViewChanges *view_compare(Arena *arena, const View *before, const View *after)
{
    const View *const sides[2] = {before, after};
    Comparison comparison = {.arena = arena_new()};
    ViewChanges *changes = ARENA_NEW(arena, ViewChanges);
    for (unsigned s = 0; s < 2; s++) {
        comparison.rows[s] = sides[s]->code.count;
        comparison.keys[s] = ARENA_ARRAY(comparison.arena, uint32_t, comparison.rows[s] + 1);
        changes->kinds[s] = arena_alloc(arena, comparison.rows[s] + 1);
        changes->partners[s] = ARENA_ARRAY(arena, uint32_t, comparison.rows[s] + 1);
        memset(changes->partners[s], 0xff, (comparison.rows[s] + 1) * sizeof(uint32_t));
        comparison.partners[s] = changes->partners[s];
    }
    set_keys(&comparison, sides);
    for (unsigned s = 0; s < 2; s++)
        comparison.found[s] = ARENA_ARRAY(comparison.arena, uint32_t, comparison.key_count + 1);
    comparison.place = ARENA_ARRAY(comparison.arena, uint32_t, comparison.key_count + 1);
    align(&comparison);
    find_moves(&comparison, changes);
    count_keys(&comparison, &(Range){{0, 0}, {comparison.rows[0], comparison.rows[1]}}, false);
    find_others(&comparison, changes);
    for (uint32_t row = 0; row < comparison.rows[0]; row++)
        if (changes->partners[0][row] == MACHINE_NONE)
            changes->counts[changes->kinds[0][row]]++;
    for (uint32_t row = 0; row < comparison.rows[1]; row++)
        changes->counts[changes->kinds[1][row]]++;
    arena_free(comparison.arena);
    return changes;
}

void view_print_changes(const ViewChanges *changes, Buf *out)
{
    static const char *const words[] = {[CHANGE_NONE] = "as before",     [CHANGE_MOVED] = "moved",
                                        [CHANGE_AGAIN] = "repeated",     [CHANGE_NEW] = "new",
                                        [CHANGE_MERGED] = "merged",      [CHANGE_REMOVED] = "removed"};
    buf_printf(out, "%u instruction%s %s", changes->counts[CHANGE_NONE], plural(changes->counts[CHANGE_NONE]),
               words[CHANGE_NONE]);
    for (unsigned c = CHANGE_NONE + 1; c < CHANGE_COUNT; c++)
        if (changes->counts[c])
            buf_printf(out, ", %u %s", changes->counts[c], words[c]);
}

char view_change_char(ViewChange change)
{
    static const char drawn[] = {[CHANGE_NONE] = ' ',  [CHANGE_MOVED] = 'm',  [CHANGE_AGAIN] = '+',
                                 [CHANGE_NEW] = '*',   [CHANGE_MERGED] = '&', [CHANGE_REMOVED] = '-'};
    return drawn[change];
}
