/* The scanner: tokens, values of literals, and errors with their places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lexer/lexer.h"

enum { WORD_TYPE = TOKEN_FIRST_WORD, WORD_REG };

static const Word words[] = {{".u32", WORD_TYPE, 32}, {".reg", WORD_REG, 7}};

typedef struct Scan {
    Arena *arena;
    Source *source;
    Lexer *lexer;
    Diag diag;
    FILE *out;
    char *messages;
    size_t message_length;
    TokenValue value;
    Span span;
} Scan;

static void scan_begin_n(Scan *scan, const char *text, size_t length)
{
    memset(scan, 0, sizeof *scan);
    scan->arena = arena_new();
    scan->source = source_from_memory(scan->arena, "t.ptx", text, length);
    scan->out = open_memstream(&scan->messages, &scan->message_length);
    assert_non_null(scan->out);
    diag_init(&scan->diag, scan->source, scan->out);
    scan->lexer = lexer_new(interner_new(scan->arena, 0), scan->source, &scan->diag, words, COUNT_OF(words));
}

static void scan_begin(Scan *scan, const char *text)
{
    scan_begin_n(scan, text, strlen(text));
}

static int next(Scan *scan)
{
    return lexer_next(scan->lexer, &scan->value, &scan->span);
}

/* The first line of each message, without the lines that quote the source. */
static const char *messages(Scan *scan)
{
    fflush(scan->out);
    char *copy = arena_alloc(scan->arena, scan->message_length + 1);
    size_t end = 0;
    for (const char *line = scan->messages; line && *line;) {
        const char *after = strchr(line, '\n');
        size_t length = after ? (size_t)(after - line) + 1 : strlen(line);
        if (strncmp(line, "t.ptx:", 6) == 0) {
            memcpy(copy + end, line, length);
            end += length;
        }
        line += length;
    }
    copy[end] = 0;
    return copy;
}

static void scan_end(Scan *scan)
{
    lexer_free(scan->lexer);
    fclose(scan->out);
    free(scan->messages);
    arena_free(scan->arena);
}

static void expect_kinds(const char *text, const int *kinds)
{
    Scan scan;
    scan_begin(&scan, text);
    for (size_t i = 0;; i++) {
        int kind = next(&scan);
        if (kind != kinds[i])
            fail_msg("token %zu of \"%s\" is %d, not %d", i, text, kind, kinds[i]);
        if (kind == TOKEN_END)
            break;
    }
    assert_int_equal(scan.diag.errors, 0);
    assert_int_equal(next(&scan), TOKEN_END);
    scan_end(&scan);
}

#define KINDS(text, ...) expect_kinds(text, (int[]){__VA_ARGS__, TOKEN_END})

static void test_kinds(void **state)
{
    (void)state;
    KINDS("add.u32 %r1, %r2;", TOKEN_QUALIFIED, TOKEN_IDENTIFIER, ',', TOKEN_IDENTIFIER, ';');
    KINDS("add.u32%r3,%r3,1;", TOKEN_QUALIFIED, TOKEN_IDENTIFIER, ',', TOKEN_IDENTIFIER, ',', TOKEN_INTEGER, ';');
    KINDS("add .u32 %r1", TOKEN_IDENTIFIER, WORD_TYPE, TOKEN_IDENTIFIER);
    KINDS("add/**/.u32 %r1", TOKEN_IDENTIFIER, WORD_TYPE, TOKEN_IDENTIFIER);
    KINDS("%tid.x $a.x _a.x", TOKEN_IDENTIFIER, TOKEN_DOTTED, TOKEN_IDENTIFIER, TOKEN_DOTTED, TOKEN_IDENTIFIER,
          TOKEN_DOTTED);
    KINDS("ld.shared::cta.u32", TOKEN_QUALIFIED);
    KINDS("ld.shared::cta .u32", TOKEN_QUALIFIED, WORD_TYPE);
    KINDS("a.b: a.b::", TOKEN_QUALIFIED, ':', TOKEN_QUALIFIED, ':', ':');
    KINDS(".1d .m16n8k16 .u320 .reg", TOKEN_DOTTED, TOKEN_DOTTED, TOKEN_DOTTED, WORD_REG);
    KINDS("_ __ _a $x %1 a$b", TOKEN_SINK, TOKEN_IDENTIFIER, TOKEN_IDENTIFIER, TOKEN_IDENTIFIER, TOKEN_IDENTIFIER,
          TOKEN_IDENTIFIER);
    KINDS("7 % 4", TOKEN_INTEGER, '%', TOKEN_INTEGER);
    KINDS("5%3", TOKEN_INTEGER, TOKEN_IDENTIFIER);
    KINDS("<< >> <= >= == != && || < > = ! & |", TOKEN_SHIFT_LEFT, TOKEN_SHIFT_RIGHT, TOKEN_LESS_EQUAL,
          TOKEN_GREATER_EQUAL, TOKEN_EQUAL, TOKEN_NOT_EQUAL, TOKEN_AND, TOKEN_OR, '<', '>', '=', '!', '&', '|');
    KINDS("WARP_SZ WARP_SZ1", TOKEN_WARP_SIZE, TOKEN_IDENTIFIER);
    KINDS("a /* b \n * c **/ d // e\n f", TOKEN_IDENTIFIER, TOKEN_IDENTIFIER, TOKEN_IDENTIFIER);
    KINDS("a\n#line 3 \"x.cu\"\n b\n  # 4 \"y.cu\" 1\nc", TOKEN_IDENTIFIER, TOKEN_IDENTIFIER, TOKEN_IDENTIFIER);
    KINDS("@@DWARF .byte 0x2b, 0\n@!%p", TOKEN_DWARF_LINE, '@', '!', TOKEN_IDENTIFIER);
    KINDS("a\t\r\n\fb", TOKEN_IDENTIFIER, TOKEN_IDENTIFIER);
    KINDS("", TOKEN_END);
    KINDS("v .5", TOKEN_IDENTIFIER, TOKEN_DECIMAL);
    KINDS("\"\" \"a // b\"", TOKEN_STRING, TOKEN_STRING);
}

