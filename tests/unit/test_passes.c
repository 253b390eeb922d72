/* Dead code, equal values, and the pass table. */
#include "parsed.h"

#include "opt/opt.h"
#include "tests/tools/one_pass.h"
#include "opt/passes.h"

/* A kernel "k" with this code between the declarations and the final ret; %a is the address of a buffer. */
static Body *body_of(Module **module, const char *code)
{
    Buf text = {0};
    buf_puts(&text, SM_90 ".func (.param .b32 r) f(.param .b32 x)\n{\n\tret;\n}\n"
                           ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n"
                           "\t.reg .b32 %r<20>;\n\t.reg .b64 %a, %d<8>;\n\t.reg .f32 %f<8>;\n\t.reg .s32 %s<8>;\n"
                           "\t.reg .pred %p<8>;\n\t.reg .b16 %h<4>;\n\tld.param.u64 %a, [out];\n");
    buf_puts(&text, code);
    buf_puts(&text, "\tret;\n}\n");
    *module = module_from(buf_text(&text));
    Body *body = body_from(*module);
    body_to_ssa(body);
    body_verify(body, "SSA");
    buf_free(&text);
    return body;
}

static size_t count_phis(const Body *body)
{
    size_t count = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        count += body->blocks.data[b]->phis.count;
    return count;
}

static void check_dead(const char *code, unsigned removed)
{
    Module *module;
    Body *body = body_of(&module, code);
    unsigned got = one_dead_code(body);
    body_verify(body, "dead code");
    if (got != removed)
        fail_msg("%u removed, not %u:\n%s", got, removed, code);
    assert_int_equal(one_dead_code(body), 0);
    release(module);
}

static void test_dead_code(void **state)
{
    (void)state;
    check_dead("\tst.global.u32 [%a], 1;\n", 0);
    /* the address is dead, as is everything computed from it */
    check_dead("\tmov.u32 %r1, 1;\n\tadd.u32 %r2, %r1, 1;\n\tadd.u64 %d1, %a, 4;\n", 4);
    check_dead("\tld.global.u32 %r1, [%a];\n", 2);
    check_dead("\tld.volatile.global.u32 %r1, [%a];\n", 0);
    check_dead("\tld.relaxed.gpu.global.u32 %r1, [%a];\n", 0);
    check_dead("\tatom.global.add.u32 %r1, [%a], 1;\n", 0);
    check_dead("\tmov.u32 %r1, %clock;\n\tst.global.u32 [%a], 1;\n", 0);
    check_dead("\tmov.u32 %r1, %laneid;\n\tst.global.u32 [%a], 1;\n", 1);
    check_dead("\tshfl.sync.bfly.b32 %r1, 5, 1, 31, -1;\n\tst.global.u32 [%a], 1;\n", 0);
    check_dead("\tadd.cc.u32 %r1, 1, 2;\n\taddc.u32 %r2, 3, 4;\n\tst.global.u32 [%a], %r2;\n", 0);
    check_dead("\tprefetch.global.L1 [%a];\n", 0);
    /* one live result of two keeps the instruction */
    check_dead("\tsetp.eq.u32 %p1|%p2, 1, 2;\n\t@%p2 st.global.u32 [%a], 1;\n", 0);
    /* a guarded definition keeps the previous one alive */
    check_dead("\tmov.u32 %r1, 1;\n\tld.param.u32 %r3, [n];\n\tsetp.eq.u32 %p1, %r3, 2;\n\t@%p1 mov.u32 %r1, 3;\n"
               "\tst.global.u32 [%a], %r1;\n",
               0);
}

