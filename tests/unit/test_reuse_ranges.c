/* The ranges of addresses that are compared before a loop whose cell is kept in a register, and of steps for which
 * indices of 32 bits do not wrap. */
#include "reused.h"

static void check_ranges(const char *head, const char *code, unsigned minima, unsigned choices)
{
    Count count = run_loop(head, code);
    if (count.minima != minima || count.choices != choices)
        fail_msg("%u minima and %u choices, not %u and %u:\n%s", count.minima, count.choices, minima, choices, code);
}

/* The addresses that are compared with a cell's: those between two others are left out only if these reach as far, in
 * all rounds. */
static void test_ranges(void **state)
{
    (void)state;
#define ROWS_HEAD "\tmul.wide.s32 %d1, %w, 4;\n\tmul.wide.s32 %d2, %w, 12;\n"
#define ROWS_OF(middle)                                                                                                \
    "\tld.global.u32 %r1, [%a];\n\tld.global.u32 %r2, [%d9];\n\tadd.s64 %d4, %d9, %d2;\n"                            \
    "\tld.global.u32 %r4, [%d4];\n" middle "\tadd.s32 %r1, %r1, %r2;\n\tadd.s32 %r1, %r1, %r3;\n"                    \
    "\tadd.s32 %r1, %r1, %r4;\n\tst.global.u32 [%a], %r1;\n"
    check_ranges(ROWS_HEAD, ROWS_OF("\tadd.s64 %d3, %d9, %d1;\n\tld.global.u32 %r3, [%d3];\n"), 1, 1);
    /* more bytes */
    check_ranges(ROWS_HEAD, ROWS_OF("\tadd.s64 %d3, %d9, %d1;\n\tld.global.u64 %d5, [%d3];\n\tcvt.u32.u64 %r3, %d5;\n"),
                 2, 1);
    /* another step */
    check_ranges(ROWS_HEAD "\tadd.s64 %d8, %b, %d1;\n",
                 ROWS_OF("\tld.global.u32 %r3, [%d8];\n\tadd.s64 %d8, %d8, 8;\n"), 1, 2);
    /* a constant besides */
    check_ranges(ROWS_HEAD, ROWS_OF("\tadd.s64 %d3, %d9, %d1;\n\tld.global.u32 %r3, [%d3+4];\n"), 2, 1);
    /* one of the two is the cell itself, which is wider */
    check_ranges(ROWS_HEAD, "\tld.global.u64 %d5, [%b];\n\tadd.s64 %d3, %b, %d1;\n\tadd.s64 %d4, %b, %d2;\n"
                            "\tld.global.u32 %r3, [%d3];\n\tld.global.u32 %r4, [%d4];\n\tadd.s32 %r3, %r3, %r4;\n"
                            "\tcvt.u64.u32 %d6, %r3;\n\tadd.s64 %d5, %d5, %d6;\n\tst.global.u64 [%b], %d5;\n", 1, 1);
}

static bool has_constant(const Body *body, Opcode op, int64_t value)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned i = 0; i < inst->operand_count && inst_op(inst) == op; i++) {
                uint64_t bits;
                if (operand_is_integer(&inst->operands[i], &bits) && (uint32_t)bits == (uint32_t)value)
                    return true;
            }
    return false;
}

/* Rows above and below whose offsets are multiples of the width and constants: the least and the greatest width for
 * which none of them wraps. */
static void test_offset_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *offsets;
        int constants[2];
        bool is_signed;
        int64_t least, greatest;
    } cases[] = {
        {"\tnot.b32 %r6, %w;\n\tadd.s32 %r7, %w, 1;\n", {-1, 1}, true, -INT64_C(0x7ffffffe), 0x7ffffffe},
        {"\tadd.s32 %r6, %w, 9;\n\tadd.s32 %r7, %w, 12;\n", {9, 12}, true, -INT64_C(0x80000000), 0x7ffffff3},
        {"\tadd.s32 %r6, %w, -12;\n\tadd.s32 %r7, %w, -9;\n", {-12, -9}, true, -INT64_C(0x7ffffff4), 0x7fffffff},
        {"\tadd.s32 %r6, %w, 9;\n\tadd.s32 %r7, %w, 12;\n", {9, 12}, false, -9, 0x7fffffff},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *bits = cases[i].is_signed ? "s" : "u";
        Module *module;
        Buf code = {0};
        buf_printf(&code, "\tadd.s32 %%r3, %%t, 1;\n\tmul.lo.s32 %%r4, %%t, %%w;\n\tmul.lo.s32 %%r5, %%r3, %%w;\n"
                          "\tcvt.%s64.%s32 %%d1, %%r4;\n\tcvt.%s64.%s32 %%d2, %%r5;\n%s"
                          "\tcvt.%s64.%s32 %%d3, %%r6;\n\tcvt.%s64.%s32 %%d4, %%r7;\n"
                          "\tadd.s64 %%d5, %%a, %%d1;\n\tadd.s64 %%d6, %%a, %%d2;\n\tadd.s64 %%d7, %%d5, %%d3;\n"
                          "\tadd.s64 %%d8, %%d6, %%d3;\n\tadd.s64 %%d9, %%d5, %%d4;\n\tadd.s64 %%d10, %%d6, %%d4;\n",
                   bits, bits, bits, bits, cases[i].offsets, bits, bits, bits, bits);
        for (unsigned load = 0; load < 12; load++) {
            int constant = load % 6 < 2 ? 0 : cases[i].constants[load % 6 / 2 - 1];
            buf_printf(&code, "\tld.global.u8 %%r%u, [%%d%u+%d];\n", 8 + load, 5 + load % 6, (int)load / 6 - constant);
        }
        for (unsigned load = 0; load < 12; load++)
            buf_printf(&code, "\tst.global.u8 [%%b+%u], %%r%u;\n", load, 8 + load);
        Body *body = body_clone(body_of(&module, buf_text(&code)));
        one_pass(&body, PASS_ADDRESSES);
        if (!has_constant(body, OP_ADD, -cases[i].least) ||
            !has_constant(body, OP_SETP, cases[i].greatest - cases[i].least + 1))
            fail_msg("not the range of case %zu", i);
        body_free(body);
        release(module);
        buf_free(&code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_offset_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
