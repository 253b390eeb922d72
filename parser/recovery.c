/* Finds the token at which parsing resumes after an error.
 *
 * Bison's own recovery drops tokens up to ';' or '}'. That goes wrong where the dropped text contains braces, or where
 * the semicolon is what is missing. So after an error this file skips ahead and hands the grammar only the token at
 * which it is to resume: the ';' or '}' that ends the broken statement or item, or SYNC followed by the token that
 * begins the next one, if that is the first on its line. */
#include "parser/internal.h"
#include "parser/ptx_parser.h"

/* Tokens that begin a function or its linkage: in a body they mean that its end is missing. */
static bool begins_function(int kind)
{
    return kind == T_ENTRY || kind == T_FUNC || kind == T_LINKAGE;
}

bool token_begins_item(int kind)
{
    return begins_function(kind) || kind == T_SPACE || kind == T_FILE_INDEX || kind == T_SECTION || kind == T_PRAGMA ||
           kind == T_ALIAS;
}

static bool begins_statement(int kind)
{
    return kind == T_IDENTIFIER || kind == T_QUALIFIED || kind == '@' || kind == T_REG || kind == T_SPACE ||
           kind == T_LOC || kind == T_PRAGMA;
}

static bool is_first_on_line(const Source *source, Span span)
{
    uint32_t i = span.begin;
    while (i > 0 && (source->text[i - 1] == ' ' || source->text[i - 1] == '\t'))
        i--;
    return i == 0 || source->text[i - 1] == '\n' || source->text[i - 1] == '\r';
}

static void note_lost_declaration(Parser *parser)
{
    if (parser->in_body)
        parser->recovery.lost_in_function = true;
    else
        parser->recovery.lost_in_module = true;
}

static void resume_at(Parser *parser, const Token *token)
{
    TokenStream *tokens = &parser->tokens;
    tokens->queue[0] = (Token){.kind = T_SYNC, .span = token->span};
    tokens->queue[1] = *token;
    tokens->queued = 2;
    tokens->items_depth = 0;
    parser->recovery.skipping = false;
    parser->recovery.skip_to_item = false;
}

/* Ends the body at hand: a '}' for each open scope, then the token again. */
static void close_body_before(Parser *parser, const Token *token)
{
    TokenStream *tokens = &parser->tokens;
    tokens->closers = scope_depth(&parser->scopes);
    tokens_put_back(tokens, token);
    tokens->items_depth = 0;
    parser->recovery.implied_close += tokens->closers;
    parser->recovery.skipping = false;
}

bool recovery_can_follow_close(const Parser *parser, int kind)
{
    if (kind == TOKEN_END || kind == '}' || begins_function(kind))
        return true;
    return scope_depth(&parser->scopes) == 1 ? token_begins_item(kind) : begins_statement(kind) || kind == '{';
}

typedef enum SkipStep {
    SKIP_ON,
    SKIP_FOUND,  /* the grammar is to resume at this token */
    SKIP_QUEUED, /* the same, and it has been queued */
} SkipStep;

/* 'ahead' receives the token after a '}' that does not end a scope. */
static SkipStep skip_in_body(Parser *parser, const Token *token, Token *ahead)
{
    TokenStream *tokens = &parser->tokens;
    if (token->kind == '{') {
        tokens->items_depth++;
    } else if (token->kind == '}' && tokens->items_depth > 0) {
        tokens->items_depth--;
    } else if (token->kind == '}') {
        ahead->kind = lexer_next(parser->lexer, &ahead->value, &ahead->span);
        if (recovery_can_follow_close(parser, ahead->kind)) {
            tokens_put_back(tokens, ahead);
            return SKIP_FOUND;
        }
    } else if (token->kind == ';') {
        return SKIP_FOUND;
    } else if (begins_function(token->kind) && is_first_on_line(parser->source, token->span)) {
        close_body_before(parser, token);
        return SKIP_QUEUED;
    }
    return SKIP_ON;
}

static SkipStep skip_in_module(Parser *parser, const Token *token)
{
    Recovery *recovery = &parser->recovery;
    if (token->kind == '{') {
        recovery->skip_depth++;
    } else if (token->kind == '}' && recovery->skip_depth > 1) {
        recovery->skip_depth--;
    } else if (recovery->skip_to_item && (token->kind == '}' || token->kind == ';')) {
        if (token->kind == '}')
            recovery->skip_depth = 0;
    } else if (token->kind == '}' || (token->kind == ';' && recovery->skip_depth == 0)) {
        if (token->kind == '}' && recovery->skip_depth == 0 && recovery->implied_close > 0)
            recovery->implied_close--;
        recovery->drop_semicolon = token->kind == '}';
        return SKIP_FOUND;
    } else if (recovery->skip_depth == 0 && token_begins_item(token->kind) &&
               is_first_on_line(parser->source, token->span)) {
        resume_at(parser, token);
        return SKIP_QUEUED;
    }
    return SKIP_ON;
}

static bool skip(Parser *parser, Token *token)
{
    Token ahead = {.kind = TOKEN_ERROR}; /* TOKEN_ERROR: none has been read */
    SkipStep step;
    do {
        if (ahead.kind != TOKEN_ERROR)
            *token = ahead;
        else
            token->kind = lexer_next(parser->lexer, &token->value, &token->span);
        ahead.kind = TOKEN_ERROR;
        if (token->kind == T_REG)
            note_lost_declaration(parser);
        step = parser->in_body ? skip_in_body(parser, token, &ahead) : skip_in_module(parser, token);
    } while (step == SKIP_ON && token->kind != TOKEN_END);
    if (step == SKIP_QUEUED)
        return false;
    parser->recovery.skipping = false;
    parser->recovery.skip_to_item = false;
    parser->recovery.skip_depth = 0;
    parser->tokens.items_depth = 0;
    return true;
}

bool recovery_skip(Parser *parser, Token *token)
{
    lexer_set_quiet(parser->lexer, true);
    bool found = skip(parser, token);
    lexer_set_quiet(parser->lexer, false);
    return found;
}

void recovery_begin(Parser *parser, const Token *token)
{
    Recovery *recovery = &parser->recovery;
    recovery->skip_depth = 0;
    if (parser->decl.open || token->kind == T_REG || token->kind == T_SPACE || token->kind == T_TYPE)
        note_lost_declaration(parser);
    parser->decl.open = false;
    if (token->kind == TOKEN_END || token->kind == ';' || token->kind == '}' || token->kind == T_SYNC)
        return;
    bool first = is_first_on_line(parser->source, token->span);
    if (parser->in_body) {
        if (begins_function(token->kind) && first)
            close_body_before(parser, token);
        else if ((token->kind == '{' && parser->tokens.items_depth == 0) || (begins_statement(token->kind) && first))
            resume_at(parser, token);
        else
            recovery->skipping = true;
    } else if (token_begins_item(token->kind) && first) {
        resume_at(parser, token);
    } else {
        /* A statement after a header that lacks its '{', or after a body that was closed too early. */
        bool statement = begins_statement(token->kind) || token->kind == T_REG;
        recovery->skip_depth = token->kind == '{' || (statement && parser->function != NULL);
        recovery->skip_to_item = statement && parser->function == NULL;
        recovery->skipping = true;
    }
}

void recovery_end(Parser *parser)
{
    parser->inst.guarded = false;
}

void recovery_end_item(Parser *parser)
{
    recovery_end(parser);
    if (parser->function)
        function_abandon(parser);
}
