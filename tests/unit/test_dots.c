/* Dot products of bytes: which words they take, and whether random ones are still the same. */
#include "parsed.h"

#include "emit/emit.h"
#include "emulator/emulator.h"
#include "opt/passes.h"
#include "tests/tools/form_difference.h"
#include "tests/tools/kernel_writer.h"
#include "tests/tools/one_pass.h"

enum { THREADS = 32, WORDS = 8, WHOLE = 5 /* words that are not single bytes */, STEPS = 12, POOL = 64, KERNELS = 600 };

/* The words %r1 to %r4 and %n, bytes %r5 and %r6 with a sign and %r7 without one, and then the code. */
#define BEGIN SM_90 ".visible .entry k(.param .u64 p)\n{\n"                                                            \
              "\t.reg .b32 %r<60>, %n;\n\t.reg .b64 %p;\n\t.reg .b16 %h<9>;\n"                                         \
              "\tld.param.u64 %p, [p];\n"                                                                              \
              "\tld.global.u32 %r1, [%p];\n\tld.global.u32 %r2, [%p+4];\n\tld.global.u32 %r3, [%p+8];\n"              \
              "\tld.global.u32 %r4, [%p+12];\n\tld.global.u32 %n, [%p+16];\n\tld.global.s8 %r5, [%p+20];\n"           \
              "\tld.global.s8 %r6, [%p+21];\n\tld.global.u8 %r7, [%p+22];\n\tld.global.s8 %h1, [%p+23];\n"
#define END "\tst.global.u32 [%p], %r8;\n\tret;\n}\n"

/* The kernel with the code after the pass, as text that the caller frees. */
static Buf run(const char *code)
{
    Buf text = {0}, after = {0};
    buf_printf(&text, "%s%s%s", BEGIN, code, END);
    Module *module = module_from(buf_text(&text));
    Body *body = body_from(module);
    body_to_ssa(body);
    body = body_clone(body);
    one_pass(&body, PASS_DOTS);
    one_pass(&body, PASS_CLEANUP);
    body_dump(body, &after);
    body_free(body);
    buf_free(&text);
    release(module);
    return after;
}

/* The code has this instruction, and this many permutations. */
static void check(const char *code, const char *expected, unsigned permutations)
{
    Buf text = run(code);
    if (!strstr(buf_text(&text), expected) || count_of(&text, "prmt") != permutations)
        fail_msg("not '%s' and %u permutations:\n%s", expected, permutations, buf_text(&text));
    buf_free(&text);
}

/* The bytes of a word that permutations take apart. */
static void test_bytes(void **state)
{
    (void)state;
#define BYTES "\tprmt.b32 %r10, %r1, 0, 0x4440;\n\tprmt.b32 %r11, %r1, 0, 0x4441;\n"                                   \
              "\tprmt.b32 %r12, %r1, 0, 0x4442;\n\tprmt.b32 %r13, %r1, 0, 0x4443;\n"                                   \
              "\tprmt.b32 %r14, %r10, %r11, 0x7604;\n\tprmt.b32 %r15, %r12, %r13, 0x7604;\n"
    check(BYTES "\tprmt.b32 %r8, %r14, %r15, 0x1054;\n", "%r1, 0, 291", 1);
    check(BYTES "\tprmt.b32 %r8, %r15, %r14, 0x1054;\n", "%r1, 0, 8961", 1);
    check(BYTES "\tprmt.b32 %r8, %r15, %n, 0x1054;\n", "prmt.b32 %r8, %n, %r1, 26384", 1);
    check(BYTES "\tprmt.b32 %r8, %r15, %n, 0x1254;\n", "prmt.b32 %r8, %r15, %n, 0x1254", 2);
    check("\tprmt.b32 %r10, %r1, 0, 0x8880;\n\tprmt.b32 %r8, %r10, %n, 0x7610;\n", "prmt.b32 %r8, %r1, %n, 30336", 1);
    check("\tprmt.b32 %r10, %r1, 0, 0x8880;\n\tprmt.b32 %r8, %r10, 0, 0x0123;\n", "prmt.b32 %r8, %r1, 0, 2184", 1);
    check("\tprmt.b32 %r10, %r1, 0, 0x4440;\n\tprmt.b32 %r8, %r10, %n, 0x888f;\n", "prmt.b32 %r8, %n, %r1, 52427", 1);
    check("\tprmt.b32 %r10, %r1, 7, 0x4440;\n\tprmt.b32 %r8, %r10, 0, 0x1010;\n", "prmt.b32 %r8, %r10, 0, 0x1010", 2);
    check("\tcvt.u16.u32 %h2, %r1;\n\tcvt.s32.s16 %r10, %h2;\n\tprmt.b32 %r8, %r10, 0, 0x0321;\n",
          "prmt.b32 %r8, %r1, 0, 2449", 1);
#undef BYTES
}

