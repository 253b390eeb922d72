/* The scanner's life, and what its rules leave to functions: bytes that are not text, and line markers. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lexer/internal.h"

#define YYSTYPE TokenValue
#define YYLTYPE Span
#include "lexer/ptx_lexer.h"

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

static void add_word(Lexer *lexer, const Word *word)
{
    Name name = intern(lexer->names, word->text);
    size_t i = name_hash(name) & lexer->word_mask;
    while (lexer->words[i].name != NULL)
        i = (i + 1) & lexer->word_mask;
    lexer->words[i].name = name;
    lexer->words[i].word = word;
}

Lexer *lexer_new(Interner *names, const Source *source, Diag *diag, const Word *words, size_t word_count)
{
    Lexer *lexer = calloc(1, sizeof *lexer);
    if (lexer == NULL)
        out_of_memory();
    lexer->names = names;
    lexer->source = source;
    lexer->diag = diag;
    lexer->version = UINT_MAX;

    size_t slots = 16;
    while (slots < 4 * word_count)
        slots *= 2;
    lexer->word_mask = slots - 1;
    lexer->words = calloc(slots, sizeof *lexer->words);
    if (lexer->words == NULL)
        out_of_memory();
    for (size_t i = 0; i < word_count; i++)
        add_word(lexer, &words[i]);

    if (ptx_lexer_lex_init_extra(lexer, &lexer->scanner) != 0)
        out_of_memory();
    /* flex returns to the beginning of a token for each NUL in it, so n of them would cost n squared; and a text with a
     * NUL is not PTX anyway. */
    const char *nul = source->size ? memchr(source->text, 0, source->size) : NULL;
    if (source->size > SOURCE_LIMIT)
        diag_error(diag, ((Span){0, 0}), "the text is larger than 2 GiB");
    else if (nul)
        diag_error(diag, lexer_span((uint32_t)(nul - source->text), 1), "the text contains a NUL byte");
    else
        ptx_lexer__scan_buffer(source->text, source->size + 2, lexer->scanner);
    lexer->ended = nul || source->size > SOURCE_LIMIT;
    return lexer;
}

void lexer_free(Lexer *lexer)
{
    if (lexer == NULL)
        return;
    ptx_lexer_lex_destroy(lexer->scanner);
    free(lexer->words);
    free(lexer);
}

void lexer_set_version(Lexer *lexer, unsigned version)
{
    lexer->version = version;
}

void lexer_set_quiet(Lexer *lexer, bool quiet)
{
    lexer->quiet = quiet;
}

int lexer_next(Lexer *lexer, TokenValue *value, Span *span)
{
    if (lexer->ended) {
        *span = (Span){(uint32_t)lexer->source->size, (uint32_t)lexer->source->size};
        return TOKEN_END;
    }
    int token = ptx_lexer_lex(value, span, lexer->scanner);
    if (token == TOKEN_END)
        *span = (Span){lexer->offset, lexer->offset};
    return token;
}

void lexer_use_rules(Lexer *lexer)
{
    lexer->rules_only = true;
}
