/* The token rules exist twice: lexer/plain.c recognizes plain instructions and labels as one token, and lexer/ptx.l and
 * the grammar read all of them. Both must give the same messages at the same places, and the same instructions with
 * the same spans, for all PTX files in the tree and for mutants of small ones. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "emit/emit.h"
#include "lexer/lexer.h"
#include "parser/parser.h"

typedef struct Reading {
    Arena *arena;
    Module *module;
    char *messages;
    Buf printed;
} Reading;

static bool keeps_nothing(void *context, const Function *function)
{
    (void)context;
    (void)function;
    return false;
}

static Reading read_text(const char *text, size_t size, ParseOptions options)
{
    Reading reading = {.arena = arena_new()};
    size_t length;
    FILE *out = open_memstream(&reading.messages, &length);
    assert_non_null(out);
    Diag diag;
    Source *source = source_from_memory(reading.arena, "t.ptx", text, size);
    diag_init(&diag, source, out);
    diag.error_limit = 1000;
    reading.module = parse_module_with(reading.arena, source, &diag, &options);
    fclose(out);
    if (reading.module)
        emit_module(reading.module, &reading.printed);
    return reading;
}

static void reading_end(Reading *reading)
{
    buf_free(&reading->printed);
    free(reading->messages);
    arena_free(reading->arena);
}

static bool same_span(Span a, Span b)
{
    return a.begin == b.begin && a.end == b.end;
}

/* Operands are never nested deeper than lists of vectors. */
static bool same_operands(const Operand *a, const Operand *b, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (a[i].kind != b[i].kind || !same_span(a[i].span, b[i].span) || a[i].ref != b[i].ref ||
            a[i].item_count != b[i].item_count ||
            (a[i].item_count && !same_operands(a[i].items, b[i].items, a[i].item_count)))
            return false;
    return true;
}

static bool same_inst(const Inst *a, const Inst *b)
{
    if (!same_span(a->span, b->span) || a->guard != b->guard || a->ref_count != b->ref_count ||
        a->operand_count != b->operand_count || !same_operands(a->operands, b->operands, a->operand_count))
        return false;
    for (unsigned i = 0; i < a->ref_count; i++)
        if (a->refs[i].reg != b->refs[i].reg || a->refs[i].role != b->refs[i].role ||
            a->refs[i].type != b->refs[i].type)
            return false;
    return true;
}

static bool same_statements(const Function *a, const Function *b)
{
    if (a->stmts.count != b->stmts.count)
        return false;
    for (size_t i = 0; i < a->stmts.count; i++) {
        const Stmt *left = &a->stmts.data[i], *right = &b->stmts.data[i];
        if (left->kind != right->kind || !same_span(left->span, right->span) ||
            (left->kind == STMT_INST && !same_inst(left->inst, right->inst)))
            return false;
    }
    return true;
}

static bool same_modules(const Module *a, const Module *b)
{
    if (!a || !b || a->items.count != b->items.count)
        return a == b;
    for (size_t i = 0; i < a->items.count; i++)
        if (a->items.data[i].kind == ITEM_FUNCTION &&
            !same_statements(a->items.data[i].function, b->items.data[i].function))
            return false;
    return true;
}

static void expect_same(const char *what, const char *text, size_t size)
{
    Reading plain = read_text(text, size, (ParseOptions){0});
    Reading grammar = read_text(text, size, (ParseOptions){.grammar_only = true});
    Reading loose = read_text(text, size, (ParseOptions){.keeps = keeps_nothing});
    if (strcmp(plain.messages, grammar.messages) != 0)
        fail_msg("%s: messages differ:\n%s\nand, by the grammar:\n%s\n%.*s", what, plain.messages, grammar.messages,
                 (int)size, text);
    if (strcmp(loose.messages, grammar.messages) != 0)
        fail_msg("%s: messages differ if nothing is kept:\n%s\nand, by the grammar:\n%s\n%.*s", what, loose.messages,
                 grammar.messages, (int)size, text);
    if (strcmp(buf_text(&plain.printed), buf_text(&grammar.printed)) != 0 ||
        !same_modules(plain.module, grammar.module))
        fail_msg("%s: the modules differ\n%.*s", what, (int)size, text);
    reading_end(&plain);
    reading_end(&grammar);
    reading_end(&loose);
}

