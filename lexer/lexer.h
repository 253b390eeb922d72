/* lexer: PTX text to tokens.
 *
 * The scanner knows no opcode and no directive. Its tokens are names, names with dotted words attached to them
 * ("add.s32": one token, because a module has few different ones and each is looked up once), dotted words, literals,
 * strings and punctuation; dotted words are looked up in a table that the caller provides. Two constructs are one
 * token because their contents are not PTX: the body of a .section and an @@DWARF line.
 *
 * The rules are those of ptx.l (chapter "Syntax" of the PTX ISA). Only plain.c repeats some of them, for speed: it
 * recognizes plain instructions and labels as a whole (lexer_plain, lexer_label) and leaves anything else to ptx.l. A
 * change to a rule of names, dotted words, numbers or blanks in ptx.l must be made there too. The unit test test_plain
 * and the fuzzer 'parser' hold the two against each other: with ParseOptions.grammar_only the parser reads everything
 * by the rules of ptx.l, and must come to the same result.
 *
 * Values of literals are exact: 64 bits of an integer, the bit pattern of a 0f or 0d literal, the nearest double of a
 * decimal one. */
#ifndef PTXOPT_LEXER_H
#define PTXOPT_LEXER_H

#include "support/support.h"

/* X(name, its name in messages): tokens of more than one character. A token of one character is that character's
 * code. */
#define TOKEN_LIST(X)                                                                                                  \
    X(IDENTIFIER, "a name")                                                                                            \
    X(QUALIFIED, "an instruction")                                                                                     \
    X(SINK, "'_'")                                                                                                     \
    X(WARP_SIZE, "'WARP_SZ'")                                                                                          \
    X(INTEGER, "an integer")                                                                                           \
    X(DECIMAL, "a floating-point number")                                                                              \
    X(F32_BITS, "a 0f literal")                                                                                        \
    X(F64_BITS, "a 0d literal")                                                                                        \
    X(STRING, "a string")                                                                                              \
    X(DOTTED, "a modifier")                                                                                            \
    X(SHIFT_LEFT, "'<<'")                                                                                              \
    X(SHIFT_RIGHT, "'>>'")                                                                                             \
    X(LESS_EQUAL, "'<='")                                                                                              \
    X(GREATER_EQUAL, "'>='")                                                                                           \
    X(EQUAL, "'=='")                                                                                                   \
    X(NOT_EQUAL, "'!='")                                                                                               \
    X(AND, "'&&'")                                                                                                     \
    X(OR, "'||'")                                                                                                      \
    X(SECTION, "'.section'")                                                                                           \
    X(SECTION_NAME, "a section name")                                                                                  \
    X(SECTION_BODY, "a section body")                                                                                  \
    X(DWARF_LINE, "an @@DWARF line")                                                                                   \
    X(INSTRUCTION, "a whole instruction")                                                                              \
    X(LABEL, "a label")

typedef enum TokenKind {
    TOKEN_END = 0,
    TOKEN_ERROR = 256, /* text that is not a token; it has been reported */
    TOKEN_FIRST = 257,
#define X(name, text) TOKEN_##name,
    TOKEN_LIST(X)
#undef X
        TOKEN_FIRST_WORD /* codes from here on belong to the word table */
} TokenKind;

typedef struct TokenValue {
    union {
        Name name;     /* names, DOTTED (with its dot), words, SECTION_NAME; STRING without its quotes */
        uint64_t bits; /* INTEGER: the low 64 bits; DECIMAL and F64_BITS: a double's bits; F32_BITS: a float's bits */
    };
    uint32_t word;    /* a word's value in the table */
    bool is_unsigned; /* INTEGER: has the suffix U or does not fit .s64 */
} TokenValue;

/* A dotted word that is a token of its own. */
typedef struct Word {
    const char *text; /* with its dot */
    int token;        /* TOKEN_FIRST_WORD or above */
    uint32_t value;
} Word;

typedef struct Lexer Lexer;

/* Scans 'source' from its beginning; errors go to 'diag'. The word table must outlive the lexer, which is freed by
 * lexer_free. */