static void test_dead_cycle(void **state)
{
    (void)state;
    Module *module;
    Body *body = body_of(&module, "\tmov.u32 %r1, 0;\n\tmov.u32 %r2, 0;\nL:\n\tadd.u32 %r1, %r1, 1;\n"
                                  "\tmad.lo.u32 %r2, %r2, 3, %r1;\n\tsetp.lt.u32 %p1, %r1, 9;\n\t@%p1 bra L;\n"
                                  "\tst.global.u32 [%a], %r1;\n");
    assert_int_equal(count_phis(body), 2);
    assert_int_equal(one_dead_code(body), 3); /* the mad, its phi, its start */
    body_verify(body, "dead code");
    assert_int_equal(count_phis(body), 1);
    assert_int_equal(count_op(body, OP_MAD), 0);
    release(module);
}

/* Merges equal values; returns how many instructions of this opcode remain. */
static void check_merged(const char *code, Opcode op, size_t left)
{
    Module *module;
    Body *body = body_of(&module, code);
    one_merge(body);
    body_verify(body, "merging");
    if (count_op(body, op) != left)
        fail_msg("%zu %s left, not %zu:\n%s", count_op(body, op), opcode_name(op), left, code);
    body_from_ssa(body);
    body_verify(body, "out of SSA");
    release(module);
}

#define N "\tld.param.u32 %r1, [n];\n"

static void test_merge_straight(void **state)
{
    (void)state;
    check_merged(N "\tadd.u32 %r2, %r1, 1;\n\tadd.u32 %r3, %r1, 1;\n\tst.global.v2.u32 [%a], {%r2, %r3};\n", OP_ADD, 1);
    check_merged(N "\tadd.u32 %r2, %r1, 1;\n\tadd.u32 %r3, %r1, 2;\n\tst.global.v2.u32 [%a], {%r2, %r3};\n", OP_ADD, 2);
    check_merged(N "\tadd.u32 %r2, %r1, 1;\n\tadd.s32 %r3, %r1, 1;\n\tst.global.v2.u32 [%a], {%r2, %r3};\n", OP_ADD, 2);
    check_merged(
        N "\tadd.u32 %r2, %r1, 1;\n\tmul.lo.u32 %r4, %r2, 3;\n\tadd.u32 %r3, %r1, 1;\n\tmul.lo.u32 %r5, %r3, 3;\n"
          "\tst.global.v2.u32 [%a], {%r4, %r5};\n",
        OP_MUL, 1);
    check_merged("\tld.param.u32 %r1, [n];\n\tld.param.u32 %r2, [n];\n\tst.global.v2.u32 [%a], {%r1, %r2};\n", OP_LD,
                 2);
    check_merged("\tld.global.u32 %r1, [%a];\n\tld.global.u32 %r2, [%a];\n\tst.global.v2.u32 [%a+8], {%r1, %r2};\n",
                 OP_LD, 3);
    check_merged(
        "\tld.global.nc.u32 %r1, [%a];\n\tld.global.nc.u32 %r2, [%a];\n\tst.global.v2.u32 [%a+8], {%r1, %r2};\n", OP_LD,
        2);
    check_merged("\tld.global.nc.u32 %r1, [%a];\n\tgriddepcontrol.wait;\n\tld.global.nc.u32 %r2, [%a];\n"
                 "\tst.global.v2.u32 [%a+8], {%r1, %r2};\n", OP_LD, 3);
    check_merged(
        "\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %tid.x;\n\tadd.u32 %r3, %r1, %r2;\n\tst.global.u32 [%a], %r3;\n",
        OP_MOV, 1);
    check_merged(
        "\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %tid.y;\n\tadd.u32 %r3, %r1, %r2;\n\tst.global.u32 [%a], %r3;\n",
        OP_MOV, 2);
    check_merged(
        "\tmov.u32 %r1, %clock;\n\tmov.u32 %r2, %clock;\n\tadd.u32 %r3, %r1, %r2;\n\tst.global.u32 [%a], %r3;\n",
        OP_MOV, 2);
    check_merged("\tatom.global.add.u32 %r1, [%a], 1;\n\tatom.global.add.u32 %r2, [%a], 1;\n"
                 "\tst.global.v2.u32 [%a+8], {%r1, %r2};\n",
                 OP_ATOM, 2);
    check_merged(N "\tshfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\n\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n"
                   "\tst.global.v2.u32 [%a], {%r2, %r3};\n",
                 OP_SHFL, 2);
    check_merged(N
                 "\tadd.cc.u32 %r2, %r1, 1;\n\taddc.u32 %r3, 0, 0;\n\tadd.cc.u32 %r4, %r1, 1;\n\taddc.u32 %r5, 0, 0;\n"
                 "\tst.global.v4.u32 [%a], {%r2, %r3, %r4, %r5};\n",
                 OP_ADDC, 2);
    /* two results each */
    check_merged(N "\tsetp.lt.u32 %p1|%p2, %r1, 5;\n\tsetp.lt.u32 %p3|%p4, %r1, 5;\n\tselp.u32 %r2, 1, 2, %p2;\n"
                   "\tselp.u32 %r3, 1, 2, %p4;\n\tst.global.v2.u32 [%a], {%r2, %r3};\n",
                 OP_SELP, 1);
}

