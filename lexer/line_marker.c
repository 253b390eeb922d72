/* Line markers, which a preprocessor leaves in its output. */
#include "lexer/internal.h"

#include <string.h>

/* The line is not NUL-terminated, but a '\n' or the NUL of the source follows it. */
bool lexer_line_marker(Lexer *lexer, const char *text, size_t length, Span span)
{
    const char *at = text + 1;
    if (length >= 5 && memcmp(at, "line", 4) == 0)
        at += 4;
    size_t blanks = strspn(at, " \t"), digits = strspn(at + blanks, "0123456789");
    size_t more = strspn(at + blanks + digits, " \t");
    at += blanks + digits + more;
    const char *end = text + length;
    if (blanks && digits && more && at < end && *at == '"' && memchr(at + 1, '"', (size_t)(end - at - 1)))
        return lexer_check_bytes(lexer, text, length, span.begin);
    if (length > 8 && memcmp(text, "#include", 8) == 0)
        lexer_error(lexer, span, "this is source code, not PTX; compile it with 'nvcc -ptx'");
    else
        lexer_error(lexer, span, "only line markers (# N \"FILE\") may begin with '#'");
    return false;
}
