/* .loc directives. */
#include <string.h>

#include "parser/internal.h"

/* A location that an earlier .loc gave. */
typedef struct Location {
    uint32_t file, line, column;
    const Loc *loc; /* the last; NULL: that was in a function whose body is not kept */
    struct Location *next; /* with the same hash */
} Location;

static uint64_t place_key(const uint64_t *place)
{
    return hash_mix(hash_mix(hash_mix(0, place[0]), place[1]), place[2]) | 1;
}

static bool fits_loc(Parser *parser, const uint64_t *place, Span span)
{
    if (place[0] <= UINT32_MAX && place[1] <= UINT32_MAX && place[2] <= UINT32_MAX)
        return true;
    diag_error(parser->diag, span, "a number of this '.loc' is too large");
    return false;
}

static Location *find_location(const LocTable *locations, const uint64_t *place)
{
    const uint64_t *first = map_get(&locations->places, place_key(place));
    Location *location = first ? (Location *)(uintptr_t)*first : NULL;
    while (location && (location->file != place[0] || location->line != place[1] || location->column != place[2]))
        location = location->next;
    return location;
}

static Location *new_location(LocTable *locations, const Loc *loc, uint64_t key)
{
    const uint64_t *first = map_get(&locations->places, key);
    Location *location = ARENA_NEW(locations->places.arena, Location);
    *location = (Location){loc->file, loc->line, loc->column, NULL, first ? (Location *)(uintptr_t)*first : NULL};
    map_put(&locations->places, key, (uintptr_t)location);
    return location;
}

static Loc *add_loc(Parser *parser, const uint64_t *place, Span span)
{
    Loc *loc = ARENA_NEW(parser->arena, Loc);
    loc->file = (uint32_t)place[0];
    loc->line = (uint32_t)place[1];
    loc->column = (uint32_t)place[2];
    Location *location = find_location(&parser->locations, place);
    if (!location)
        location = new_location(&parser->locations, loc, place_key(place));
    location->loc = parser->arena == parser->module_arena ? loc : NULL;
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
        diag_error(parser->diag, words[0].span, "expected 'function_name'");
        return;
    }
    if (strcmp(words[2].value.name, "inlined_at") != 0) {
        diag_error(parser->diag, words[2].span, "expected 'inlined_at'");
        return;
    }
    if (!header_require(parser, words[0].span, "'function_name'", 70, 0))
        return;
    const Location *outer = find_location(&parser->locations, at);
    if (!outer) {
        Span at_span = {words[2].span.begin, span.end};
        diag_error(parser->diag, at_span, "there is no earlier '.loc' for %u %u %u", (unsigned)at[0], (unsigned)at[1],
                   (unsigned)at[2]);
        return;
    }
    const Loc *outer_loc = outer->loc;
    Loc *loc = add_loc(parser, place, span);
    loc->inlined = true;
    loc->at = outer_loc;
    loc->function_name = words[1].value.name;
    loc->function_offset = offset;
    loc->at_file = (uint32_t)at[0];
    loc->at_line = (uint32_t)at[1];
    loc->at_column = (uint32_t)at[2];
}

bool location_plain(Parser *parser)
{
    PlainLocation plain;
    Span span;
    if (!lexer_location(parser->lexer, &plain, &span))
        return false;
    if (!plain.inlined) {
        location_add(parser, plain.place, span);
        return true;
    }
    Token words[3];
    for (unsigned i = 0; i < 3; i++)
        words[i] = (Token){.kind = TOKEN_IDENTIFIER, .value.name = plain.words[i], .span = plain.word_spans[i]};
    location_add_inlined(parser, plain.place, words, plain.offset, plain.at, span);
    return true;
}