static void test_merge_guards(void **state)
{
    (void)state;
    check_merged(N "\tsetp.lt.u32 %p1, %r1, 5;\n\tmov.u32 %r2, 0;\n\tmov.u32 %r3, 1;\n\t@%p1 add.u32 %r2, %r1, 1;\n"
                   "\t@%p1 add.u32 %r3, %r1, 1;\n\tst.global.v2.u32 [%a], {%r2, %r3};\n",
                 OP_ADD, 2);
    /* !%p is not %p */
    check_merged(N "\tsetp.lt.u32 %p1, %r1, 5;\n\tsetp.gt.u32 %p4, %r1, 2;\n\tand.pred %p2, %p4, %p1;\n"
                   "\tand.pred %p3, %p4, !%p1;\n\t@%p2 st.global.u32 [%a], 1;\n\t@%p3 st.global.u32 [%a], 2;\n",
                 OP_AND, 2);
    /* p & p is p */
    check_merged(N "\tsetp.lt.u32 %p1, %r1, 5;\n\tand.pred %p2, %p1, %p1;\n\t@%p2 st.global.u32 [%a], 1;\n", OP_AND, 0);
}

/* Choices between a value and itself. */
static void test_merge_choices(void **state)
{
    (void)state;
    check_merged(N "\tsetp.lt.u32 %p1, %r1, 5;\n\tselp.b32 %r2, %r1, %r1, %p1;\n\tst.global.u32 [%a], %r2;\n", OP_SELP,
                 0);
    check_merged(N "\tor.b32 %r2, %r1, %r1;\n\txor.b32 %r3, %r2, %r1;\n\tst.global.u32 [%a], %r3;\n", OP_XOR, 1);
}

/* Copies of what guarded instructions compute, which keep an old value: how many are left. */
static void check_kept(const char *code, size_t left)
{
    Module *module;
    Body *body = body_of(&module, code);
    one_kept_copies(body);
    body_verify(body, "folding");
    if (count_op(body, OP_MOV) != left)
        fail_msg("%zu copies left, not %zu:\n%s", count_op(body, OP_MOV), left, code);
    body_from_ssa(body);
    body_verify(body, "out of SSA");
    release(module);
}