static void test_names_and_spans(void **state)
{
    (void)state;
    Scan scan;
    scan_begin(&scan, "mov.u32 .u32\n  %r1 .x \"s t\"");
    assert_int_equal(next(&scan), TOKEN_QUALIFIED);
    assert_string_equal(scan.value.name, "mov.u32");
    assert_int_equal(scan.span.begin, 0);
    assert_int_equal(scan.span.end, 7);
    assert_int_equal(next(&scan), WORD_TYPE);
    assert_string_equal(scan.value.name, ".u32");
    assert_int_equal(scan.value.word, 32);
    assert_int_equal(next(&scan), TOKEN_IDENTIFIER);
    Name first = scan.value.name;
    assert_string_equal(first, "%r1");
    assert_int_equal(scan.span.begin, 15);
    assert_int_equal(next(&scan), TOKEN_DOTTED);
    assert_string_equal(scan.value.name, ".x");
    assert_int_equal(next(&scan), TOKEN_STRING);
    assert_string_equal(scan.value.name, "s t");
    assert_int_equal(scan.span.end - scan.span.begin, 5);
    assert_int_equal(next(&scan), TOKEN_END);
    assert_int_equal(scan.span.begin, scan.source->size);
    scan_end(&scan);
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bits;
        bool is_unsigned;
    } cases[] = {
        {"0", 0, false},
        {"4294967295", 4294967295u, false},
        {"0xFfFfFfFf", 0xFFFFFFFF, false},
        {"0XabcDEF", 0xABCDEF, false},
        {"017", 15, false},
        {"007", 7, false},
        {"0b1011", 11, false},
        {"0B11", 3, false},
        {"5U", 5, true},
        {"0x1FU", 31, true},
        {"017U", 15, true},
        {"0b101U", 5, true},
        {"9223372036854775807", INT64_MAX, false},
        {"9223372036854775808", UINT64_C(1) << 63, true},
        {"18446744073709551615", UINT64_MAX, true},
        {"18446744073709551616", 0, true},
        {"0x1FFFFFFFFFFFFFFFF", UINT64_MAX, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Scan scan;
        scan_begin(&scan, cases[i].text);
        assert_int_equal(next(&scan), TOKEN_INTEGER);
        assert_true(scan.value.bits == cases[i].bits);
        assert_int_equal(scan.value.is_unsigned, cases[i].is_unsigned);
        assert_int_equal(next(&scan), TOKEN_END);
        assert_int_equal(scan.diag.errors, 0);
        scan_end(&scan);
    }
}

