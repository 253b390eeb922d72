/* Computations and their operands: registers of the pools and constants, extreme ones among them. */
#include "maker.h"

#include <ctype.h>
#include <string.h>

typedef struct Row {
    const char *text, *results, *operands;
} Row;

static const Row rows[] = {
#define VALUE(text, results, operands) {text, results, operands},
#include "values.def"
#undef VALUE
};

static Kind kind_of(char letter)
{
    switch (tolower(letter)) {
    case 'p': return KIND_PRED;
    case 'h': return KIND_16;
    case 'd': return KIND_64;
    case 'f': return KIND_F32;
    case 'g': return KIND_F64;
    default: return KIND_32;
    }
}

static Word constant(Maker *m, Kind kind)
{
    static const char *const words[] = {"2147483647", "-2147483648", "-1", "65535", "-32768", "1431655765"};
    static const char *const halves[] = {"32767", "-32768", "-1", "255"};
    static const char *const longs[] = {"4294967295", "-4294967296", "9223372036854775807", "-1", "2147483648"};
    static const char *const singles[] = {"0f00000000", "0f80000000", "0f3F800000", "0fBFC00000", "0f7F800000",
                                          "0f7FC00000", "0f00000001", "0f4B000000", "0f7F7FFFFF"};
    static const char *const doubles[] = {"0d0000000000000000", "0d8000000000000000", "0d3FF0000000000000",
                                          "0d7FF0000000000000", "0d7FF8000000000000", "0dC1E0000000000000"};
    Word word;
    const char *text = NULL;
    if (kind == KIND_F32)
        text = singles[below(&m->to, COUNT_OF(singles))];
    else if (kind == KIND_F64)
        text = doubles[below(&m->to, COUNT_OF(doubles))];
    else if (chance(&m->to, 25))
        text = kind == KIND_16   ? halves[below(&m->to, COUNT_OF(halves))]
               : kind == KIND_64 ? longs[below(&m->to, COUNT_OF(longs))]
                                 : words[below(&m->to, COUNT_OF(words))];
    if (text)
        snprintf(word.text, sizeof word.text, "%s", text);
    else
        snprintf(word.text, sizeof word.text, "%d", (int)below(&m->to, 40) - 8);
    return word;
}

Word operand(Maker *m, Kind kind, bool uniform)
{
    return kind != KIND_PRED && chance(&m->to, 25) ? constant(m, kind) : pool_register(m, kind, uniform);
}

const char *maybe_not(Maker *m)
{
    return chance(&m->to, 40) ? "!" : "";
}

Word small_number(Maker *m, bool uniform, unsigned bound)
{
    Word result = fresh_register(m, KIND_32), of = pool_register(m, KIND_32, uniform);
    switch (below(&m->to, 4)) {
    case 0: line(&m->to, "rem.u32 %s, %s, %u;", result.text, of.text, bound); break;
    case 1: line(&m->to, "shr.u32 %s, %s, %u;", result.text, of.text, 32 - (unsigned)__builtin_ctz(bound)); break;
    default: line(&m->to, "and.b32 %s, %s, %u;", result.text, of.text, bound - 1); break;
    }
    return result;
}

/* The operand that the letter asks for; instructions that it needs come before. */
static Word row_operand(Maker *m, char letter, bool uniform)
{
    Word word;
    switch (letter) {
    case 'i': snprintf(word.text, sizeof word.text, "%u", below(&m->to, 32)); return word;
    case 'c': snprintf(word.text, sizeof word.text, "%u", below(&m->to, 256)); return word;
    case 'n':
        snprintf(word.text, sizeof word.text, "%s%u", chance(&m->to, 30) ? "-" : "", 2 + below(&m->to, 200));
        return word;
    case 'o':
    case 'O': {
        Kind kind = letter == 'o' ? KIND_32 : KIND_64;
        word = fresh_register(m, kind);
        line(&m->to, "or.b%u %s, %s, 1;", letter == 'o' ? 32u : 64u, word.text, pool_register(m, kind, uniform).text);
        return word;
    }
    default:
        return islower((unsigned char)letter) ? operand(m, kind_of(letter), uniform)
                                              : pool_register(m, kind_of(letter), uniform);
    }
}