static void test_kept_copies(void **state)
{
    (void)state;
#define SUM N "\tsetp.lt.u32 %p1, %r1, 5;\n\tadd.u32 %r2, %r1, 1;\n\t@%p1 mul.lo.u32 %r3, %r1, %r2;\n"
#define STORE "\tst.global.u32 [%a], %r2;\n"
    check_kept(SUM "\t@%p1 mov.u32 %r2, %r3;\n" STORE, 0);
    /* another guard; another reader; the old value is read between */
    check_kept(SUM "\t@!%p1 mov.u32 %r2, %r3;\n" STORE, 1);
    check_kept(SUM "\t@%p1 mov.u32 %r2, %r3;\n" STORE "\t@%p1 st.global.u32 [%a+4], %r3;\n", 1);
    check_kept(SUM "\tst.global.u32 [%a+4], %r2;\n\t@%p1 mov.u32 %r2, %r3;\n" STORE, 1);
    /* the old value is made after the product */
    check_kept(N "\tsetp.lt.u32 %p1, %r1, 5;\n\t@%p1 mul.lo.u32 %r3, %r1, %r1;\n\tadd.u32 %r2, %r1, 1;\n"
                 "\t@%p1 mov.u32 %r2, %r3;\n" STORE, 1);
    /* a sum of several rounds */
    check_kept(SUM "\t@%p1 mov.u32 %r2, %r3;\n\t@%p1 mul.lo.u32 %r4, %r1, %r2;\n\t@%p1 mov.u32 %r2, %r4;\n" STORE, 0);
#undef STORE
#undef SUM
}

static void test_merge_copies(void **state)
{
    (void)state;
    check_merged(N "\tmov.b32 %r2, %r1;\n\tadd.u32 %r3, %r2, 1;\n\tst.global.u32 [%a], %r3;\n", OP_MOV, 0);
    /* a .b32 register can replace an .f32 one; not the reverse */
    check_merged(N "\tmov.b32 %f1, %r1;\n\tadd.f32 %f2, %f1, 0f3f800000;\n\tst.global.f32 [%a], %f2;\n", OP_MOV, 0);
    check_merged(
        "\tld.global.f32 %f1, [%a];\n\tmov.b32 %r2, %f1;\n\tadd.u32 %r3, %r2, 1;\n\tst.global.u32 [%a], %r3;\n", OP_MOV,
        1);
    check_merged(
        "\tld.global.f32 %f1, [%a];\n\tmov.b32 %s2, %f1;\n\tadd.s32 %s3, %s2, 1;\n\tst.global.s32 [%a], %s3;\n", OP_MOV,
        1);
    check_merged(N "\tmov.b32 {%h1, %h2}, %r1;\n\tmov.b32 %r2, {%h2, %h1};\n\tst.global.u32 [%a], %r2;\n", OP_MOV, 2);
}

static void test_merge_flow(void **state)
{
    (void)state;
    /* below, and beside */
    check_merged(N "\tadd.u32 %r2, %r1, 1;\n\tsetp.lt.u32 %p1, %r1, 5;\n\t@%p1 bra L;\n\tadd.u32 %r3, %r1, 1;\n"
                   "\tst.global.u32 [%a], %r3;\nL:\n\tst.global.u32 [%a+4], %r2;\n",
                 OP_ADD, 1);
    check_merged(
        N
        "\tsetp.lt.u32 %p1, %r1, 5;\n\t@%p1 bra L;\n\tadd.u32 %r3, %r1, 1;\n\tst.global.u32 [%a], %r3;\n\tbra J;\nL:\n"
        "\tadd.u32 %r2, %r1, 1;\n\tst.global.u32 [%a+4], %r2;\nJ:\n\tadd.u32 %r4, %r1, 1;\n\tst.global.u32 [%a], "
        "%r4;\n",
        OP_ADD, 3);
}

