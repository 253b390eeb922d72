/* Modules from text, for the tools that make many of them. */
#ifndef PTXOPT_TESTS_PARSE_TEXT_H
#define PTXOPT_TESTS_PARSE_TEXT_H

#include "parser/parser.h"

/* The module owns an arena of its own.  NULL, without a message, if the text is refused. */
static inline Module *parse_text(const char *name, const char *text, size_t length)
{
    Arena *arena = arena_new();
    Diag diag;
    Source *source = source_from_memory(arena, name, text, length);
    diag_init(&diag, source, stderr);
    diag.quiet = true;
    Module *module = parse_module(arena, source, &diag);
    if (!module)
        arena_free(arena);
    return module;
}

#endif
