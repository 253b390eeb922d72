/* Significant bits: the integers that are known to be small. */
#include "analysis/significant.h"

#include "tests/unit/test_registers_support.h"

#define HEAD                                                                                                           \
    KERNEL_HEAD                                                                                                        \
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<20>;\n"    \
    ".reg .b64 %rd<9>;\nld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n"                      \
    "setp.eq.s32 %p1, %r1, 7;\nsetp.lt.u32 %p2, %r2, %r1;\nld.global.u8 %r3, [%rd1];\n"
#define TAIL "st.global.u32 [%rd1], %r9;\nret;\n}\n"

/* The bits of the value that the last store stores. */
static unsigned stored_bits(const char *code)
{
    Module *module = module_of_text(code);
    Body *body = body_in_ssa(module_find_function(module, "k"));
    const Inst *store = NULL;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (strcmp(inst->signature->opcode, "st") == 0)
                store = inst;
    assert_non_null(store);
    const Operand *value = &store->operands[1];
    assert_int_equal(value->kind, OPERAND_REG);
    unsigned bits = significant_bits(module->arena, values_compute(module->arena, body))[store->refs[value->ref].reg];
    body_and_module_free(module, body);
    return bits;
}

static unsigned bits_of(const char *code)
{
    Arena *arena = arena_new();
    unsigned bits = stored_bits(arena_printf(arena, "%s%s\n%s", HEAD, code, TAIL));
    arena_free(arena);
    return bits;
}

