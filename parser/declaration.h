/* Declarations: their specifiers (declaration.c), registers (register.c), variables (variable.c), parameters
 * (parameter.c) and initial values (initializer.c). */
#ifndef PTXOPT_PARSER_DECLARATION_H
#define PTXOPT_PARSER_DECLARATION_H

#include "parser/constant.h"
#include "parser/scope.h"

/* The most bytes that a function's parameter may be aligned to. */
#define MOST_PARAMETER_ALIGN 128

/* One name of a declaration. */
typedef struct Declarator {
    Name name;
    Span range_span;
    bool is_range;
    uint64_t range;
    VEC(uint64_t) dims;
    Span dims_span;
    bool has_init;
    Span init_span;
} Declarator;

/* The declaration being read: its specifiers, and the declarator at hand. */
typedef struct Declaration {
    Linkage linkage;
    Span linkage_span;
    Space space;
    Span space_span;
    int const_bank;
    uint64_t align;
    unsigned vector;
    Type type;
    Span type_span;
    bool is_ptr;
    Span ptr_span;
    Space ptr_space;
    uint64_t ptr_align;
    bool managed, unified;
    Span attribute_span;
    uint64_t unified_id[2];
    Declarator declarator;
    bool open;     /* its end has not been read */
    bool reported; /* a mistake that concerns all its names has been reported */
    VEC(struct RegDeclItem) items; /* of a .reg statement */
} Declaration;

void declaration_begin(Declaration *decl);
void declaration_linkage(Parser *parser, Linkage linkage, Span span);
void declaration_align(Parser *parser, uint64_t bytes, Span span);
/* ".align" between the type and the name of a parameter. */
void declaration_late_align(Parser *parser, uint64_t bytes, Span span);
void declaration_attribute(Parser *parser, Name name, unsigned numbers, uint64_t first, uint64_t second, Span span);
void declaration_dim(Parser *parser, uint64_t size, bool given, Span span);
void declaration_ptr(Parser *parser, Span span);
void declarator_begin(Parser *parser, Name name);
void declarator_range(Declarator *declarator, uint64_t count, Span span);
void declarator_init(Declarator *declarator, Span span);
/* After the last part of a declarator; 'span' is its name's. */
void declarator_end(Parser *parser, Span span);
void declaration_end(Parser *parser, Span span);
/* True if registers, variables and parameters can have the declaration's type; reported if not. */
bool declaration_check_type(Parser *parser);

/* The declarator at hand, whose specifiers have been checked. */
void register_declare(Parser *parser, Name name, Span span);
/* At the end of a .reg statement. */
void register_statement(Parser *parser, Span span);

/* A variable with the declaration's specifiers. */
Variable *variable_new(Parser *parser, Name name, Span span);
/* False, reported, if the variable has more than 2^63 - 1 bytes. */
bool variable_check_size(Parser *parser, const Variable *variable);
/* True if the declaration's state space allows its other specifiers; reported if not. */
bool variable_check_space(Parser *parser, Name name, Span span);
void variable_declare(Parser *parser, Name name, Span span);

/* A parameter in the list of an entry, a function or a prototype; 'name' is NULL for '_'. */
void parameter_declare(Parser *parser, Name name, Span span);

/* The initial value of the declarator at hand, flat. */
typedef struct Initializer {
    VEC(Init) values;      /* of INIT_NUMBERS only the count: the numbers are those of 'numbers', in order */
    VEC(Span) spans;       /* of INIT_NUMBERS that of the first number */
    VEC(uint64_t) numbers;
    bool bad; /* an error in it has been reported */
} Initializer;

void init_begin(Initializer *init);
void init_push_constant(Parser *parser, ConstantValue value, Span span);
/* Decimal integers without a sign, each of at most 18 digits; 'first' is the span of the first. */
void init_push_numbers(Parser *parser, const uint64_t *numbers, size_t count, Span first);
void init_push_symbol(Parser *parser, Name name, Span span, const ConstantValue *offset, Span offset_span);
void init_push_call(Parser *parser, Name function, Span function_span, Name name, Span span,
                    const ConstantValue *offset, Span offset_span);
void init_mask_last(Parser *parser, uint64_t mask, Span span);
void init_push_field(Parser *parser, Name field, Span span, Name word, Span word_span, const ConstantValue *value);
void init_open(Parser *parser, Span span);
void init_close(Parser *parser, Span span);
/* Checks the initial value against the variable's type and size, derives the size of a leading [] from it, and moves it
 * to the variable. */
void init_finish(Parser *parser, Variable *variable, Span span);

#endif
