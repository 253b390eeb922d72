/* Hoisting: instructions that move up to where their operands die, and those that stay. */
#include "tests/unit/test_registers_support.h"

#define HEAD                                                                                                           \
    KERNEL_HEAD                                                                                                        \
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"    \
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nsetp.eq.s32 %p1, %r1, 7;\n"

static Block *block_with(const Body *body, const char *opcode)
{
    Block *found = NULL;
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            if (strcmp(inst->signature->opcode, opcode) == 0)
                found = body->blocks.data[i];
    return found;
}

/* The number of instructions that the pass moves, and the block in which the last instruction with this opcode then
 * is. */
static unsigned hoisted(const char *code, const char *opcode, uint32_t *block)
{
    Module *module = module_of_text(code);
    Body *body = body_in_ssa(module_find_function(module, "k"));
    unsigned moved = one_hoist(body);
    body_verify(body, "hoist");
    assert_int_equal(one_hoist(body), 0);
    *block = block_with(body, opcode)->id;
    body_and_module_free(module, body);
    return moved;
}

#define WIDE "mul.wide.u32 %rd2, %r2, 24;\nmul.wide.u32 %rd3, %r1, 40;\n"

static void what_leaves_less_moves_up(void **state)
{
    (void)state;
    uint32_t block;
    /* Two products of 64 bits for 32, and then for a predicate. */
    assert_int_equal(hoisted(HEAD WIDE "@%p1 bra SKIP;\nst.global.u32 [%rd1], 1;\nbar.sync 0;\n"
                                  "sub.s64 %rd4, %rd2, %rd3;\ncvt.u32.u64 %r3, %rd4;\n"
                                  "st.global.u32 [%rd1+4], %r3;\nSKIP:\nret;\n}\n", "sub", &block), 2);
    assert_int_equal(block, 0);
    assert_int_equal(hoisted(HEAD WIDE "@%p1 bra SKIP;\nst.global.u32 [%rd1], 1;\nsetp.lt.u64 %p2, %rd2, %rd3;\n"
                                  "@%p2 st.global.u32 [%rd1+4], 3;\nSKIP:\nret;\n}\n", "setp", &block), 1);
    assert_int_equal(block, 0);
    /* Out of a loop that reads both. */
    assert_int_equal(hoisted(HEAD WIDE "LOOP:\nsetp.lt.u64 %p2, %rd2, %rd3;\n@%p2 st.global.u32 [%rd1+4], 3;\n"
                                  "add.s32 %r1, %r1, -1;\nsetp.gt.s32 %p3, %r1, 0;\n@%p3 bra LOOP;\nret;\n}\n",
                             "mul", &block), 1);
}

static void what_leaves_as_much_stays(void **state)
{
    (void)state;
    uint32_t block;
    /* The operands are read below too. */
    assert_int_equal(hoisted(HEAD WIDE "@%p1 bra SKIP;\nst.global.u32 [%rd1], 1;\nsub.s64 %rd4, %rd2, %rd3;\n"
                                  "st.global.u64 [%rd1+8], %rd4;\nst.global.u64 [%rd1+16], %rd2;\n"
                                  "st.global.u64 [%rd1+24], %rd3;\nSKIP:\nret;\n}\n", "sub", &block), 0);
    /* On the other path. */
    assert_int_equal(hoisted(HEAD WIDE "@%p1 bra SKIP;\nsub.s64 %rd4, %rd2, %rd3;\n"
                                  "st.global.u64 [%rd1+8], %rd4;\nret;\n"
                                  "SKIP:\nst.global.u64 [%rd1], %rd2;\nst.global.u64 [%rd1+8], %rd3;\nret;\n}\n",
                             "sub", &block), 0);
    /* A load stays, although its address dies: the memory that it reads may change, and other paths may have no such
     * address. */
    assert_int_equal(hoisted(HEAD "add.s64 %rd2, %rd1, 8;\n@%p1 bra SKIP;\nbar.sync 0;\nld.global.u32 %r3, [%rd2];\n"
                                  "st.global.u32 [%rd1], %r3;\nSKIP:\nret;\n}\n", "ld", &block), 0);
    /* A carry stays with what it is added to. */
    assert_int_equal(hoisted(HEAD "add.u32 %r5, %r2, 1;\nxor.b32 %r6, %r1, 3;\n@%p1 bra SKIP;\nbar.sync 0;\n"
                                  "add.cc.u32 %r3, %r1, %r2;\naddc.u32 %r4, %r5, %r6;\n"
                                  "st.global.v2.u32 [%rd1], {%r3, %r4};\nSKIP:\nret;\n}\n", "addc", &block), 0);
    /* The last iteration's values: nothing moves into the loop that makes them. */
    assert_int_equal(hoisted(HEAD "mul.wide.u32 %rd2, %r2, 24;\nLOOP:\nmul.wide.u32 %rd3, %r1, 40;\n"
                                  "st.global.u64 [%rd1], %rd3;\nadd.s32 %r1, %r1, -1;\nsetp.gt.s32 %p3, %r1, 0;\n"
                                  "@%p3 bra LOOP;\nbar.sync 0;\nsub.s64 %rd4, %rd2, %rd3;\ncvt.u32.u64 %r3, %rd4;\n"
                                  "st.global.u32 [%rd1], %r3;\nret;\n}\n", "sub", &block), 0);
}

