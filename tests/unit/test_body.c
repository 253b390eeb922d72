/* The body form: how statements become blocks, how flattening changes names, and the editing functions. */
#include "parsed.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_blocks(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".func f() { ret; }\n"
                                        ".visible .entry k() {\n"
                                        ".reg .pred %p<2>; .reg .u32 %r<4>;\n"
                                        "mov.u32 %r1, 1;\n"
                                        "call f;\n"
                                        "setp.eq.u32 %p1, %r1, 0;\n"
                                        "@%p1 bra DONE;\n"
                                        "mov.u32 %r2, 2;\n"
                                        "@!%p1 exit;\n"
                                        "bra.uni DONE;\n"
                                        "mov.u32 %r3, 3;\n"
                                        "DONE: ALSO:\n"
                                        "ret;\n"
                                        "}\n");
    Body *body = body_from(module);
    assert_int_equal(body->blocks.count, 4); /* the code after the bra is unreachable */
    Block *const *blocks = body->blocks.data;
    assert_int_equal(blocks[0]->pred_count, 0);
    assert_ptr_equal(blocks[0]->fall, blocks[1]);
    assert_int_equal(blocks[0]->last->target_count, 1);
    assert_ptr_equal(blocks[0]->last->targets[0], blocks[3]);
    assert_ptr_equal(blocks[1]->fall, blocks[2]); /* a guarded exit falls through */
    assert_null(blocks[2]->fall);
    assert_null(blocks[3]->fall);
    assert_string_equal(blocks[3]->label, "DONE");
    assert_int_equal(blocks[3]->pred_count, 2);
    BlockEdgeVec edges = body_edges(body->arena, body);
    assert_true(edges.data[0].from == 0 && edges.data[0].to == 1);
    assert_true(edges.data[1].from == 0 && edges.data[1].to == 3);
    assert_int_equal(edges.data[2].from, 1);
    release(module);
}

static void test_entry_has_no_predecessors(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".visible .entry k() {\n.reg .pred %p1;\n"
                                        "LOOP:\n@%p1 bra LOOP;\nret;\n}\n");
    Body *body = body_from(module);
    assert_int_equal(body->blocks.count, 3);
    assert_null(body->blocks.data[0]->first);
    assert_ptr_equal(body->blocks.data[0]->fall, body->blocks.data[1]);
    assert_int_equal(body->blocks.data[1]->pred_count, 2);
    release(module);
}

static void test_branch_table(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".visible .entry k() {\n.reg .u32 %r1;\n"
                                        "T: .branchtargets A, B, A;\nbrx.idx %r1, T;\n"
                                        "A:\nmov.u32 %r1, 1;\nB:\nret;\n}\n");
    Body *body = body_from(module);
    const Inst *branch = body->blocks.data[0]->last;
    assert_int_equal(branch->target_count, 3);
    assert_ptr_equal(branch->targets[0], branch->targets[2]);
    BlockEdgeVec edges = body_edges(body->arena, body);
    assert_int_equal(edges.data[1].from, 0);
    assert_int_equal(edges.data[2].from, 1); /* A is a successor once */
    Buf text = {0};
    body_print(body, true, &text);
    assert_true(buf_has(&text, "T: .branchtargets A, B, A;"));
    buf_free(&text);
    release(module);
}

static void test_scopes_are_flattened(void **state)
{
    (void)state;
    Module *module =
        module_from(HEADER ".global .u32 g;\n.visible .entry k() {\n"
                           ".reg .u32 %r1; .reg .u64 %rd1;\n"
                           "{ .reg .u64 %r1; .local .u32 v; mov.u64 %r1, v; st.local.u32 [v], 7; bra L; L: }\n"
                           "{ .reg .u32 %x; .local .u32 v; ld.local.u32 %x, [v]; mov.u32 %r1, %x; bra L; L: }\n"
                           "{ .reg .u32 g; mov.u32 g, 1; }\n"
                           "mov.u64 %rd1, g;\n"
                           "mov.u32 %r1, 2;\nret;\n}\n");
    Body *body = body_from(module);
    assert_int_equal(body->variables.count, 2);
    assert_string_equal(body->variables.data[0]->name, "v");
    assert_string_equal(body->variables.data[1]->name, "v_1");
    assert_true(reg_named(body, "%r1_1") != REG_NONE);
    assert_true(reg_named(body, "g") == REG_NONE); /* it would hide the module's g, which the body reads */
    assert_non_null(block_labelled(body, "L"));
    assert_non_null(block_labelled(body, "L_1"));
    Buf text = {0};
    body_print(body, true, &text);
    assert_true(buf_has(&text, "ld.local.u32 %x, [v_1];"));
    assert_true(buf_has(&text, "st.local.u32 [v], 7;"));
    assert_true(buf_has(&text, "mov.u64 %rd1, g;"));
    buf_free(&text);
    release(module);
}

