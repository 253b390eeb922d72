/* Statements of a body: instructions (instruction.c, operand.c, control.c), locations (location.c), labels, tables and
 * pragmas (statement.c). */
#ifndef PTXOPT_PARSER_STATEMENT_H
#define PTXOPT_PARSER_STATEMENT_H

#include "parser/constant.h"
#include "parser/token.h"

void statement_add(Parser *parser, Stmt stmt);
void statement_label(Parser *parser, Name name, Span span);
void statement_table(Parser *parser, TableKind kind, Name name, Span name_span, Span span);
void statement_pragma(Parser *parser, Span span);

typedef struct LocTable {
    const Loc *last;
    Map places; /* those of earlier .loc, by hash: chains of Location */
} LocTable;

void location_add(Parser *parser, const uint64_t *place, Span span);
/* Adds the next .loc if it is plain (lexer_location). */
bool location_plain(Parser *parser);
void location_add_inlined(Parser *parser, const uint64_t *place, const Token *words, uint64_t offset,
                          const uint64_t *at, Span span);

/* The instruction at hand. */
typedef struct InstructionState {
    Arena *arena;   /* for its operands */
    Arena *scratch; /* for the lists below */
    Name opcode;  /* with its modifiers, where none is set apart: "add.s32" */
    Span opcode_span;
    VEC(Name) mods; /* those that are set apart: "add .s32" */
    const Signature *signature;
    VEC(Operand) operands;
    VEC(RegRef) refs;
    bool bad; /* an error in it has been reported */
    bool is_branch, is_call, uses_tables;
    bool uses_labels; /* an operand may name a label that is not defined yet */
    bool guarded, guard_inverted;
    RegId guard;
    Span guard_span;
} InstructionState;

void instruction_guard(Parser *parser, Name name, bool inverted, Span span);
void instruction_begin(InstructionState *inst, Name opcode, Span span);
/* After the opcode and its modifiers. */
void instruction_signature(Parser *parser);
void instruction_end(Parser *parser, Span span);
/* All of that for TokenStream.plain, whose text is 'span', and for the plain instructions that follow it. Returns the
 * end of the last. */
uint32_t instruction_plain(Parser *parser, Span span);

/* operand.c: each pushes one operand or folds the last ones into one. */
void operand_reference(Parser *parser, Name name, Span name_span, Name selector, Span span);
/* "v.x": a name with its selector. */
void operand_qualified(Parser *parser, Name name, Span span);
void operand_sum(Parser *parser, Name name, Span name_span, ConstantValue offset, Span offset_span, Span span);
void operand_constant(Parser *parser, ConstantValue value, Span span);
void operand_sink(InstructionState *inst, Span span);
void operand_negate(Parser *parser, Span span);
void operand_invert(Parser *parser, Span span);
void operand_fold(Parser *parser, OperandKind kind, unsigned count, Span span);
void operand_bracketed(Parser *parser, unsigned count, Span span);
void operand_unified(Parser *parser, Name word, Span span);
void operand_indexed(Parser *parser, Name name, Span name_span, bool has_register, const ConstantValue *offset,
                     Span offset_span, Span span);
void operand_plain(Parser *parser, const PlainOperand *plain);

/* Checks what the instruction table cannot express about calls, branches and the staging of call parameters. False if
 * an error was reported. */
bool control_check(Parser *parser, const Inst *inst);

#endif