Lexer *lexer_new(Interner *names, const Source *source, Diag *diag, const Word *words, size_t word_count);
void lexer_free(Lexer *lexer); /* NULL is allowed */
/* The module's PTX version, times 10: older ones lack some of what sections may contain. */
void lexer_set_version(Lexer *lexer, unsigned version);

/* The next token: a TokenKind, a character's code or a word's token; at the end of the text, TOKEN_END again and again.
 * The span of a SECTION_BODY is the text between the braces, that of a DWARF_LINE the line. */
int lexer_next(Lexer *lexer, TokenValue *value, Span *span);
/* A quiet lexer reports nothing: for text that is skipped after an error. */
void lexer_set_quiet(Lexer *lexer, bool quiet);

/* A plain instruction, as nearly all are:
 *     [@[!]NAME] OPCODE [OPERAND {, OPERAND}] ;
 * where an operand is an ITEM, [NAME], [NAME+INTEGER], {ITEM, ...}, (ITEM, ...) or NAME|NAME, and an item is NAME,
 * NAME.WORD, a decimal integer with or without a sign, a 0f or 0d literal or '_'. Comments to the end of a line may
 * precede it, and what the next functions read. */
typedef enum PlainKind {
    PLAIN_NAME,        /* name; selector, or NULL */
    PLAIN_INTEGER,     /* bits, to be negated if 'negative' */
    PLAIN_F32,         /* bits */
    PLAIN_F64,         /* bits */
    PLAIN_SINK,
    PLAIN_ADDRESS,     /* name, with nothing between it and its brackets */
    PLAIN_SUM_ADDRESS, /* name '+' bits, to be negated if 'negative'; nothing else between the brackets */
    PLAIN_VECTOR,      /* bits: the number of operands before this one that are its items */
    PLAIN_LIST,        /* the same, in parentheses */
    PLAIN_PAIR,        /* its items are the two operands before this one */
} PlainKind;

typedef struct PlainOperand {
    uint8_t kind; /* PlainKind */
    bool negative;
    Span span;
    Name name;
    union {
        Name selector;
        uint64_t bits;
    };
} PlainOperand;

enum { PLAIN_LIMIT = 32 };

typedef struct PlainInst {
    Name guard; /* NULL if there is none */
    bool guard_inverted;
    Span guard_span; /* of its name */
    Name opcode;     /* with its dotted words */
    Span opcode_span;
    unsigned count;
    PlainOperand operands[PLAIN_LIMIT]; /* the items of a list precede it */
} PlainInst;

/* For use where a statement may begin. False if the next statement is not a plain instruction: then nothing was
 * consumed. */
bool lexer_plain(Lexer *lexer, PlainInst *inst, Span *span);
/* ".loc FILE LINE COLUMN" or, if 'inlined', that and ", WORD NAME [+ OFFSET], WORD FILE LINE COLUMN". */
typedef struct PlainLocation {
    uint64_t place[3], at[3];
    bool inlined;
    const char *words[3]; /* "function_name", a Name, "inlined_at" */
    Span word_spans[3];
    uint64_t offset;
} PlainLocation;

/* The same for a .loc that a .loc, label or instruction follows. */
bool lexer_location(Lexer *lexer, PlainLocation *location, Span *span);
/* For use where an initial value may begin: reads "INTEGER ,", decimal and of at most 18 digits, as long as another
 * integer follows. Returns how many; *first is the span of the first, *comma that of the last ','. */
size_t lexer_numbers(Lexer *lexer, uint64_t *numbers, size_t most, Span *first, Span *comma);
/* By the rules of ptx.l alone: sections, too, which are otherwise read in place where they are plain. */
void lexer_use_rules(Lexer *lexer);

/* The same for a label, NAME ':', whose name goes to value->name. */
bool lexer_label(Lexer *lexer, TokenValue *value, Span *span);
/* The same for a label that a .loc, another label or an instruction follows, not a table. */
bool lexer_inner_label(Lexer *lexer, TokenValue *value, Span *span);

#endif
