/* Between scanner and grammar: tells the braces of lists from those of scopes, words syntax errors, and finds the place
 * where parsing can go on.
 *
 * Bison's own recovery drops tokens up to ';' or '}'.  That goes wrong where the dropped text holds braces of its
 * own, or where the semicolon is what is missing.  So after an error this file skips ahead and hands the grammar
 * nothing but the token at which it is to resume: the ';' or '}' that ends the broken statement or item, or SYNC
 * followed by the token that begins the next one, if that stands first on its line. */
#include <string.h>

#include "parser/internal.h"
#include "parser/ptx_parser.h"

#define DIRECTIVE(text, token, word) {text, T_##token, DIRECTIVE_##word}

const Word parser_words[] = {
#define X(id, spelling, bits, class) {"." spelling, T_TYPE, TYPE_##id},
    TYPE_LIST(X)
#undef X
    {".const", T_SPACE, SPACE_CONST},
    {".global", T_SPACE, SPACE_GLOBAL},
    {".local", T_SPACE, SPACE_LOCAL},
    {".param", T_SPACE, SPACE_PARAM},
    {".shared", T_SPACE, SPACE_SHARED},
    {".tex", T_SPACE, SPACE_TEX},
    {".reg", T_REG, SPACE_REG},
    {".v2", T_VECTOR, 2},
    {".v4", T_VECTOR, 4},
    {".extern", T_LINKAGE, LINKAGE_EXTERN},
    {".visible", T_LINKAGE, LINKAGE_VISIBLE},
    {".weak", T_LINKAGE, LINKAGE_WEAK},
    {".common", T_LINKAGE, LINKAGE_COMMON},
    {".version", T_VERSION, 0},
    {".target", T_TARGET, 0},
    {".address_size", T_ADDRESS_SIZE, 0},
    {".entry", T_ENTRY, 0},
    {".func", T_FUNC, 0},
    {".file", T_FILE_INDEX, 0},
    {".loc", T_LOC, 0},
    {".pragma", T_PRAGMA, 0},
    {".alias", T_ALIAS, 0},
    {".align", T_ALIGN, 0},
    {".attribute", T_ATTRIBUTE, 0},
    {".ptr", T_PTR, 0},
    {".branchtargets", T_BRANCHTARGETS, 0},
    {".calltargets", T_CALLTARGETS, 0},
    {".callprototype", T_CALLPROTOTYPE, 0},
    DIRECTIVE(".maxnreg", LIMIT, MAXNREG),
    DIRECTIVE(".minnctapersm", LIMIT, MINNCTAPERSM),
    DIRECTIVE(".maxnctapersm", LIMIT, MAXNCTAPERSM),
    DIRECTIVE(".maxclusterrank", LIMIT, MAXCLUSTERRANK),
    DIRECTIVE(".maxntid", SHAPE, MAXNTID),
    DIRECTIVE(".reqntid", SHAPE, REQNTID),
    DIRECTIVE(".reqnctapercluster", SHAPE, REQNCTAPERCLUSTER),
    DIRECTIVE(".explicitcluster", FLAG, EXPLICITCLUSTER),
    DIRECTIVE(".blocksareclusters", FLAG, BLOCKSARECLUSTERS),
    DIRECTIVE(".noreturn", NORETURN, NORETURN),
    DIRECTIVE(".abi_preserve", ABI, ABI_PRESERVE),
    DIRECTIVE(".abi_preserve_control", ABI, ABI_PRESERVE_CONTROL),
};
const size_t parser_word_count = COUNT_OF(parser_words);

/* ---- Tokens ------------------------------------------------------------------------------------------------------ */

static bool stands_first_on_line(const Parser *parser, Span span)
{
    uint32_t i = span.begin;
    while (i > 0 && (parser->source->text[i - 1] == ' ' || parser->source->text[i - 1] == '\t'))
        i--;
    return i == 0 || parser->source->text[i - 1] == '\n' || parser->source->text[i - 1] == '\r';
}

/* Tokens that begin a function or its linkage: in a body they mean that its end is missing. */
static bool begins_function(int kind)
{
    return kind == T_ENTRY || kind == T_FUNC || kind == T_LINKAGE;
}

static bool begins_item(int kind)
{
    return begins_function(kind) || kind == T_SPACE || kind == T_FILE_INDEX || kind == T_SECTION || kind == T_PRAGMA ||
           kind == T_ALIAS;
}