/* The words that a dot product takes. */
static void test_words(void **state)
{
    (void)state;
#define DOT "\tdp4a.s32.s32 %r8, %r10, %r11, %n;\n"
    /* the same order */
    check("\tprmt.b32 %r10, %r1, 0, 0x0123;\n\tprmt.b32 %r11, %r2, 0, 0x0123;\n" DOT, "%r1, %r2, %n", 0);
    /* one is put in the order of the other */
    check("\tprmt.b32 %r10, %r1, 0, 0x0123;\n\tprmt.b32 %r11, %r2, 0, 0x0132;\n" DOT, "%r1, %bytes, %n", 1);
    check("\tprmt.b32 %r10, %r1, %r3, 0x0147;\n\tprmt.b32 %r11, %r2, 0, 0x2103;\n" DOT, "%r2, %n", 1);
    /* as they are */
    check("\tprmt.b32 %r10, %r1, 0, 0x0122;\n\tprmt.b32 %r11, %r2, 0, 0x0122;\n" DOT, "%r10, %r11, %n", 2);
    check("\tmov.b32 %r10, %r1;\n\tprmt.b32 %r11, %r2, 0, 0x0123;\n" DOT, "%r1, %r11, %n", 1);
    /* columns of four words */
#define COLUMN(column, a, b)                                                                                          \
    "\tprmt.b32 %r10, %r1, %r2, 0x00" column ";\n\tprmt.b32 %r12, %r3, %r4, 0x00" column ";\n"                         \
    "\tprmt.b32 %r11, %r12, %r10, 0x5410;\n\tdp4a.s32.s32 " a ", %r11, %r7, " b ";\n"
    check(COLUMN("40", "%r20", "%n") COLUMN("51", "%r21", "%r20") COLUMN("62", "%r22", "%r21")
          COLUMN("73", "%r8", "%r22"), "dp4a", 8);
#undef COLUMN
#undef DOT
}

#define MAD(to, a, b, from) "\tmad.lo.s32 " to ", " a ", " b ", " from ";\n"
#define LESS(to, a, by) "\tsub.s32 " to ", " a ", " by ";\n"
#define MORE(to, a, by) "\tadd.s32 " to ", " a ", " by ";\n"