static void test_merge_phis(void **state)
{
    (void)state;
    Module *module;
    /* both paths give the same value: no phi is needed, and the sums after it are equal */
    Body *body =
        body_of(&module, N "\tsetp.lt.u32 %p1, %r1, 5;\n\t@%p1 bra L;\n\tadd.u32 %r2, %r1, 0;\n\tmov.u32 %r3, %r1;\n"
                           "\tbra J;\nL:\n\tmov.u32 %r3, %r1;\nJ:\n\tadd.u32 %r4, %r3, 7;\n\tadd.u32 %r5, %r1, 7;\n"
                           "\tst.global.v2.u32 [%a], {%r4, %r5};\n");
    assert_int_equal(count_phis(body), 1);
    assert_true(one_merge(body) >= 4);
    body_verify(body, "merging");
    assert_int_equal(count_phis(body), 0);
    release(module);
    /* two phis with equal arguments; around a loop only the second walk sees that */
    body = body_of(&module,
                   N "\tmov.u32 %r2, %r1;\n\tmov.u32 %r5, 0;\nL:\n\tmov.u32 %r3, %r2;\n\tadd.u32 %r5, %r5, 1;\n"
                     "\tmov.u32 %r2, %r3;\n\tsetp.lt.u32 %p1, %r5, %r2;\n\t@%p1 bra L;\n\tst.global.u32 [%a], %r2;\n");
    assert_int_equal(count_phis(body), 2);
    one_merge(body);
    body_verify(body, "merging");
    assert_int_equal(count_phis(body), 1);
    release(module);
    body = body_of(&module, N "\tsetp.lt.u32 %p1, %r1, 5;\n\tmov.u32 %r2, 4;\n\tmov.u32 %r3, 4;\n\t@%p1 bra J;\n"
                              "\tmov.u32 %r2, 9;\n\tmov.u32 %r3, 9;\nJ:\n\tst.global.v2.u32 [%a], {%r2, %r3};\n");
    assert_int_equal(count_phis(body), 2);
    one_merge(body);
    body_verify(body, "merging");
    assert_int_equal(count_phis(body), 1);
    release(module);
}

/* The rows are consistent, and names are unique. */
static void test_table(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PASS_COUNT; i++) {
        const Pass *pass = &pass_table[i];
        assert_non_null(pass->run);
        assert_non_null(pass->description);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(pass_table[j].name, pass->name);
        if (pass->preserves & PROPERTY_FLOW && pass->requires & PROPERTY_SSA)
            assert_false(pass->invalidates & ANALYSES_FLOW);
        if (pass->invalidates & ANALYSES_FLOW)
            assert_int_equal(pass->invalidates, ANALYSES_ALL);
    }
}

/* "always", "never" or "open": what the pass makes of a branch on %p1; %r1 is an index below 1024, %r3 and %p7 are from
 * memory. */
static const char *decided(const char *code)
{
    Arena *arena = arena_new();
    Module *module;
    Body *body = body_of(&module, arena_printf(arena, "\tmov.u32 %%r1, %%tid.x;\n\tld.global.u32 %%r3, [%%a];\n"
                                                      "\tsetp.eq.u32 %%p7, %%r3, 77;\n%s\n\t@%%p1 bra A;\n"
                                                      "\tst.global.u32 [%%a], 1;\n\tbra B;\nA:\n"
                                                      "\tst.global.u64 [%%a], %%a;\nB:\n", code));
    one_pass(&body, PASS_DECIDE);
    body_verify(body, "decide");
    bool left[2] = {false, false};
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_op(inst) == OP_ST)
                left[inst_has(inst, MOD_U64)] = true;
    release(module);
    arena_free(arena);
    return left[0] && left[1] ? "open" : left[1] ? "always" : "never";
}

