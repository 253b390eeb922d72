/* Between scanner and grammar: the table of directives (word.c), the stream of tokens (token.c), where parsing
 * resumes after an error (recovery.c), and the wording of syntax errors (syntax_error.c). */
#ifndef PTXOPT_PARSER_TOKEN_H
#define PTXOPT_PARSER_TOKEN_H

#include "lexer/lexer.h"
#include "parser/constant.h"

typedef struct Parser Parser;

/* The grammar's semantic value. */
typedef union Value {
    TokenValue token;
    ConstantValue constant;
    unsigned count;
    Name name;
} Value;

typedef struct Token {
    int kind;
    TokenValue value;
    Span span;
} Token;

/* The directives that the word table folds into one token each. */
typedef enum DirectiveWord {
    DIRECTIVE_MAXNREG,
    DIRECTIVE_MINNCTAPERSM,
    DIRECTIVE_MAXNCTAPERSM,
    DIRECTIVE_MAXCLUSTERRANK,
    DIRECTIVE_MAXNTID,
    DIRECTIVE_REQNTID,
    DIRECTIVE_REQNCTAPERCLUSTER,
    DIRECTIVE_EXPLICITCLUSTER,
    DIRECTIVE_BLOCKSARECLUSTERS,
    DIRECTIVE_NORETURN,
    DIRECTIVE_ABI_PRESERVE,
    DIRECTIVE_ABI_PRESERVE_CONTROL,
    DIRECTIVE_COUNT
} DirectiveWord;

extern const Word parser_words[];
extern const size_t parser_word_count;

typedef struct TokenStream {
    int last_kind; /* the last token that the grammar got */
    Span last_span;
    const Value *last_value; /* bison's own copy */
    unsigned loc_tokens;     /* how many tokens, up to the last, are ".loc" and integers */
    unsigned items_depth;    /* unclosed '{' of operands and initial values */
    bool in_values;          /* while items_depth is not 0: they are of initial values */
    PlainInst plain;         /* of the last INSTRUCTION */
    Token queue[2];          /* the last 'queued' of them are delivered before anything else */
    unsigned queued;
    unsigned closers; /* '}' to be delivered even before those */
} TokenStream;

/* Delivers the token before the scanner's next one. */
static inline void tokens_put_back(TokenStream *tokens, const Token *token)
{
    tokens->queue[1] = *token;
    tokens->queued = 1;
}

typedef struct Recovery {
    bool skipping;
    bool skip_to_item;      /* statements at module scope are being skipped: a ';' or '}' does not end them */
    unsigned skip_depth;    /* unclosed '{' in text that is being skipped at module scope */
    bool drop_semicolon;    /* the next token, if it is one */
    unsigned implied_close; /* how many of the '}' delivered are not in the text */
    uint32_t last_error;    /* the end of the last syntax error */
    bool lost_in_function;  /* a declaration could not be read: an unknown name may be one that it declares */
    bool lost_in_module;
} Recovery;

int token_next(Parser *parser, Value *value, Span *span);
/* Reports a syntax error at the last token and prepares to resume after it. 'expected' holds the grammar's names of
 * the tokens that would have been accepted. */
void parser_syntax_error(Parser *parser, Span span, const char *const *expected, size_t count);

/* Decides how to resume after an error at this token, which bison will drop unless it is a ';' or '}'. */
void recovery_begin(Parser *parser, const Token *token);
/* Skips to the token at which to resume. False if that has been put into the queue. */
bool recovery_skip(Parser *parser, Token *token);
/* Called by the grammar's error rules after the broken text: in a body, and at module scope, where a function that was
 * begun is dropped. */
void recovery_end(Parser *parser);
void recovery_end_item(Parser *parser);
/* True if a '}' in the middle of a broken statement can be the end of a scope, given the kind of the token after it. */
bool recovery_can_follow_close(const Parser *parser, int kind);

/* Tokens that begin an item of the module. */
bool token_begins_item(int kind);

#endif
