/* Interned strings, and the closest of several words. */
#include "support/support.h"

#include <string.h>

typedef struct Entry {
    uint32_t hash;
    uint32_t length;
    char text[];
} Entry;

/* Open addressing with linear probing: names are added by the hundred thousand and never removed, and a generic table's
 * handle of 56 bytes would cost more memory than the names. */
struct Interner {
    Arena *arena;
    Entry **slots;
    size_t slot_count; /* a power of two */
    size_t used;
};

Interner *interner_new(Arena *arena)
{
    Interner *names = ARENA_NEW(arena, Interner);
    names->arena = arena;
    names->slot_count = 256;
    names->slots = ARENA_ARRAY(arena, Entry *, names->slot_count);
    return names;
}

static uint32_t hash_bytes(const char *text, size_t length) /* FNV-1a */
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static void grow(Interner *names)
{
    Entry **old = names->slots;
    size_t old_count = names->slot_count;
    names->slot_count *= 2;
    names->slots = ARENA_ARRAY(names->arena, Entry *, names->slot_count);
    for (size_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        size_t slot = old[i]->hash & (names->slot_count - 1);
        while (names->slots[slot])
            slot = (slot + 1) & (names->slot_count - 1);
        names->slots[slot] = old[i];
    }
}

Name intern_n(Interner *names, const char *text, size_t length)
{
    if (length > UINT32_MAX)
        out_of_memory();
    uint32_t hash = hash_bytes(text, length);
    size_t slot = hash & (names->slot_count - 1);
    for (Entry *entry; (entry = names->slots[slot]); slot = (slot + 1) & (names->slot_count - 1))
        if (entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0)
            return entry->text;
    Entry *entry = arena_alloc(names->arena, sizeof *entry + length + 1);
    entry->hash = hash;
    entry->length = (uint32_t)length;
    memcpy(entry->text, text, length);
    names->slots[slot] = entry;
    if (++names->used * 2 > names->slot_count)
        grow(names);
    return entry->text;
}

Name intern(Interner *names, const char *text)
{
    return intern_n(names, text, strlen(text));
}

Name intern_unique(Interner *names, const char *base, bool (*taken)(void *context, Name name), void *context)
{
    Name name = intern(names, base);
    Buf text = {0};
    for (unsigned suffix = 1; taken(context, name); suffix++) {
        buf_clear(&text);
        buf_printf(&text, "%s_%u", base, suffix);
        name = intern(names, buf_text(&text));
    }
    buf_free(&text);
    return name;
}

enum { LONGEST_WORD = 63 }; /* longer words are not worth a suggestion */

/* Edit distance with insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][LONGEST_WORD + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        unsigned *recycled = before;
        before = last;
        last = row;
        row = recycled;
    }
    return last[b_length];
}

const char *closest_word(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word);
    if (length > LONGEST_WORD)
        return NULL;
    const char *closest = NULL;
    unsigned best = length <= 3 ? 2 : (unsigned)length / 3 + 2; /* must be below */
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        if (other > LONGEST_WORD || (other > length ? other - length : length - other) >= best)
            continue;
        unsigned distance = edit_distance(word, length, candidates[i], other);
        if (distance < best) {
            best = distance;
            closest = candidates[i];
        }
    }
    return closest;
}
