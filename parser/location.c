/* .loc directives. */
#include <string.h>

#include "parser/internal.h"

#define uthash_fatal(message) out_of_memory()
#include <uthash.h>

/* A place that some .loc has named. */
typedef struct Location {
    uint32_t place[3];
    UT_hash_handle hh;
} Location;

static bool fits_loc(Parser *parser, const uint64_t *place, Span span)
{
    if (place[0] <= UINT32_MAX && place[1] <= UINT32_MAX && place[2] <= UINT32_MAX)
        return true;
    diag_error(parser->diag, span, "a number of this '.loc' is too large");
    return false;
}

static Location *find_location(const Locations *locations, const uint64_t *place)
{
    uint32_t key[3] = {(uint32_t)place[0], (uint32_t)place[1], (uint32_t)place[2]};
    Location *location;
    HASH_FIND(hh, locations->places, key, sizeof key, location);
    return location;
}

static Loc *add_loc(Parser *parser, const uint64_t *place, Span span)
{
    Loc *loc = ARENA_NEW(parser->arena, Loc);
    loc->file = (uint32_t)place[0];
    loc->line = (uint32_t)place[1];
    loc->column = (uint32_t)place[2];
    if (find_location(&parser->locations, place) == NULL) {
        Location *location = ARENA_NEW(parser->scratch, Location);
        location->place[0] = loc->file;
        location->place[1] = loc->line;
        location->place[2] = loc->column;
        HASH_ADD(hh, parser->locations.places, place, sizeof location->place, location);
    }
    parser->locations.last = loc;
    statement_add(parser, (Stmt){.kind = STMT_LOC, .span = span, .loc = loc});
    return loc;
}

void location_add(Parser *parser, const uint64_t *place, Span span)
{
    if (fits_loc(parser, place, span))
        add_loc(parser, place, span);
}

void location_add_inlined(Parser *parser, const uint64_t *place, const Token *words, uint64_t offset,
                          const uint64_t *at, Span span)
{
    if (!fits_loc(parser, place, span) || !fits_loc(parser, at, span))
        return;
    if (strcmp(words[0].value.name, "function_name") != 0) {
        diag_error(parser->diag, words[0].span, "'function_name' belongs here");
        return;
    }
    if (strcmp(words[2].value.name, "inlined_at") != 0) {
        diag_error(parser->diag, words[2].span, "'inlined_at' belongs here");
        return;
    }
    if (!header_require(parser, words[0].span, "'function_name'", 70, 0))
        return;
    if (find_location(&parser->locations, at) == NULL) {
        Span at_span = {words[2].span.begin, span.end};
        diag_error(parser->diag, at_span, "no earlier '.loc' has been at %u %u %u", (unsigned)at[0], (unsigned)at[1],
                   (unsigned)at[2]);
        return;
    }
    Loc *loc = add_loc(parser, place, span);
    loc->inlined = true;
    loc->function_name = words[1].value.name;
    loc->function_offset = offset;
    loc->at_file = (uint32_t)at[0];
    loc->at_line = (uint32_t)at[1];
    loc->at_column = (uint32_t)at[2];
}

void location_free_tables(Locations *locations)
{
    HASH_CLEAR(hh, locations->places);
}
