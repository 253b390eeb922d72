/* A mutator for PTX: it works on tokens and lines, because a text with changed bytes hardly ever gets past the parser.
 * One mutation in eight changes bytes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

typedef enum PieceClass { PIECE_BLANK, PIECE_LINE_END, PIECE_NAME, PIECE_DOTTED, PIECE_DIGITS, PIECE_TEXT, PIECE_MARK }
    PieceClass;

typedef struct Piece {
    uint32_t begin, length;
    PieceClass class;
} Piece;

enum { MOST_PIECES = 1 << 16 };

/* The text, its tokens, and the text that replaces it. */
typedef struct Mutation {
    Random random;
    const uint8_t *text;
    Piece *pieces;
    size_t count;
    Buf out;
} Mutation;

static bool is_name(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_' || byte == '$' || byte == '%';
}

static PieceClass class_of(uint8_t byte)
{
    if (byte == '\n')
        return PIECE_LINE_END;
    if (byte <= ' ')
        return PIECE_BLANK;
    if (byte >= '0' && byte <= '9')
        return PIECE_DIGITS;
    if (is_name(byte))
        return PIECE_NAME;
    if (byte == '.')
        return PIECE_DOTTED;
    return byte == '"' ? PIECE_TEXT : PIECE_MARK;
}

static uint32_t piece_end(const uint8_t *text, size_t size, size_t begin, PieceClass class)
{
    size_t end = begin + 1;
    switch (class) {
    case PIECE_BLANK:
        while (end < size && text[end] <= ' ' && text[end] != '\n')
            end++;
        break;
    case PIECE_NAME:
    case PIECE_DIGITS:
    case PIECE_DOTTED:
        while (end < size && (is_name(text[end]) || (text[end] == ':' && end + 1 < size && class == PIECE_DOTTED &&
                                                     (text[end + 1] == ':' || text[end - 1] == ':'))))
            end++;
        break;
    case PIECE_TEXT:
        while (end < size && text[end] != '"' && text[end] != '\n')
            end++;
        end += end < size && text[end] == '"';
        break;
    case PIECE_LINE_END:
    case PIECE_MARK: break;
    }
    return (uint32_t)end;
}

static void pieces_find(Mutation *mutation, const uint8_t *text, size_t size)
{
    mutation->text = text;
    mutation->count = 0;
    for (size_t at = 0; at < size && mutation->count < MOST_PIECES;) {
        PieceClass class = class_of(text[at]);
        uint32_t end = piece_end(text, size, at, class);
        mutation->pieces[mutation->count++] = (Piece){(uint32_t)at, end - (uint32_t)at, class};
        at = end;
    }
}

static void put_pieces(Mutation *mutation, size_t begin, size_t end)
{
    if (begin < end)
        buf_write(&mutation->out, mutation->text + mutation->pieces[begin].begin,
                  mutation->pieces[end - 1].begin + mutation->pieces[end - 1].length - mutation->pieces[begin].begin);
}

static size_t any_piece(Mutation *mutation)
{
    size_t at = random_below(&mutation->random, mutation->count);
    for (size_t i = 0; i < 8 && mutation->pieces[at].class <= PIECE_LINE_END; i++) /* blanks are of little interest */
        at = random_below(&mutation->random, mutation->count);
    return at;
}

/* Another piece of the same class, 'at' if there is none near a random place. */
static size_t piece_like(Mutation *mutation, size_t at)
{
    size_t other = random_below(&mutation->random, mutation->count);
    for (size_t i = 0; i < mutation->count; i++, other = (other + 1) % mutation->count)
        if (mutation->pieces[other].class == mutation->pieces[at].class && other != at)
            return other;
    return at;
}

static size_t line_begin(const Mutation *mutation, size_t at)
{
    while (at > 0 && mutation->pieces[at - 1].class != PIECE_LINE_END)
        at--;
    return at;
}

static size_t line_end(const Mutation *mutation, size_t at)
{
    while (at < mutation->count && mutation->pieces[at].class != PIECE_LINE_END)
        at++;
    return at + (at < mutation->count);
}

