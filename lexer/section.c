/* The data lines of a .section:
 *     { LABEL ':' | '.bN' VALUE {',' VALUE} }
 * where a VALUE is INTEGER | '-' INTEGER | NAME | .SECTION, optionally followed by '+' INTEGER or '-' NAME. */
#include "lexer/internal.h"

/* What may begin a line: a directive, a label or the end. */
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
        if (token == SECTION_T_COLON)
            next = SECTION_START;
        break;
    case SECTION_VALUE:
        if (token == SECTION_T_INTEGER || token == SECTION_T_NAME || token == SECTION_T_DOTTED)
            next = SECTION_MORE;
        else if (token == SECTION_T_MINUS)
            next = SECTION_NUMBER;
        break;
    case SECTION_NUMBER:
        if (token == SECTION_T_INTEGER || token == SECTION_T_NAME)
            next = SECTION_MORE;
        break;
    case SECTION_MORE:
        if (token == SECTION_T_COMMA)
            next = SECTION_VALUE;
        else if (token == SECTION_T_PLUS || token == SECTION_T_MINUS)
            next = SECTION_NUMBER;
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