static void test_locations_and_pragmas(void **state)
{
    (void)state;
    Module *module =
        module_from(HEADER ".file 1 \"a.cu\"\n.visible .entry k(.param .u64 p) {\n"
                           ".reg .pred %p1; .reg .u32 %r<3>; .reg .u64 %rd1;\n"
                           ".loc 1 5 1\nld.param.u64 %rd1, [p];\nmov.u32 %r1, 1;\n"
                           ".pragma \"nounroll\";\nLOOP:\n.loc 1 6 1\n"
                           "add.u32 %r1, %r1, 1;\n.pragma \"used_bytes_mask 3\";\nld.global.u32 %r2, [%rd1];\n"
                           "setp.lt.u32 %p1, %r1, 9;\n@%p1 bra LOOP;\nret;\n}\n");
    Body *body = body_from(module);
    assert_int_equal(body->blocks.data[0]->first->loc->line, 5);
    assert_ptr_equal(body->blocks.data[0]->first->loc, body->blocks.data[0]->last->loc);
    Block *loop = block_labelled(body, "LOOP");
    assert_int_equal(loop->pragmas.count, 1);
    assert_int_equal(loop->first->loc->line, 6);
    assert_non_null(loop->first->next->pragma);
    Buf text = {0};
    body_print(body, true, &text);
    assert_true(buf_has(&text, "LOOP:\n\t.pragma \"nounroll\";\n\t.loc 1 6 1\n\tadd.u32"));
    assert_true(buf_has(&text, "\t.pragma \"used_bytes_mask 3\";\n\tld.global.u32"));
    buf_clear(&text);
    body_print(body, false, &text);
    assert_false(buf_has(&text, ".loc"));
    buf_free(&text);
    release(module);
}

static const char *refusal(const char *text)
{
    static char copy[200];
    const char *reason = NULL;
    Module *module = module_from(text);
    assert_null(body_build(function_of(module, "k"), &reason));
    assert_non_null(reason);
    snprintf(copy, sizeof copy, "%s", reason);
    release(module);
    return copy;
}

static void test_refusals(void **state)
{
    (void)state;
    assert_non_null(strstr(refusal(HEADER ".extern .func k();\n.visible .entry e() { ret; }\n"), "no body"));
}

static void listing_is(const char *text, const char *expected)
{
    Module *module = module_from(text);
    Body *body = body_from(module);
    body_verify(body, "body_build");
    body_to_ssa(body);
    body_verify(body, "body_to_ssa");
    body_from_ssa(body);
    body_verify(body, "body_from_ssa");
    Buf out = {0};
    body_print(body, false, &out);
    assert_string_equal(buf_text(&out), expected);
    buf_free(&out);
    release(module);
}

