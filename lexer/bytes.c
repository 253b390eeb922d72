/* Bytes that are not text of PTX. */
#include "lexer/internal.h"

int lexer_bad_bytes(Lexer *lexer, char first, Span span)
{
    unsigned char byte = (unsigned char)first;
    if (span.begin == 0 && byte >= 0xEF)
        lexer_error(lexer, span, "PTX is ASCII text; this begins with a byte order mark or is not text");
    else if (byte >= 0x80)
        lexer_error(lexer, span, "PTX is ASCII text; this is byte 0x%02X", byte);
    else if (byte < ' ' || byte == 0x7F)
        lexer_error(lexer, span, "control character 0x%02X is not white space in PTX", byte);
    else
        lexer_error(lexer, span, "'%c' has no meaning here", byte);
    return TOKEN_ERROR;
}

bool lexer_check_bytes(Lexer *lexer, const char *text, size_t length, uint32_t offset)
{
    bool good = true;
    for (size_t i = 0; i < length; i++)
        good &= (unsigned char)(text[i] - 1) < 0x7F;
    if (good)
        return true;
    size_t i = 0;
    while ((unsigned char)(text[i] - 1) < 0x7F)
        i++;
    size_t end = i + 1;
    while (text[i] != 0 && end < length && (unsigned char)text[end] >= 0x80)
        end++;
    lexer_bad_bytes(lexer, text[i], (Span){offset + (uint32_t)i, offset + (uint32_t)end});
    return false;
}
