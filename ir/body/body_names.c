/* The names that are taken within a body, and pointer maps.
 *
 * Registers, variables, tables and labels of a body share one name space.  Passes ask for derived names by the thousand
 * ("%r5" -> "%r5_1", "%r5_2" ...), so each name remembers the suffix that was tried last. */
#include "ir/internal.h"

#include <string.h>

static size_t pointer_hash(const void *pointer)
{
    uint64_t bits = (uint64_t)(uintptr_t)pointer;
    bits ^= bits >> 32;
    bits *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(bits ^ bits >> 29);
}

static size_t slot_find(const PointerMap *map, const void *key)
{
    size_t slot = pointer_hash(key) & (map->capacity - 1);
    while (map->keys[slot] && map->keys[slot] != key)
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

void pointer_map_put(PointerMap *map, const void *key, void *value)
{
    if (map->count * 2 >= map->capacity) {
        PointerMap larger = {.arena = map->arena, .count = map->count};
        larger.capacity = map->capacity ? map->capacity * 2 : 16;
        larger.keys = ARENA_ARRAY(map->arena, const void *, larger.capacity);
        larger.values = ARENA_ARRAY(map->arena, void *, larger.capacity);
        for (size_t i = 0; i < map->capacity; i++)
            if (map->keys[i]) {
                size_t slot = slot_find(&larger, map->keys[i]);
                larger.keys[slot] = map->keys[i];
                larger.values[slot] = map->values[i];
            }
        *map = larger;
    }
    size_t slot = slot_find(map, key);
    if (!map->keys[slot]) {
        map->keys[slot] = key;
        map->count++;
    }
    map->values[slot] = value;
}

void *pointer_map_get(const PointerMap *map, const void *key)
{
    return map->capacity ? map->values[slot_find(map, key)] : NULL;
}

/* Names are interned in the module, so a pointer is a name.  The value is the last suffix tried for it, plus one. */
struct BodyNames {
    PointerMap map;
};

struct BodyNames *body_names_new(Body *body)
{
    struct BodyNames *names = ARENA_NEW(body->arena, struct BodyNames);
    names->map.arena = body->arena;
    return names;
}

struct BodyNames *body_names_clone(const Body *body, Arena *arena)
{
    struct BodyNames *names = ARENA_NEW(arena, struct BodyNames);
    const PointerMap *from = &body->names->map;
    names->map = (PointerMap){.arena = arena, .count = from->count, .capacity = from->capacity};
    if (from->capacity) {
        names->map.keys = ARENA_ARRAY(arena, const void *, from->capacity);
        names->map.values = ARENA_ARRAY(arena, void *, from->capacity);
        memcpy(names->map.keys, from->keys, from->capacity * sizeof *from->keys);
        memcpy(names->map.values, from->values, from->capacity * sizeof *from->values);
    }
    return names;
}

bool body_name_taken(const Body *body, Name name)
{
    return pointer_map_get(&body->names->map, name) != NULL;
}

void body_name_take(Body *body, Name name)
{
    if (!body_name_taken(body, name))
        pointer_map_put(&body->names->map, name, (void *)(uintptr_t)1);
}

Name body_unique_name(Body *body, const char *base)
{
    Name name = intern(body->module->names, base);
    if (!body_name_taken(body, name) && !sreg_find(name)) {
        body_name_take(body, name);
        return name;
    }
    body_name_take(body, name);
    uintptr_t suffix = (uintptr_t)pointer_map_get(&body->names->map, name);
    size_t length = strlen(base);
    Buf text = {0};
    Name found;
    for (;; suffix++) {
        buf_clear(&text);
        buf_write(&text, base, length);
        buf_printf(&text, "_%ju", (uintmax_t)suffix);
        found = intern_n(body->module->names, text.data, text.length);
        if (!body_name_taken(body, found) && !sreg_find(found))
            break;
    }
    buf_free(&text);
    pointer_map_put(&body->names->map, name, (void *)(suffix + 1));
    body_name_take(body, found);
    return found;
}