static void test_vector_registers(void **state)
{
    (void)state;
    listing_is(HEADER ".global .v2 .u32 g;\n.visible .entry k() {\n.reg .v2 .u32 %v;\n.reg .u32 %v_x;\n.reg .pred %p;\n"
                      "mov.u32 %v_x, 1;\nld.global.v2.u32 %v, [g];\nsetp.eq.u32 %p, %v.x, %v_x;\n"
                      "@%p add.u32 %v.g, %v.y, %v_x;\nst.global.v2.u32 [g], %v;\nret;\n}\n",
               "\t.reg .pred %p;\n\t.reg .u32 %v_x, %v_x_1, %v_y;\n\n"
               "\tmov.u32 %v_x, 1;\n\tld.global.v2.u32 {%v_x_1, %v_y}, [g];\n\tsetp.eq.u32 %p, %v_x_1, %v_x;\n"
               "\t@%p add.u32 %v_y, %v_y, %v_x;\n\tst.global.v2.u32 [g], {%v_x_1, %v_y};\n\tret;\n");
    listing_is(HEADER ".visible .entry k() {\n.reg .u32 %r<4>;\n.reg .f32 %f;\n.reg .pred %p;\n"
                      "setp.eq.u32 %p, 0, 0;\n@%p mov.v4.u32 {%r1, _, %f, _}, %tid;\nret;\n}\n",
               "\t.reg .pred %p;\n\t.reg .u32 %r1;\n\t.reg .f32 %f;\n\n"
               "\tsetp.eq.u32 %p, 0, 0;\n\t@%p mov.u32 %r1, %tid.x;\n\t@%p mov.b32 %f, %tid.z;\n\tret;\n");
}

static void test_register_parameters(void **state)
{
    (void)state;
    listing_is(HEADER ".func (.reg .u32 r, .reg .pred q) k(.reg .u32 a, .reg .f64 unused) {\n.reg .pred p;\n"
                      "setp.eq.u32 p, a, 0;\nmov.u32 r, a;\n@p ret;\nadd.u32 a, a, r;\nsetp.lt.u32 q, a, 9;\n}\n",
               "\t.reg .pred p, q_1;\n\t.reg .u32 a_1, r_1;\n\n"
               "\tmov.b32 a_1, a;\n\tsetp.eq.u32 p, a_1, 0;\n\tmov.u32 r_1, a_1;\n\tmov.b32 r, r_1;\n"
               "\tmov.pred q, q_1;\n\t@p ret;\n\tadd.u32 a_1, a_1, r_1;\n\tsetp.lt.u32 q_1, a_1, 9;\n"
               "\tmov.b32 r, r_1;\n\tmov.pred q, q_1;\n");
    /* The printed body form parses back to the same form. */
    listing_is(HEADER ".func (.reg .u32 r) k(.reg .u32 a) {\n.reg .u32 a_1, r_1;\n"
                      "mov.b32 a_1, a;\nadd.u32 r_1, a_1, 1;\nmov.b32 r, r_1;\nret;\n}\n",
               "\t.reg .u32 a_1, r_1;\n\n"
               "\tmov.b32 a_1, a;\n\tadd.u32 r_1, a_1, 1;\n\tmov.b32 r, r_1;\n\tret;\n");
}

/* With debugging every label is kept, in order; otherwise only branch targets are. */
static void test_labels(void **state)
{
    (void)state;
    static const char text[] = ".visible .entry k() {\n.reg .u32 %r;\nA:\nB:\nC:\nmov.u32 %r, 1;\nbra B;\nD:\n"
                               "mov.u32 %r, 2;\nE:\nF:\n}\n";
    Buf debug = {0}, plain = {0};
    buf_printf(&debug, ".version 8.0\n.target sm_80, debug\n.address_size 64\n%s.section .debug_info\n{\n.b64 F\n}\n",
               text);
    buf_printf(&plain, HEADER "%s", text);
    listing_is(buf_text(&debug), "\t.reg .u32 %r;\n\nA:\nB:\nC:\n\tmov.u32 %r, 1;\n\tbra B;\nD:\nE:\nF:\n");
    listing_is(buf_text(&plain), "\t.reg .u32 %r;\n\nB:\n\tmov.u32 %r, 1;\n\tbra B;\n");
    buf_free(&debug);
    buf_free(&plain);
}

/* A register that is written in two operands remains one register. */
static void test_repeated_results(void **state)
{
    (void)state;
    listing_is(HEADER ".visible .entry k() {\n.reg .u32 %r<4>;\n.reg .u64 %d;\nmov.u64 %d, 1;\n"
                      "mov.b64 {%r1, %r1}, %d;\nunknown.u32 %r1, %r2, %r1, %r1;\nret;\n}\n",
               "\t.reg .u32 %r<3>;\n\t.reg .u64 %d;\n\n\tmov.u64 %d, 1;\n"
               "\tmov.b64 {%r1, %r1}, %d;\n\tunknown.u32 %r1, %r2, %r1, %r1;\n\tret;\n");
}