/* Sums of products. */
static void test_sums(void **state)
{
    (void)state;
    const char *const bytes = "\tprmt.b32 %r10, %r1, 0, 0x8880;\n\tprmt.b32 %r11, %r1, 0, 0x9991;\n"
                              "\tprmt.b32 %r12, %r1, 0, 0xaaa2;\n\tprmt.b32 %r13, %r1, 0, 0xbbb3;\n"
                              "\tprmt.b32 %r20, %r2, 0, 0x8880;\n\tprmt.b32 %r21, %r2, 0, 0x9991;\n"
                              "\tprmt.b32 %r22, %r2, 0, 0xaaa2;\n\tprmt.b32 %r23, %r2, 0, 0x4443;\n"
                              "\tprmt.b32 %r24, %r2, 0, 0xbbb3;\n";
    static const struct {
        const char *code, *expected;
        unsigned permutations;
    } cases[] = {
        {MAD("%r30", "%r10", "%r20", "%n") MAD("%r31", "%r21", "%r11", "%r30") MAD("%r32", "%r12", "%r22", "%r31")
         MAD("%r8", "%r13", "%r24", "%r32"), "dp4a.s32.s32 %r8, %r1, %r2, %n", 0},
        {MAD("%r30", "%r13", "%r20", "%n") MAD("%r31", "%r12", "%r21", "%r30") MAD("%r32", "%r11", "%r22", "%r31")
         MAD("%r8", "%r10", "%r24", "%r32"), "dp4a.s32.s32 %r8, %bytes, %r2, %n", 1},
        /* bytes that are loaded alone */
        {MAD("%r30", "%r10", "%r5", "%n") MAD("%r31", "%r11", "%r6", "%r30") MAD("%r32", "%r12", "%r22", "%r31")
         MAD("%r8", "%r13", "%r5", "%r32"), "dp4a.s32.s32 %r8, %r1, %bytes_2, %n", 3},
        /* additions of products */
        {MAD("%r30", "%r10", "%r20", "%n") MAD("%r31", "%r11", "%r21", "%r30") "\tmul.lo.s32 %r40, %r12, %r22;\n"
         "\tadd.s32 %r32, %r40, %r31;\n" MAD("%r8", "%r13", "%r24", "%r32"), "dp4a.s32.s32 %r8, %r1, %r2, %n", 0},
        /* one factor has no sign */
        {MAD("%r30", "%r10", "%r20", "%n") MAD("%r31", "%r11", "%r21", "%r30") MAD("%r32", "%r12", "%r22", "%r31")
         MAD("%r8", "%r13", "%r23", "%r32"), "mad.lo.s32", 8},
        {MAD("%r30", "%r10", "%r7", "%n") MAD("%r31", "%r11", "%r23", "%r30") MAD("%r32", "%r12", "%r7", "%r31")
         MAD("%r8", "%r13", "%r23", "%r32"), "dp4a.s32.u32 %r8, %r1, %bytes, %n", 1},
        /* a sum in between is used; products of three bytes of a word; of none */
        {MAD("%r30", "%r10", "%r20", "%n") MAD("%r31", "%r11", "%r21", "%r30") MAD("%r32", "%r12", "%r22", "%r31")
         MAD("%r33", "%r13", "%r24", "%r32") "\tadd.s32 %r8, %r33, %r31;\n", "mad.lo.s32", 8},
        {MAD("%r30", "%r10", "%r5", "%n") MAD("%r31", "%r11", "%r6", "%r30") MAD("%r32", "%r12", "%r6", "%r31")
         MAD("%r8", "%r12", "%r5", "%r32"), "mad.lo.s32", 3},
        /* a zero point; not the same for all; of both factors */
        {LESS("%r50", "%r10", "%r4") LESS("%r51", "%r11", "%r4") LESS("%r52", "%r12", "%r4") LESS("%r53", "%r13", "%r4")
         MAD("%r30", "%r50", "%r20", "%n") MAD("%r31", "%r21", "%r51", "%r30") MAD("%r32", "%r52", "%r22", "%r31")
         MAD("%r8", "%r53", "%r24", "%r32"), "mad.lo.s32 %r8, %bytes, %shift, %r8_1", 0},
        {MORE("%r50", "%r20", "7") MORE("%r51", "%r21", "7") MORE("%r52", "%r22", "7") MORE("%r53", "%r24", "7")
         MAD("%r30", "%r10", "%r50", "%n") MAD("%r31", "%r51", "%r11", "%r30") MAD("%r32", "%r12", "%r52", "%r31")
         MAD("%r8", "%r13", "%r53", "%r32"), "dp4a.s32.u32 %bytes, %r1, %ones, %zero", 0},
        {LESS("%r50", "%r10", "%r4") LESS("%r51", "%r11", "%r4") LESS("%r52", "%r12", "%r3") LESS("%r53", "%r13", "%r4")
         MAD("%r30", "%r50", "%r20", "%n") MAD("%r31", "%r51", "%r21", "%r30") MAD("%r32", "%r52", "%r22", "%r31")
         MAD("%r8", "%r53", "%r24", "%r32"), "mad.lo.s32 %r8, %r53, %r24", 8},
        {LESS("%r50", "%r10", "%r4") LESS("%r51", "%r11", "%r4") LESS("%r52", "%r12", "%r4") MORE("%r53", "%r24", "7")
         MAD("%r30", "%r50", "%r20", "%n") MAD("%r31", "%r51", "%r21", "%r30") MAD("%r32", "%r52", "%r22", "%r31")
         MAD("%r8", "%r13", "%r53", "%r32"), "mad.lo.s32 %r8, %r13, %r53", 8},
        {MAD("%r30", "%r10", "%r1", "%n") MAD("%r31", "%r11", "%r1", "%r30") MAD("%r32", "%r12", "%r1", "%r31")
         MAD("%r8", "%r13", "%r1", "%r32"), "mad.lo.s32", 4},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Buf code = {0};
        buf_printf(&code, "%s%s", bytes, cases[i].code);
        check(buf_text(&code), cases[i].expected, cases[i].permutations);
        buf_free(&code);
    }
}

/* Random straight-line code over words and bytes. */
typedef struct Maker {
    Writer to;
    unsigned words; /* registers %r0 and on */
} Maker;

static unsigned any_word(Maker *m)
{
    return below(&m->to, m->words);
}

static unsigned next_word(Maker *m)
{
    return m->words++;
}