static void test_floats(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double number;
    } decimals[] = {
        {"1.0", 1.0}, {"1.", 1.0}, {".5", 0.5}, {"1e5", 1e5}, {"1E5", 1e5}, {"1.5e+3", 1.5e3}, {"2.5E-3", 2.5e-3},
        {"3.5e38", 3.5e38}, {"3.141592653589793", 3.141592653589793}, {"0.0e-999", 0.0}, {"007.5", 7.5},
    };
    for (size_t i = 0; i < COUNT_OF(decimals); i++) {
        Scan scan;
        scan_begin(&scan, decimals[i].text);
        assert_int_equal(next(&scan), TOKEN_DECIMAL);
        uint64_t bits;
        memcpy(&bits, &decimals[i].number, sizeof bits);
        assert_true(scan.value.bits == bits);
        assert_int_equal(next(&scan), TOKEN_END);
        assert_int_equal(scan.diag.errors, 0);
        scan_end(&scan);
    }
    Scan scan;
    scan_begin(&scan, "0f3F800000 0F7fc00001 0d3FF0000000000000 0DfFf0000000000000 "
                      "0f3f8ccccd 0d3FF199999999999A 0D0123456789aBcDeF");
    assert_int_equal(next(&scan), TOKEN_F32_BITS);
    assert_true(scan.value.bits == 0x3F800000);
    assert_int_equal(next(&scan), TOKEN_F32_BITS);
    assert_true(scan.value.bits == 0x7FC00001);
    assert_int_equal(next(&scan), TOKEN_F64_BITS);
    assert_true(scan.value.bits == UINT64_C(0x3FF0000000000000));
    assert_int_equal(next(&scan), TOKEN_F64_BITS);
    assert_true(scan.value.bits == UINT64_C(0xFFF0000000000000));
    assert_int_equal(next(&scan), TOKEN_F32_BITS);
    assert_true(scan.value.bits == 0x3F8CCCCD);
    assert_int_equal(next(&scan), TOKEN_F64_BITS);
    assert_true(scan.value.bits == UINT64_C(0x3FF199999999999A));
    assert_int_equal(next(&scan), TOKEN_F64_BITS);
    assert_true(scan.value.bits == UINT64_C(0x0123456789ABCDEF));
    scan_end(&scan);
}

static void expect_error_n(const char *text, size_t length, const char *expected)
{
    Scan scan;
    scan_begin_n(&scan, text, length);
    while (next(&scan) != TOKEN_END)
        ;
    assert_string_equal(messages(&scan), expected);
    scan_end(&scan);
}

static void expect_error(const char *text, const char *expected)
{
    expect_error_n(text, strlen(text), expected);
}

static void test_errors(void **state)
{
    (void)state;
    expect_error("a\n  /* b", "t.ptx:2:3: error: unterminated comment\n");
    expect_error("a /* b **", "t.ptx:1:3: error: unterminated comment\n");
    expect_error("a \"b\nc", "t.ptx:1:3: error: unterminated string\n");
    expect_error("a \"b\n\v", "t.ptx:1:3: error: unterminated string\n"
                              "t.ptx:2:1: error: control character 0x0B is not white space in PTX\n");
    expect_error("a\x1A\"b\nc\" \x1A.section\x1A.d\x1A{\x1A}\n \v",
                 "t.ptx:3:2: error: control character 0x0B is not white space in PTX\n");
    expect_error("a \v b", "t.ptx:1:3: error: control character 0x0B is not white space in PTX\n");
    expect_error("a \x80\x81 b", "t.ptx:1:3: error: PTX is ASCII text; this is byte 0x80\n");
    expect_error("a // \xC3\xA4\nb", "t.ptx:1:6: error: PTX is ASCII text; this is byte 0xC3\n");
    expect_error("/* \n \xC3\xA4 */ b", "t.ptx:2:2: error: PTX is ASCII text; this is byte 0xC3\n");
    expect_error("\"\xC3\xA4\"", "t.ptx:1:2: error: PTX is ASCII text; this is byte 0xC3\n");
    expect_error_n("ab\0cd", 5, "t.ptx:1:3: error: the text contains a NUL byte\n");
    expect_error("a ` b", "t.ptx:1:3: error: '`' has no meaning here\n");
    expect_error("a . b", "t.ptx:1:3: error: '.' has no meaning here\n");
    expect_error("#define X", "t.ptx:1:1: error: only line markers (# N \"FILE\") may begin with '#'\n");
    expect_error("0x1G",
                 "t.ptx:1:1: error: malformed number '0x1G': only hexadecimal digits and the suffix U may follow 0x\n");
    expect_error("018", "t.ptx:1:1: error: malformed number '018': a leading 0 makes the number octal\n");
    expect_error("0b12",
                 "t.ptx:1:1: error: malformed number '0b12': only the digits 0 and 1 and the suffix U may follow 0b\n");
    expect_error("0f3F80", "t.ptx:1:1: error: malformed number '0f3F80': 0f needs exactly 8 hexadecimal digits\n");
    expect_error("0f3F8000001",
                 "t.ptx:1:1: error: malformed number '0f3F8000001': 0f needs exactly 8 hexadecimal digits\n");
    expect_error("0d3FF0", "t.ptx:1:1: error: malformed number '0d3FF0': 0d needs exactly 16 hexadecimal digits\n");
    expect_error("1.5e+", "t.ptx:1:1: error: malformed number '1.5e+'\n");
    expect_error("1.0f", "t.ptx:1:1: error: malformed number '1.0f'\n");
    expect_error("5u", "t.ptx:1:1: error: malformed number '5u'\n");
    expect_error("1e999", "t.ptx:1:1: error: this constant is too large for a double\n");
    expect_error("1e-400", "t.ptx:1:1: error: this constant is too small for a double\n");
    expect_error("99999999999999999999999", "t.ptx:1:1: error: this constant does not fit in 64 bits\n");
    expect_error("18446744073709551616", "t.ptx:1:1: warning: this constant is truncated to 64 bits\n");
}