enum { MUTANTS = 40, SMALL = 1500 };

/* Each mutant drops up to two bytes and inserts a meaningful piece. */
static void expect_mutants_same(const char *path, const char *text, size_t size)
{
    static const char *const pieces[] = {
        ";",    ",",       "{",    "}",  "[",    "]",  "@%p1 ",      ":",
        ".x",   "-",       "+",    "_",  " ",    "\n", "0f3F800000", "12345678901234567890",
        "0x1F", "WARP_SZ", "%r1",  "L:", "ret;", "!",  "|",          "1.5",
        "::",   "/**/",    "\x01", "\"", "( ",   ")"};
    Random random = {size};
    char *mutant = malloc(size + 64);
    assert_non_null(mutant);
    for (unsigned i = 0; i < MUTANTS; i++) {
        uint64_t seed = random_next(&random);
        size_t place = (size_t)(seed >> 33) % size, dropped = (seed >> 20) % 3;
        const char *piece = (seed >> 24) % 4 ? pieces[(seed >> 26) % COUNT_OF(pieces)] : "";
        if (dropped > size - place)
            dropped = size - place;
        memcpy(mutant, text, place);
        memcpy(mutant + place, piece, strlen(piece));
        memcpy(mutant + place + strlen(piece), text + place + dropped, size - place - dropped);
        expect_same(path, mutant, size + strlen(piece) - dropped);
    }
    free(mutant);
}

static unsigned compare_folder(const char *folder)
{
    unsigned files = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct stat status;
        size_t length = strlen(path);
        if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
            files += compare_folder(path);
            continue;
        }
        if (length < 4 || strcmp(path + length - 4, ".ptx") != 0)
            continue;
        Arena *arena = arena_new();
        const char *error = NULL;
        const Source *source = source_read(arena, path, &error);
        assert_non_null(source);
        expect_same(path, source->text, source->size);
        if (source->size > 0 && source->size < SMALL)
            expect_mutants_same(path, source->text, source->size);
        arena_free(arena);
        files++;
    }
    closedir(directory);
    return files;
}

static void test_files(void **state)
{
    (void)state;
    static const char *const folders[] = {"corpus", "tests/ptx", "tests/cases", "tests/isa"};
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        assert_true(compare_folder(folders[i]) > 20);
}

#define HEADER                                                                                                         \
    ".version 8.0\n.target sm_90\n.address_size 64\n.global .b32 g[4];\n.entry k(.param .u64 q)\n{\n"                  \
    ".reg .b32 %r<9>, foo, WARP_SZx; .reg .b64 %rd<5>; .reg .f32 %f<9>; .reg .f64 %fd<2>; .reg .pred %p<3>;\n"

