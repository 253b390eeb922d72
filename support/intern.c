/* Interned strings, and the closest of several words. */
#include "support/buffer.h"
#include "support/diag.h"

#include <endian.h>
#include <string.h>

/* Open addressing with linear probing, as in support/map.h; but a slot is one pointer and the key is the text
 * itself, so that the scanner finds a name with one comparison and no chain. */
struct Interner {
    Arena *arena;
    NameHead **slots;
    size_t slot_count; /* a power of two */
    size_t used;
};

_Static_assert(sizeof(NameHead) == 16, "names are aligned to 16");

/* Aligned, so that neighbours share a cache line. */
static NameHead **slots_new(Arena *arena, size_t count)
{
    NameHead **slots = ARENA_ARRAY(arena, NameHead *, count + NAME_NEIGHBOURS);
    memory_prefault(slots, count * sizeof *slots);
    return (NameHead **)align_up((uintptr_t)slots, NAME_NEIGHBOURS * sizeof *slots);
}

Interner *interner_new(Arena *arena, size_t expected)
{
    Interner *names = ARENA_NEW(arena, Interner);
    names->arena = arena;
    names->slot_count = 256;
    while (names->slot_count / 2 < expected)
        names->slot_count *= 2;
    names->slots = slots_new(arena, names->slot_count);
    return names;
}

/* The first byte is the lowest. */
static inline uint64_t load_8(const char *at)
{
    uint64_t bits;
    memcpy(&bits, at, sizeof bits);
    return le64toh(bits);
}

static inline uint64_t load_4(const char *at)
{
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    return le32toh(bits);
}

/* The bytes of a text of less than 8, and zeros. */
static inline uint64_t load_short(const char *text, size_t length)
{
    if (length >= 4)
        return load_4(text) | load_4(text + length - 4) << 8 * (length - 4);
    if (length == 0)
        return 0;
    return (uint64_t)(unsigned char)text[0] | (uint64_t)(unsigned char)text[length / 2] << 8 * (length / 2) |
           (uint64_t)(unsigned char)text[length - 1] << 8 * (length - 1);
}

static inline uint32_t hash_bytes(const char *text, size_t length)
{
    size_t i = 0, rest = length % 8;
    uint64_t hash = 0;
    for (; i + 8 <= length; i += 8)
        hash = hash_mix(hash, load_8(text + i));
    if (rest)
        return name_hash_end(hash, i ? load_8(text + length - 8) >> 8 * (8 - rest) : load_short(text, length));
    return (uint32_t)hash;
}

static inline bool same_bytes(const char *a, const char *b, size_t length)
{
    if (length < 8)
        return load_short(a, length) == load_short(b, length);
    size_t i = 0;
    for (; i + 8 < length; i += 8)
        if (load_8(a + i) != load_8(b + i))
            return false;
    return load_8(a + length - 8) == load_8(b + length - 8);
}

static void grow(Interner *names)
{
    NameHead **old = names->slots;
    size_t old_count = names->slot_count;
    names->slot_count *= 2;
    names->slots = slots_new(names->arena, names->slot_count);
    for (size_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        size_t slot = old[i]->hash & (names->slot_count - 1);
        while (names->slots[slot])
            slot = (slot + 1) & (names->slot_count - 1);
        names->slots[slot] = old[i];
    }
}

/* The slot where the text's head is, or would be. */
static inline size_t find_slot(const Interner *names, const char *text, size_t length, uint32_t hash)
{
    size_t slot = hash & (names->slot_count - 1);
    for (const NameHead *head; (head = names->slots[slot]); slot = (slot + 1) & (names->slot_count - 1))
        if (head->hash == hash && head->length == length && same_bytes((const char *)(head + 1), text, length))
            break;
    return slot;
}

Name intern_find(const Interner *names, const char *text, size_t length)
{
    const NameHead *head = names->slots[find_slot(names, text, length, hash_bytes(text, length))];
    return head ? (Name)(head + 1) : NULL;
}

static Name add(Interner *names, const char *text, size_t length, uint32_t hash, size_t slot)
{
    if (length > UINT32_MAX)
        out_of_memory();
    NameHead *head = arena_alloc(names->arena, sizeof *head + length + 1);
    head->hash = hash;
    head->length = (uint32_t)length;
    memcpy(head + 1, text, length);
    names->slots[slot] = head;
    if (++names->used * 2 > names->slot_count)
        grow(names);
    return (Name)(head + 1);
}

Name intern_n(Interner *names, const char *text, size_t length)
{
    return intern_hashed(names, text, length, hash_bytes(text, length));
}

Name intern_hashed(Interner *names, const char *text, size_t length, uint32_t hash)
{
    size_t slot = find_slot(names, text, length, hash);
    NameHead *head = names->slots[slot];
    return head ? (Name)(head + 1) : add(names, text, length, hash, slot);
}

/* A name is stored with zeros after it, up to a multiple of 16 bytes, so one comparison of 8 bytes replaces the loops
 * above. */
Name intern_short(Interner *names, uint64_t bytes, size_t length)
{
    uint32_t hash = name_hash_end(0, bytes);
    size_t slot = hash & (names->slot_count - 1);
    for (const NameHead *head; (head = names->slots[slot]); slot = (slot + 1) & (names->slot_count - 1))
        if (load_8((const char *)(head + 1)) == bytes && head->length == length)
            return (Name)(head + 1);
    uint64_t text = htole64(bytes);
    return add(names, (const char *)&text, length, hash, slot);
}

Name intern(Interner *names, const char *text)
{
    return intern_n(names, text, strlen(text));
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
    unsigned best = length < 2 ? 0 : length < 6 ? 2 : (unsigned)length / 3 + 1; /* must be below */
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