static bool begins_statement(int kind)
{
    return kind == T_IDENTIFIER || kind == T_QUALIFIED || kind == '@' || kind == T_REG || kind == T_SPACE ||
           kind == T_LOC || kind == T_PRAGMA;
}

static void resume_at(Parser *parser, const Token *token)
{
    parser->queue[0] = (Token){.kind = T_SYNC, .span = token->span};
    parser->queue[1] = *token;
    parser->queued = 2;
    parser->skipping = false;
    parser->skip_to_item = false;
    parser->items_depth = 0;
}

/* Ends the body at hand: a '}' for each open scope, then the token again. */
static void close_body_before(Parser *parser, const Token *token)
{
    parser->closers = scope_depth(parser);
    parser->implied_close += parser->closers;
    parser->queue[1] = *token;
    parser->queued = 1;
    parser->skipping = false;
    parser->items_depth = 0;
}

/* Whether a '}' in the midst of a broken statement can be the end of a scope, given what follows it. */
static bool can_follow_close(const Parser *parser, int kind)
{
    if (kind == TOKEN_END || kind == '}' || begins_function(kind))
        return true;
    return scope_depth(parser) == 1 ? begins_item(kind) : begins_statement(kind) || kind == '{';
}

static void note_lost_declaration(Parser *parser)
{
    if (parser->in_body)
        parser->lost_in_function = true;
    else
        parser->lost_in_module = true;
}

/* Skips to the token at which to resume.  False if that has been put into the queue. */
static bool skip_to_token(Parser *parser, Token *token)
{
    Token ahead = {.kind = TOKEN_ERROR}; /* read beyond a '}' that was none; TOKEN_ERROR: nothing was */
    do {
        if (ahead.kind != TOKEN_ERROR)
            *token = ahead;
        else
            token->kind = lexer_next(parser->lexer, &token->value, &token->span);
        ahead.kind = TOKEN_ERROR;
        if (token->kind == T_REG)
            note_lost_declaration(parser);
        if (parser->in_body) {
            if (token->kind == '{') {
                parser->items_depth++;
            } else if (token->kind == '}' && parser->items_depth > 0) {
                parser->items_depth--;
            } else if (token->kind == '}') {
                ahead.kind = lexer_next(parser->lexer, &ahead.value, &ahead.span);
                if (can_follow_close(parser, ahead.kind)) {
                    parser->queue[1] = ahead;
                    parser->queued = 1;
                    break;
                }
            } else if (token->kind == ';') {
                break;
            } else if (begins_function(token->kind) && stands_first_on_line(parser, token->span)) {
                close_body_before(parser, token);
                return false;
            }
        } else if (token->kind == '{') {
            parser->skip_depth++;
        } else if (token->kind == '}' && parser->skip_depth > 1) {
            parser->skip_depth--;
        } else if (parser->skip_to_item && (token->kind == '}' || token->kind == ';')) {
            if (token->kind == '}')
                parser->skip_depth = 0;
        } else if (token->kind == '}' || (token->kind == ';' && parser->skip_depth == 0)) {
            if (token->kind == '}' && parser->skip_depth == 0 && parser->implied_close > 0)
                parser->implied_close--;
            parser->drop_semicolon = token->kind == '}';
            break;
        } else if (parser->skip_depth == 0 && begins_item(token->kind) && stands_first_on_line(parser, token->span)) {
            resume_at(parser, token);
            return false;
        }
    } while (token->kind != TOKEN_END);
    parser->skipping = false;
    parser->skip_to_item = false;
    parser->skip_depth = 0;
    parser->items_depth = 0;
    return true;
}

static bool skip(Parser *parser, Token *token)
{
    lexer_set_quiet(parser->lexer, true);
    bool found = skip_to_token(parser, token);
    lexer_set_quiet(parser->lexer, false);
    return found;
}

