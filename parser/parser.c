/* A whole parse, from creating its state to freeing it. */
#include "parser/internal.h"

/* The bytes of text for each different name, more or less, in modules as compilers write them. */
enum { BYTES_OF_NAME = 200 };

Module *parse_module(Arena *arena, const Source *source, Diag *diag)
{
    return parse_module_with(arena, source, diag, &(ParseOptions){0});
}

Module *parse_module_with(Arena *arena, const Source *source, Diag *diag, const ParseOptions *options)
{
    unsigned errors = diag->errors;
    Interner *names = interner_new(arena, source->size / BYTES_OF_NAME);
    Arena *scratch = arena_new();
    Parser *parser = ARENA_NEW(scratch, Parser);
    parser->options = options;
    parser->arena = parser->module_arena = arena;
    parser->body_arena = arena_new();
    parser->loose_arena = arena_new();
    parser->scratch = parser->inst.scratch = scratch;
    parser->module_items.files.arena = parser->locations.places.arena = scratch;
    parser->names = names;
    parser->source = source;
    parser->diag = diag;
    parser->module = module_new(arena, names, source);
    parser->lexer = lexer_new(names, source, diag, parser_words, parser_word_count);
    if (options->grammar_only)
        lexer_use_rules(parser->lexer);
    scope_table_init(&parser->scopes, scratch, names, diag);

    /* If the text cannot be scanned at all, lexer_new has reported it. */
    int given_up = diag->errors > errors || ptx_parse(parser);
    Module *module = parser->module;

    lexer_free(parser->lexer);
    arena_free(parser->body_arena);
    arena_free(parser->loose_arena);
    arena_free(scratch);
    return given_up || diag->errors > errors ? NULL : module;
}
