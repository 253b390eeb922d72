/* The stream of tokens from the scanner to the grammar.
 *
 * It asks the scanner for whole instructions where the grammar accepts any statement, distinguishes the braces of lists
 * from those of scopes, and inserts what the text lacks: the ';' after a declaration, and the tokens with which
 * recovery.c resumes after an error. */
#include "parser/internal.h"
#include "parser/ptx_parser.h"

enum { LOC_TOKENS = 4 }; /* ".loc 1 2 3", which has no ';' */

/* True if a '}' may follow this token. */
static bool ends_statement(int kind)
{
    return kind == ';' || kind == ':' || kind == '{' || kind == '}' || kind == T_INTEGER || kind == T_SYNC ||
           kind == T_INSTRUCTION || kind == T_LABEL;
}

/* The grammar's token for a '}'. */
static int close_brace(Parser *parser)
{
    TokenStream *tokens = &parser->tokens;
    if (!parser->in_body || tokens->items_depth > 0 || ends_statement(tokens->last_kind))
        return '}';
    /* Either the statement lacks its ';' or the '}' is a slip; the next token tells which. */
    Token ahead;
    ahead.kind = lexer_next(parser->lexer, &ahead.value, &ahead.span);
    tokens_put_back(tokens, &ahead);
    return recovery_can_follow_close(parser, ahead.kind) ? '}' : T_SYNC;
}

/* The next token while something is queued, skipped or to be dropped. */
static int next_disturbed(Parser *parser, TokenValue *value, Span *span)
{
    TokenStream *tokens = &parser->tokens;
    Recovery *recovery = &parser->recovery;
    for (;;) {
        if (tokens->closers > 0) {
            tokens->closers--;
            uint32_t begin = tokens->queue[1].span.begin;
            *span = (Span){begin, begin};
            return '}';
        }
        if (tokens->queued > 0) {
            const Token *token = &tokens->queue[2 - tokens->queued];
            tokens->queued--;
            *value = token->value;
            *span = token->span;
            return token->kind;
        }
        if (recovery->skipping) {
            Token token;
            if (!recovery_skip(parser, &token))
                continue;
            *value = token.value;
            *span = token.span;
            return token.kind;
        }
        int kind = lexer_next(parser->lexer, value, span);
        /* The real end of a body that was closed early is not another mistake. */
        if (kind == '}' && parser->function == NULL && recovery->implied_close > 0) {
            recovery->implied_close--;
            continue;
        }
        /* "};" ends what was skipped. */
        bool drop = recovery->drop_semicolon && kind == ';';
        recovery->drop_semicolon = false;
        if (drop)
            continue;
        return kind == '}' ? close_brace(parser) : kind;
    }
}

/* As in ptxas, the ';' of a function's declaration may be missing where the next item begins or the text ends. Only
 * the next token tells that a declaration is meant, so the ';' is inserted here. */
static bool ends_declaration(const Parser *parser, int kind)
{
    const Function *function = parser->function;
    const TokenStream *tokens = &parser->tokens;
    if (!function || parser->in_body || function->is_entry || !function->name)
        return false;
    bool whole = tokens->last_kind == ')' || tokens->last_kind == T_NORETURN ||
                 (tokens->last_kind == T_IDENTIFIER && tokens->last_span.begin == function->span.begin);
    return whole && (kind == TOKEN_END || kind == T_ALIGN || kind == T_ATTRIBUTE ||
                     (token_begins_item(kind) && kind != T_PRAGMA));
}

static int insert_semicolon(TokenStream *tokens, int kind, TokenValue value, Span *span)
{
    tokens_put_back(tokens, &(Token){.kind = kind, .value = value, .span = *span});
    *span = (Span){tokens->last_span.end, tokens->last_span.end};
    return ';';
}

/* True while the next token is simply the scanner's. */
static inline bool is_undisturbed(const TokenStream *tokens, const Recovery *recovery)
{
    return !(tokens->closers | tokens->queued | recovery->implied_close | recovery->skipping |
             recovery->drop_semicolon);
}

/* True if the grammar would accept any statement next, so that a plain one may come as one token. */
static inline bool begins_plain(const Parser *parser)
{
    const TokenStream *tokens = &parser->tokens;
    int last = tokens->last_kind;
    bool ended = last == T_INSTRUCTION || last == ';' || last == T_LABEL || last == '{' || last == '}' ||
                 tokens->loc_tokens == LOC_TOKENS;
    return ended && parser->in_body && tokens->items_depth == 0 && !parser->options->grammar_only;
}

/* A table's numbers go past the grammar, to which the ',' after them is a ',' or '{' before them. */
static void read_numbers(Parser *parser)
{
    TokenStream *tokens = &parser->tokens;
    uint64_t numbers[256];
    Span first;
    size_t count;
    do {
        count = lexer_numbers(parser->lexer, numbers, COUNT_OF(numbers), &first, &tokens->last_span);
        if (count) {
            init_push_numbers(parser, numbers, count, first);
            tokens->last_kind = ',';
        }
    } while (count);
}

static inline int next_undisturbed(Parser *parser, TokenValue *value, Span *span)
{
    TokenStream *tokens = &parser->tokens;
    if (tokens->items_depth > 0 && tokens->in_values && (tokens->last_kind == '{' || tokens->last_kind == ',') &&
        !parser->options->grammar_only)
        read_numbers(parser);
    if (begins_plain(parser)) {
        /* The label before it would be added after it. */
        while (tokens->last_kind != T_LABEL && tokens->loc_tokens != LOC_TOKENS && location_plain(parser))
            ;
        if (lexer_plain(parser->lexer, &parser->tokens.plain, span))
            return T_INSTRUCTION;
        if (lexer_label(parser->lexer, value, span))
            return T_LABEL;
    }
    int kind = lexer_next(parser->lexer, value, span);
    if (kind == '}')
        return close_brace(parser);
    return ends_declaration(parser, kind) ? insert_semicolon(&parser->tokens, kind, *value, span) : kind;
}

int token_next(Parser *parser, Value *value, Span *span)
{
    TokenStream *tokens = &parser->tokens;
    int kind = is_undisturbed(tokens, &parser->recovery) ? next_undisturbed(parser, &value->token, span)
                                                         : next_disturbed(parser, &value->token, span);
    if (kind == '}' && tokens->items_depth > 0) {
        tokens->items_depth--;
        tokens->in_values &= tokens->items_depth > 0;
        kind = T_ITEMS_CLOSE;
    } else if (kind == ';') {
        tokens->items_depth = 0;
        tokens->in_values = false;
    } else if (kind == TOKEN_ERROR) {
        parser->inst.bad = true;
        recovery_begin(parser, &(Token){.kind = kind, .span = *span});
    }
    if (kind == T_LOC)
        tokens->loc_tokens = 1;
    else
        tokens->loc_tokens = kind == T_INTEGER && tokens->loc_tokens > 0 ? tokens->loc_tokens + 1 : 0;
    tokens->last_kind = kind;
    tokens->last_span = *span;
    tokens->last_value = value;
    return kind;
}