/* Decides how to go on after an error at this token, which bison will drop unless it is a ';' or '}'. */
static void begin_recovery(Parser *parser, const Token *token)
{
    parser->skip_depth = 0;
    if (parser->decl.open || token->kind == T_REG || token->kind == T_SPACE || token->kind == T_TYPE)
        note_lost_declaration(parser);
    parser->decl.open = false;
    if (token->kind == TOKEN_END || token->kind == ';' || token->kind == '}' || token->kind == T_SYNC)
        return;
    bool first = stands_first_on_line(parser, token->span);
    if (parser->in_body) {
        if (begins_function(token->kind) && first)
            close_body_before(parser, token);
        else if ((token->kind == '{' && parser->items_depth == 0) || (begins_statement(token->kind) && first))
            resume_at(parser, token);
        else
            parser->skipping = true;
    } else if (begins_item(token->kind) && first) {
        resume_at(parser, token);
    } else {
        /* A statement behind a header that lacks its '{', or behind a body that was closed too early. */
        bool statement = begins_statement(token->kind) || token->kind == T_REG;
        parser->skip_depth = token->kind == '{' || (statement && parser->function != NULL);
        parser->skip_to_item = statement && parser->function == NULL;
        parser->skipping = true;
    }
}

/* Whether a '}' may follow this token. */
static bool ends_statement(int kind)
{
    return kind == ';' || kind == ':' || kind == '{' || kind == '}' || kind == T_INTEGER || kind == T_SYNC ||
           kind == T_INSTRUCTION || kind == T_LABEL;
}

/* What a '}' is for the grammar. */
static int close_brace(Parser *parser)
{
    if (parser->in_body && parser->items_depth == 0 && !ends_statement(parser->last_kind)) {
        /* Either the statement lacks its ';' or the '}' is a slip; what follows tells. */
        Token *ahead = &parser->queue[1];
        ahead->kind = lexer_next(parser->lexer, &ahead->value, &ahead->span);
        parser->queued = 1;
        if (!can_follow_close(parser, ahead->kind))
            return T_SYNC;
    }
    return '}';
}

static int next_token(Parser *parser, TokenValue *value, Span *span)
{
    for (;;) {
        if (parser->closers > 0) {
            parser->closers--;
            uint32_t begin = parser->queue[1].span.begin;
            *span = (Span){begin, begin};
            return '}';
        }
        if (parser->queued > 0) {
            const Token *token = &parser->queue[2 - parser->queued];
            parser->queued--;
            *value = token->value;
            *span = token->span;
            return token->kind;
        }
        Token token;
        if (!parser->skipping) {
            token.kind = lexer_next(parser->lexer, value, span);
        } else if (skip(parser, &token)) {
            *value = token.value;
            *span = token.span;
            return token.kind;
        } else {
            continue;
        }
        /* The real ends of bodies that close_body_before has closed are no mistake of their own. */
        if (token.kind == '}' && parser->function == NULL && parser->implied_close > 0) {
            parser->implied_close--;
            continue;
        }
        /* "};" ends what was skipped. */
        bool drop = parser->drop_semicolon && token.kind == ';';
        parser->drop_semicolon = false;
        if (drop)
            continue;
        return token.kind == '}' ? close_brace(parser) : token.kind;
    }
}

/* The ';' of a function's declaration may be missing where the next item begins or the text ends, as ptxas has it.
 * Only what comes next tells that a declaration is meant, so the ';' is put in here. */
static bool ends_declaration(const Parser *parser, int kind)
{
    const Function *function = parser->function;
    if (!function || parser->in_body || function->is_entry || !function->name)
        return false;
    bool whole = parser->last_kind == ')' || parser->last_kind == T_NORETURN ||
                 (parser->last_kind == T_IDENTIFIER && parser->last_span.begin == function->span.begin);
    return whole &&
           (kind == TOKEN_END || kind == T_ALIGN || kind == T_ATTRIBUTE || (begins_item(kind) && kind != T_PRAGMA));
}

static int insert_semicolon(Parser *parser, int kind, TokenValue value, Span *span)
{
    parser->queue[1] = (Token){.kind = kind, .value = value, .span = *span};
    parser->queued = 1;
    *span = (Span){parser->last_span.end, parser->last_span.end};
    return ';';
}

/* What is between scanner and grammar once nothing is amiss. */
static inline bool is_undisturbed(const Parser *parser)
{
    return !(parser->closers | parser->queued | parser->implied_close | parser->skipping | parser->drop_semicolon);
}

enum { LOC_TOKENS = 4 }; /* ".loc 1 2 3", which has no ';' */

/* Whether the grammar takes any statement next, so that a plain one may come as one token. */
static inline bool begins_plain(const Parser *parser)
{
    int last = parser->last_kind;
    bool ended = last == T_INSTRUCTION || last == ';' || last == T_LABEL || last == '{' || last == '}' ||
                 parser->loc_tokens == LOC_TOKENS;
    return ended && parser->in_body && parser->items_depth == 0 && !parser->options->grammar_only;
}