static void test_decide(void **state)
{
    (void)state;
    static const struct {
        const char *code, *outcome;
    } cases[] = {
        {"\tsetp.lt.u32 %p1, %r1, 1024;", "always"},
        {"\tsetp.ls.u32 %p1, %r1, 1023;", "always"},
        {"\tsetp.hi.u32 %p1, %r1, 1023;", "never"},
        {"\tsetp.lt.u32 %p1, %r1, 1023;", "open"},
        {"\tsetp.lt.s32 %p1, %r1, -1;", "never"},
        {"\tsetp.lt.u32 %p1, %r1, -1;", "always"},
        {"\tsub.u32 %r2, %r1, 1;\n\tsetp.lt.s32 %p1, %r2, 1023;", "always"},
        {"\tsub.u32 %r2, %r1, 1;\n\tsetp.lt.u32 %p1, %r2, 1023;", "open"},
        {"\tcvt.u32.u8 %r2, %r3;\n\tsetp.gt.u32 %p1, %r2, 255;", "never"},
        {"\tcvt.s32.s8 %r2, %r3;\n\tsetp.lt.u32 %p1, %r2, 128;", "open"},
        {"\tcvt.s8.u32 %r2, %r1;\n\tsetp.lt.s32 %p1, %r2, 0;", "open"},
        {"\tcvt.s8.u32 %r2, %r1;\n\tsetp.gt.u32 %p1, %r2, 255;", "open"},
        {"\tcvt.u16.u32 %h1, %r3;\n\tcvt.s32.s16 %r2, %h1;\n\tsetp.ge.s32 %p1, %r2, 0;", "open"},
        {"\tmov.u32 %r4, 1;\n\tmin.s16x2 %r2, %r3, %r4;\n\tsetp.gt.u32 %p1, %r2, 1;", "open"},
        {"\tmov.u32 %r4, 1;\n\tmin.s16x2 %r2, %r3, %r4;\n\tsetp.gt.s32 %p1, %r2, 1;", "open"},
        {"\tmax.u16x2 %r2, %r3, %r1;\n\tsetp.ge.u32 %p1, %r2, %r1;", "open"},
        {"\tadd.u16x2 %r2, %r1, %r1;\n\tsetp.lt.u32 %p1, %r2, 2048;", "open"},
        {"\tmin.u32 %r2, %r3, 5;\n\tsetp.gt.u32 %p1, %r2, 5;", "never"},
        {"\tmin.s32 %r2, %r3, 5;\n\tsetp.gt.u32 %p1, %r2, 5;", "open"},
        {"\tshr.s32 %r2, %r3, 28;\n\tsetp.lt.u32 %p1, %r2, 16;", "open"},
        {"\tshr.u32 %r2, %r3, 28;\n\tsetp.lt.u32 %p1, %r2, 16;", "always"},
        {"\tshl.b32 %r2, %r1, 22;\n\tsetp.ge.s32 %p1, %r2, 0;", "open"},
        {"\tsetp.ge.u32 %p2, %r1, 1024;\n\tsetp.eq.and.u32 %p1, %r3, 7, %p2;", "never"},
        {"\tsetp.ge.u32 %p2, %r1, 1024;\n\tsetp.eq.or.u32 %p1, %r3, 7, !%p2;", "always"},
        {"\tsetp.ge.u32 %p2, %r1, 1024;\n\tsetp.eq.or.u32 %p1, %r3, 7, %p2;", "open"},
        {"\tsetp.ge.u32 %p2, %r1, 1024;\n\tsetp.lt.xor.u32 %p1, %r1, 1024, %p2;", "always"},
        {"\tsetp.lt.u32 %p2, %r1, 1024;\n\tsetp.lt.xor.u32 %p1, %r1, 1024, %p2;", "never"},
        {"\tsetp.ge.u32 %p2, %r1, 1024;\n\tnot.pred %p1, %p2;", "always"},
        {"\tsetp.ge.u32 %p2, %r1, 1024;\n\tand.pred %p1, %p7, %p2;", "never"},
        {"\tsetp.lt.u32 %p2, %r1, 1024;\n\tand.pred %p1, %p7, %p2;", "open"},
        {"\tmov.pred %p1, %p7;\n\t@%p7 setp.lt.u32 %p1, %r1, 1024;", "open"},
        {"\tsetp.lt.u32 %p2|%p1, %r1, 1024;", "open"},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++)
        if (strcmp(decided(cases[i].code), cases[i].outcome) != 0)
            fail_msg("%s, not %s:\n%s", decided(cases[i].code), cases[i].outcome, cases[i].code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dead_code),   cmocka_unit_test(test_dead_cycle),  cmocka_unit_test(test_merge_straight),
        cmocka_unit_test(test_merge_guards), cmocka_unit_test(test_merge_choices), cmocka_unit_test(test_kept_copies),
        cmocka_unit_test(test_merge_copies), cmocka_unit_test(test_merge_flow),
        cmocka_unit_test(test_merge_phis),  cmocka_unit_test(test_decide),     cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
