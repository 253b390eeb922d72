/* The life of a parse. */
#include "parser/internal.h"

Module *parse_module(Arena *arena, const Source *source, Diag *diag)
{
    return parse_module_with(arena, source, diag, &(ParseOptions){0});
}

Module *parse_module_with(Arena *arena, const Source *source, Diag *diag, const ParseOptions *options)
{
    unsigned errors = diag->errors;
    Interner *names = interner_new(arena);
    Arena *scratch = arena_new();
    Parser *parser = ARENA_NEW(scratch, Parser);
    parser->options = options;
    parser->arena = parser->module_arena = arena;
    parser->body_arena = arena_new();
    parser->loose_arena = arena_new();
    parser->scratch = scratch;
    parser->names = names;
    parser->source = source;
    parser->diag = diag;
    parser->module = module_new(arena, names, source);
    parser->lexer = lexer_new(names, source, diag, parser_words, parser_word_count);
    scope_table_init(parser);

    /* What cannot be scanned at all has been reported. */
    int given_up = diag->errors > errors || ptx_parse(parser);
    Module *module = parser->module;

    module_free_tables(parser);
    statement_free_tables(parser);
    lexer_free(parser->lexer);
    arena_free(parser->body_arena);
    arena_free(parser->loose_arena);
    arena_free(scratch);
    return given_up || diag->errors > errors ? NULL : module;
}
