/* Declarations that the grammar (ptx.y) and the files of the parser share.
 *
 * Grammar actions call the functions of the headers below in the order of the text. An instruction, a declaration or
 * an initial value is collected in its part of the Parser and copied into an arena at its exact size when it is
 * complete; the scratch arena dies with the parse. After an error the module is thrown away: from then on a function
 * need not produce anything meaningful, only nothing that trips up a later one. */
#ifndef PTXOPT_PARSER_INTERNAL_H
#define PTXOPT_PARSER_INTERNAL_H

#include "ir/ir.h"
#include "lexer/lexer.h"
#include "parser/constant.h"
#include "parser/declaration.h"
#include "parser/function.h"
#include "parser/module.h"
#include "parser/parser.h"
#include "parser/scope.h"
#include "parser/statement.h"
#include "parser/token.h"

/* Lists that the grammar collects for one directive. */
typedef struct Lists {
    VEC(uint64_t) numbers;
    VEC(Name) strings; /* of a .pragma; the targets */
    VEC(Token) names;  /* of .branchtargets and .calltargets */
} Lists;

/* A parse: what all of it needs, then one part for each group of files, declared in their header. */
struct Parser {
    Module *module;
    const ParseOptions *options;
    Interner *names;
    const Source *source;
    Diag *diag;
    Lexer *lexer;

    Arena *arena; /* of what is being read: one of the next two */
    Arena *module_arena;
    Arena *body_arena;  /* for the body of a function that is not kept; emptied after it */
    Arena *loose_arena; /* for an instruction of such a function; emptied after it */
    Arena *scratch;     /* dies with the parse */

    Function *function; /* at hand; NULL at module scope */
    bool in_body;

    TokenStream tokens;
    Recovery recovery;
    ScopeTable scopes;
    ModuleHeader header;
    ModuleItems module_items;
    Lists lists;
    Declaration decl;
    Initializer init;
    PrototypeState prototypes;
    Directives directives;
    FunctionBody body;
    InstructionState inst;
    LocTable locations;
    ConstantCache constants;
};

/* ptx.y, generated: 0 parsed to the end, 1 given up. */
int ptx_parse(Parser *parser);

/* unknown_name.c: reports an unknown name, once for each name and only if no declaration was lost that might declare
 * it. */
void parser_report_unknown(Parser *parser, Name name, Span span, const char *what);

#endif
