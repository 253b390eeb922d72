/* The hash map of this program: from 64-bit keys to 64-bit values, by open addressing with linear probing.
 *
 * A key of several words is hashed to one, the value then points to a chain of the entries that share the hash. Names
 * need none of this: the interner holds them, and equal names are equal pointers. */
#ifndef PTXOPT_SUPPORT_MAP_H
#define PTXOPT_SUPPORT_MAP_H

#include "support/memory.h"

typedef struct MapEntry {
    uint64_t key; /* 0: free */
    uint64_t value;
} MapEntry;

/* A map that is all zero except for its arena is empty. Entries are never removed one by one. */
typedef struct Map {
    Arena *arena; /* not owned; holds the entries */
    MapEntry *entries;
    size_t count, capacity; /* the capacity is 0 or a power of two, and more than twice the count */
} Map;

/* FNV-1a of bytes, going on from the hash of what comes before them; HASH_START: nothing does. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
static inline uint64_t hash_fnv(const void *bytes, size_t size, uint64_t hash)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Mixes one more word into a hash. The upper bits are the good ones. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio: Knuth, TAOCP 3, 6.4 */
    return hash ^ hash >> 32;
}

/* The entry of the key, or the free one where it belongs. The capacity must not be 0. */
static inline MapEntry *map_slot(const Map *map, uint64_t key)
{
    size_t mask = map->capacity - 1, at = (size_t)hash_mix(0, key) & mask;
    while (map->entries[at].key && map->entries[at].key != key)
        at = (at + 1) & mask;
    return &map->entries[at];
}

/* A pointer to the key's value, or NULL if the map does not hold the key. Valid until the next map_put. */
static inline uint64_t *map_get(const Map *map, uint64_t key)
{
    if (!map->capacity)
        return NULL;
    MapEntry *entry = map_slot(map, key);
    return entry->key ? &entry->value : NULL;
}

/* Sets the value of a key, which must not be 0. */
void map_put(Map *map, uint64_t key, uint64_t value);
/* Empties the map; its memory is kept for what comes next. */
void map_clear(Map *map);
/* The entry after 'entry', the first for NULL, or NULL at the end. The order depends on the keys' values, so what is
 * printed must not depend on it. */
const MapEntry *map_next(const Map *map, const MapEntry *entry);
/* A copy whose entries are in 'arena'. */
Map map_copy(const Map *map, Arena *arena);

/* A Map from pointers, none of them NULL, to pointers. */
typedef Map PointerMap;

static inline uint64_t pointer_key(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

/* NULL if the map does not hold the key. */
static inline void *pointer_map_get(const PointerMap *map, const void *key)
{
    const uint64_t *value = map_get(map, pointer_key(key));
    return value ? (void *)(uintptr_t)*value : NULL;
}
static inline void pointer_map_put(PointerMap *map, const void *key, const void *value)
{
    map_put(map, pointer_key(key), pointer_key(value));
}

#endif
