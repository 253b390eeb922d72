#include "support/map.h"

#include <string.h>

static void map_grow(Map *map)
{
    Map larger = {.arena = map->arena, .count = map->count, .capacity = map->capacity ? map->capacity * 2 : 16};
    larger.entries = ARENA_ARRAY(map->arena, MapEntry, larger.capacity);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].key)
            *map_slot(&larger, map->entries[i].key) = map->entries[i];
    *map = larger;
}

void map_put(Map *map, uint64_t key, uint64_t value)
{
    require(key != 0);
    if ((map->count + 1) * 2 > map->capacity)
        map_grow(map);
    MapEntry *entry = map_slot(map, key);
    map->count += entry->key == 0;
    *entry = (MapEntry){key, value};
}

void map_clear(Map *map)
{
    if (map->count)
        memset(map->entries, 0, map->capacity * sizeof *map->entries);
    map->count = 0;
}

const MapEntry *map_next(const Map *map, const MapEntry *entry)
{
    if (!map->capacity)
        return NULL;
    const MapEntry *end = map->entries + map->capacity;
    entry = entry ? entry + 1 : map->entries;
    while (entry < end && !entry->key)
        entry++;
    return entry < end ? entry : NULL;
}

Map map_copy(const Map *map, Arena *arena)
{
    Map copy = {.arena = arena, .count = map->count, .capacity = map->capacity};
    if (map->capacity) {
        copy.entries = ARENA_ARRAY(arena, MapEntry, map->capacity);
        memcpy(copy.entries, map->entries, map->capacity * sizeof *map->entries);
    }
    return copy;
}