/* A byte, extended, of one of the words that are loaded. */
static unsigned make_byte(Maker *m, unsigned word, unsigned place, bool is_signed)
{
    const unsigned to = next_word(m);
    line(&m->to, "prmt.b32 %%r%u, %%r%u, 0, 0x%x%x%x%x;", to, word, is_signed ? 8 + place : 4,
         is_signed ? 8 + place : 4, is_signed ? 8 + place : 4, place);
    return to;
}

static void make_permutation(Maker *m)
{
    const unsigned a = any_word(m), b = any_word(m), to = next_word(m);
    static const char *const usual[] = {"0x7604", "0x5410", "0x1054", "0x4440", "0x8880", "0x0123", "0x9991"};
    if (chance(&m->to, 50))
        line(&m->to, "prmt.b32 %%r%u, %%r%u, %%r%u, %s;", to, a, b, usual[below(&m->to, COUNT_OF(usual))]);
    else if (chance(&m->to, 50))
        line(&m->to, "prmt.b32 %%r%u, %%r%u, %u, %u;", to, a, below(&m->to, 2) * 0x1234, below(&m->to, 1 << 16));
    else
        line(&m->to, "prmt.b32 %%r%u, %%r%u, %%r%u, %u;", to, a, b, below(&m->to, 1 << 16));
}

static void make_conversion(Maker *m)
{
    static const char *const backs[] = {"cvt.s32.s16", "cvt.u32.u16", "cvt.s32.s8", "cvt.u32.u8", "cvt.u32.s8"};
    const unsigned from = any_word(m), to = next_word(m), half = temporary(&m->to) % 8;
    if (chance(&m->to, 50))
        line(&m->to, "cvt.%s %%h%u, %%r%u;", chance(&m->to, 50) ? "u16.u32" : "s16.s8", half, from);
    else
        line(&m->to, "ld.global.%s %%h%u, [%%p+%u];", chance(&m->to, 50) ? "u8" : "s8", half, below(&m->to, 32));
    line(&m->to, "%s %%r%u, %%h%u;", backs[below(&m->to, COUNT_OF(backs))], to, half);
}

/* The byte, less a word or with a number. */
static unsigned make_shifted(Maker *m, unsigned byte, unsigned word)
{
    const unsigned to = next_word(m);
    if (word < WORDS)
        line(&m->to, "sub.s32 %%r%u, %%r%u, %%r%u;", to, byte, word);
    else
        line(&m->to, "add.s32 %%r%u, %%r%u, %d;", to, byte, (int)word - 2 * WORDS);
    return to;
}

/* A sum of products of bytes, most of which follow those of a word. */
static void make_sum(Maker *m)
{
    const unsigned word = below(&m->to, WORDS), count = 3 + below(&m->to, 14), turn = below(&m->to, 4);
    const bool shifts = chance(&m->to, 50);
    const bool both = shifts && chance(&m->to, 10);
    const unsigned noise = shifts ? 1 : 5; /* percent */
    unsigned by = below(&m->to, 4 * WORDS);
    const bool is_signed = chance(&m->to, 50), other_signed = chance(&m->to, 50), backwards = chance(&m->to, 30);
    unsigned sum = any_word(m);
    for (unsigned i = 0; i < count; i++) {
        const unsigned place = (turn + (backwards ? 3 * i : i)) % 4;
        unsigned a = chance(&m->to, noise) ? any_word(m) : make_byte(m, word, place, is_signed);
        unsigned b = chance(&m->to, noise) ? any_word(m)
                                       : make_byte(m, below(&m->to, shifts ? WHOLE : WORDS), below(&m->to, 4),
                                                   other_signed);
        const bool swaps = chance(&m->to, 20);
        if (shifts && (chance(&m->to, 4) || (i % 4 == 0 && chance(&m->to, 30))))
            by = below(&m->to, 4 * WORDS);
        if (shifts && chance(&m->to, i == 4 ? 80 : 99))
            a = make_shifted(m, a, by);
        if (chance(&m->to, both ? 99 : 1))
            b = make_shifted(m, b, by);
        unsigned to = next_word(m);
        if (chance(&m->to, shifts ? 97 : 80)) {
            line(&m->to, "mad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;", to, swaps ? b : a, swaps ? a : b, sum);
        } else if (chance(&m->to, 50)) {
            line(&m->to, "mul.lo.s32 %%r%u, %%r%u, %%r%u;", to, a, b);
            line(&m->to, "add.s32 %%r%u, %%r%u, %%r%u;", m->words, swaps ? sum : to, swaps ? to : sum);
            to = next_word(m);
        } else {
            line(&m->to, "cvt.u16.u32 %%h0, %%r%u; cvt.u16.u32 %%h1, %%r%u;", a, b);
            line(&m->to, "mul.wide.%s16 %%r%u, %%h0, %%h1;", chance(&m->to, 80) ? "s" : "u", to);
            line(&m->to, "add.s32 %%r%u, %%r%u, %%r%u;", m->words, sum, to);
            to = next_word(m);
        }
        if (chance(&m->to, noise))
            line(&m->to, "st.global.u32 [%%q+%u], %%r%u;", 4 * (WORDS + STEPS), to);
        sum = to;
    }
}