static void test_nesting_costs_no_stack(void **state)
{
    (void)state;
    enum { DEPTH = 50000 };
    Buf text = {0};
    buf_puts(&text, HEADER ".visible .entry k() {\n.reg .u32 %r1;\n");
    for (int i = 0; i < DEPTH; i++)
        buf_puts(&text, "{\n.reg .u32 %x;\nmov.u32 %x, 1;\n");
    for (int i = 0; i < DEPTH; i++)
        buf_puts(&text, "}\n");
    buf_puts(&text, "ret;\n}\n");
    Module *module = module_from(buf_text(&text));
    Body *body = body_from(module);
    assert_int_equal(inst_count(body), DEPTH + 1);
    body_to_ssa(body);
    body_verify(body, "body_to_ssa");
    body_from_ssa(body);
    body_verify(body, "body_from_ssa");
    buf_free(&text);
    release(module);
}

static const char edit_text[] = HEADER ".global .u32 g;\n.global .u32 h;\n.visible .entry k() {\n"
                                       ".reg .pred %p<2>; .reg .u32 %r<4>; .reg .u64 %rd<2>;\n"
                                       "mov.u64 %rd1, g;\nmov.u32 %r1, 1;\nadd.u32 %r2, %r1, 3;\n"
                                       "st.global.u32 [g+4], %r2;\nret;\n}\n";

