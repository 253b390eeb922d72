/* The words for matching instructions: ir/match.h, and computation_matches(). */
#include "tests/unit/parsed.h"

#include "analysis/evaluate/evaluate.h"

/* The body of a kernel in SSA form whose first instructions these are. */
static Body *body_of(const char *instructions)
{
    static const char before[] = SM_90 ".extern .func callee();\n.visible .entry k() {\n.reg .pred %p<9>;\n"
                                       ".reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .f32 %f<9>;\n"
                                       ".shared .align 8 .b8 array[64];\n";
    Arena *scratch = arena_new();
    Module *module = module_from(arena_printf(scratch, "%s%s\nret;\n}\n", before, instructions));
    arena_free(scratch);
    Body *body = body_from(module);
    body_to_ssa(body);
    return body;
}

static Inst *inst_at(const Body *body, unsigned index)
{
    Inst *inst = body->blocks.data[0]->first;
    while (index--)
        inst = inst->next;
    return inst;
}

/* Checks that the register is a version of the one of this name; with NULL, that it is not a register. */
static void expect_reg(const Body *body, RegId reg, const char *name)
{
    const char *found = reg == REG_NONE ? "none" : body_reg_name(body, reg);
    if (strcmp(found, name ? name : "none") != 0)
        fail_msg("%s, not %s", found, name ? name : "none");
}

static void guards_are_seen(void **state)
{
    (void)state;
    Body *body = body_of("mov.u32 %r1, 1;\n@!%p1 mov.u32 %r1, 2;\nst.shared.u32 [array], %r1;\nunheard.of %r2;\n"
                         "@%p2 st.shared.u32 [array], %r1;");
    static const char *const predicates[] = {NULL, "%p1", NULL, NULL, "%p2"};
    static const bool plain[] = {true, false, true, false, false};
    for (unsigned i = 0; i < COUNT_OF(plain); i++) {
        const Inst *inst = inst_at(body, i);
        assert_int_equal(inst_is_guarded(inst), predicates[i] != NULL);
        expect_reg(body, inst_predicate(inst), predicates[i]);
        assert_int_equal(inst_is_plain(inst), plain[i]);
    }
    release(body->module);
}

static void partial_results_are_not_plain(void **state)
{
    (void)state;
    Body *body = body_of("vadd.u32.u32.u32 %r1, %r2, %r3;\nvadd.u32.u32.u32 %r1.b0, %r2, %r3, %r4;");
    assert_true(inst_is_plain(inst_at(body, 0)));
    expect_reg(body, inst_destination(inst_at(body, 0)), "%r1");
    expect_reg(body, inst_reg(inst_at(body, 1), 0), NULL);
    expect_reg(body, operand_reg(inst_at(body, 1), &inst_at(body, 1)->operands[0]), "%r1");
    expect_reg(body, inst_destination(inst_at(body, 1)), NULL);
    release(body->module);
}

static void registers_are_plain_or_not(void **state)
{
    (void)state;
    Body *body = body_of("add.s32 %r1, %r2, 4;\nvmad.u32.u32.u32 %r1, %r2, %r3, -%r4;\nmov.pred %p1, !%p2;\n"
                         "mov.b64 {%r5, %r6}, %d1;\nvadd.u32.u32.u32 %r1, %r2.b1, %r3;");
    const Inst *sum = inst_at(body, 0), *product = inst_at(body, 1), *opposite = inst_at(body, 2);
    const Inst *halves = inst_at(body, 3), *byte = inst_at(body, 4);
    uint64_t bits = 0;
    expect_reg(body, inst_reg(sum, 0), "%r1");
    expect_reg(body, inst_reg(sum, 1), "%r2");
    expect_reg(body, inst_reg(sum, 2), NULL);
    expect_reg(body, inst_reg(sum, 3), NULL);
    assert_false(operand_is_integer(&sum->operands[1], &bits));
    assert_true(operand_is_integer(&sum->operands[2], &bits));
    assert_int_equal(bits, 4);
    expect_reg(body, inst_reg(product, 3), NULL);
    expect_reg(body, operand_reg(product, &product->operands[3]), "%r4");
    expect_reg(body, inst_reg(opposite, 1), NULL);
    expect_reg(body, operand_reg(opposite, &opposite->operands[1]), "%p2");
    expect_reg(body, inst_reg(halves, 0), NULL);
    expect_reg(body, operand_reg(halves, &halves->operands[0]), NULL);
    expect_reg(body, operand_plain_reg(halves, &halves->operands[0].items[1]), "%r6");
    assert_int_equal(operand_ref(halves, &halves->operands[0].items[1])->role, REF_DEF);
    expect_reg(body, inst_reg(byte, 1), NULL);
    expect_reg(body, operand_reg(byte, &byte->operands[1]), "%r2");
    release(body->module);
}

static void constants_of_floats_are_not_integers(void **state)
{
    (void)state;
    Body *body = body_of("add.f32 %f1, %f2, 0f3F800000;\nmov.u64 %d1, -1;");
    uint64_t bits = 0;
    assert_false(operand_is_integer(&inst_at(body, 0)->operands[2], &bits));
    assert_true(operand_is_integer(&inst_at(body, 1)->operands[1], &bits));
    assert_true(bits == UINT64_MAX);
    release(body->module);
}

