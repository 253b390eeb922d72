/* Parses the operands of a row ("d:R<T>,a:x<T>") and emits them as patterns. */
#include "ir/table/generator/generator.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An operand while it is read; the texts are the pattern's fields in C. */
typedef struct Operand {
    const Row *row;
    const char *whole, *at;
    const char *kind;
    char *flags, *type, *count, *range;
} Operand;

static bool take(Operand *operand, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(operand->at, text, length) != 0)
        return false;
    operand->at += length;
    return true;
}

_Noreturn static void malformed(const Operand *operand, const char *what)
{
    fail(operand->row->place, "operand '%s': expected %s at '%s'", operand->whole, what, operand->at);
}

static void expect(Operand *operand, const char *text)
{
    if (!take(operand, text))
        malformed(operand, format_text("'%s'", text));
}

static void add_flag(Operand *operand, const char *flag)
{
    operand->flags = format_text("%s | PATTERN_%s", operand->flags, flag);
}

static void take_flag(Operand *operand, const char *text, const char *flag)
{
    if (take(operand, text))
        add_flag(operand, flag);
}

/* "<T>", "<O/2>": the element, and the index of one of the chosen alternative's modifiers (from 0). */
static void parse_slot(Operand *operand, int *element, int *part)
{
    const Row *row = operand->row;
    expect(operand, "<");
    for (*element = 0; *element < row->element_count; ++*element)
        if (row->elements[*element].slot == *operand->at)
            break;
    if (!*operand->at || *element == row->element_count)
        malformed(operand, "a slot of the modifiers");
    operand->at++;
    *part = 0;
    size_t least = 1;
    bool exact = !take(operand, "/");
    if (!exact) {
        if (*operand->at < '1' || *operand->at > '9')
            malformed(operand, "the number of a part");
        *part = *operand->at++ - '1';
        least = (size_t)*part + 1;
    }
    for (size_t i = 0; i < row->elements[*element].choice_count; i++) {
        const Choice *choice = &row->elements[*element].choices[i];
        if (choice->mods.count < least || (exact && choice->mods.count != 1))
            fail(row->place, "operand '%s': alternative '%s' does not have the part asked for", operand->whole,
                 choice->text);
    }
    expect(operand, ">");
}