static void make_dot(Maker *m)
{
    static const char *const types[] = {"u32.u32", "u32.s32", "s32.u32", "s32.s32"};
    const unsigned a = any_word(m), b = any_word(m), c = any_word(m);
    line(&m->to, "dp4a.%s %%r%u, %%r%u, %%r%u, %%r%u;", types[below(&m->to, 4)], next_word(m), a, b, c);
}

static void make_kernel(uint64_t seed, Buf *text)
{
    Maker m = {.to = {.random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 5}, .out = text}, .words = WORDS};
    buf_puts(text, SM_90 ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n\t.reg .b32 %r<1999>;\n"
                         "\t.reg .b64 %p, %q, %at;\n\t.reg .b16 %h<9>;\n\tld.param.u64 %p, [p];\n"
                         "\tld.param.u64 %q, [q];\n");
    line(&m.to, "mov.u32 %%r0, %%tid.x; mul.wide.u32 %%at, %%r0, %u; add.s64 %%p, %%p, %%at;", 4 * WORDS);
    line(&m.to, "mul.wide.u32 %%at, %%r0, %u; add.s64 %%q, %%q, %%at;", 4 * POOL);
    for (unsigned i = 0; i < WORDS; i++)
        line(&m.to, "ld.global.%s %%r%u, [%%p+%u];", i < WHOLE ? "u32" : i < 7 ? "s8" : "u8", i, 4 * i);
    for (unsigned i = 0; i < STEPS; i++) {
        const unsigned kind = below(&m.to, 10);
        kind < 4 ? make_permutation(&m) : kind < 6 ? make_conversion(&m) : kind < 8 ? make_sum(&m) : make_dot(&m);
        line(&m.to, "st.global.u32 [%%q+%u], %%r%u;", 4 * i, m.words - 1);
    }
    buf_puts(text, "\tret;\n}\n");
}

static Launch kernel_launch(Arena *arena)
{
    Launch launch = {.kernel = "k", .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .argument_count = 2};
    launch.arguments = ARENA_ARRAY(arena, LaunchArgument, 2);
    launch.arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "p", .type = TYPE_U8,
                                           .count = 4 * WORDS * THREADS + 32, .fill = FILL_UNIFORM, .low = 0,
                                           .high = 255, .seed = 7};
    launch.arguments[1] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "q", .type = TYPE_U32,
                                           .count = POOL * THREADS, .fill = FILL_ZERO};
    return launch;
}

static void test_random(void **state)
{
    (void)state;
    unsigned changed = 0, made = 0, shifted = 0;
    for (uint64_t seed = 1; seed <= KERNELS; seed++) {
        Arena *arena = arena_new();
        Buf text = {0}, after = {0};
        make_kernel(seed, &text);
        Module *module = module_from(buf_text(&text));
        const Launch launch = kernel_launch(arena);
        const EmulatorOptions options = {0};
        EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
        assert_int_equal(expected->fault.kind, FAULT_NONE);
        Body *body = body_from(module);
        body_to_ssa(body);
        body = body_clone(body);
        changed += one_pass(&body, PASS_DOTS);
        one_pass(&body, PASS_CLEANUP);
        body_from_ssa(body);
        function_set_body(module_find_function(module, "k"), body);
        emit_module(module, &after);
        const LaunchChange change = {0};
        const char *message = form_difference(arena, &after, &launch, &change, expected, &options, NULL);
        if (message)
            fail_msg("seed %u: %s\n%s\n%s", (unsigned)seed, message, buf_text(&text), buf_text(&after));
        made += count_of(&after, "dp4a") > count_of(&text, "dp4a");
        shifted += count_of(&after, ", 16843009;") > 0;
        function_set_body(module_find_function(module, "k"), NULL);
        release(module);
        arena_free(arena);
        buf_free(&text);
        buf_free(&after);
    }
    assert_true(changed > KERNELS / 2 && made > KERNELS / 8 && shifted > KERNELS / 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