static const char *const shapes[] = {
    "add.s32 %r1, %r2, -7;",
    "add.s32 %r1 , %r2\n,\t7 ;",
    "add.s32\t%r1,%r2,0;",
    "add.s32 %r1, %r2, 00;",
    "add.s32 %r1, %r2, 999999999999999999;",
    "add.s32 %r1, %r2, 9999999999999999999;",
    "add.s32 %r1, %r2, 7U;",
    "add.s32 %r1, %r2, - 7;",
    "add.s32 %r1, %r2, --7;",
    "add.s32 %r1, %r2, 7+1;",
    "add.s32 %r1, %r2, 0x1f;",
    "mov.b32 %r1, WARP_SZ;",
    "mov.b32 WARP_SZx, WARP_SZ ;",
    "mov.b32 foo, g;",
    "mov.b32 foo.x, 1;",
    "mov.b32 %r1, %tid.x;",
    "mov.b32 %r1, %tid.q;",
    "mov.b32 %r1, %tid .x;",
    "mov.b32 %r1, %tid.x.y;",
    "mov.b32 %r1, %tid.u32;",
    "mov.b32 %r1, %tid.0;",
    "mov.b32 %r1, %nothing.x;",
    "mov.f32 %f1, 0f3F800000;",
    "mov.f32 %f1, 0F3f80000g;",
    "mov.f32 %f1, 0f3F8000000;",
    "mov.f64 %fd1, 0d3FF0000000000000;",
    "mov.f64 %fd1, 0d3FF;",
    "mov.f32 %f1, 1.0;",
    "ld.global.u32 %r1, [%rd1];",
    "ld.global.u32 %r1, [%rd1+4];",
    "ld.global.u32 %r1, [%rd1+-4];",
    "ld.global.u32 %r1, [%rd1-4];",
    "ld.global.u32 %r1, [ %rd1 + 4 ];",
    "ld.global.u32 %r1, [g+4];",
    "ld.global.u32 %r1, [unknown+4];",
    "ld.global.u32 %r1, [%rd1.x];",
    "ld.global.u32 %r1, [%rd1]+4;",
    "ld.global.v2.f32 {%f1, _}, [%rd1];",
    "ld.global.v2.f32 {_, _}, [%rd1];",
    "ld.global.v2.f32 {%f1,%f2}, [%rd1] ;",
    "ld.global.v2.f32 {%f1 %f2}, [%rd1];",
    "ld.global.v2.f32 {}, [%rd1];",
    "st.global.v2.f32 [%rd1], {%f1, 0f00000000};",
    "setp.lt.s32 %p1|%p2, %r1, %r2;",
    "setp.lt.s32 %p1 | %p2, %r1, %r2;",
    "setp.lt.s32 %p1|_, %r1, %r2;",
    "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;",
    "@%p1 bra L; L:",
    "@!%p1 bra L;L: ret;",
    "@ %p1 ret;",
    "@! %p1 ret;",
    "@%r1 ret;",
    "@%q1 ret;",
    "@%p1.x ret;",
    "@p ret;",
    "@@ ret;",
    "ret;",
    "ret ;",
    "ret",
    "ret}",
    "ret; ret",
    "L: M: bra L; bra M;",
    "L : bra L;",
    "L:: bra L;",
    "%l: bra %l;",
    "$l: bra $l;",
    "_l: bra _l;",
    "_: bra _;",
    "WARP_SZ: bra WARP_SZ;",
    "L: .branchtargets M, N; M: N: ret;",
    "L.x: ret;",
    "1: ret;",
    "bra.uni L; { L: bra L; }",
    "{ L: bra M; } M:",
    "ld.shared::cta.u32 %r1, [%r2];",
    "ld.shared:cta.u32 %r1, [%r2];",
    "ld.shared:: cta.u32 %r1, [%r2];",
    "add .s32 %r1, %r2, 7;",
    "add.s32. %r1, %r2, 7;",
    "add.s32$ %r1, %r2, 7;",
    "add$.s32 %r1, %r2, 7;",
    "add::s32 %r1;",
    ".s32 %r1;",
    "add.s32 %r1, %r2, %r3\n.reg .b32 a;",
    "add.s32 %r1, %r2\nadd.s32 %r1, %r2, 1;",
    "add.s32 %r1, 1 ? 2 :\nret;",
    "mov.b32 %r1, {%r2};",
    "mov.b64 %rd1, {%r1, %r2};",
    "mov.b64 {%r1, %r2}, %rd1;",
    "mov.b64 {%r1, %tid.x}, %rd1;",
    "mov.b64 {%r1, 5}, %rd1;",
    "mov.b64 {%r1, -5}, %rd1;",
    "mov.b64 {%r1, {%r2}}, %rd1;",
    "frobnicate.b32 %r1, L, [%rd1+4], {%r1};",
    "// c\nret;",
    "ret /* c */;",
    "ret; // c",
    "/* c */ ret; /* d",
    "ret;\r\nret;\f\nret;",
    "ret;\x01ret;",
    "ret;\xff",
    "",
    ";",
    "; ret;",
    "mov.b32 %r1, %r2;;",
    "mov.b32 %r1, %;",
    "mov.b32 %r1, %r1,;",
    "mov.b32 , %r1;",
    "mov.b32 %r1, [;",
    "mov.b32 %r1, 12",
    "mov.b32 %r1, 12a;",
    "call.uni f, (%r1);",
    "bar.sync 0;",
    "neg.f32 %f1, -%f2;",
    "mov.b32 %r1, !%r2;",
    "fma.rn.f32 %f1, %f2, 0f3F800000, %f3;",
    ".loc 1 2\nret;",
    ".loc 1 2 3 4\nret;",
    "add.s32 .loc 1 2 3\nret;",
    "add.s32 %r1,\n.loc 1 2 3\nret; }",
    ".loc 1 2 3\n.loc 1 2 4, function_name L, inlined_at 1 2 3\nret;",
    ".loc 1 2 3\nL: .loc 1 2 3\n@%p1 bra L;",
    ".loc 1 2 3\nret;",
    ".pragma \"nounroll\";\nret;",
    "{ .reg .b32 t; mov.b32 t, 1; }\nmov.b32 t, 1;",
    "ret; } .entry l() { ret;",
};