/* A type: "<T>", "<O/2>" or ".f32". */
static void parse_type(Operand *operand)
{
    if (*operand->at == '<') {
        int element, part;
        parse_slot(operand, &element, &part);
        operand->type = format_text(".type_element = %d, .type_part = %d", element, part);
        return;
    }
    size_t length = 1;
    while (isalnum((unsigned char)operand->at[length]))
        length++;
    char *mod = copy_n(operand->at, length);
    if (*mod != '.' || !is_type_name(mod))
        malformed(operand, "a type");
    operand->at += length;
    for (char *p = mod; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    operand->type = format_text(".type_element = -1, .type = TYPE_%s", mod + 1);
}

static long parse_number(Operand *operand)
{
    char *end;
    long value = strtol(operand->at, &end, 10);
    if (end == operand->at)
        malformed(operand, "a number");
    operand->at = end;
    return value;
}

/* A count: "4", "n<S>/2", "x<N>*2", "c<G>". */
static void parse_count(Operand *operand)
{
    static const char *const functions[][2] = {{"off3<", "IM2COL_OFFSETS"},
                                               {"off<", "DIMENSIONS"},
                                               {"gr<", "DIMENSIONS"},
                                               {"c<", "COORDINATES"},
                                               {"n<", "N"},
                                               {"t<", "NUMBER"},
                                               {"v<", "NUMBER"},
                                               {"x<", "NUMBER"}};
    if (isdigit((unsigned char)*operand->at)) {
        operand->count = format_text(".count_function = COUNT_CONSTANT, .count = %ld", parse_number(operand));
        return;
    }
    size_t function = 0;
    while (function < COUNT_OF(functions) && !take(operand, functions[function][0]))
        function++;
    if (function == COUNT_OF(functions))
        malformed(operand, "a count");
    operand->at--; /* the slot begins with the '<' */
    int element, part;
    long times = 1, over = 1;
    parse_slot(operand, &element, &part);
    while (*operand->at == '*' || *operand->at == '/') {
        long *scale = *operand->at++ == '*' ? &times : &over;
        *scale *= parse_number(operand);
        if (*scale < 1)
            malformed(operand, "a positive factor");
    }
    operand->count = format_text(".count_function = COUNT_%s, .count_element = %d, .count_part = %d, "
                                 ".count_times = %ld, .count_over = %ld",
                                 functions[function][1], element, part, times, over);
}

/* "0..15" or "24..256%8", after the first number */
static void parse_interval(Operand *operand, long low)
{
    long high = parse_number(operand), step = take(operand, "%") ? parse_number(operand) : 1;
    if (high < low || step < 1)
        malformed(operand, "an interval");
    operand->range = format_text(", .range = RANGE_INTERVAL, .values = {%ld, %ld, %ld}", low, high, step);
}

/* "1|-1", after the first number */
static void parse_values(Operand *operand, long first)
{
    enum { MOST_VALUES = 4 };
    size_t count = 1;
    char *values = format_text("%ld", first);
    for (; take(operand, "|"); count++)
        values = format_text("%s, %ld", values, parse_number(operand));
    if (count > MOST_VALUES)
        malformed(operand, "at most four values");
    operand->range = format_text(", .range = RANGE_VALUES, .value_count = %zu, .values = {%s}", count, values);
}

/* The values that an immediate may have: "(0..15)", "(1|-1)", "(24..256%8)", "(pow2)", "(ones)", "(fraction)",
 * "(0f)". */
static void parse_range(Operand *operand)
{
    if (!take(operand, "("))
        return;
    if (take(operand, "pow2")) {
        operand->range = ", .range = RANGE_POWER_OF_TWO";
    } else if (take(operand, "ones")) {
        operand->range = ", .range = RANGE_ONES";
    } else if (take(operand, "fraction")) {
        operand->range = ", .range = RANGE_FRACTION";
    } else if (take(operand, "0f")) {
        operand->range = ", .range = RANGE_F32_BITS";
    } else {
        long first = parse_number(operand);
        if (take(operand, ".."))
            parse_interval(operand, first);
        else
            parse_values(operand, first);
    }
    expect(operand, ")");
}

/* A kind that is a word of its own. */
static bool parse_word(Operand *operand)
{
    static const struct Word {
        const char *word, *kind, *type;
    } words[] = {
        {"S", "VARIABLE", NULL},        {"F", "FUNCTION", NULL},
        {"K", "KERNEL", NULL},          {"L", "LABEL", NULL},
        {"O", "RESULTS", NULL},         {"A", "ARGUMENTS", NULL},
        {"_", "SINK_ONLY", NULL},       {"sreg", "SREG", NULL},
        {"mtex", "HANDLE", "TEXREF"},   {"msmp", "HANDLE", "SAMPLERREF"},
        {"msurf", "HANDLE", "SURFREF"},
    };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(operand->at, words[i].word) != 0)
            continue;
        operand->at += strlen(operand->at);
        operand->kind = words[i].kind;
        if (words[i].type)
            operand->type = format_text(".type_element = -1, .type = TYPE_%s", words[i].type);
        return true;
    }
    return false;
}

/* tm(N), with "a" (another address), "s" (and sizes), "e" (an endpoint), "es"; e(N), tx(N;T), ts(N;T), su(N); tx1(T),
 * ts1(T) and su1() have one coordinate without braces. */
static bool parse_coordinates(Operand *operand)
{
    if (take(operand, "tm")) {
        operand->kind = "TENSOR";
        bool endpoint = take(operand, "e"), sizes = take(operand, "s");
        if (endpoint)
            add_flag(operand, "FABRIC");
        if (sizes)
            add_flag(operand, "SIZES");
        if (take(operand, "a") || endpoint || sizes)
            add_flag(operand, "OVERRIDE");
        expect(operand, "(");
        parse_count(operand);
    } else if (take(operand, "e(")) {
        operand->kind = "ENDPOINT";
        parse_count(operand);
    } else {
        operand->kind = take(operand, "tx")   ? "TEXTURE"
                        : take(operand, "ts") ? "TEXTURE_SAMPLER"
                        : take(operand, "su") ? "SURFACE"
                                              : NULL;
        if (!operand->kind)
            return false;
        bool scalar = take(operand, "1"), surface = !strcmp(operand->kind, "SURFACE");
        expect(operand, "(");
        if (scalar)
            add_flag(operand, "SCALAR");
        else
            parse_count(operand);
        if (!scalar && !surface)
            expect(operand, ";");
        if (surface)
            operand->type = ".type_element = -1, .type = TYPE_S32";
        else
            parse_type(operand);
    }
    expect(operand, ")");
    return true;
}

