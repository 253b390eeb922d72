/* Opaque copies: they hold the value that they copy, and only parameters mask them. */
#include "tests/unit/test_registers_support.h"

#include "opt/registers/moves/opaque.h"
#include "tests/unit/executed.h"

#define KERNEL                                                                                                         \
    KERNEL_HEAD ".const .align 8 .u64 fixed = 5;\n.func (.param .b64 r) f()\n{\nret;\n}\n"                             \
                ".visible .entry k(.param .u64 p, .param .u64 in, .param .u32 n)\n{\n.reg .b32 %r<9>;\n"               \
                ".reg .b64 %rd<20>;\n.reg .f32 %f<4>;\n.reg .f64 %fd<4>;\n.reg .pred %q<3>;\n"                         \
                "mov.u32 %r1, %tid.x;\n"
#define WHOLE "ld.param.u64 %rd1, [p];\n"
#define HALVES "ld.param.v2.b32 {%r2, %r3}, [p];\nmov.b64 %rd1, {%r2, %r3};\n"
/* Both halves matter, and carry into one another; the low one is negative for some threads. */
#define CODE                                                                                                           \
    "mad.wide.u32 %rd2, %r1, 40, %rd1;\ncvt.u64.u32 %rd3, %r1;\nmul.lo.s64 %rd4, %rd3, 0x9e3779b97f4a7c15;\n"          \
    "shl.b64 %rd5, %rd4, 7;\nadd.s64 %rd6, %rd4, %rd5;\nsub.s64 %rd7, %rd5, %rd4;\nadd.s64 %rd8, %rd7, %rd7;\n"        \
    "mad.lo.s64 %rd9, %rd6, %rd5, %rd8;\nmad.wide.s32 %rd10, %r1, -9, %rd9;\ncvt.rn.f32.u32 %f1, %r1;\n"               \
    "add.f32 %f2, %f1, %f1;\ncvt.f64.f32 %fd1, %f2;\nadd.f64 %fd2, %fd1, %fd1;\nshr.s64 %rd11, %rd10, 9;\n"            \
    "st.global.u64 [%rd2], %rd6;\nst.global.u64 [%rd2+8], %rd9;\nst.global.u64 [%rd2+16], %rd11;\n"                    \
    "st.global.f64 [%rd2+24], %fd2;\nst.global.u64 [%rd2+32], %rd8;\nret;\n}\n"

/* Makes each operand that can have one read a copy; returns their number. */
static unsigned operands_copy(Body *body, bool masked, bool carried)
{
    const Inst *mask = opaque_mask_find(body);
    unsigned copies = 0;
    assert_int_equal(mask != NULL, masked);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++) {
                RegId reg = inst->refs[r].reg;
                if (!ref_reads(&inst->refs[r]) || !opaque_copy_exists(body, reg))
                    continue;
                const ValueUse use = {.block = body->blocks.data[b], .inst = inst, .index = r};
                const Point point = {.block = (uint32_t)b, .use = &use};
                RegId copy = body_clone_reg(body, reg);
                OpaqueHalves halves = carried ? opaque_halves_for(inst, reg) : OPAQUE_BOTH;
                opaque_copy_place(body, mask, reg, copy, halves, &point);
                use_set(&use, copy);
                copies++;
            }
    return copies;
}

static void check_copies(const char *text, bool masked, bool carried)
{
    Module *original = module_of_text(text), *changed = module_of_text(text);
    Function *kernel = module_find_function(changed, "k");
    Body *body = body_in_ssa(kernel);
    assert_true(operands_copy(body, masked, carried) > 20);
    expect_body_alike(original, changed, kernel, body, "opaque copies", 0);
}

static void copies_hold_what_they_copy(void **state)
{
    (void)state;
    for (unsigned carried = 0; carried < 2; carried++) {
        check_copies(KERNEL WHOLE CODE, true, carried);
        check_copies(KERNEL HALVES CODE, false, carried);
    }
}

/* Predicates. */
static void others_have_none(void **state)
{
    (void)state;
    Module *module = module_of_text(KERNEL WHOLE "setp.eq.u32 %q1, %r1, 3;\n@%q1 ret;\n" CODE);
    Body *body = body_in_ssa(module_find_function(module, "k"));
    for (RegId reg = 0; reg < body->regs.count; reg++) {
        Type type = body->regs.data[reg].type;
        assert_int_equal(opaque_copy_exists(body, reg), type_class(type) != CLASS_PRED);
    }
    body_free(body);
    arena_free(module->arena);
}

static void only_parameters_mask(void **state)
{
    (void)state;
    static const struct {
        const char *load;
        bool masks;
    } rows[] = {
        {"ld.param.u64 %rd19, [in];\n", true},
        {"ld.param.b64 %rd19, [p];\n", true},
        /* A value elsewhere may change between the two halves of a pair, or needs a load. */
        {"ld.global.u64 %rd19, [%rd1];\n", false},
        {"ld.const.u64 %rd19, [fixed];\n", false},
        {"ld.volatile.shared.u64 %rd19, [%r1];\n", false},
        /* A call's result exists only after it. */
        {"{\n.param .b64 r0;\ncall (r0), f;\nld.param.b64 %rd19, [r0];\n}\n", false},
        /* Not one register of 64 bits, or not always loaded. */
        {"ld.param.v2.b32 {%r7, %r8}, [in];\n", false},
        {"ld.param.u32 %r8, [p];\n", false},
        {"ld.param.f64 %fd3, [p];\n", false},
        {"setp.eq.u32 %q1, %r1, 3;\n@%q1 ld.param.u64 %rd19, [p];\n", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Arena *arena = arena_new();
        Module *module = module_of_text(arena_printf(arena, "%s%s%s", KERNEL HALVES, rows[i].load, CODE));
        Body *body = body_in_ssa(module_find_function(module, "k"));
        if ((opaque_mask_find(body) != NULL) != rows[i].masks)
            fail_msg("taken as a mask, or not: %s", rows[i].load);
        body_free(body);
        arena_free(module->arena);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_hold_what_they_copy),
        cmocka_unit_test(others_have_none),
        cmocka_unit_test(only_parameters_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