static void test_building(void **state)
{
    (void)state;
    Module *module = module_from(edit_text);
    Body *body = body_from(module);
    RegId r1 = reg_named(body, "%r1"), r2 = reg_named(body, "%r2"), rd1 = reg_named(body, "%rd1"),
          p1 = reg_named(body, "%p1");
    RegId made = body_add_reg(body, TYPE_U32, "%r1"), copy = body_clone_reg(body, r1);
    assert_true(p1 == REG_NONE); /* not used, so not included */
    assert_string_equal(body->regs.data[made].name, "%r1_1");
    assert_string_equal(body->regs.data[copy].name, "%r1_2");
    assert_int_equal(body->regs.data[copy].origin, r1);
    Buf text = {0};
    const struct {
        Inst *inst;
        const char *text;
    } cases[] = {
        {inst_build(body, "mad.lo.s32", "drri", made, r1, r2, (int64_t)-4), "mad.lo.s32 %r1_1, %r1, %r2, -4;"},
        {inst_build(body, "mov.u32", "ds", made, "%tid.x"), "mov.u32 %r1_1, %tid.x;"},
        {inst_build(body, "mov.u64", "dv", rd1, module_find_variable(module, "g")), "mov.u64 %rd1, g;"},
        {inst_build(body, "st.global.u32", "ar", rd1, (int64_t)-8, made), "st.global.u32 [%rd1+-8], %r1_1;"},
        {inst_build(body, "mov.b32", "df", made, (uint32_t)0x3f800000), "mov.b32 %r1_1, 0f3F800000;"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_clear(&text);
        inst_print(cases[i].inst, &body->regs, &text);
        assert_string_equal(buf_text(&text), cases[i].text);
        inst_insert_before(body->blocks.data[0]->last, cases[i].inst);
        body_verify(body, "inst_build");
    }
    assert_int_equal(cases[0].inst->refs[0].role, REF_DEF);
    assert_int_equal(cases[0].inst->refs[1].role, REF_USE);
    assert_true(inst_uses(cases[0].inst, r1));
    assert_false(inst_uses(cases[0].inst, made));
    buf_free(&text);
    release(module);
}

static void test_editing(void **state)
{
    (void)state;
    Module *module = module_from(edit_text);
    Body *body = body_from(module);
    Block *entry = body->blocks.data[0];
    Inst *add = entry->first->next->next;
    RegId predicate = body_add_reg(body, TYPE_PRED, "%p");
    inst_insert_before(add, inst_build(body, "setp.eq.u32", "dri", predicate, reg_named(body, "%r1"), (int64_t)1));
    inst_set_guard(body, add, predicate, true);
    inst_replace_symbol(body, add->next, module_find_variable(module, "g"), module_find_variable(module, "h"));
    Inst *copy = inst_clone(body, add);
    inst_insert_after(add, copy);
    copy->refs[0].reg = reg_named(body, "%r1");
    Block *tail = body_add_block(body, entry);
    Inst *ret = entry->last;
    inst_remove(ret);
    inst_append(tail, ret);
    entry->fall = tail;
    body_update_preds(body);
    body_verify(body, "edits");
    Buf text = {0};
    body_print(body, true, &text);
    assert_true(buf_has(&text, "\tadd.u32 %r2, %r1, 3;\n") == false);
    assert_true(buf_has(
        &text, "\t@!%p add.u32 %r2, %r1, 3;\n\t@!%p add.u32 %r1, %r1, 3;\n\tst.global.u32 [h+4], %r2;\n\tret;\n"));
    buf_clear(&text);
    /* The statements are unchanged. */
    inst_print(function_of(module, "k")->stmts.data[function_of(module, "k")->stmts.count - 2].inst,
               &function_of(module, "k")->regs, &text);
    assert_string_equal(buf_text(&text), "st.global.u32 [g+4], %r2;");
    Body *clone = body_clone(body);
    body_verify(clone, "body_clone");
    inst_remove(clone->blocks.data[0]->first);
    assert_int_equal(inst_count(clone) + 1, inst_count(body));
    Block *lost = body_add_block(clone, NULL);
    inst_append(lost, inst_build(clone, "ret", ""));
    body_update_preds(clone);
    body_remove_unreachable(clone);
    assert_int_equal(clone->blocks.count, 2);
    body_free(clone);
    buf_free(&text);
    release(module);
}

/* True if the verifier stops the program. */
static bool verifier_objects(const Body *body)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        signal(SIGABRT, SIG_DFL);
        body_verify(body, "a broken pass");
        _exit(0);
    }
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_verifier(void **state)
{
    (void)state;
    Module *module =
        module_from(HEADER ".visible .entry k(.param .u32 n) {\n.reg .pred %p1; .reg .u32 %r<4>;\n"
                           "ld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\n"
                           "add.u32 %r2, %r1, 1;\nEND:\nmov.u32 %r3, %r2;\nret;\n}\n");
    Body *body = body_from(module);
    assert_false(verifier_objects(body));
    Block *entry = body->blocks.data[0], *end = block_labelled(body, "END");
    Inst *saved = entry->first->next->prev;
    entry->first->next->prev = NULL;
    assert_true(verifier_objects(body));
    entry->first->next->prev = saved;
    end->pred_count--;
    assert_true(verifier_objects(body));
    end->pred_count++;
    Block *fall = entry->fall;
    entry->fall = NULL;
    assert_true(verifier_objects(body));
    entry->fall = fall;
    RegId reg = entry->first->refs[0].reg;
    entry->first->refs[0].reg = reg_named(body, "%p1");
    assert_true(verifier_objects(body));
    entry->first->refs[0].reg = reg;
    body_to_ssa(body);
    assert_false(verifier_objects(body));
    PhiArg *arg = &end->phis.data[0].args.data[0];
    RegId kept = arg->reg;
    arg->reg = reg_named(body, "%r3"); /* defined only later */
    assert_true(verifier_objects(body));
    arg->reg = kept;
    end->phis.data[0].args.count--;
    assert_true(verifier_objects(body));
    end->phis.data[0].args.count++;
    entry->first->next->refs[0].reg = reg; /* a second definition */
    assert_true(verifier_objects(body));
    release(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_entry_has_no_predecessors),
        cmocka_unit_test(test_branch_table),
        cmocka_unit_test(test_scopes_are_flattened),
        cmocka_unit_test(test_locations_and_pragmas),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_vector_registers),
        cmocka_unit_test(test_register_parameters),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_repeated_results),
        cmocka_unit_test(test_nesting_costs_no_stack),
        cmocka_unit_test(test_building),
        cmocka_unit_test(test_editing),
        cmocka_unit_test(test_verifier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
