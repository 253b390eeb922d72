/* The scanner's life. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lexer/internal.h"

#define YYSTYPE TokenValue
#define YYLTYPE Span
#include "lexer/ptx_lexer.h"

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