/* The piece after the brace that closes the one at 'at'; 'at' if none does. */
static size_t group_end(const Mutation *mutation, size_t at)
{
    size_t depth = 0;
    for (size_t i = at; i < mutation->count; i++) {
        uint8_t byte = mutation->text[mutation->pieces[i].begin];
        depth += byte == '{' || byte == '(' || byte == '[';
        if ((byte == '}' || byte == ')' || byte == ']') && depth > 0 && --depth == 0)
            return i + 1;
    }
    return at;
}

static const char *any_word(Mutation *mutation, WordClass class)
{
    size_t count;
    const char *const *words = words_of(class, &count);
    return words[random_below(&mutation->random, count)];
}

/* Replaces the piece by another word of its kind. */
static void put_another(Mutation *mutation, size_t at)
{
    Random *random = &mutation->random;
    const Piece *piece = &mutation->pieces[at];
    size_t begin = line_begin(mutation, at);
    while (begin < at && mutation->pieces[begin].class == PIECE_BLANK)
        begin++;
    switch (piece->class) {
    case PIECE_NAME:
        if (begin == at && random_below(random, 2)) {
            buf_puts(&mutation->out, any_word(mutation, WORD_OPCODE));
            return;
        }
        if (!random_below(random, 6)) {
            buf_puts(&mutation->out, any_word(mutation, random_below(random, 3) ? WORD_REGISTER : WORD_NUMBER));
            return;
        }
        break;
    case PIECE_DOTTED:
        if (random_below(random, 2)) {
            buf_puts(&mutation->out, any_word(mutation, begin == at ? WORD_DIRECTIVE : WORD_MODIFIER));
            return;
        }
        break;
    case PIECE_DIGITS:
        if (random_below(random, 2)) {
            buf_puts(&mutation->out, any_word(mutation, WORD_NUMBER));
            return;
        }
        break;
    default: break;
    }
    size_t other = piece_like(mutation, at);
    put_pieces(mutation, other, other + 1);
}

/* One change of mutation->text into mutation->out. */
static void mutate_once(Mutation *mutation)
{
    Random *random = &mutation->random;
    size_t at = any_piece(mutation), end = at + 1, count = mutation->count;
    size_t begin = line_begin(mutation, at), next = line_end(mutation, at);
    size_t other = random_below(random, count), other_begin = line_begin(mutation, other);
    size_t other_next = line_end(mutation, other);
    switch (random_below(random, 16)) {
    case 0: /* drops tokens */
        end = at + 1 + random_below(random, 4);
        put_pieces(mutation, 0, at);
        put_pieces(mutation, end < count ? end : count, count);
        return;
    case 1: /* or repeats them */
        end = at + 1 + random_below(random, 6);
        end = end < count ? end : count;
        put_pieces(mutation, 0, end);
        put_pieces(mutation, at, count);
        return;
    case 2: /* swaps two of a kind */
        other = piece_like(mutation, at);
        if (other < at) {
            size_t swap = other;
            other = at;
            at = swap;
        }
        put_pieces(mutation, 0, at);
        put_pieces(mutation, other, other + 1);
        put_pieces(mutation, at + 1, other);
        put_pieces(mutation, at, at + (other > at));
        put_pieces(mutation, other + 1, count);
        return;
    case 3:
    case 4:
    case 5:
    case 6: /* replaces a token by another of its kind */
        put_pieces(mutation, 0, at);
        put_another(mutation, at);
        put_pieces(mutation, at + 1, count);
        return;
    case 7: /* adds a modifier */
        put_pieces(mutation, 0, end);
        buf_puts(&mutation->out, any_word(mutation, WORD_MODIFIER));
        put_pieces(mutation, end, count);
        return;
    case 8: /* drops a line */
        put_pieces(mutation, 0, begin);
        put_pieces(mutation, next, count);
        return;
    case 9: /* repeats a line elsewhere */
        put_pieces(mutation, 0, other_begin);
        put_pieces(mutation, begin, next);
        put_pieces(mutation, other_begin, count);
        return;
    case 10: /* moves a line */
        if (other_begin >= next) {
            put_pieces(mutation, 0, begin);
            put_pieces(mutation, next, other_begin);
            put_pieces(mutation, begin, next);
            put_pieces(mutation, other_begin, count);
        } else {
            put_pieces(mutation, 0, begin);
            put_pieces(mutation, other_begin, other_next);
            put_pieces(mutation, begin, count);
        }
        return;
    case 11:
    case 12: /* inserts a line */
        put_pieces(mutation, 0, begin);
        buf_puts(&mutation->out, any_word(mutation, WORD_LINE));
        put_pieces(mutation, begin, count);
        return;
    case 13: /* repeats or drops a group in braces */
        while (at < count && !strchr("{([", mutation->text[mutation->pieces[at].begin]))
            at++;
        end = group_end(mutation, at);
        put_pieces(mutation, 0, at);
        if (random_below(random, 2)) {
            put_pieces(mutation, at, end);
            put_pieces(mutation, at, end);
        }
        put_pieces(mutation, end, count);
        return;
    case 14: /* inserts a word of any class */
        put_pieces(mutation, 0, at);
        buf_puts(&mutation->out, any_word(mutation, (WordClass)random_below(random, WORD_JSON)));
        put_pieces(mutation, at, count);
        return;
    default: /* truncates the text */
        if (random_below(random, 4)) {
            put_pieces(mutation, 0, at);
            put_another(mutation, at);
            put_pieces(mutation, at + 1, count);
        } else {
            put_pieces(mutation, 0, at);
        }
        return;
    }
}

