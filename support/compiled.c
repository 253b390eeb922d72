/* Positions in the text that a compiler made a source from: PTX has them as
 *
 *     .file 1 "/home/user/app.cu"
 *     .loc 1 20 5
 *     .loc 2 7 9, function_name $L__info_string0, inlined_at 1 21 5
 *
 * PTX ISA, chapter 11.5. */
#include <ctype.h>
#include <stdlib.h>

#include "support/support.h"

typedef struct Line {
    const char *begin, *end; /* without the line end, and without white space before it */
} Line;

static Line line_at(const Source *source, size_t offset)
{
    const char *end = source->text + source->size, *begin = source->text + offset;
    while (begin > source->text && begin[-1] != '\n')
        begin--;
    const char *line_end = memchr(begin, '\n', (size_t)(end - begin));
    Line line = {begin, line_end ? line_end : end};
    while (line.begin < line.end && isspace((unsigned char)*line.begin))
        line.begin++;
    return line;
}

static bool begins_with(const Line *line, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(line->end - line->begin) > length && memcmp(line->begin, word, length) == 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "1 20 5": whether it is a place in the file. The text ends with a NUL. */
static bool read_place(const char *text, unsigned long file, Position *position)
{
    char *at;
    bool is_there = strtoul(text, &at, 10) == file;
    position->line = (uint32_t)strtoul(at, &at, 10);
    position->column = (uint32_t)strtoul(at, NULL, 10);
    position->column += position->column == 0;
    return is_there && position->line;
}

/* The place of a .loc in the file, or of what it was inlined at. */
static bool read_loc(const Line *line, unsigned long file, Position *position)
{
    if (!begins_with(line, ".loc"))
        return false;
    if (read_place(line->begin + strlen(".loc"), file, position))
        return true;
    static const char word[] = "inlined_at";
    const char *inlined = memmem(line->begin, (size_t)(line->end - line->begin), word, sizeof word - 1);
    return inlined && read_place(inlined + sizeof word - 1, file, position);
}

static bool is_function_header(const Line *line)
{
    return memmem(line->begin, (size_t)(line->end - line->begin), ".entry", 6) ||
           memmem(line->begin, (size_t)(line->end - line->begin), ".func", 5);
}

bool compiled_position(const Source *source, uint32_t offset, Position *position)
{
    const Line own = line_at(source, offset);
    for (Line line = own; !is_function_header(&line);) {
        if (read_loc(&line, source->compiled_file, position))
            return true;
        const char *begin = line.begin;
        while (begin > source->text && begin[-1] != '\n')
            begin--;
        if (begin == source->text || *line.begin == '}')
            break;
        line = line_at(source, (size_t)(begin - 1 - source->text));
    }
    if (!is_function_header(&own))
        return false;
    /* A function as a whole: its first place. */
    for (Line line = own; line.end < source->text + source->size;) {
        line = line_at(source, (size_t)(line.end + 1 - source->text));
        if (read_loc(&line, source->compiled_file, position))
            return true;
        if (begins_with(&line, "}") || is_function_header(&line))
            break;
    }
    return false;
}

void source_compiled_from(Arena *arena, Source *source, const char *name)
{
    const char *end = source->text + source->size;
    bool has_places = memmem(source->text, source->size, ".loc", 4) != NULL;
    for (const char *at = source->text; has_places && (at = memmem(at, (size_t)(end - at), ".file", 5)) != NULL;) {
        char *quote;
        unsigned long number = strtoul(at + 5, &quote, 10);
        const char *close = *quote ? memchr(quote, '"', (size_t)(end - quote)) : NULL;
        close = close ? memchr(close + 1, '"', (size_t)(end - close - 1)) : NULL;
        size_t length = strlen(base_of(name));
        at += 5;
        if (close && (size_t)(close - at) > length + 1 && memcmp(close - length, base_of(name), length) == 0 &&
            (close[-(ptrdiff_t)length - 1] == '/' || close[-(ptrdiff_t)length - 1] == '"'))
            source->compiled_file = (unsigned)number;
    }
    source->path = source->compiled_file ? name : arena_printf(arena, "PTX of %s", name);
}