static void test_sections(void **state)
{
    (void)state;
    Scan scan;
    scan_begin(&scan, ".section .debug_info /* { */\n{\n.b8 1, -2 // }\n L: .b32 .debug_abbrev+4, a-b\n}\nx");
    assert_int_equal(next(&scan), TOKEN_SECTION);
    assert_int_equal(next(&scan), TOKEN_SECTION_NAME);
    assert_string_equal(scan.value.name, ".debug_info");
    assert_int_equal(next(&scan), TOKEN_SECTION_BODY);
    const char *text = "\n.b8 1, -2 // }\n L: .b32 .debug_abbrev+4, a-b\n";
    assert_int_equal(scan.span.end - scan.span.begin, strlen(text));
    assert_memory_equal(scan.source->text + scan.span.begin, text, strlen(text));
    assert_int_equal(next(&scan), TOKEN_IDENTIFIER);
    assert_int_equal(scan.diag.errors, 0);
    scan_end(&scan);

    expect_error(".section .d { .b8 1", "t.ptx:1:13: error: unterminated section\n");
    expect_error(".section .d { .b8 1; }", "t.ptx:1:20: error: unexpected ';' in a section's data\n");
    expect_error(".section .d { .b8 1 2 }", "t.ptx:1:21: error: unexpected '2' in a section's data\n");
    expect_error(".section .d { .b8 }", "t.ptx:1:19: error: unexpected '}' in a section's data\n");
    expect_error(".section .d { foo bar }", "t.ptx:1:19: error: unexpected 'bar' in a section's data\n");
    expect_error(".section .d { .u32 1 }", "t.ptx:1:15: error: unexpected '.u32' in a section's data\n");
    expect_error(".section .d { \x80 }", "t.ptx:1:15: error: PTX is ASCII text; this is byte 0x80\n");
}

/* Long tokens and a text that is one token: buffers grow, nothing is truncated. */
static void test_long_tokens(void **state)
{
    (void)state;
    enum { LENGTH = 300000 };
    char *text = malloc(LENGTH + 1);
    memset(text, 'x', LENGTH);
    text[LENGTH] = 0;
    Scan scan;
    scan_begin(&scan, text);
    assert_int_equal(next(&scan), TOKEN_IDENTIFIER);
    assert_int_equal(strlen(scan.value.name), LENGTH);
    assert_int_equal(next(&scan), TOKEN_END);
    scan_end(&scan);
    free(text);
}

static void test_quiet(void **state)
{
    (void)state;
    Scan scan;
    scan_begin(&scan, "` 0x1G 1e999");
    lexer_set_quiet(scan.lexer, true);
    while (next(&scan) != TOKEN_END)
        ;
    assert_int_equal(scan.diag.errors, 0);
    scan_end(&scan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),    cmocka_unit_test(test_names_and_spans), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_floats),   cmocka_unit_test(test_errors),          cmocka_unit_test(test_sections),
        cmocka_unit_test(test_long_tokens), cmocka_unit_test(test_quiet),
    };
    return cmocka_run_group_tests_name("lexer", tests, NULL, NULL);
}