/* The row's text with its operands. */
static void write_row(Maker *m, const char *guard, const Row *row, const Word *words)
{
    Buf *out = m->to.out;
    buf_printf(out, "\t%s", guard);
    for (const char *at = row->text; *at; at++)
        if (*at == '$')
            buf_puts(out, words[*++at - '0'].text);
        else
            buf_putc(out, *at);
    buf_putc(out, '\n');
}

/* One in five has a guard. */
static Word make_guard(Maker *m, const Row *row, bool uniform)
{
    Word guard = {""};
    if (!strchr(row->text, '\n') && chance(&m->to, 20))
        snprintf(guard.text, sizeof guard.text, "@%s%.30s ", maybe_not(m), pool_register(m, KIND_PRED, uniform).text);
    return guard;
}

static void choose_results(Maker *m, const Row *row, bool uniform, Word *words)
{
    for (size_t i = 0; row->results[i]; i++)
        do
            words[i] = pool_register(m, kind_of(row->results[i]), uniform);
        while (i > 0 && strcmp(words[i].text, words[i - 1].text) == 0);
}

static void remember(Maker *m, unsigned row, bool uniform, const Word *words)
{
    if (strpbrk(rows[row].operands, "oO")) /* which are registers of this place only */
        return;
    Computed *computed = &m->recent[m->computed++ % RECENT];
    *computed = (Computed){.row = row, .uniform = uniform};
    memcpy(computed->words, words, sizeof computed->words);
}

/* Computes something again, as often as not the same, or with another operand, or by a neighbour in the table that
 * takes the same operands: equal values and those that only look so. */
static void compute_again(Maker *m)
{
    Computed again = m->recent[below(&m->to, m->computed < RECENT ? m->computed : RECENT)];
    const Row *row = &rows[again.row];
    if (again.uniform && !m->uniform)
        again.uniform = false;
    if (chance(&m->to, 30) && again.row + 1 < COUNT_OF(rows) && strcmp(row[1].operands, row->operands) == 0 &&
        strcmp(row[1].results, row->results) == 0)
        row++;
    size_t results = strlen(row->results), operands = strlen(row->operands);
    choose_results(m, row, again.uniform, again.words);
    if (chance(&m->to, 30)) {
        size_t changed = below(&m->to, (unsigned)operands);
        again.words[results + changed] = row_operand(m, row->operands[changed], again.uniform);
    }
    Word guard = make_guard(m, row, again.uniform);
    write_row(m, guard.text, row, again.words);
}

void make_value(Maker *m)
{
    if (m->computed && chance(&m->to, 25)) {
        compute_again(m);
        return;
    }
    unsigned number = below(&m->to, COUNT_OF(rows));
    const Row *row = &rows[number];
    size_t results = strlen(row->results), operands = strlen(row->operands);
    require(results + operands <= OPERANDS_MOST);
    bool uniform = m->uniform && chance(&m->to, 30);
    Word words[OPERANDS_MOST] = {0};
    choose_results(m, row, uniform, words);
    for (size_t i = 0; i < operands; i++)
        words[results + i] = row_operand(m, row->operands[i], uniform || chance(&m->to, 15));
    Word guard = make_guard(m, row, uniform);
    write_row(m, guard.text, row, words);
    remember(m, number, uniform, words);
}

Word condition(Maker *m, bool uniform)
{
    static const char *const compare[] = {"lt.u32", "eq.s32", "ne.b32", "gt.s32", "le.u32"};
    Word result = fresh_register(m, KIND_PRED);
    const char *test = compare[below(&m->to, COUNT_OF(compare))];
    switch (below(&m->to, 4)) {
    case 0: line(&m->to, "mov.pred %s, %s;", result.text, pool_register(m, KIND_PRED, uniform).text); break;
    case 1:
        line(&m->to, "setp.%s %s, %s, %s;", test, result.text, pool_register(m, KIND_32, uniform).text,
             operand(m, KIND_32, uniform).text);
        break;
    default: {
        Word few = small_number(m, uniform, 8);
        line(&m->to, "setp.%s %s, %s, %u;", test, result.text, few.text, below(&m->to, 6));
        break;
    }
    }
    return result;
}
