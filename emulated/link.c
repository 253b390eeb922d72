/* Links the PTX of several units for the emulated driver, which cannot run nvlink's output: joins the texts of their
 * declarations and definitions, those of variables first, one for each name.
 *
 * A unit's own names are changed if another unit has the same. Debug information is left out. */
#include <string.h>

#include "emit/emit.h"
#include "parser/parser.h"
#include "emulated/fatbin.h"

typedef struct Unit {
    Module *module;
    const char *suffix; /* for its own names that others have too */
} Unit;

typedef struct Linked {
    Arena *arena;
    Unit *units;
    size_t count;
    Buf text;
} Linked;

static const char *item_name(const Item *item)
{
    return item->kind == ITEM_VARIABLE   ? item->variable->name
           : item->kind == ITEM_FUNCTION ? item->function->name
                                         : NULL;
}

static Linkage item_linkage(const Item *item)
{
    return item->kind == ITEM_VARIABLE ? item->variable->linkage : item->function->linkage;
}

static bool is_definition(const Item *item)
{
    return item_linkage(item) != LINKAGE_EXTERN && (item->kind == ITEM_VARIABLE || item->function->has_body);
}

/* True for shared memory whose size the launch gives, which has no definition. */
static bool is_open_shared(const Item *item)
{
    return item->kind == ITEM_VARIABLE && item->variable->space == SPACE_SHARED &&
           item->variable->linkage == LINKAGE_EXTERN;
}

static bool is_own(const Item *item)
{
    return item_name(item) && (item_linkage(item) == LINKAGE_NONE || is_open_shared(item));
}

/* The definition of a name that is visible everywhere: a strong one if there is one, else the first. NULL: none. */
static const Item *definition_of(const Linked *linked, const char *name)
{
    const Item *weak = NULL;
    for (size_t i = 0; i < linked->count; i++)
        for (size_t k = 0; k < linked->units[i].module->items.count; k++) {
            const Item *item = &linked->units[i].module->items.data[k];
            if (!item_name(item) || is_own(item) || !is_definition(item) || strcmp(item_name(item), name) != 0)
                continue;
            if (item_linkage(item) == LINKAGE_VISIBLE)
                return item;
            if (!weak)
                weak = item;
        }
    return weak;
}

/* True if a unit's own name must be changed. */
static bool is_taken(const Linked *linked, const Unit *unit, const char *name, size_t length)
{
    bool is_here = false, is_elsewhere = false;
    for (size_t i = 0; i < linked->count; i++)
        for (size_t k = 0; k < linked->units[i].module->items.count; k++) {
            const Item *item = &linked->units[i].module->items.data[k];
            const char *other = item_name(item);
            if (!other || strlen(other) != length || memcmp(other, name, length) != 0)
                continue;
            is_here |= &linked->units[i] == unit && is_own(item);
            is_elsewhere |= &linked->units[i] != unit;
        }
    return is_here && is_elsewhere;
}

/* A part of the unit's text, with names changed and without line directives. */
static void put_text(Linked *linked, const Unit *unit, const char *at, const char *end)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$%.";
    while (at < end) {
        size_t length = strspn(at, letters);
        if (length == 4 && memcmp(at, ".loc", length) == 0) {
            at += strcspn(at, "\n");
            continue;
        }
        if (length == 0)
            buf_putc(&linked->text, *at++);
        buf_write(&linked->text, at, length);
        if (length && is_taken(linked, unit, at, length))
            buf_puts(&linked->text, unit->suffix);
        at += length;
    }
}

/* Writes an item as ptxopt does. The linkage of a declaration must be that of the definition. */
static void put_item(Linked *linked, const Unit *unit, const Item *item)
{
    static const char word[] = ".extern", header_end[] = "\n\n";
    const Item *definition = is_own(item) ? NULL : definition_of(linked, item_name(item));
    Module one = *unit->module;
    Buf made = {0};
    one.source = NULL;
    one.items.data = (Item *)item;
    one.items.count = 1;
    emit_module(&one, &made);
    const char *text = buf_text(&made), *end = text + made.length;
    const char *at = strstr(text, header_end) + sizeof header_end - 1;
    if (definition && strncmp(at, word, sizeof word - 1) == 0) {
        buf_puts(&linked->text, item_linkage(definition) == LINKAGE_WEAK ? ".weak" : ".visible");
        at += sizeof word - 1;
    }
    put_text(linked, unit, at, end);
    buf_free(&made);
}

typedef enum Part { DECLARATIONS, VARIABLES, FUNCTIONS } Part;

static Part part_of(const Item *item)
{
    return item->kind == ITEM_VARIABLE ? VARIABLES : item->function->has_body ? FUNCTIONS : DECLARATIONS;
}

static void put_part(Linked *linked, Part part)
{
    for (size_t i = 0; i < linked->count; i++)
        for (size_t k = 0; k < linked->units[i].module->items.count; k++) {
            const Item *item = &linked->units[i].module->items.data[k];
            if (!item_name(item) || part_of(item) != part)
                continue;
            if (part == DECLARATIONS || is_own(item) || definition_of(linked, item_name(item)) == item)
                put_item(linked, &linked->units[i], item);
        }
}

static void put_header(Linked *linked)
{
    const Module *newest = linked->units[0].module;
    for (size_t i = 1; i < linked->count; i++)
        if (linked->units[i].module->version > newest->version)
            newest = linked->units[i].module;
    buf_printf(&linked->text, ".version %u.%u\n.target %s\n.address_size 64\n", newest->version / 10,
               newest->version % 10, newest->targets[0]);
}

const char *link_ptx(Arena *arena, const char *const *texts, size_t count, const char **error)
{
    Linked linked = {.arena = arena, .units = ARENA_ARRAY(arena, Unit, count), .count = count};
    if (count == 1)
        return texts[0];
    for (size_t i = 0; i < count; i++) {
        Arena *own = arena_new(); /* stays: the program ends soon */
        Source *source = source_from_memory(own, "unit", texts[i], strlen(texts[i]));
        Diag diag;
        diag_init(&diag, source, stderr);
        linked.units[i].module = parse_module(own, source, &diag);
        linked.units[i].suffix = arena_printf(arena, "__unit_%zu", i);
        if (!linked.units[i].module) {
            *error = "the PTX of a unit cannot be read";
            return NULL;
        }
    }
    put_header(&linked);
    put_part(&linked, DECLARATIONS);
    put_part(&linked, VARIABLES);
    put_part(&linked, FUNCTIONS);
    const char *text = arena_strndup(arena, buf_text(&linked.text), linked.text.length);
    buf_free(&linked.text);
    return text;
}