static void instructions_are_followed(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        unsigned bits;
    } cases[] = {
        {"ld.global.u8 %r9, [%rd1];", 8},
        {"ld.global.b8 %r9, [%rd1];", 8},
        {"ld.global.s8 %r9, [%rd1];", 32},
        {"ld.global.u16 %r9, [%rd1];", 16},
        {"ld.global.v2.u16 {%r8, %r9}, [%rd1];", 16},
        {"ld.global.u32 %r9, [%rd1];", 32},
        {"selp.u32 %r9, 1, 0, %p1;", 1},
        {"selp.u32 %r9, 5, %r3, %p1;", 8},
        {"selp.s32 %r9, -1, 0, %p1;", 32},
        {"mov.u32 %r9, 300;", 9},
        {"mov.u32 %r9, %r2;", 32},
        {"and.b32 %r9, %r1, 15;", 4},
        {"and.b32 %r9, 12, %r1;", 4},
        {"or.b32 %r9, %r3, 256;", 9},
        {"xor.b32 %r9, %r3, 3;", 8},
        {"and.b32 %r5, %r1, 4;\nand.b32 %r6, %r2, 3;\nor.b32 %r7, %r5, %r6;\nadd.u32 %r9, %r7, 1;", 4},
        {"not.b32 %r9, %r3;", 32},
        {"add.s32 %r9, %r3, 1;", 9},
        {"add.s32 %r9, %r3, -1;", 32},
        {"add.u32 %r9, %r3, %r1;", 32},
        {"sub.s32 %r9, %r3, 1;", 32},
        {"mul.lo.u32 %r9, %r3, 4;", 10},
        {"mul.lo.u32 %r9, %r3, 67108864;", 32},
        {"mul.hi.u32 %r9, %r3, 4;", 1},
        {"mul.hi.u32 %r9, %r1, 4;", 2},
        {"mul.hi.s32 %r9, %r1, 4;", 32},
        {"mad.lo.s32 %r9, %r3, 2, %r3;", 10},
        {"shl.b32 %r9, %r3, 3;", 11},
        {"shl.b32 %r9, %r3, 30;", 32},
        {"shl.b32 %r9, %r3, %r1;", 32},
        {"shr.u32 %r9, %r1, 20;", 12},
        {"shr.s32 %r9, %r1, 20;", 32},
        {"shr.s32 %r9, %r3, 4;", 4},
        {"shr.u32 %r9, %r1, 40;", 1},
        {"shr.s32 %r9, %r1, 40;", 32},
        {"shr.u32 %r9, %r1, %r3;", 32},
        {"min.u32 %r9, %r1, 100;", 7},
        {"min.s32 %r9, %r1, 100;", 32},
        {"min.s32 %r9, %r3, 100;", 7},
        {"max.u32 %r9, %r3, 300;", 9},
        {"max.s32 %r9, %r3, -5;", 8},
        {"max.s32 %r9, %r1, -5;", 32},
        {"rem.u32 %r9, %r1, 10;", 4},
        {"rem.s32 %r9, %r1, 10;", 32},
        {"rem.u32 %r9, %r1, %r3;", 32},
        {"bfe.u32 %r9, %r1, 4, 6;", 6},
        {"bfe.s32 %r9, %r1, 4, 6;", 32},
        {"bfe.u32 %r9, %r1, 4, %r3;", 32},
        {"popc.b32 %r9, %r1;", 6},
        {"clz.b64 %r9, %rd1;", 7},
        {"cvt.u32.u16 %r9, %h1;", 16},
        {"cvt.u32.s16 %r9, %h1;", 32},
        {"cvt.u32.u8 %r9, %r1;", 8},
        {"cvt.s32.s8 %r9, %r1;", 32},
        {"ld.global.u8 %h1, [%rd1];\ncvt.u32.s16 %r9, %h1;", 8},
        {"ld.global.u8 %h1, [%rd1];\ncvt.s32.s8 %r9, %h1;", 32},
        {"cvt.u8.u32 %r9, %r1;", 8},
        {"cvt.u32.u64 %r9, %rd1;", 32},
        {"cvt.sat.u8.s32 %r9, %r1;", 8},
        {"cvt.sat.s8.s32 %r9, %r1;", 32},
        {"cvt.s8.u32 %r9, %r3;", 32},
        {"and.b32 %r5, %r1, 127;\ncvt.s8.u32 %r9, %r5;", 7},
        {"cvt.u16.u32 %h1, %r3;\ncvt.u32.s16 %r9, %h1;", 8},
        /* Two integers of 16 bits in a register: the high one may be anything, whatever the low one is. */
        {"selp.b32 %r5, 1, 0, %p1;\nmin.s16x2 %r9, %r5, %r3;", 32},
        {"selp.b32 %r5, 1, 0, %p1;\nmin.u16x2 %r9, %r5, %r1;", 32},
        {"ld.global.u16 %r5, [%rd1];\nmax.s16x2 %r9, %r5, %r3;", 32},
        {"ld.global.u16 %r5, [%rd1];\nmax.u16x2 %r9, %r5, %r3;", 32},
        {"selp.b32 %r5, 0x8000, 0, %p1;\nadd.u16x2 %r9, %r5, %r5;", 32},
        {"selp.b32 %r5, 1, 0, %p1;\nmin.relu.s16x2 %r9, %r5, %r3;", 32},
        {"selp.b32 %r5, 1, 0, %p1;\nmin.relu.s32 %r9, %r5, %r1;", 1},
        {"mul.wide.u16 %r9, %h1, %h1;", 32},
        {"mov.u32 %r9, 1;\n@%p1 mov.u32 %r9, 40;", 6},
        {"mov.u32 %r9, 1;\n@%p1 mov.u32 %r9, %r1;", 32},
        {"mov.u32 %r9, 1;\n@%p1 bra ON;\nmov.u32 %r9, 1000;\nON:", 10},
        {"mov.u32 %r9, 1;\n@%p1 bra ON;\nmov.u32 %r9, %r1;\nON:", 32},
        /* In loops. */
        {"mov.u32 %r9, 0;\nLOOP:\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p3, %r9, %r1;\n@%p3 bra LOOP;", 32},
        {"mov.u32 %r9, 0;\nLOOP:\nadd.u32 %r9, %r9, 3;\nand.b32 %r9, %r9, 31;\nsetp.ne.u32 %p3, %r9, %r1;\n"
         "@%p3 bra LOOP;", 5},
        {"mov.u32 %r9, 200;\nLOOP:\nshr.u32 %r9, %r9, 1;\nsetp.ne.u32 %p3, %r9, %r1;\n@%p3 bra LOOP;", 7},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (bits_of(cases[i].code) != cases[i].bits)
            fail_msg("%s: %u bits", cases[i].code, bits_of(cases[i].code));
}

static void undefined_values_have_any_bits(void **state)
{
    (void)state;
    assert_int_equal(bits_of("and.b32 %r9, %r8, %r7;"), 32);
    assert_int_equal(bits_of("@%p1 mov.u32 %r9, 1;"), 32);
    assert_int_equal(bits_of("@%p1 bra ON;\nmov.u32 %r9, 1;\nON:"), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_are_followed),
        cmocka_unit_test(undefined_values_have_any_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
