/* The values of numbers, and messages about malformed ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lexer/internal.h"

/* ptxas truncates literals of up to 66 bits (binary ones of up to 64) and rejects larger ones. */
#define INTEGER_BITS 66

static unsigned digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return (unsigned)(digit - '0');
    return (unsigned)((digit | 0x20) - 'a') + 10;
}

void lexer_integer(Lexer *lexer, const char *digits, size_t length, unsigned base, bool is_unsigned, Span span,
                   TokenValue *value)
{
    const uint64_t limit = base == 2 ? 1 : UINT64_C(1) << (INTEGER_BITS - 64);
    uint64_t low = 0, high = 0;
    bool overflow = false;
    for (size_t i = 0; i < length; i++) {
        __extension__ unsigned __int128 product = (unsigned __int128)low * base + digit_value(digits[i]);
        low = (uint64_t)product;
        high = high * base + (uint64_t)(product >> 64);
        if (high >= limit) {
            overflow = true;
            high = 0;
        }
    }
    if (overflow)
        lexer_error(lexer, span, "this constant does not fit in 64 bits");
    else if (high != 0 && !lexer->quiet)
        diag_warning(lexer->diag, span, "this constant is truncated to 64 bits");
    value->bits = low;
    value->is_unsigned = is_unsigned || high != 0 || low > INT64_MAX;
}

void lexer_decimal(Lexer *lexer, const char *text, Span span, TokenValue *value)
{
    errno = 0;
    double number = strtod(text, NULL);
    if (errno == ERANGE)
        lexer_error(lexer, span, "this constant is too %s for a double", number > 1 ? "large" : "small");
    memcpy(&value->bits, &number, sizeof value->bits);
    value->is_unsigned = false;
}

uint64_t lexer_hex_bits(const char *digits, size_t length)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < length; i++)
        bits = bits << 4 | digit_value(digits[i]);
    return bits;
}

int lexer_bad_number(Lexer *lexer, Span span)
{
    const char *text = lexer->source->text + span.begin;
    char prefix = text[0] == '0' ? (char)(text[1] | 0x20) : 0;
    const char *rule = "";
    if (prefix == 'f')
        rule = ": 0f needs exactly 8 hexadecimal digits";
    else if (prefix == 'd')
        rule = ": 0d needs exactly 16 hexadecimal digits";
    else if (prefix == 'x')
        rule = ": only hexadecimal digits and the suffix U may follow 0x";
    else if (prefix == 'b')
        rule = ": only the digits 0 and 1 and the suffix U may follow 0b";
    else if (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        rule = ": a leading 0 makes the number octal";
    lexer_error(lexer, span, "malformed number '%.*s'%s", lexer_excerpt(span), text, rule);
    return TOKEN_ERROR;
}
