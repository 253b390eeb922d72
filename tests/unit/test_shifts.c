/* Offsets of addresses as shifts: the products that become shifts. */
#include "tests/unit/test_registers_support.h"

/* A thread stores to an address that 'code' computes in %rd3, from %rd1, the parameter, and %r1, its index. */
static Body *body_with(Arena *arena, const char *code)
{
    return body_in_ssa(module_find_function(
        module_of_text(arena_printf(arena, KERNEL_HEAD
                                    ".visible .entry k(.param .u64 a)\n{\n.reg .pred %%p<2>;\n.reg .b32 %%r<4>;\n"
                                    ".reg .b64 %%rd<6>;\nld.param.u64 %%rd1, [a];\nmov.u32 %%r1, %%tid.x;\n"
                                    "setp.lt.s32 %%p1, %%r1, 7;\nmov.u64 %%rd2, 0;\n%s"
                                    "st.global.u32 [%%rd3], %%r1;\nret;\n}\n", code)),
        "k"));
}

/* The instructions with this opcode; *last: the last of them. */
static unsigned count_of(const Body *body, const char *opcode, const Inst **last)
{
    unsigned count = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (strcmp(inst->signature->opcode, opcode) == 0) {
                *last = inst;
                count++;
            }
    return count;
}

static unsigned shifted(const char *code, ShiftPart part)
{
    Arena *arena = arena_new();
    Body *body = body_with(arena, code);
    const Inst *last;
    unsigned products = count_of(body, "mul", &last), count = one_shifts(body, part);
    body_verify(body, "shifts");
    assert_int_equal(count_of(body, "mul", &last), products - count);
    assert_int_equal(count_of(body, "shl", &last), count);
    Module *module = (Module *)body->module;
    body_free(body);
    arena_free(module->arena);
    arena_free(arena);
    return count;
}

#define SUM "add.s64 %rd3, %rd1, %rd2;\n"

static void products_become_shifts(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        bool is_signed;
        int64_t shift;
    } cases[] = {
        {"mul.wide.s32 %rd2, %r1, 4;\n" SUM, true, 2},
        {"mul.wide.u32 %rd2, %r1, 4;\n" SUM, false, 2},
        {"mul.wide.s32 %rd2, %r1, 2;\n" SUM, true, 1},
        {"mul.wide.u32 %rd2, %r1, 1073741824;\n" SUM, false, 30},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena *arena = arena_new();
        Body *body = body_with(arena, cases[i].code);
        const Inst *inst;
        assert_int_equal(one_shifts(body, SHIFT_ALL), 1);
        assert_int_equal(count_of(body, "cvt", &inst), 1);
        for (unsigned t = 0; t < 2; t++)
            assert_int_equal(type_class(inst->signature->types[t]) == CLASS_SIGNED, cases[i].is_signed);
        assert_int_equal(count_of(body, "shl", &inst), 1);
        assert_int_equal(inst->operands[2].constant->bits, cases[i].shift);
        Module *module = (Module *)body->module;
        body_free(body);
        arena_free(module->arena);
        arena_free(arena);
    }
    /* Several sums, of which one is of two products. */
    assert_int_equal(shifted("mul.wide.s32 %rd2, %r1, 4;\nmul.wide.s32 %rd4, %r1, 8;\nadd.s64 %rd5, %rd1, %rd2;\n"
                             "st.global.u32 [%rd5], %r1;\nadd.s64 %rd3, %rd2, %rd4;\n", SHIFT_ALL), 2);
}

static void other_products_stay(void **state)
{
    (void)state;
    static const char *const codes[] = {
        "mul.wide.s32 %rd2, %r1, 12;\n" SUM,
        "mul.wide.s32 %rd2, %r1, -4;\n" SUM,
        "mul.wide.s32 %rd2, %r1, 1;\n" SUM,
        "mul.wide.s32 %rd2, %r1, 0;\n" SUM,
        "mul.wide.s32 %rd2, %r1, -2147483648;\n" SUM,
        "mul.wide.s32 %rd2, %r1, %r1;\n" SUM,
        "mul.lo.s64 %rd2, %rd1, 4;\n" SUM,
        "@%p1 mul.wide.s32 %rd2, %r1, 4;\n" SUM,
        /* Read by something else than a sum. */
        "mul.wide.s32 %rd2, %r1, 4;\nst.global.u64 [%rd1], %rd2;\n" SUM,
        "mul.wide.s32 %rd3, %r1, 4;\n",
    };
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (shifted(codes[i], SHIFT_ALL) != 0)
            fail_msg("shifted: %s", codes[i]);
}

/* In layout order; each half without the other. */
static void halves_are_disjoint(void **state)
{
    (void)state;
    const char *code = "mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd4, %rd1, %rd2;\nst.global.u32 [%rd4], %r1;\n"
                       "mul.wide.s32 %rd5, %r1, 8;\nadd.s64 %rd4, %rd4, %rd5;\nst.global.u32 [%rd4], %r1;\n"
                       "mul.wide.u32 %rd2, %r1, 16;\n" SUM;
    assert_int_equal(shifted(code, SHIFT_ALL), 3);
    assert_int_equal(shifted(code, SHIFT_FIRST_HALF), 1);
    assert_int_equal(shifted(code, SHIFT_SECOND_HALF), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_become_shifts),
        cmocka_unit_test(other_products_stay),
        cmocka_unit_test(halves_are_disjoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
