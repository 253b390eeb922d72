/* Functions: header and body (function.c), directives (directive.c), prototypes (prototype.c). */
#ifndef PTXOPT_PARSER_FUNCTION_H
#define PTXOPT_PARSER_FUNCTION_H

#include "parser/scope.h"
#include "parser/token.h"

/* The function's contents so far, in storage that the next function reuses. */
typedef struct FunctionBody {
    StmtVec stmts;
    RegVec regs;
    int cta_group; /* 1 or 2: the .cta_group of its instructions; 0: none so far */
} FunctionBody;

void function_begin(Parser *parser, bool is_entry, Span span);
void function_name(Parser *parser, Name name, Span span);
void function_attributes(Parser *parser);
void function_header_end(Parser *parser, bool has_body, Span open);
void function_declared(Parser *parser);
void function_end(Parser *parser, Span close);
void function_abandon(Parser *parser);
RegId function_new_register(Parser *parser, Binding *binding);
/* The register's number in the function; assigned at its first use. */
static inline RegId function_register(Parser *parser, Binding *binding)
{
    return binding->reg == REG_NONE ? function_new_register(parser, binding) : binding->reg;
}

/* The directives of the function at hand. */
typedef struct Directives {
    Span spans[DIRECTIVE_COUNT]; /* empty: not given */
    VEC(Pragma) pragmas;
} Directives;

void directives_begin(Directives *directives);
/* To the function, in the arena. */
void directives_move_pragmas(const Directives *directives, Function *function, Arena *arena);
void directive_add(Parser *parser, DirectiveWord word, Span span);
void directive_add_pragma(Parser *parser, Span span);
/* ".noreturn" and the like, of the prototype at hand. */
void directive_add_attribute(Parser *parser, DirectiveWord word, Span span);
/* Reports directives that contradict each other. */
void directives_check(const Directives *directives, Diag *diag);

typedef struct PrototypeState {
    Prototype *at_hand; /* where parameters go: the function's or that of a .callprototype */
    Prototype of_table; /* the latter */
    VEC(Variable *) params; /* of the list being read */
} PrototypeState;

/* Clears the prototype; parameters go to it from here on. */
void prototype_begin(PrototypeState *state, Prototype *prototype);
/* True if parameters are those of the function at hand rather than of a .callprototype. */
bool prototype_is_of_function(const Parser *parser);
void prototype_returns_end(Parser *parser);
void prototype_params_end(Parser *parser);
/* Reports, at 'span', parameters or return values in which the two functions differ. */
void prototype_check(Parser *parser, const Function *function, const Function *earlier, Span span);
/* The alignment of a parameter in memory: the one given, otherwise that of its type. */
uint64_t parameter_alignment(const Variable *variable);

#endif