static bool parse_address(Operand *operand)
{
    if (!take(operand, "m"))
        return false;
    operand->kind = "ADDRESS";
    if (take(operand, "u"))
        add_flag(operand, "UNIFIED");
    else if (take(operand, ".shared") || take(operand, ".mbar"))
        add_flag(operand, "NEAR");
    else
        take_flag(operand, ".tm", "TENSOR_MEMORY");
    return true;
}

/* V(N,T), v(N,T) */
static bool parse_list(Operand *operand)
{
    operand->kind = take(operand, "V") ? "DST_LIST" : take(operand, "v") ? "SRC_LIST" : NULL;
    if (!operand->kind)
        return false;
    take_flag(operand, "x", "IMMEDIATE");
    take_flag(operand, "_", "SINK");
    expect(operand, "(");
    parse_count(operand);
    expect(operand, ",");
    parse_type(operand);
    expect(operand, ")");
    return true;
}

static bool parse_predicate(Operand *operand)
{
    if (take(operand, "P")) {
        operand->kind = "DST_PRED";
        take_flag(operand, "_", "SINK");
        return true;
    }
    operand->kind = "PRED";
    if (take(operand, "!p")) {
        add_flag(operand, "INVERT");
        return true;
    }
    return take(operand, "p");
}

/* R<T>, r<T>, x<T>; r1, r2, r4, R1!, R2, R4 of the video instructions */
static void parse_register(Operand *operand)
{
    take_flag(operand, "-", "NEGATE");
    char letter = *operand->at;
    if (letter != 'R' && letter != 'r' && letter != 'x')
        malformed(operand, "the kind of an operand");
    operand->at++;
    char digit = *operand->at;
    if ((digit == '1' || digit == '2' || digit == '4') && (!operand->at[1] || operand->at[1] == '!')) {
        operand->at++;
        operand->kind = letter == 'R' ? "VIDEO_DST" : "VIDEO_SRC";
        operand->count = format_text(".count_function = COUNT_CONSTANT, .count = %c", digit);
        take_flag(operand, "!", "SELECTED");
        return;
    }
    operand->kind = letter == 'R' ? "DST" : "SRC";
    if (letter == 'x')
        add_flag(operand, "IMMEDIATE");
    take_flag(operand, "_", "SINK");
    take_flag(operand, "2", "DOUBLE");
    parse_type(operand);
    parse_range(operand);
}

/* "|P", "[|P]" */
static void parse_pair(Operand *operand)
{
    bool optional = take(operand, "[|P");
    if (!optional && !take(operand, "|P"))
        return;
    add_flag(operand, optional ? "MAY_PAIR" : "PAIR");
    take_flag(operand, "_", "PAIR_SINK");
    if (optional)
        expect(operand, "]");
}

static void parse_kind(Operand *operand)
{
    if (parse_word(operand) || parse_coordinates(operand) || parse_address(operand) || parse_list(operand) ||
        parse_predicate(operand))
        return;
    if (take(operand, "i")) {
        operand->kind = "INT";
        parse_range(operand);
        return;
    }
    parse_register(operand);
}

static void emit_pattern(Tables *tables, const Row *row, const char *text)
{
    Operand operand = {.row = row, .whole = text, .at = text, .flags = "0", .count = "", .range = ""};
    operand.type = ".type_element = -1";
    bool optional = take(&operand, "?");
    const char *colon = strchr(operand.at, ':');
    if (!colon)
        malformed(&operand, "a name and ':'");
    char *name = copy_n(operand.at, (size_t)(colon - operand.at));
    operand.at = colon + 1;
    parse_kind(&operand);
    parse_pair(&operand);
    if (*operand.at)
        malformed(&operand, "the end");
    if (optional)
        add_flag(&operand, "OPTIONAL");
    output_add(&tables->patterns, "    {.name = \"%s\", .kind = PATTERN_%s, .flags = %s, %s%s%s%s},\n", name,
               operand.kind, operand.flags, operand.type, *operand.count ? ", " : "", operand.count, operand.range);
    tables->patterns.rows++;
}

/* The length up to the next comma outside brackets. */
static size_t operand_length(const char *text)
{
    size_t length = 0;
    for (int depth = 0; text[length] && (depth || text[length] != ','); length++)
        depth += strchr("([{<", text[length]) ? 1 : strchr(")]}>", text[length]) ? -1 : 0;
    return length;
}

size_t emit_patterns(Tables *tables, const Row *row)
{
    size_t count = 0;
    for (const char *at = row->operands; *at; count++) {
        size_t length = operand_length(at);
        emit_pattern(tables, row, copy_n(at, length));
        at += length + (at[length] == ',');
    }
    return count;
}
