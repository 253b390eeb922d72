/* parser: PTX text to the parsed form of ir/ir.h.
 *
 * A bison grammar that knows no opcode builds statements; names are resolved and instructions bound as they are
 * read, so each mistake is reported where it stands.  After an error parsing goes on behind the next ';' or '}'. */
#ifndef PTXOPT_PARSER_H
#define PTXOPT_PARSER_H

#include "ir/ir.h"

/* Parses a whole module.  The module, its names and everything in it live in 'arena', which the module then owns;
 * 'source' must live as long.  NULL if any error was found: all of them have gone to 'diag', up to its limit. */
Module *parse_module(Arena *arena, const Source *source, Diag *diag);

/* The same, but of functions' bodies only those are kept for which 'keeps' is true; it is asked when the function's
 * header has been read.  The others are read and checked like these, and printed from the source (Function.is_text);
 * the memory of one serves the next. */
typedef struct ParseOptions {
    bool (*keeps)(void *context, const Function *function); /* NULL: all are kept */
    void *context;
    bool grammar_only; /* plain instructions, too, go through the grammar: slower, and nothing else differs */
} ParseOptions;
Module *parse_module_with(Arena *arena, const Source *source, Diag *diag, const ParseOptions *options);

#endif
