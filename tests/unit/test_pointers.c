/* Pointers of loops: those that become sums, and those that stay; all compute the same. */
#include "tests/unit/test_registers_support.h"

#include "tests/unit/executed.h"
#include "opt/passes.h"

/* %rd3 is a pointer into the 256 words of %rd2, %rd4 a distance of up to 252 bytes, 4 * %r2 bytes are another one; the
 * sum of a loop in %r9 is stored. */
#define HEAD                                                                                                           \
    KERNEL_HEAD ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n.reg .b32 %r<30>;\n"            \
                ".reg .b64 %rd<30>;\n.reg .pred %p<9>;\nld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\n"         \
                "ld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd1, %r1, 40, %rd1;\n"                    \
                "mul.wide.u32 %rd4, %r1, 4;\nmul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd3, %rd2, %rd5;\nmov.u32 %r9, 0;\n" \
                "mov.u32 %r3, 0;\n"
#define NEXT "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 5;\n@%p1 bra LOOP;\n"
#define TAIL "st.global.u32 [%rd1], %r9;\nret;\n}\n"
#define READ(address, offset)                                                                                          \
    "ld.global.u32 %r10, [" address "+" offset "];\nmad.lo.u32 %r9, %r9, 3, %r10;\n"

static bool changes(const char *text)
{
    Module *original = module_of_text(text), *changed = module_of_text(text);
    Function *kernel = module_find_function(changed, "k");
    Body *body = body_in_ssa(kernel);
    bool is_changed = one_pass(&body, PASS_POINTERS);
    expect_body_alike(original, changed, kernel, body, "pointers", 3);
    return is_changed;
}

static void a_sum_advances_instead_of_its_pointer(void **state)
{
    (void)state;
    assert_true(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "8") "add.s64 %rd3, %rd3, 16;\n" NEXT
                             TAIL));
    /* By a register, and twice. */
    assert_true(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd4, %rd3;\n" READ("%rd6", "8") "add.s64 %rd7, %rd3, %rd4;\n"
                             READ("%rd7", "4") "add.s64 %rd3, %rd5, %rd3;\n" NEXT TAIL));
}

static void pointers_stay(void **state)
{
    (void)state;
    /* There are two sums. */
    assert_false(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "8") "add.s64 %rd7, %rd3, %rd5;\n"
                              READ("%rd7", "4") "add.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
    /* Few iterations may need the sum, and it costs an addition at the start. */
    assert_false(changes(HEAD "LOOP:\nsetp.gt.u32 %p2, %r3, 3;\n@%p2 bra OVER;\nadd.s64 %rd6, %rd3, %rd4;\n"
                              READ("%rd6", "8") "OVER:\nadd.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
    /* The addend is known only in the loop. */
    assert_false(changes(HEAD "LOOP:\nmul.wide.u32 %rd7, %r3, 8;\nadd.s64 %rd6, %rd3, %rd7;\n" READ("%rd6", "8")
                              "add.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
    /* The pointer is read besides: in the loop, after its step, by another phi, after the loop. */
    assert_false(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "8") READ("%rd3", "4")
                              "add.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
    assert_false(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "8") "add.s64 %rd3, %rd3, 16;\n"
                              READ("%rd3", "4") NEXT TAIL));
    assert_false(changes(HEAD "mov.b64 %rd8, %rd2;\nLOOP:\n" READ("%rd8", "4") "add.s64 %rd6, %rd3, %rd4;\n"
                              READ("%rd6", "8") "mov.b64 %rd8, %rd3;\nadd.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
    assert_false(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "8") "mov.b64 %rd7, %rd3;\n"
                              "add.s64 %rd3, %rd3, 16;\n" NEXT READ("%rd7", "4") TAIL));
    assert_false(changes(HEAD "setp.eq.u32 %p2, %r1, 3;\n@%p2 bra OUT;\nmov.u32 %r3, 1;\nLOOP:\n"
                              "add.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "8") "add.u32 %r3, %r3, 1;\n"
                              "setp.gt.u32 %p1, %r3, 5;\n@%p1 bra OUT;\n"
                              "add.s64 %rd3, %rd3, 16;\nbra LOOP;\nOUT:\n" READ("%rd3", "4") TAIL));
    /* Its next value is not a sum with it. */
    assert_false(changes(HEAD "mov.b64 %rd8, %rd2;\nLOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "8")
                              "add.s64 %rd3, %rd8, 16;\nadd.s64 %rd8, %rd8, 4;\n" NEXT TAIL));
    assert_false(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "8") "sub.s64 %rd3, %rd3, -16;\n" NEXT
                              TAIL));
    assert_false(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "8")
                              "setp.eq.u32 %p2, %r3, 2;\n@%p2 add.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
}

#define ROW "mad.wide.u32 %rd7, %r2, 12, %rd4;\nadd.s64 %rd8, %rd3, %rd7;\n"

static void rows_follow_one_another(void **state)
{
    (void)state;
    assert_true(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "0") READ("%rd3", "0") ROW
                             READ("%rd8", "0") "add.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
    assert_true(changes(HEAD "add.s64 %rd6, %rd4, %rd3;\nLOOP:\n" READ("%rd6", "0")
                             "mad.wide.s32 %rd7, %r3, 12, %rd4;\nadd.s64 %rd8, %rd7, %rd3;\n" READ("%rd8", "0")
                             NEXT TAIL));
}

static void rows_stay(void **state)
{
    (void)state;
    /* The first one comes later, or on one path only. */
    assert_false(changes(HEAD "LOOP:\n" READ("%rd3", "0") ROW READ("%rd8", "0") "add.s64 %rd6, %rd3, %rd4;\n"
                              READ("%rd6", "0") "add.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
    assert_false(changes(HEAD "LOOP:\n" READ("%rd3", "0") "setp.gt.u32 %p2, %r3, 3;\n@%p2 bra OVER;\n"
                              "add.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "0") "OVER:\n" ROW READ("%rd8", "0")
                              "add.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
    /* The distance is not always computed so. */
    assert_false(changes(HEAD "LOOP:\nadd.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "0") READ("%rd3", "0")
                              "mov.b64 %rd7, 8;\nsetp.eq.u32 %p2, %r3, 2;\n@%p2 mad.wide.u32 %rd7, %r2, 12, %rd4;\n"
                              "add.s64 %rd8, %rd3, %rd7;\n" READ("%rd8", "0") "add.s64 %rd3, %rd3, 16;\n" NEXT TAIL));
    /* Outside of loops, where additions are few. */
    assert_false(changes(HEAD "add.s64 %rd6, %rd3, %rd4;\n" READ("%rd6", "0") ROW READ("%rd8", "0") TAIL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_advances_instead_of_its_pointer),
        cmocka_unit_test(pointers_stay),
        cmocka_unit_test(rows_follow_one_another),
        cmocka_unit_test(rows_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
