/* Constant expressions and their spelling: constant.c. */
#ifndef PTXOPT_PARSER_CONSTANT_H
#define PTXOPT_PARSER_CONSTANT_H

#include "ir/ir.h"

typedef struct Parser Parser;

/* A constant expression while it is being evaluated. */
typedef struct ConstantValue {
    uint64_t bits;
    uint8_t kind; /* ConstantKind */
    bool is_unsigned;
    bool parenthesised; /* all of it is in parentheses */
    bool bad;           /* an error in it has been reported */
} ConstantValue;

/* Constants by spelling. Few spellings make up most constants, and constants are never written to. */
typedef struct ConstantCache {
    Constant *slots[256];
} ConstantCache;

ConstantValue constant_integer(uint64_t bits, bool is_unsigned);
ConstantValue constant_literal(ConstantKind kind, uint64_t bits);
/* Operations are characters or tokens of the grammar. A mistake is reported and gives a bad value. */
ConstantValue constant_unary(Diag *diag, int operation, ConstantValue operand, Span span);
ConstantValue constant_binary(Diag *diag, int operation, ConstantValue left, ConstantValue right, Span span);
ConstantValue constant_select(Diag *diag, ConstantValue condition, ConstantValue left, ConstantValue right, Span span);
ConstantValue constant_cast(Diag *diag, Type type, ConstantValue operand, Span span);
/* Reports a value that is not an integer. */
bool constant_is_integer(Diag *diag, ConstantValue value, Span span);

/* The constant with its spelling, by value, for one that nothing shares. The spelling is left out where printing the
 * value gives the same text. */
Constant constant_value(Parser *parser, ConstantValue value, Span span);
/* The constant with its spelling; 'span' is its text. May be shared. */
Constant *constant_new(Parser *parser, ConstantValue value, Span span);

#endif
