/* Values of literals, messages about what is no token, and the scanner's life. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lexer/internal.h"

#define YYSTYPE TokenValue
#define YYLTYPE Span
#include "lexer/ptx_lexer.h"

/* ptxas wraps literals of up to 66 bits, binary ones of up to 64, and calls larger ones overflows. */
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
        lexer_error(lexer, span, "this constant does not fit 64 bits");
    else if (high != 0 && !lexer->quiet)
        diag_warning(lexer->diag, span, "this constant is cut to 64 bits");
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

/* How a message calls a byte that cannot stand where it was found. */
static void report_byte(Lexer *lexer, unsigned char byte, Span span)
{
    if (span.begin == 0 && byte >= 0xEF)
        lexer_error(lexer, span, "PTX is ASCII text; this begins with a byte order mark or is no text");
    else if (byte >= 0x80)
        lexer_error(lexer, span, "PTX is ASCII text; this is byte 0x%02X", byte);
    else if (byte < ' ' || byte == 0x7F)
        lexer_error(lexer, span, "control character 0x%02X is no white space in PTX", byte);
    else
        lexer_error(lexer, span, "'%c' has no meaning here", byte);
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
    report_byte(lexer, (unsigned char)text[i], (Span){offset + (uint32_t)i, offset + (uint32_t)end});
    return false;
}

int lexer_bad_bytes(Lexer *lexer, const char *text, size_t length, Span span)
{
    (void)length;
    report_byte(lexer, (unsigned char)text[0], span);
    return TOKEN_ERROR;
}

const bool lexer_is_single[256] = {
    [','] = true, [';'] = true, ['['] = true, [']'] = true, ['{'] = true, ['}'] = true, ['('] = true, [')'] = true,
    [':'] = true, ['+'] = true,
};

const bool lexer_is_name[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['_'] = true, ['$'] = true,
};

/* The text of the line is not NUL-terminated, but a '\n' or the NUL of the source stands behind it. */
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
        lexer_error(lexer, span, "this is source code and no PTX; 'nvcc -ptx' makes PTX of it");
    else
        lexer_error(lexer, span, "only line markers (# N \"FILE\") may begin with '#'");
    return false;
}

/* How much of a token a message quotes. */
static int excerpt_length(Span span)
{
    return span.end - span.begin > 60 ? 60 : (int)(span.end - span.begin);
}

int lexer_bad_number(Lexer *lexer, Span span)
{
    const char *text = lexer->source->text + span.begin;
    char prefix = text[0] == '0' ? (char)(text[1] | 0x20) : 0;
    const char *rule = "";
    if (prefix == 'f')
        rule = ": 0f takes exactly 8 hexadecimal digits";
    else if (prefix == 'd')
        rule = ": 0d takes exactly 16 hexadecimal digits";
    else if (prefix == 'x')
        rule = ": 0x takes hexadecimal digits and the suffix U only";
    else if (prefix == 'b')
        rule = ": 0b takes the digits 0 and 1 and the suffix U only";
    else if (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        rule = ": a leading 0 makes the number octal";
    lexer_error(lexer, span, "malformed number '%.*s'%s", excerpt_length(span), text, rule);
    return TOKEN_ERROR;
}

/* Grammar of a section's body: { LABEL ':' | '.bN' VALUE {',' VALUE} }; VALUE: INTEGER | '-' INTEGER | NAME or
 * .SECTION, with '+' INTEGER or '-' NAME behind. */
void lexer_section_step(Lexer *lexer, SectionToken token, Span span)
{
    SectionState next = SECTION_BAD;
    switch (lexer->section) {
    case SECTION_START:
        if (token == SECTION_T_DIRECTIVE)
            next = SECTION_VALUE;
        else if (token == SECTION_T_NAME)
            next = SECTION_LABEL;
        else if (token == SECTION_T_END)
            next = SECTION_START;
        break;
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
        else if (token == SECTION_T_DIRECTIVE)
            next = SECTION_VALUE;
        else if (token == SECTION_T_NAME)
            next = SECTION_LABEL;
        else if (token == SECTION_T_END)
            next = SECTION_START;
        break;
    case SECTION_BAD:
        return;
    }
    if (next == SECTION_BAD) {
        const char *text = lexer->source->text + span.begin;
        unsigned char byte = (unsigned char)text[0];
        if (byte < ' ' || byte >= 0x7F)
            report_byte(lexer, byte, span);
        else
            lexer_error(lexer, span, "'%.*s' does not belong here in a section's data", excerpt_length(span), text);
    }
    lexer->section = next;
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
    /* flex goes back to the beginning of a token for each NUL in it: many of them would cost the square of their
     * number, and what holds one is no PTX anyway. */
    const char *nul = source->size ? memchr(source->text, 0, source->size) : NULL;
    if (source->size > SOURCE_LIMIT)
        diag_error(diag, ((Span){0, 0}), "the text is larger than 2 GiB");
    else if (nul)
        diag_error(diag, lexer_span((uint32_t)(nul - source->text), 1), "a NUL byte ends the text");
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
