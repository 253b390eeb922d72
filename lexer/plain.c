/* Plain instructions: the shapes that nearly all text consists of, recognized in place and delivered as one token. For
 * each name in an instruction flex and bison would start the automaton, make three or four reductions and as many
 * calls; the few comparisons here make reading twice as fast.
 *
 * An instruction that is not plain to the last character, including its ';', is left to the scanner's rules, which read
 * it from its beginning. So nothing is decided or reported here, and the result must be what the rules and the grammar
 * would produce: see lexer.h. */
#include <endian.h>

#include "lexer/internal.h"

/* Each read_ function gets the place where something may begin and returns the place after it, or NULL if it is not
 * there or not plain. */
typedef struct Reader {
    Lexer *lexer;
    PlainInst *inst;
} Reader;

/* Characters of a name after its first. */
static const bool is_name[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['_'] = true, ['$'] = true,
};

static inline const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

/* Skips comments to the end of their lines, and blanks, where a comment may begin. Stops at a comment with a byte that
 * the scanner reports. */
static const char *skip_comments(const char *at)
{
    while (at[0] == '/' && at[1] == '/') {
        const char *end = at + 2;
        while (*end != '\n' && (unsigned char)(*end - 1) < 0x7F)
            end++;
        if (*end != '\n')
            return at;
        at = skip_blanks(end);
    }
    return at;
}

/* Skips blanks and comments, which may precede a statement. */
static inline const char *skip_space(const char *at)
{
    at = skip_blanks(at);
    return *at == '/' ? skip_comments(at) : at;
}

static inline const char *skip_name(const char *at)
{
    while (is_name[(unsigned char)*at])
        at++;
    return at;
}