static size_t out_take(Mutation *mutation, uint8_t *data, size_t limit)
{
    size_t length = mutation->out.length < limit ? mutation->out.length : limit;
    if (length)
        memcpy(data, mutation->out.data, length);
    buf_free(&mutation->out);
    return length;
}

static bool looks_like_json(const uint8_t *data, size_t size)
{
    while (size && *data <= ' ') {
        data++;
        size--;
    }
    return size && (*data == '{' || *data == '[');
}

static void json_mutate(Mutation *mutation)
{
    size_t at = any_piece(mutation), other = piece_like(mutation, at);
    put_pieces(mutation, 0, at);
    switch (random_below(&mutation->random, 4)) {
    case 0: put_pieces(mutation, other, other + 1); break;
    case 1: buf_puts(&mutation->out, any_word(mutation, WORD_JSON)); break;
    case 2: put_pieces(mutation, at, group_end(mutation, at)); at--; break;
    default: break;
    }
    put_pieces(mutation, at + 1, mutation->count);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed)
{
    Mutation mutation = {.random = {seed}};
    if (size == 0 || !random_below(&mutation.random, 8))
        return LLVMFuzzerMutate(data, size, limit);
    mutation.pieces = malloc(MOST_PIECES * sizeof *mutation.pieces);
    if (!mutation.pieces)
        abort();
    bool is_json = looks_like_json(data, size);
    for (size_t changes = 1 + random_below(&mutation.random, 4); changes > 0 && size > 0; changes--) {
        pieces_find(&mutation, data, size);
        if (is_json)
            json_mutate(&mutation);
        else
            mutate_once(&mutation);
        size = out_take(&mutation, data, limit);
    }
    free(mutation.pieces);
    return size;
}

/* Lines of the second text between lines of the first. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                                 uint8_t *out, size_t limit, unsigned seed)
{
    Mutation mutation = {.random = {seed}};
    if (first_size == 0 || second_size == 0)
        return 0;
    mutation.pieces = malloc(MOST_PIECES * sizeof *mutation.pieces);
    if (!mutation.pieces)
        abort();
    pieces_find(&mutation, second, second_size);
    size_t from = line_begin(&mutation, random_below(&mutation.random, mutation.count)), to = from;
    for (size_t lines = 1 + random_below(&mutation.random, 12); lines > 0; lines--)
        to = line_end(&mutation, to);
    Buf taken = {0};
    put_pieces(&mutation, from, to);
    taken = mutation.out;
    mutation.out = (Buf){0};
    pieces_find(&mutation, first, first_size);
    size_t at = line_begin(&mutation, random_below(&mutation.random, mutation.count));
    put_pieces(&mutation, 0, at);
    buf_write(&mutation.out, buf_text(&taken), taken.length);
    put_pieces(&mutation, at, mutation.count);
    buf_free(&taken);
    free(mutation.pieces);
    return out_take(&mutation, out, limit);
}
