/* Where the values of a launch file are: jansson, which reads it, does not say. */
#include "emulator/launch_place.h"

#include <string.h>

typedef struct Scan {
    const char *at, *end;
    unsigned line;
} Scan;

static void skip_one(Scan *scan)
{
    scan->line += *scan->at == '\n';
    scan->at++;
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

/* To the value of a member of the object that begins here. */
static bool find_member(Scan *scan, const char *key)
{
    size_t length = strlen(key);
    do {
        skip_one(scan);
        skip_blanks(scan);
        const char *name = scan->at + 1;
        if (scan->at == scan->end || *scan->at != '"')
            return false;
        skip_string(scan);
        bool found = (size_t)(scan->at - name) == length + 1 && memcmp(name, key, length) == 0;
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

unsigned launch_line(const char *text, size_t size, const char *key, int index)
{
    Scan scan = {text, text + size, 1};
    skip_blanks(&scan);
    if (scan.at == scan.end || *scan.at != '{' || !find_member(&scan, key))
        return 0;
    return index < 0 || find_element(&scan, (unsigned)index) ? scan.line : 0;
}