/* Skips the word that may follow a dot. */
static inline const char *skip_word(const char *at)
{
    while (is_name[(unsigned char)*at] && *at != '$')
        at++;
    return at;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static inline bool is_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

static inline Name text_name(const Reader *reader, const char *begin, const char *end)
{
    return intern_n(reader->lexer->names, begin, (size_t)(end - begin));
}

static inline uint32_t text_offset(const Reader *reader, const char *at)
{
    return (uint32_t)(at - reader->lexer->source->text);
}

/* Eight bytes of a text, the first lowest. */
static inline uint64_t load_bytes(const char *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return le64toh(bytes);
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The top bit of each byte between the two, inclusive; all three are below 0x80. */
static inline uint64_t bytes_between(uint64_t bytes, unsigned low, unsigned high)
{
    return (bytes + EACH_BYTE(0x80 - low)) & ~(bytes + EACH_BYTE(0x7F - high));
}

/* All bits of the bytes below the lowest one whose top bit is set. */
static inline uint64_t bytes_below(uint64_t tops)
{
    return ((tops & -tops) >> 7) - 1;
}

/* The top bit of each byte that may follow a dot; all are below 0x80, and other bits may be set. */
static inline uint64_t word_bytes(uint64_t bytes)
{
    return bytes_between(bytes | EACH_BYTE(0x20), 'a', 'z') | bytes_between(bytes, '0', '9') |
           bytes_between(bytes, '_', '_');
}

/* The top bit of each byte that does not belong to a name. */
static inline uint64_t bytes_outside_name(uint64_t bytes)
{
    uint64_t low = bytes & EACH_BYTE(0x7F), name = word_bytes(low) | bytes_between(low, '$', '$');
    return (~name | bytes) & EACH_BYTE(0x80);
}

/* The end of the name at 'at', whose first character can be any, and the hash of its text. */
static inline const char *scan_name(const char *at, uint32_t *hash)
{
    uint64_t mixed = 0, bytes = load_bytes(at), stops = bytes_outside_name(bytes) & ~UINT64_C(0xFF);
    while (!stops) {
        mixed = hash_mix(mixed, bytes);
        at += 8;
        bytes = load_bytes(at);
        stops = bytes_outside_name(bytes);
    }
    uint64_t last = bytes & bytes_below(stops);
    *hash = stops & 0x80 ? (uint32_t)mixed : name_hash_end(mixed, last);
    return at + (size_t)__builtin_ctzll(stops) / 8;
}

/* Apart from the code for short names, which then needs fewer registers. */
static __attribute__((noinline)) const char *read_long_name(const Reader *reader, const char *at, Name *name)
{
    uint32_t hash;
    const char *end = scan_name(at, &hash);
    *name = intern_hashed(reader->lexer->names, at, (size_t)(end - at), hash);
    return end;
}

/* The characters of a name; the first can be any. Nearly all names end within eight bytes, and looking at all
 * eight costs less than a loop whose last jump is always mispredicted. */
static inline const char *read_characters(const Reader *reader, const char *at, Name *name)
{
    uint64_t bytes = load_bytes(at), stops = bytes_outside_name(bytes) & ~UINT64_C(0xFF);
    if (stops) {
        size_t length = (size_t)__builtin_ctzll(stops) / 8;
        *name = intern_short(reader->lexer->names, bytes & bytes_below(stops), length);
        return at + length;
    }
    return read_long_name(reader, at, name);
}

/* {name}, but neither WARP_SZ, which is a token of its own, nor a name that a dotted word makes an instruction. */
static inline const char *read_name(const Reader *reader, const char *at, Name *name)
{
    if (*at == '%' || *at == '$' || *at == '_') {
        const char *end = read_characters(reader, at, name);
        return end == at + 1 ? NULL : end;
    }
    if (!is_letter(*at))
        return NULL;
    const char *end = read_characters(reader, at, name);
    return *end == '.' || (*at == 'W' && end - at == 7 && memcmp(at, "WARP_SZ", 7) == 0) ? NULL : end;
}

/* So few decimal digits that the number fits in 64 bits with its sign; longer ones are left to the scanner. */
static inline const char *read_integer(const char *at, uint64_t *bits)
{
    const char *begin = at;
    uint64_t number = 0;
    while (is_digit(*at) && at < begin + 18)
        number = number * 10 + (uint64_t)(*at++ - '0');
    *bits = number;
    return at == begin || (*begin == '0' && at > begin + 1) ? NULL : at;
}

static inline PlainOperand *add_operand(Reader *reader, PlainKind kind, const char *begin, const char *end)
{
    PlainInst *inst = reader->inst;
    if (inst->count == PLAIN_LIMIT)
        return NULL;
    PlainOperand *operand = &inst->operands[inst->count++];
    operand->kind = kind;
    operand->negative = false;
    operand->span = (Span){text_offset(reader, begin), text_offset(reader, end)};
    return operand;
}

/* "0f3F800000" */
static const char *read_bits(Reader *reader, const char *at)
{
    bool single = (at[1] | 0x20) == 'f';
    const char *end = skip_name(at + 2);
    if (end - at != (single ? 10 : 18))
        return NULL;
    for (const char *digit = at + 2; digit < end; digit++)
        if (!is_digit(*digit) && (unsigned char)((*digit | 0x20) - 'a') >= 6)
            return NULL;
    PlainOperand *operand = add_operand(reader, single ? PLAIN_F32 : PLAIN_F64, at, end);
    if (operand)
        operand->bits = lexer_hex_bits(at + 2, (size_t)(end - at) - 2);
    return operand ? end : NULL;
}

static inline const char *read_number(Reader *reader, const char *at)
{
    uint64_t bits;
    if (*at == '0' && ((at[1] | 0x20) == 'f' || (at[1] | 0x20) == 'd'))
        return read_bits(reader, at);
    bool negative = *at == '-';
    const char *end = read_integer(at + negative, &bits);
    PlainOperand *operand = end ? add_operand(reader, PLAIN_INTEGER, at, end) : NULL;
    if (!operand)
        return NULL;
    operand->bits = bits;
    operand->negative = negative;
    return end;
}

/* "[NAME]", "[NAME+-8]" */
static inline const char *read_address(Reader *reader, const char *at)
{
    Name name;
    uint64_t bits = 0;
    bool negative = false;
    const char *end = read_name(reader, at + 1, &name);
    if (!end)
        return NULL;
    bool sum = *end == '+';
    if (sum) {
        negative = end[1] == '-';
        end = read_integer(end + 1 + negative, &bits);
    }
    if (!end || *end != ']')
        return NULL;
    PlainOperand *operand = add_operand(reader, sum ? PLAIN_SUM_ADDRESS : PLAIN_ADDRESS, at, ++end);
    if (!operand)
        return NULL;
    operand->name = name;
    operand->bits = bits;
    operand->negative = negative;
    return end;
}

/* The ".x" of "%tid.x", the ".b0" of a video operand. Longer words may be something else, such as ".section". */
static const char *read_selector(const Reader *reader, const char *at, Name *selector)
{
    const char *end = skip_word(at + 1);
    if (!is_letter(at[1]) || end - at > 3 || *end == '$' || *end == ':' || *end == '.')
        return NULL;
    *selector = text_name(reader, at, end);
    return lexer_find_word(reader->lexer, *selector) ? NULL : end;
}

/* An operand that is allowed in braces. */
static inline const char *read_item(Reader *reader, const char *at)
{
    if (is_digit(*at) || *at == '-')
        return read_number(reader, at);
    PlainOperand *operand;
    if (*at == '_' && !is_name[(unsigned char)at[1]])
        return add_operand(reader, PLAIN_SINK, at, at + 1) ? at + 1 : NULL;
    Name name, selector = NULL;
    const char *end = read_name(reader, at, &name);
    if (end && *end == '.')
        end = read_selector(reader, end, &selector);
    operand = end ? add_operand(reader, PLAIN_NAME, at, end) : NULL;
    if (!operand)
        return NULL;
    operand->name = name;
    operand->selector = selector;
    return end;
}

/* "{%f1, %f2}", "(param0, param1)" */
static const char *read_list(Reader *reader, const char *at, PlainKind kind, char close)
{
    const char *begin = at;
    unsigned count = 0;
    do {
        at = read_item(reader, skip_blanks(at + 1));
        if (!at)
            return NULL;
        count++;
        at = skip_blanks(at);
    } while (*at == ',');
    PlainOperand *operand = *at == close ? add_operand(reader, kind, begin, at + 1) : NULL;
    if (!operand)
        return NULL;
    operand->bits = count;
    /* "(5)" is an expression. */
    return kind == PLAIN_LIST && count == 1 && operand[-1].kind != PLAIN_NAME && operand[-1].kind != PLAIN_SINK
               ? NULL
               : at + 1;
}

static inline const char *read_operand(Reader *reader, const char *at)
{
    if (*at == '[')
        return read_address(reader, at);
    if (*at == '{')
        return read_list(reader, at, PLAIN_VECTOR, '}');
    if (*at == '(')
        return read_list(reader, at, PLAIN_LIST, ')');
    const char *end = read_item(reader, at);
    if (!end || *end != '|')
        return end;
    /* "%r1|%p1" */
    if (*at != '%' || end[1] != '%')
        return NULL;
    end = read_item(reader, end + 1);
    return end && add_operand(reader, PLAIN_PAIR, at, end) ? end : NULL;
}

/* The end of the words with dots between them that begin with a letter at 'at', and the hash of the text. NULL if two
 * dots are neighbours or the last character is one. A '$' ends it. */
static inline const char *scan_opcode(const char *at, uint32_t *hash)
{
    uint64_t mixed = 0, bytes, stops, dots, after_dot, carry = 0, bad = 0;
    for (;; at += 8) {
        bytes = load_bytes(at);
        uint64_t low = bytes & EACH_BYTE(0x7F);
        dots = bytes_between(low, '.', '.') & EACH_BYTE(0x80);
        stops = ~(word_bytes(low) | dots) | bytes;
        stops &= EACH_BYTE(0x80);
        after_dot = dots << 8 | carry;
        if (stops)
            break;
        bad |= after_dot & dots;
        carry = dots >> 56;
        mixed = hash_mix(mixed, bytes);
    }
    uint64_t first = stops & -stops;
    bad |= after_dot & (dots | first) & (first | (first - 1));
    *hash = first == 0x80 ? (uint32_t)mixed : name_hash_end(mixed, bytes & bytes_below(stops));
    return bad ? NULL : at + (size_t)__builtin_ctzll(stops) / 8;
}

/* The same by the character, with '$' in the first word, and with "::" between the others and ":4" after "::2", which
 * are rare. */
static const char *read_rare_opcode(const char *at)
{
    bool dotted = false;
    at = skip_name(at);
    while (*at == '.' || (*at == ':' && at[1] == ':' && dotted)) {
        bool colons = *at == ':';
        at += colons ? 2 : 1;
        dotted = true;
        const char *word = at;
        at = skip_word(at);
        if (at == word)
            return NULL;
        size_t digits = strspn(word, "0123456789");
        if (colons && word + digits == at && *at == ':')
            at += strspn(at + 1, "0123456789") ? 1 + strspn(at + 1, "0123456789") : 0;
    }
    return at;
}

/* "add.s32", "ld.shared::cta.f32" or "ret". */
static inline const char *read_opcode(Reader *reader, const char *at)
{
    if (!is_letter(*at))
        return NULL;
    const char *begin = at;
    uint32_t hash;
    at = scan_opcode(begin, &hash);
    bool rare = at && (*at == ':' || *at == '$');
    if (rare)
        at = read_rare_opcode(begin);
    if (!at || (*at != ' ' && *at != '\t' && *at != ';'))
        return NULL;
    if (*begin == 'W' && memcmp(begin, "WARP_SZ", 7) == 0 && (at - begin == 7 || begin[7] == '.'))
        return NULL;
    size_t length = (size_t)(at - begin);
    Interner *names = reader->lexer->names;
    reader->inst->opcode = rare ? intern_n(names, begin, length) : intern_hashed(names, begin, length, hash);
    reader->inst->opcode_span = (Span){text_offset(reader, begin), text_offset(reader, at)};
    return at;
}

/* "@%p1 ", "@!%p1 " */
static inline const char *read_guard(Reader *reader, const char *at)
{
    PlainInst *inst = reader->inst;
    inst->guard_inverted = at[1] == '!';
    at += 1 + inst->guard_inverted;
    const char *end = *at == '%' ? read_name(reader, at, &inst->guard) : NULL;
    if (!end || (*end != ' ' && *end != '\t'))
        return NULL;
    inst->guard_span = (Span){text_offset(reader, at), text_offset(reader, end)};
    return skip_blanks(end);
}

static const char *read_inst(Reader *reader, const char *at)
{
    PlainInst *inst = reader->inst;
    inst->guard = NULL;
    inst->count = 0;
    if (*at == '@')
        at = read_guard(reader, at);
    at = at ? read_opcode(reader, at) : NULL;
    if (!at)
        return NULL;
    at = skip_blanks(at);
    if (*at == ';')
        return at + 1;
    for (;; at++) {
        at = read_operand(reader, skip_blanks(at));
        if (!at)
            return NULL;
        at = skip_blanks(at);
        if (*at != ',')
            return *at == ';' ? at + 1 : NULL;
    }
}

bool lexer_plain(Lexer *lexer, PlainInst *inst, Span *span)
{
    if (lexer->ended)
        return false;
    Reader reader = {lexer, inst};
    const char *begin = skip_space(lexer->source->text + lexer->offset), *end = read_inst(&reader, begin);
    if (!end)
        return false;
    *span = (Span){text_offset(&reader, begin), text_offset(&reader, end)};
    lexer_seek(lexer, span->end);
    return true;
}

bool lexer_label(Lexer *lexer, TokenValue *value, Span *span)
{
    if (lexer->ended)
        return false;
    Reader reader = {lexer, NULL};
    const char *begin = skip_space(lexer->source->text + lexer->offset);
    uint32_t hash;
    if (!(is_letter(*begin) || *begin == '$' || *begin == '%' || *begin == '_'))
        return false;
    const char *end = scan_name(begin, &hash);
    size_t length = (size_t)(end - begin);
    if (*end != ':' || (length == 1 && !is_letter(*begin)) || (length == 7 && memcmp(begin, "WARP_SZ", 7) == 0))
        return false;
    value->name = intern_hashed(lexer->names, begin, length, hash);
    *span = (Span){text_offset(&reader, begin), text_offset(&reader, end) + 1};
    lexer_seek(lexer, span->end);
    return true;
}

/* True if a token begins here that can begin a statement: an instruction's or label's name, a guard, another .loc. */
static bool begins_statement(const char *at)
{
    if (is_letter(*at))
        return *at != 'W';
    if (*at == '@')
        return at[1] == '%' || at[1] == '!';
    return ((*at == '$' || *at == '%') && is_name[(unsigned char)at[1]]) ||
           (memcmp(at, ".loc", 4) == 0 && (at[4] == ' ' || at[4] == '\t'));
}

bool lexer_inner_label(Lexer *lexer, TokenValue *value, Span *span)
{
    uint32_t offset = lexer->offset;
    if (!lexer_label(lexer, value, span))
        return false;
    if (begins_statement(skip_space(lexer->source->text + span->end)))
        return true;
    lexer_seek(lexer, offset);
    return false;
}

size_t lexer_numbers(Lexer *lexer, uint64_t *numbers, size_t most, Span *first, Span *comma)
{
    if (lexer->ended)
        return 0;
    const char *text = lexer->source->text, *at = skip_blanks(text + lexer->offset);
    size_t count = 0;
    while (count < most) {
        const char *end = read_integer(at, &numbers[count]), *separator = end ? skip_blanks(end) : NULL;
        const char *next = separator && *separator == ',' ? skip_blanks(separator + 1) : NULL;
        if (!next || !is_digit(*next))
            break;
        if (!count++)
            *first = (Span){(uint32_t)(at - text), (uint32_t)(end - text)};
        *comma = lexer_span((uint32_t)(separator - text), 1);
        at = next;
    }
    if (count)
        lexer_seek(lexer, comma->end);
    return count;
}

/* Three integers, with blanks before and after each. */
static const char *read_place(const char *at, uint64_t place[3])
{
    for (unsigned i = 0; i < 3 && at; i++) {
        const char *begin = skip_blanks(at);
        at = begin > at ? read_integer(begin, &place[i]) : NULL;
    }
    return at;
}

/* 'wanted' alone, with a blank after it; NULL: any name. */
static const char *read_location_word(const Reader *reader, const char *at, PlainLocation *location, unsigned index,
                                      const char *wanted)
{
    const char *begin = skip_blanks(at), *end;
    if (!wanted) {
        end = read_name(reader, begin, &location->words[index]);
    } else {
        size_t length = strlen(wanted);
        bool is_it = strncmp(begin, wanted, length) == 0 && (begin[length] == ' ' || begin[length] == '\t');
        end = is_it ? begin + length : NULL;
        location->words[index] = wanted;
    }
    location->word_spans[index] = (Span){text_offset(reader, begin), end ? text_offset(reader, end) : 0};
    return end;
}

/* "function_name NAME [+ OFFSET], inlined_at FILE LINE COLUMN" */
static const char *read_inlined(const Reader *reader, const char *at, PlainLocation *location)
{
    at = read_location_word(reader, at, location, 0, "function_name");
    at = at ? read_location_word(reader, at, location, 1, NULL) : NULL;
    at = at ? skip_blanks(at) : NULL;
    if (at && *at == '+')
        at = read_integer(skip_blanks(at + 1), &location->offset);
    at = at ? skip_blanks(at) : NULL;
    at = at && *at == ',' ? read_location_word(reader, at + 1, location, 2, "inlined_at") : NULL;
    return at ? read_place(at, location->at) : NULL;
}

bool lexer_location(Lexer *lexer, PlainLocation *location, Span *span)
{
    if (lexer->ended)
        return false;
    Reader reader = {lexer, NULL};
    const char *begin = skip_space(lexer->source->text + lexer->offset);
    if (*begin != '.' || strncmp(begin, ".loc", 4) != 0)
        return false;
    const char *end = read_place(begin + 4, location->place);
    location->offset = 0;
    location->inlined = end && *end == ',';
    if (location->inlined)
        end = read_inlined(&reader, end + 1, location);
    if (!end || !(*end == ' ' || *end == '\t' || *end == '\n' || *end == '\r') || !begins_statement(skip_space(end)))
        return false;
    *span = (Span){text_offset(&reader, begin), text_offset(&reader, end)};
    lexer_seek(lexer, span->end);
    return true;
}
