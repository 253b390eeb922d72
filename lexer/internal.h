/* Shared by the scanner's rules (ptx.l) and the C files of lexer/. */
#ifndef PTXOPT_LEXER_INTERNAL_H
#define PTXOPT_LEXER_INTERNAL_H

#include "lexer/lexer.h"

/* The scanner's position in the data lines of a .section; see section_step. */
typedef enum SectionState {
    SECTION_START,  /* a .bN directive or a label may follow */
    SECTION_LABEL,  /* a name was read at the start of a line: ':' must follow */
    SECTION_VALUE,  /* a value must follow */
    SECTION_NUMBER, /* a sign was read: an integer or a name must follow */
    SECTION_MORE,   /* a value was read: ',' '+' '-', a directive or a label may follow */
    SECTION_BAD,    /* reported; the rest of the section is skipped */
} SectionState;

typedef enum SectionToken {
    SECTION_T_DIRECTIVE,
    SECTION_T_NAME,
    SECTION_T_DOTTED,
    SECTION_T_INTEGER,
    SECTION_T_COMMA,
    SECTION_T_PLUS,
    SECTION_T_MINUS,
    SECTION_T_COLON,
    SECTION_T_END,
    SECTION_T_OTHER,
} SectionToken;

struct Lexer {
    void *scanner; /* flex's state */
    Interner *names;
    const Source *source;
    Diag *diag;
    bool quiet;
    uint32_t offset;         /* of the byte after the last match */
    uint32_t piece;          /* where a comment began */
    uint32_t body;           /* where a section's body began */
    int after_comment;       /* start condition to return to */
    SectionState section;
    unsigned version;        /* lexer_set_version */
    bool ended;
    bool rules_only;         /* lexer_use_rules */
    struct WordSlot {
        Name name;
        const Word *word;
    } *words; /* open addressing by the name's address */
    size_t word_mask;
};

static inline Span lexer_span(uint32_t begin, uint32_t length)
{
    return (Span){begin, begin + length};
}

#define lexer_error(lexer, span, ...)                                                                                  \
    do {                                                                                                               \
        if (!(lexer)->quiet)                                                                                           \
            diag_error((lexer)->diag, span, __VA_ARGS__);                                                              \
    } while (0)

static inline size_t name_hash(Name name)
{
    uint64_t bits = (uint64_t)(uintptr_t)name;
    return (size_t)((bits * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

/* NULL if the word is not in the table. */
static inline const Word *lexer_find_word(const Lexer *lexer, Name name)
{
    for (size_t i = name_hash(name) & lexer->word_mask;; i = (i + 1) & lexer->word_mask) {
        if (lexer->words[i].name == name || lexer->words[i].name == NULL)
            return lexer->words[i].word;
    }
}

/* literal.c. The digits are those between prefix and suffix; a value that does not fit is reported. */
void lexer_integer(Lexer *lexer, const char *digits, size_t length, unsigned base, bool is_unsigned, Span span,
                   TokenValue *value);
/* A decimal floating-point literal; the next character cannot belong to it. */
void lexer_decimal(Lexer *lexer, const char *text, Span span, TokenValue *value);
uint64_t lexer_hex_bits(const char *digits, size_t length);
/* Reports a malformed number and returns TOKEN_ERROR. */
int lexer_bad_number(Lexer *lexer, Span span);

/* How many bytes of a token a message quotes. */
static inline int lexer_excerpt(Span span)
{
    return span.end - span.begin > 60 ? 60 : (int)(span.end - span.begin);
}

/* bytes.c. Reports the first byte of the text that PTX does not allow even in comments. False if there is one. */
bool lexer_check_bytes(Lexer *lexer, const char *text, size_t length, uint32_t offset);
/* Reports a run of bytes, given its first, that does not begin a token, and returns TOKEN_ERROR. */
int lexer_bad_bytes(Lexer *lexer, char first, Span span);
/* line_marker.c. Whether the line, which begins with '#', is a line marker: # N "FILE" or #line N "FILE". Reports it
 * if it is not. */
bool lexer_line_marker(Lexer *lexer, const char *text, size_t length, Span span);

/* section.c: reads lines of a section's body that are plain, from the beginning of one. Returns the offset of the first
 * that is not, or of the '}'. */
uint32_t lexer_section_lines(const Lexer *lexer, uint32_t offset);
/* section.c: one step through a section's body. */
void lexer_section_step(Lexer *lexer, SectionToken token, Span span);

/* ptx.l: continues at the offset, outside of sections and comments. */
void lexer_seek(Lexer *lexer, uint32_t offset);

#endif