/* Each alone, between others, and at the very end of the text. */
static void test_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        static const char *const frames[] = {HEADER "%s\n}\n",
                                             HEADER "mov.b32 %%r1, 1;\n%s\nmov.b32 %%r1, 2;\nret;\n}\n", HEADER "%s"};
        for (size_t j = 0; j < COUNT_OF(frames); j++) {
            Arena *arena = arena_new();
            Buf text = {0};
            const char *hole = strstr(frames[j], "%s");
            for (const char *at = frames[j]; *at; at++)
                if (at == hole) {
                    buf_puts(&text, shapes[i]);
                    at++;
                } else {
                    buf_putc(&text, *at);
                    at += at[0] == '%' && at[1] == '%';
                }
            expect_same(shapes[i], buf_text(&text), text.length);
            buf_free(&text);
            arena_free(arena);
        }
    }
}

/* The comparisons above are meaningless unless some instructions are plain. */
/* Text besides instructions that is read in place: initial values, .loc and the lines of sections. */
static const char places[] =
    ".version 8.0\n.target sm_90, debug\n.address_size 64\n"
    ".file 1 \"a.cu\"\n"
    ".global .u8 bytes[8] = {1, 2, 3,4 , 5, 0x6, 7};\n"
    ".const .u32 rows[2][3] = {{1, 2, 3}, {4, 5, 18446744073709551615}};\n"
    ".global .u64 mixed[6] = {1, bytes, 2, -3, 0x4, 017};\n"
    ".global .u8 masked[3] = {1, 0xff(bytes), 2};\n"
    ".global .f32 numbers[2] = {0f3F800000, 1.5};\n"
    ".global .v2 .u32 pairs[2] = {{1, 2}, {3, 4}};\n"
    ".visible .entry k(.param .u64 p)\n{\n"
    "\t.reg .b32 \t%r<4>;\n"
    "\t.loc\t1 5 0\n"
    "$L__tmp0:\n"
    "\t.loc\t1 6 3\n"
    "\tmov.u32 \t%r1, %tid.x;\n"
    "\t.loc\t1 7 3, function_name $L__info0, inlined_at 1 6 3\n"
    "\tadd.s32 \t%r2, %r1, 1;\n"
    "\t.loc\t1 8 3, function_name $L__info0 + 4, inlined_at 1 6 3\n"
    "\t.loc 1 9 1\n"
    "\t{ .loc 1 9 2\n mov.b32 {%r1, %r2}, %r3; }\n"
    "\tret;\n"
    "$L__tmp1:\n"
    "}\n"
    "\t.section\t.debug_str\n\t{\n"
    "$L__info0:\n.b8 95,90,78,0\n"
    ".b8 1 // a comment\n"
    ".b32 $L__tmp1-$L__tmp0, 5\n"
    ".b64 .debug_str+4\n"
    ".b16 0x12\n, 3 .b8 -1 .b64 $L__tmp0\n"
    "\t}\n";

