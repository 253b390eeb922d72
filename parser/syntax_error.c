/* The wording of syntax errors. */
#include <string.h>

#include "parser/internal.h"
#include "parser/ptx_parser.h"

enum {
    QUOTED_LENGTH = 40, /* bytes of a token that a message quotes */
    LISTED = 5,         /* the longest list of what was expected */
};

/* The grammar's names of the tokens that would have been accepted. */
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

/* The token that closes the innermost list that is open at 'end' in the statement at hand: ')', ']', '}', or ';' if
 * none is; 0 outside of bodies. */
static char open_list(const Parser *parser, uint32_t end)
{
    if (!parser->in_body)
        return 0;
    const char *text = parser->source->text;
    unsigned closed = 0;
    /* Without the bound by the last error, n errors with no opcode between them would cost n squared. */
    uint32_t begin = parser->inst.opcode_span.begin, last_error = parser->recovery.last_error;
    if (begin < last_error)
        begin = last_error;
    for (uint32_t i = end; i > begin; i--) {
        char c = text[i - 1];
        if (c == ')' || c == ']' || c == '}')
            closed++;
        else if ((c == '(' || c == '[' || c == '{') && closed-- == 0)
            return c == '(' ? ')' : c == '[' ? ']' : '}';
    }
    return ';';
}

/* Describes what was expected. Writes at most 'limit' phrases and returns how many there are. 'closer'
 * (0: unknown) tells lists apart that the grammar's states do not. */
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
    /* After a complete element of a list: whatever else might continue it only distracts. */
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

/* The token as a message quotes it. */
static void quote_token(const Source *source, int kind, Span span, char *out, size_t size)
{
    int length = (int)(span.end - span.begin);
    if (kind == TOKEN_END)
        snprintf(out, size, "end of file");
    else if (length > QUOTED_LENGTH)
        snprintf(out, size, "'%.*s...'", QUOTED_LENGTH, source->text + span.begin);
    else
        snprintf(out, size, "'%.*s'", length, source->text + span.begin);
}

static void report_unexpected(Diag *diag, Span span, const char *found, const char *const *list, size_t count)
{
    if (count == 0 || count > LISTED) {
        diag_error(diag, span, "unexpected %s", found);
        return;
    }
    Buf text = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", list[i]);
    diag_error(diag, span, "unexpected %s, expected %s", found, buf_text(&text));
    buf_free(&text);
}

void parser_syntax_error(Parser *parser, Span span, const char *const *names, size_t name_count)
{
    const TokenStream *tokens = &parser->tokens;
    const Token token = {tokens->last_kind, tokens->last_value->token, tokens->last_span};
    if (parser->function == NULL && parser->recovery.implied_close > 0) {
        /* The rest of a body that was closed early. */
        recovery_begin(parser, &token);
        return;
    }
    char found[QUOTED_LENGTH + 8];
    quote_token(parser->source, token.kind, span, found, sizeof found);
    const char *closest = token.kind == T_DOTTED ? closest_directive(token.value.name) : NULL;
    const char *list[LISTED];
    size_t count = phrases((Expected){names, name_count}, open_list(parser, span.begin), list, LISTED);
    parser->recovery.last_error = span.end;
    if (parser->module->version == 0)
        diag_error(parser->diag, span, "a module begins with '.version MAJOR.MINOR', not with %s", found);
    else if (!parser->header.has_target)
        diag_error(parser->diag, span, "'.target ARCHITECTURE' must follow '.version MAJOR.MINOR', not %s", found);
    else if (closest)
        diag_error(parser->diag, span, "unexpected %s; did you mean '%s'?", found, closest);
    else
        report_unexpected(parser->diag, span, found, list, count);
    if (token.kind == TOKEN_END && parser->in_body)
        diag_note(parser->diag, VEC_LAST(parser->scopes.stack).open, "to match this '{'");
    recovery_begin(parser, &token);
}
