#include "support/json_place.h"

#include <string.h>

typedef struct Scan {
    const char *at, *end, *line_begin;
    unsigned line;
} Scan;

static void skip_one(Scan *scan)
{
    const bool ends_line = *scan->at == '\n';
    scan->at++;
    scan->line += ends_line;
    if (ends_line)
        scan->line_begin = scan->at;
}

static void skip_blanks(Scan *scan)
{
    while (scan->at < scan->end && strchr(" \t\r\n", *scan->at))
        skip_one(scan);
}

static void skip_string(Scan *scan)
{
    for (skip_one(scan); scan->at < scan->end && *scan->at != '"'; skip_one(scan))
        if (*scan->at == '\\' && scan->at + 1 < scan->end)
            skip_one(scan);
    if (scan->at < scan->end)
        scan->at++;
}

/* To the comma or bracket that ends the value. */
static void skip_value(Scan *scan)
{
    for (unsigned depth = 0; scan->at < scan->end;) {
        char c = *scan->at;
        if (c == '"') {
            skip_string(scan);
            continue;
        }
        if (!depth && (c == ',' || c == ']' || c == '}'))
            return;
        depth += c == '[' || c == '{';
        depth -= c == ']' || c == '}';
        skip_one(scan);
    }
}

static Position position_of(const Scan *scan)
{
    return (Position){scan->line, (unsigned)(scan->at - scan->line_begin) + 1};
}

/* To the value of a member of the object that begins here; *key becomes the place of its key. */
static bool find_member(Scan *scan, const char *name, Position *key)
{
    const size_t length = strlen(name);
    if (scan->at == scan->end || *scan->at != '{')
        return false;
    do {
        skip_one(scan);
        skip_blanks(scan);
        if (scan->at == scan->end || *scan->at != '"')
            return false;
        const char *begin = scan->at + 1;
        *key = position_of(scan);
        skip_string(scan);
        bool found = (size_t)(scan->at - begin) == length + 1 && memcmp(begin, name, length) == 0;
        skip_blanks(scan);
        if (scan->at == scan->end)
            return false;
        skip_one(scan); /* ':' */
        skip_blanks(scan);
        if (found)
            return true;
        skip_value(scan);
    } while (scan->at < scan->end && *scan->at == ',');
    return false;
}

static bool find_element(Scan *scan, unsigned index)
{
    if (scan->at == scan->end || *scan->at != '[')
        return false;
    skip_one(scan);
    skip_blanks(scan);
    for (; index && scan->at < scan->end; index--) {
        skip_value(scan);
        if (scan->at == scan->end || *scan->at != ',')
            return false;
        skip_one(scan);
        skip_blanks(scan);
    }
    return !index;
}

Position json_place(const char *text, size_t size, const JsonStep *steps, unsigned count, bool of_key)
{
    Scan scan = {text, text + size, text, 1};
    skip_blanks(&scan);
    Position place = position_of(&scan);
    for (unsigned i = 0; i < count; i++) {
        Position key = place;
        const bool found = steps[i].key ? find_member(&scan, steps[i].key, &key) : find_element(&scan, steps[i].index);
        if (!found)
            return place;
        place = of_key && i + 1 == count ? key : position_of(&scan);
    }
    return place;
}
