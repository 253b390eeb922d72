/* parser: PTX text to the parsed form of ir/ir.h.
 *
 * A bison grammar that knows no opcode builds statements; names are resolved and instructions bound as they are
 * read, so each mistake is reported at its place. After an error parsing resumes after the next ';' or '}'. */
#ifndef PTXOPT_PARSER_H
#define PTXOPT_PARSER_H

#include "ir/ir.h"

/* Parses a whole module. The module, its names and everything in it live in 'arena', which the module then owns;
 * 'source' must live as long. NULL if any error was found: all of them have gone to 'diag', up to its limit. */
Module *parse_module(Arena *arena, const Source *source, Diag *diag);

/* The same, but keeps only the bodies of functions for which 'keeps', called after the function's header, returns true.
 * The others are read and checked too, but are printed from the source (Function.is_text); each reuses the memory of
 * the one before. */
typedef struct ParseOptions {
    bool (*keeps)(void *context, const Function *function); /* NULL: all are kept */
    void *context;
    bool grammar_only; /* read plain instructions by the grammar too: slower, with the same result */
} ParseOptions;
Module *parse_module_with(Arena *arena, const Source *source, Diag *diag, const ParseOptions *options);

#endif