static void test_places(void **state)
{
    (void)state;
    enum { ROUNDS = 60 };
    char text[sizeof places + ROUNDS];
    size_t size = sizeof places - 1;
    memcpy(text, places, size);
    expect_same("places", text, size);
    /* Each length has its own mutants. */
    for (unsigned i = 0; i < ROUNDS; i++) {
        text[size++] = '\n';
        expect_mutants_same("places", text, size);
    }
}

static void test_plain(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int token;
        unsigned operands, end;
    } cases[] = {
        {"ret;", TOKEN_INSTRUCTION, 0, 4},
        {" \n@!%p1 bra $L;x", TOKEN_INSTRUCTION, 1, 15},
        {"ld.shared::cta.v2.f32 {%f1, _}, [%rd1+-8];", TOKEN_INSTRUCTION, 4, 42},
        {"fma.rn.f32 %f1, %f2, 0f3F800000, -3;", TOKEN_INSTRUCTION, 4, 36},
        {"shfl.sync.bfly.b32 %r1|%p1, %tid.x, a, 31 ;", TOKEN_INSTRUCTION, 6, 43},
        {"L: ret;", TOKEN_LABEL, 0, 2},
        {"add.s32 %r1, %r2, 3", TOKEN_END, 0, 0},
        {"call.uni (%r1), f, (%r2, 5, _);", TOKEN_INSTRUCTION, 7, 31},
        {"// a comment\n  // and \t another\nret;", TOKEN_INSTRUCTION, 0, 36},
        {"// 1\n// 2\nL: // 3\n", TOKEN_LABEL, 0, 12},
        {"// \x80\nret;", TOKEN_END, 0, 0},
        {"/**/ ret;", TOKEN_END, 0, 0},
        {"call.uni f, (5);", TOKEN_END, 0, 0},
        {"call.uni f, ();", TOKEN_END, 0, 0},
        {"ld..f32 %f1, [%rd1];", TOKEN_END, 0, 0},
        {"a.b.c.d.e..f32 %f1, [%rd1];", TOKEN_END, 0, 0},
        {"atom.add. %f1, [%rd1];", TOKEN_END, 0, 0},
        {"abcdefg. %f1, [%rd1];", TOKEN_END, 0, 0},
        {"abcdef.$g %f1, [%rd1];", TOKEN_END, 0, 0},
        {"ab$cdef.g %f1, [%rd1];", TOKEN_INSTRUCTION, 2, 22},
        {"mov.b32 %r1, WARP_SZ;", TOKEN_END, 0, 0},
        {".reg .b32 %r1;", TOKEN_END, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena *arena = arena_new();
        Source *source = source_from_memory(arena, "t.ptx", cases[i].text, strlen(cases[i].text));
        Diag diag;
        diag_init(&diag, source, stderr);
        Lexer *lexer = lexer_new(interner_new(arena, 0), source, &diag, NULL, 0);
        PlainInst inst;
        TokenValue value;
        Span span = {0, 0};
        bool plain = lexer_plain(lexer, &inst, &span), label = !plain && lexer_label(lexer, &value, &span);
        assert_int_equal(plain ? TOKEN_INSTRUCTION : label ? TOKEN_LABEL : TOKEN_END, cases[i].token);
        assert_int_equal(span.end, cases[i].end);
        if (cases[i].token == TOKEN_INSTRUCTION)
            assert_int_equal(inst.count, cases[i].operands);
        lexer_free(lexer);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
