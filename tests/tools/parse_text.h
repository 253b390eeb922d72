/* Modules from texts and files, for the tools that make many of them. */
#ifndef PTXOPT_TESTS_PARSE_TEXT_H
#define PTXOPT_TESTS_PARSE_TEXT_H

#include "parser/parser.h"

/* Parses a source in the arena; the module takes ownership of the arena. If the text is refused: NULL, with messages
 * on stderr and the arena freed. */
static inline Module *parse_source(Arena *arena, Source *source)
{
    Diag diag;
    diag_init(&diag, source, stderr);
    diag.quiet = true;
    Module *module = parse_module(arena, source, &diag);
    if (!module)
        arena_free(arena);
    return module;
}

static inline Module *parse_text(const char *name, const char *text, size_t length)
{
    Arena *arena = arena_new();
    return parse_source(arena, source_from_memory(arena, name, text, length));
}

/* NULL, with a message that begins with the tool's name, if the file cannot be read. */
static inline Module *parse_file(const char *tool, const char *path)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    Source *source = source_read(arena, path, &error);
    if (source)
        return parse_source(arena, source);
    fprintf(stderr, "%s: %s: %s\n", tool, path, error);
    arena_free(arena);
    return NULL;
}

#endif