int ptx_next_token(Parser *parser, Value *value, Span *span)
{
    int kind;
    if (is_undisturbed(parser)) {
        if (begins_plain(parser) && lexer_plain(parser->lexer, &parser->plain, span))
            kind = T_INSTRUCTION;
        else if (begins_plain(parser) && lexer_label(parser->lexer, &value->token, span))
            kind = T_LABEL;
        else
            kind = lexer_next(parser->lexer, &value->token, span);
        if (kind == '}')
            kind = close_brace(parser);
        else if (ends_declaration(parser, kind))
            kind = insert_semicolon(parser, kind, value->token, span);
    } else {
        kind = next_token(parser, &value->token, span);
    }
    if (kind == '}' && parser->items_depth > 0) {
        parser->items_depth--;
        kind = T_ITEMS_CLOSE;
    } else if (kind == ';') {
        parser->items_depth = 0;
    } else if (kind == TOKEN_ERROR) {
        parser->bad = true;
        begin_recovery(parser, &(Token){.kind = kind, .span = *span});
    }
    if (kind == T_LOC)
        parser->loc_tokens = 1;
    else
        parser->loc_tokens = kind == T_INTEGER && parser->loc_tokens > 0 ? parser->loc_tokens + 1 : 0;
    parser->last_kind = kind;
    parser->last_span = *span;
    parser->last_value = value;
    return kind;
}

void parser_recovered(Parser *parser)
{
    parser->guarded = false;
}

void parser_recovered_item(Parser *parser)
{
    parser_recovered(parser);
    if (parser->function)
        function_abandon(parser);
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

typedef struct Expected {
    const char *const *names;
    size_t count;
} Expected;

static bool expects(Expected expected, const char *name)
{
    for (size_t i = 0; i < expected.count; i++) {
        if (strcmp(expected.names[i], name) == 0)
            return true;
    }
    return false;
}

/* Names that the group stands for are left out where the group is named. */
static bool in_group(const char *name, const char *const *group, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, group[i]) == 0)
            return true;
    }
    return false;
}

static const char *const operators[] = {"'?'",  "':'",  "'||'", "'&&'", "'^'", "'&'", "'=='", "'!='", "'<'", "'>'",
                                        "'<='", "'>='", "'<<'", "'>>'", "'+'", "'-'", "'*'",  "'/'",  "'%'"};
static const char *const constants[] = {"an integer", "'WARP_SZ'", "a floating-point number", "a 0f literal",
                                        "a 0d literal", "'('", "'+'", "'-'", "'!'", "'~'"};
static const char *const operand_starts[] = {"a name", "an instruction", "'_'", "'['", "'{'"};
static const char *const closers[] = {"';'", "')'", "']'", "'}' of a list"};
static const char *const directives[] = {"a limit", "a shape", "a flag", "'.noreturn'", "'.abi_preserve'", "'.pragma'"};
static const char *const modifiers[] = {"a type", "a state space", "a vector size", "a linkage", "'.alias'"};

#define ADD(text)                                                                                                      \
    do {                                                                                                               \
        if (count < limit)                                                                                             \
            out[count] = (text);                                                                                       \
        count++;                                                                                                       \
    } while (0)

/* The ')', ']' or '}' that the innermost list of the statement at hand, up to this place, lacks; 0: none. */
static char open_list(const Parser *parser, uint32_t end)
{
    if (!parser->in_body)
        return 0;
    const char *text = parser->source->text;
    unsigned closed = 0;
    /* What lies before the last error is behind it: without this bound, errors that follow no opcode cost the square of
     * their number. */
    uint32_t begin = parser->opcode_span.begin > parser->last_error ? parser->opcode_span.begin : parser->last_error;
    for (uint32_t i = end; i > begin; i--) {
        char c = text[i - 1];
        if (c == ')' || c == ']' || c == '}')
            closed++;
        else if ((c == '(' || c == '[' || c == '{') && closed-- == 0)
            return c == '(' ? ')' : c == '[' ? ']' : '}';
    }
    return ';';
}

/* What to say was expected: as many phrases as there are, of which at most 'limit' are written.  Where the grammar's
 * states do not tell lists apart, 'closer' (0: unknown) does. */
