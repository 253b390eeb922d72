/* The data lines of a .section:
 *     { LABEL ':' | '.bN' VALUE {',' VALUE} }
 * where a VALUE is INTEGER | '-' INTEGER | NAME | .SECTION, optionally followed by '+' INTEGER or '-' NAME. */
#include "lexer/internal.h"

#include <string.h>

/* The versions with which labels in sections, and differences of labels and negative numbers, came. */
enum { LABELS_VERSION = 70, SIGNS_VERSION = 75 };

static void require_version(Lexer *lexer, Span span, const char *what, unsigned version)
{
    if (lexer->version < version)
        lexer_error(lexer, span, "%s in a section needs .version %u.%u or newer", what, version / 10, version % 10);
}

/* The tokens that may begin a line: a directive, a label or the end. */
static SectionState line_start(SectionToken token)
{
    switch (token) {
    case SECTION_T_DIRECTIVE: return SECTION_VALUE;
    case SECTION_T_NAME: return SECTION_LABEL;
    case SECTION_T_END: return SECTION_START;
    default: return SECTION_BAD;
    }
}

void lexer_section_step(Lexer *lexer, SectionToken token, Span span)
{
    SectionState next = SECTION_BAD;
    switch (lexer->section) {
    case SECTION_START: next = line_start(token); break;
    case SECTION_LABEL:
        if (token == SECTION_T_COLON) {
            require_version(lexer, span, "a label", LABELS_VERSION);
            next = SECTION_START;
        }
        break;
    case SECTION_VALUE:
        if (token == SECTION_T_INTEGER || token == SECTION_T_NAME || token == SECTION_T_DOTTED)
            next = SECTION_MORE;
        else if (token == SECTION_T_MINUS) {
            require_version(lexer, span, "a negative number", SIGNS_VERSION);
            next = SECTION_NUMBER;
        }
        break;
    case SECTION_NUMBER:
        if (token == SECTION_T_INTEGER || token == SECTION_T_NAME)
            next = SECTION_MORE;
        break;
    case SECTION_MORE:
        if (token == SECTION_T_COMMA)
            next = SECTION_VALUE;
        else if (token == SECTION_T_PLUS || token == SECTION_T_MINUS) {
            if (token == SECTION_T_MINUS)
                require_version(lexer, span, "a difference", SIGNS_VERSION);
            next = SECTION_NUMBER;
        }
        else
            next = line_start(token);
        break;
    case SECTION_BAD:
        return;
    }
    if (next == SECTION_BAD) {
        const char *text = lexer->source->text + span.begin;
        unsigned char byte = (unsigned char)text[0];
        if (byte < ' ' || byte >= 0x7F)
            lexer_bad_bytes(lexer, text[0], span);
        else
            lexer_error(lexer, span, "unexpected '%.*s' in a section's data", lexer_excerpt(span), text);
    }
    lexer->section = next;
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static inline bool is_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

static inline bool is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

/* Decimal digits; other integers are rare. NULL if there is none. */
static inline const char *read_digits(const char *at)
{
    if (!is_digit(*at))
        return NULL;
    do
        at++;
    while (is_digit(*at));
    return at;
}

/* The end of "NAME" or ".NAME", where a name has more than one character. NULL if there is none. */
static const char *read_word(const char *at)
{
    bool dotted = *at == '.';
    at += dotted;
    if (!(is_letter(*at) || *at == '_' || (!dotted && *at == '$')) || (dotted && *at == 'b' && is_digit(at[1])))
        return NULL;
    const char *begin = at;
    while (is_word(*at) || (dotted && *at == '.'))
        at++;
    return at - begin > 1 ? at : NULL;
}

/* "12", "$L__tmp5", ".debug_str+12", "$L__a-$L__b" */
static inline const char *read_value(const char *at)
{
    if (is_digit(*at))
        return read_digits(at);
    at = read_word(at);
    if (at && (*at == '+' || *at == '-'))
        at = is_digit(at[1]) ? read_digits(at + 1) : at[1] != '.' ? read_word(at + 1) : NULL;
    return at;
}

/* The length of ".b8", ".b16", ".b32" or ".b64"; 0: there is none. */
static inline size_t read_directive(const char *at)
{
    if (at[1] != 'b')
        return 0;
    if (at[2] == '8')
        return 3;
    bool known = (at[2] == '6' && at[3] == '4') || (at[2] == '3' && at[3] == '2') || (at[2] == '1' && at[3] == '6');
    return known ? 4 : 0;
}

/* ".b8 1,2,3" */
static inline const char *read_data(const char *at)
{
    size_t length = read_directive(at);
    if (!length)
        return NULL;
    at += length;
    if (!is_blank(*at))
        return NULL;
    do {
        at++;
        while (*at == ' ' || *at == '\t')
            at++;
        at = read_value(at);
    } while (at && *at == ',');
    return at && is_blank(*at) ? at : NULL;
}

/* "NAME:" */
static const char *read_section_label(const char *at)
{
    at = read_word(at);
    return at && *at == ':' ? at + 1 : NULL;
}

static const char *read_comment(const char *at)
{
    if (at[1] != '/')
        return NULL;
    while (*at != '\n' && (unsigned char)(*at - 1) < 0x7F)
        at++;
    return *at == '\n' ? at : NULL;
}

uint32_t lexer_section_lines(const Lexer *lexer, uint32_t offset)
{
    const char *text = lexer->source->text, *at = text + offset, *line = at;
    while (at && !lexer->rules_only && lexer->version >= SIGNS_VERSION) {
        while (is_blank(*at))
            at++;
        /* A value may go on in the next line. */
        if (*at != '.' && *at != '}' && *at != '/' && !is_letter(*at) && *at != '$' && *at != '_')
            break;
        if (*at != '/')
            line = at;
        at = *at == '.' ? read_data(at) : *at == '/' ? read_comment(at) : *at == '}' ? NULL : read_section_label(at);
    }
    return (uint32_t)(line - text);
}