static void results_are_counted(void **state)
{
    (void)state;
    Body *body = body_of("mov.b64 {%r1, %r2}, %d1;\nmov.b64 {%r1, _}, %d1;\nsetp.lt.s32 %p1|%p2, %r1, %r2;\n"
                         "st.shared.u32 [array], %r1;\n@%p1 mov.u32 %r3, 1;\nadd.cc.u32 %r4, %r1, %r2;");
    static const char *const results[] = {NULL, "%r1", NULL, NULL, "%r3", "%r4"};
    static const char *const destinations[] = {NULL, NULL, NULL, NULL, "%r3", "%r4"};
    for (unsigned i = 0; i < COUNT_OF(results); i++) {
        expect_reg(body, inst_result(inst_at(body, i)), results[i]);
        expect_reg(body, inst_destination(inst_at(body, i)), destinations[i]);
    }
    release(body->module);
}

static void addresses_have_bases(void **state)
{
    (void)state;
    Body *body = body_of("ld.shared.u32 %r1, [%r2];\nld.global.u32 %r1, [%d1+-8];\nld.shared.u32 %r1, [array+4];\n"
                         "mov.u32 %r1, %r2;");
    static const char *const bases[] = {"%r2", "%d1", NULL, NULL};
    for (unsigned i = 0; i < COUNT_OF(bases); i++)
        expect_reg(body, address_base(inst_at(body, i), &inst_at(body, i)->operands[1]), bases[i]);
    expect_reg(body, address_base(inst_at(body, 0), NULL), NULL);
    release(body->module);
}

static void special_registers_and_callees_are_found(void **state)
{
    (void)state;
    Body *body = body_of("mov.u32 %r1, %ctaid.y;\nmov.u32 %r1, %r2;\ncall callee, ();");
    assert_string_equal(inst_sreg(inst_at(body, 0))->name, "%ctaid.y");
    assert_null(inst_sreg(inst_at(body, 1)));
    assert_null(inst_callee(inst_at(body, 1)));
    assert_string_equal(inst_callee(inst_at(body, 2))->name, "callee");
    release(body->module);
}

static void two_way_branches_are_found(void **state)
{
    (void)state;
    Body *body = body_of("@%p1 bra A;\nmov.u32 %r1, 1;\nbra.uni B;\nA:\n@!%p2 bra B;\nB:\n@%p3 ret;\nC:\n@%p4 bra C;");
    const Block *entry = body->blocks.data[0];
    const Inst *branch = block_two_way_branch(entry);
    assert_ptr_equal(branch, entry->last);
    expect_reg(body, inst_predicate(branch), "%p1");
    for (const Block *block = entry->fall; block != branch->targets[0]; block = body->blocks.data[block->id + 1])
        assert_null(block_two_way_branch(block)); /* bra.uni B */
    assert_null(block_two_way_branch(branch->targets[0])); /* both ways lead to B */
    const Block *leaves = branch->targets[0]->fall;
    assert_null(block_two_way_branch(leaves)); /* @%p3 ret */
    assert_non_null(block_two_way_branch(leaves->fall));
    release(body->module);
}

/* True if the first instruction is an operation on such sources, with a result of that width. */
static bool matches(const char *instructions, ComputeOp op, unsigned bits, const char *sources)
{
    Body *body = body_of(instructions);
    Computation c;
    bool does = computation_matches(body, inst_at(body, 0), op, bits, sources, &c);
    release(body->module);
    return does;
}

static void computations_match(void **state)
{
    (void)state;
    Computation c;
    assert_true(matches("add.s64 %d1, %d2, %d3;", COMPUTE_ADD, 64, "rr"));
    assert_true(matches("add.u64 %d1, %d2, %d3;", COMPUTE_ADD, 64, "xr"));
    assert_true(matches("add.s64 %d1, %d2, -8;", COMPUTE_ADD, 64, "ri"));
    assert_true(matches("mul.wide.s32 %d1, %r2, 4;", COMPUTE_MUL, 64, "ri"));
    assert_true(matches("mad.wide.u32 %d1, %r2, 4, %d3;", COMPUTE_MAD, 64, "xxr"));
    assert_true(matches("and.pred %p1, %p2, %p3;", COMPUTE_AND, 1, "rr"));
    assert_false(matches("add.s64 %d1, %d2, %d3;", COMPUTE_SUB, 64, "rr"));
    assert_false(matches("add.s64 %d1, %d2, %d3;", COMPUTE_ADD, 32, "rr"));
    assert_false(matches("add.s64 %d1, %d2, %d3;", COMPUTE_ADD, 64, "ri"));
    assert_false(matches("add.s64 %d1, %d2, -8;", COMPUTE_ADD, 64, "rr"));
    assert_false(matches("add.cc.u64 %d1, %d2, %d3;", COMPUTE_ADD, 64, "rr"));
    assert_false(matches("addc.u32 %r1, %r2, %r3;", COMPUTE_ADD, 32, "rr"));
    assert_false(matches("@%p1 add.s64 %d1, %d2, %d3;", COMPUTE_ADD, 64, "rr"));
    assert_false(matches("add.f32 %f1, %f2, %f3;", COMPUTE_ADD, 32, "rr"));
    assert_false(computation_matches(NULL, NULL, COMPUTE_ADD, 64, "rr", &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_are_seen),
        cmocka_unit_test(partial_results_are_not_plain),
        cmocka_unit_test(registers_are_plain_or_not),
        cmocka_unit_test(constants_of_floats_are_not_integers),
        cmocka_unit_test(results_are_counted),
        cmocka_unit_test(addresses_have_bases),
        cmocka_unit_test(special_registers_and_callees_are_found),
        cmocka_unit_test(two_way_branches_are_found),
        cmocka_unit_test(computations_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
