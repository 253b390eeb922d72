/* The names that are taken within a body.
 *
 * Registers, variables, tables and labels of a body share one name space. Passes ask for derived names by the thousand
 * ("%r5" -> "%r5_1", "%r5_2" ...), so each name remembers the suffix that was tried last. */
#include "ir/internal.h"

#include <string.h>

/* Names are interned in the module, so a pointer is a name. The value is the last suffix tried for it, plus one. */
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
    names->map = map_copy(&body->names->map, arena);
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