#define WIDE_LOOP                                                                                                      \
    "mul.wide.u32 %rd2, %r2, 24;\nmul.wide.u32 %rd3, %r1, 40;\nst.global.u64 [%rd1], %rd3;\n"                          \
    "st.global.u64 [%rd1], %rd2;\nadd.s32 %r1, %r1, -1;\nsetp.gt.s32 %p3, %r1, 0;\n"
#define USE "sub.s64 %rd4, %rd2, %rd3;\ncvt.u32.u64 %r3, %rd4;\nst.global.u32 [%rd1], %r3;\nret;\n}\n"

/* An instruction does not move to where it would be executed more often. */
static void nothing_moves_into_loops(void **state)
{
    (void)state;
    uint32_t block;
    assert_int_equal(hoisted(HEAD "LOOP:\n" WIDE_LOOP "@%p3 bra LOOP;\nbar.sync 0;\n" USE, "sub", &block), 0);
    assert_int_equal(block, 2);
    /* A loop with two entries, which is not in the forest of loops. */
    assert_int_equal(hoisted(HEAD "@%p1 bra B;\nA:\n" WIDE_LOOP "@!%p3 bra OUT;\nB:\nst.global.u32 [%rd1+8], %r1;\n"
                                  "bra A;\nOUT:\nbar.sync 0;\n" USE, "sub", &block), 0);
    /* One operand is live all through the loop anyway. */
    assert_int_equal(hoisted(HEAD "mul.wide.u32 %rd2, %r2, 24;\nLOOP:\nmul.wide.u32 %rd3, %r1, 40;\n"
                                  "st.global.u32 [%rd1], 1;\n@%p1 bra SKIP;\nsub.s64 %rd4, %rd2, %rd3;\n"
                                  "st.global.u64 [%rd1+8], %rd4;\nSKIP:\nadd.s32 %r1, %r1, -1;\n"
                                  "setp.gt.s32 %p3, %r1, 0;\n@%p3 bra LOOP;\nret;\n}\n", "sub", &block), 0);
}

static void what_costs_more_stays(void **state)
{
    (void)state;
    uint32_t block;
    /* A division, which machine code makes of a loop or a call. */
    assert_int_equal(hoisted(HEAD WIDE "@%p1 bra SKIP;\nst.global.u32 [%rd1], 1;\ndiv.u64 %rd4, %rd2, %rd3;\n"
                                  "st.global.u64 [%rd1+4], %rd4;\nSKIP:\nret;\n}\n", "div", &block), 0);
    /* One register, read twice. */
    assert_int_equal(hoisted(HEAD "mul.wide.u32 %rd2, %r2, 24;\n@%p1 bra SKIP;\nst.global.u32 [%rd1], 1;\n"
                                  "mul.lo.s64 %rd4, %rd2, %rd2;\nst.global.u64 [%rd1+8], %rd4;\nSKIP:\nret;\n}\n",
                             "mul", &block), 0);
    /* Another path takes the operands on. */
    assert_int_equal(hoisted(HEAD WIDE "@%p1 bra SKIP;\nst.global.u32 [%rd1], 1;\nsub.s64 %rd4, %rd2, %rd3;\n"
                                  "st.global.u64 [%rd1+8], %rd4;\nadd.s64 %rd2, %rd4, 1;\nadd.s64 %rd3, %rd4, 2;\n"
                                  "SKIP:\nst.global.u64 [%rd1+16], %rd2;\nst.global.u64 [%rd1+24], %rd3;\nret;\n}\n",
                             "sub", &block), 0);
    /* On a path on which nothing reads it, an operand has no value. */
    assert_int_equal(hoisted(HEAD "mul.wide.u32 %rd3, %r1, 40;\n@%p1 bra ON;\nmul.wide.u32 %rd2, %r2, 24;\nON:\n"
                                  "st.global.u32 [%rd1], 1;\n@%p1 bra SKIP;\nbar.sync 0;\nsub.s64 %rd4, %rd2, %rd3;\n"
                                  "st.global.u64 [%rd1+8], %rd4;\nSKIP:\nret;\n}\n", "sub", &block), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_into_loops),
        cmocka_unit_test(what_costs_more_stays),
        cmocka_unit_test(what_leaves_less_moves_up),
        cmocka_unit_test(what_leaves_as_much_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