static size_t phrases(Expected expected, char closer, const char **out, size_t limit)
{
    size_t count = 0;
    if (expects(expected, "'@'")) {
        ADD("a statement");
        if (expects(expected, "'}'"))
            ADD("'}'");
        return count;
    }
    if (expects(expected, "'.entry'") && expects(expected, "'.alias'")) {
        ADD("a declaration");
        return count;
    }
    /* Behind a complete element of a list: what else might continue it only distracts. */
    if (expects(expected, "','")) {
        ADD("','");
        for (size_t i = 0; i < COUNT_OF(closers); i++) {
            if (expects(expected, closers[i]) && (closer == 0 || closer == closers[i][1]))
                ADD(closers[i][1] == '}' ? "'}'" : closers[i]);
        }
        if (count > 1)
            return count;
        count = 0;
    }
    bool directive = expects(expected, "a limit");
    if (directive)
        ADD("a directive");
    bool constant = expects(expected, "a floating-point number");
    bool operand = constant && expects(expected, "a name") && expects(expected, "'{'");
    bool modifier = expects(expected, "a modifier");
    bool operators_too = expects(expected, "'*'");
    if (operand)
        ADD("an operand");
    else if (constant)
        ADD("a constant");
    for (size_t i = 0; i < expected.count; i++) {
        const char *name = expected.names[i];
        if ((constant && in_group(name, constants, COUNT_OF(constants))) ||
            (operand && in_group(name, operand_starts, COUNT_OF(operand_starts))) ||
            (directive && in_group(name, directives, COUNT_OF(directives))) ||
            (modifier && in_group(name, modifiers, COUNT_OF(modifiers))) ||
            (operators_too && in_group(name, operators, COUNT_OF(operators))) || strcmp(name, "a new beginning") == 0)
            continue;
        ADD(strcmp(name, "'}' of a list") == 0 ? "'}'" : name);
    }
    return count;
}

/* The directive, state space or type that was meant. */
static const char *closest_directive(const char *word)
{
    const char *candidates[96];
    size_t count = 0;
    for (size_t i = 0; i < parser_word_count && count + 1 < COUNT_OF(candidates); i++)
        candidates[count++] = parser_words[i].text;
    candidates[count++] = ".section";
    return closest_word(word, candidates, count);
}

void parser_syntax_error(Parser *parser, Span span, const char *const *names, size_t name_count)
{
    const Token last = {parser->last_kind, parser->last_value->token, parser->last_span};
    const Token *token = &last;
    if (parser->function == NULL && parser->implied_close > 0) {
        /* The rest of a body that close_body_before has closed. */
        begin_recovery(parser, token);
        return;
    }
    char found[64];
    if (token->kind == TOKEN_END) {
        snprintf(found, sizeof found, "end of file");
    } else {
        uint32_t length = span.end - span.begin;
        bool long_text = length > 40;
        snprintf(found, sizeof found, "'%.*s%s'", (int)(long_text ? 40 : length), parser->source->text + span.begin,
                 long_text ? "..." : "");
    }
    const char *closest = token->kind == T_DOTTED ? closest_directive(token->value.name) : NULL;
    const char *list[5];
    size_t count = phrases((Expected){names, name_count}, open_list(parser, span.begin), list, COUNT_OF(list));
    parser->last_error = span.end;
    if (parser->module->version == 0) {
        diag_error(parser->diag, span, "a module begins with '.version MAJOR.MINOR', not with %s", found);
    } else if (!parser->has_target) {
        diag_error(parser->diag, span, "'.target ARCHITECTURE' must follow '.version MAJOR.MINOR', not %s", found);
    } else if (closest) {
        diag_error(parser->diag, span, "unexpected %s; did you mean '%s'?", found, closest);
    } else if (count == 0 || count > COUNT_OF(list)) {
        diag_error(parser->diag, span, "unexpected %s", found);
    } else {
        char text[256];
        size_t length = 0;
        for (size_t i = 0; i < count; i++) {
            const char *separator = i == 0 ? "" : i + 1 < count ? ", " : " or ";
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", separator, list[i]);
        }
        diag_error(parser->diag, span, "unexpected %s, expected %s", found, text);
    }
    if (token->kind == TOKEN_END && parser->in_body) {
        Span open = VEC_LAST(parser->scope_table.scopes).open;
        diag_note(parser->diag, open, "to match this '{'");
    }
    begin_recovery(parser, token);
}
