/* Printed text: spellings are preserved, a module is reduced to what one kernel needs, and the branches, labels and
 * returns that a body leaves implicit are written. */
#include "parsed.h"

#include "emit/emit.h"

#include <stdlib.h>

static void kernel_emit(const Module *module, const Function *kernel, Buf *out)
{
    emit_module_with(module, &(FunctionForm){.function = kernel, .body = kernel->body}, out);
}

/* Canonical text is printed unchanged. */
static void expect_same(const char *text)
{
    Module *module = module_from(text);
    Buf out = {0};
    emit_module(module, &out);
    assert_string_equal(buf_text(&out), text);
    buf_free(&out);
    release(module);
}

static void test_module_scope(void **state)
{
    (void)state;
    expect_same(".version 8.0\n.target sm_80, texmode_unified\n.address_size 64\n\n"
                ".file 1 \"a.cu\"\n"
                ".pragma \"nounroll\";\n"
                ".visible .global .align 8 .b8 table[4] = {1, 0x02, 3};\n"
                ".global .u64 address = table+2;\n"
                ".global .u64 generic_address = generic(table)+1;\n"
                ".global .u8 bytes[2] = {0xff(table), 0xff00(table)};\n"
                ".global .f32 pi = 0f40490FDB;\n"
                ".global .u32 grid[2][2] = {{1, 2}, {3, 4}};\n"
                ".const .align 4 .b8 constants[16];\n"
                ".extern .shared .align 16 .b8 dynamic[];\n"
                ".global .attribute(.managed) .align 4 .u32 managed = 5;\n"
                ".global .texref texture = {addr_mode_0 = wrap, filter_mode = linear};\n"
                ".extern .func (.param .b32 result) vprintf(\n\t.param .b64 format,\n\t.param .b64 arguments\n);\n"
                "\n.visible .entry k(\n\t.param .u64 .ptr .global .align 16 p,\n\t.param .align 8 .b8 s[24]\n)\n"
                ".maxntid 128, 2\n.minnctapersm 3\n.maxnreg 64\n{\n\tret;\n}\n");
}

static void test_statements(void **state)
{
    (void)state;
    expect_same(".version 8.0\n.target sm_80\n\n"
                "\n.func (.param .b32 result) f(\n\t.param .b32 a\n)\n{\n\tret;\n}\n"
                "\n.visible .entry k()\n{\n"
                "\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>, x, y;\n\t.reg .f32 %f<4>;\n\t.reg .b64 %rd<4>;\n"
                "\t.shared .align 4 .b8 tile[64];\n"
                "\t.loc 1 2 3\n"
                "\tmov.u64 %rd1, tile+8;\n"
                "\tld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1+-16];\n"
                "\tsetp.lt.f32 %p0|%p1, %f0, 0f3F800000;\n"
                "\t@!%p0 add.f32 %f1, %f2, 0fBF800000;\n"
                "LOOP:\n"
                "\t.pragma \"nounroll\";\n"
                "\t{\n\t\t.reg .b32 t;\n\t\tmov.u32 t, %tid.x;\n\t\tadd.u32 %r1, t, 0x10;\n\t}\n"
                "\t{\n\t\t.param .b32 arg;\n\t\t.param .b32 out;\n\t\tst.param.b32 [arg], %r1;\n"
                "\t\tcall.uni (out), f, (arg);\n\t\tld.param.b32 %r2, [out];\n\t}\n"
                "\tsetp.ne.and.s32 %p2, %r1, -1, !%p1;\n"
                "\t@%p2 bra LOOP;\n"
                "\tret;\n}\n");
}

static void test_numbers_without_spelling(void **state)
{
    (void)state;
    Module *module =
        module_from(HEADER ".visible .entry k() {\n.reg .u64 %rd1; .reg .u32 %r1; .reg .f32 %f1; .reg .f64 %d1;\n"
                           "mov.u64 %rd1, 1;\nmov.u32 %r1, 1;\nmov.f32 %f1, 1.0;\nmov.f64 %d1, 1.0;\nret;\n}\n");
    Body *body = body_from(module);
    Buf out = {0};
    Inst *ret = body->blocks.data[0]->last;
    RegId rd1 = reg_named(body, "%rd1"), f1 = reg_named(body, "%f1"), d1 = reg_named(body, "%d1");
    inst_insert_before(ret, inst_build(body, "mov.u64", "di", rd1, INT64_MIN));
    inst_insert_before(ret, inst_build(body, "add.s64", "dri", rd1, rd1, (int64_t)-7));
    inst_insert_before(ret, inst_build(body, "mov.f32", "df", f1, UINT32_C(0xbf800000)));
    inst_insert_before(ret, inst_build(body, "mov.f64", "de", d1, UINT64_C(0x7ff0000000000000)));
    body_print(body, true, &out);
    assert_true(buf_has(&out, "mov.u64 %rd1, 0x8000000000000000;"));
    assert_true(buf_has(&out, "add.s64 %rd1, %rd1, -7;"));
    assert_true(buf_has(&out, "mov.f32 %f1, 0fBF800000;"));
    assert_true(buf_has(&out, "mov.f64 %d1, 0d7FF0000000000000;"));
    buf_free(&out);
    release(module);
}

static void test_reduced_module(void **state)
{
    (void)state;
    Module *module =
        module_from(HEADER ".file 1 \"a.cu\"\n"
                           ".func used_by_call();\n"
                           ".func by_address() { ret; }\n"
                           ".func by_variable() { ret; }\n"
                           ".func unused() { ret; }\n"
                           ".global .u64 pointer = by_variable;\n"
                           ".func indirect() { ret; }\n"
                           ".func used_by_call() { call indirect; ret; }\n"
                           ".visible .entry other() { ret; }\n"
                           ".visible .entry k() {\n.reg .u64 %rd1;\n.loc 1 1 1\nmov.u64 %rd1, by_address;\n"
                           "call used_by_call;\nret;\n}\n"
                           ".section .debug_str { L: .b8 0 }\n");
    Buf out = {0};
    kernel_emit(module, function_of(module, "k"), &out);
    assert_true(buf_has(&out, ".func used_by_call();"));
    assert_true(buf_has(&out, ".func used_by_call()\n{"));
    assert_true(buf_has(&out, ".func indirect()\n{"));
    assert_true(buf_has(&out, ".func by_address()"));
    assert_true(buf_has(&out, ".func by_variable()"));
    assert_true(buf_has(&out, ".entry k()"));
    assert_false(buf_has(&out, "unused"));
    assert_false(buf_has(&out, "other"));
    assert_false(buf_has(&out, ".loc"));
    assert_false(buf_has(&out, ".file"));
    assert_false(buf_has(&out, ".section"));
    Module *again = module_from(buf_text(&out));
    release(again);
    buf_free(&out);
    release(module);
}

/* A kernel printed from a body that is not attached to it; the kernel itself is unchanged. */
static void test_other_body(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".func called() { ret; }\n.func other() { ret; }\n"
                                        ".visible .entry k() {\ncall called;\nret;\n}\n");
    Function *kernel = function_of(module, "k");
    const char *reason = NULL;
    Body *body = body_build(kernel, &reason);
    assert_non_null(body);
    body->tuning.maxnreg = 40;
    for (Inst *inst = body->blocks.data[0]->first, *next; inst; inst = next) {
        next = inst->next;
        if (inst_op(inst) == OP_CALL)
            inst_remove(inst);
    }
    Buf with = {0}, own = {0}, after = {0};
    kernel_emit(module, kernel, &own);
    emit_module_with(module, &(FunctionForm){.function = kernel, .body = body}, &with);
    assert_true(buf_has(&own, ".func called()"));
    assert_false(buf_has(&own, ".func other()"));
    assert_false(buf_has(&with, "called"));
    assert_true(buf_has(&with, ".maxnreg 40"));
    emit_module_with(module, &(FunctionForm){.function = kernel}, &after);
    assert_string_equal(buf_text(&after), buf_text(&own));
    assert_null(kernel->body);
    buf_free(&with);
    buf_free(&own);
    buf_free(&after);
    body_free(body);
    release(module);
}

/* The layout of blocks and their edges determine what is printed: branches where control does not fall through, labels
 * for them, and a ret where the source ends without one. */
static void test_layout(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".visible .entry k(.param .u32 n) {\n.reg .pred %p1; .reg .u32 %r<3>;\n"
                                        "ld.param.u32 %r1, [n];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra ZERO;\n"
                                        "st.local.u32 [4], %r1;\nbra END;\nZERO:\nst.local.u32 [8], %r1;\nEND:\n"
                                        "st.local.u32 [12], %r1;\n}\n");
    Body *body = body_from(module);
    Buf out = {0};
    Block *end = body->blocks.data[3], *zero = body->blocks.data[2];
    body->blocks.data[2] = end; /* the last block is no longer at the end */
    body->blocks.data[3] = zero;
    zero->label = end->label; /* as if one were a clone of the other */
    body_renumber(body);
    body_update_preds(body);
    body_verify(body, "a new layout");
    body_print(body, true, &out);
    assert_true(buf_has(&out, "@%p1 bra $L3;"));
    assert_true(
        buf_has(&out, "END:\n\tst.local.u32 [12], %r1;\n\tret;\n$L3:\n\tst.local.u32 [8], %r1;\n\tbra.uni END;\n"));
    buf_free(&out);
    release(module);
}

/* Registers that are printed as a range must not clash with any other name. */
static void test_register_declarations(void **state)
{
    (void)state;
    Module *module =
        module_from(HEADER ".global .u32 x3;\n.visible .entry k() {\n.reg .u32 x<3>, %r<5>, single; .reg .u64 %rd<2>;\n"
                           ".reg .pred %p<4>; .reg .f32 %q1; .reg .u32 %q2;\n"
                           "mov.u64 %rd1, x3;\nmov.u32 x1, 1;\nmov.u32 x2, 2;\nmov.u32 %r1, 1;\nmov.u32 %r4, x1;\n"
                           "mov.u32 single, x2;\nmov.f32 %q1, 1.0;\nmov.u32 %q2, 1;\nret;\n}\n");
    Body *body = body_from(module);
    Buf out = {0};
    body_print(body, true, &out);
    assert_true(buf_has(&out, "\t.reg .u32 %r<5>;\n"));
    assert_true(buf_has(&out, "\t.reg .u32 x<3>;\n"));
    assert_true(buf_has(&out, "\t.reg .f32 %q1;\n"));
    assert_true(buf_has(&out, "single"));
    assert_false(buf_has(&out, "%p"));
    assert_false(buf_has(&out, "%q<"));
    buf_free(&out);
    release(module);
}

static void test_locations_keep_their_callers(void **state)
{
    (void)state;
    Module *module = module_from(
        HEADER ".file 1 \"a.cu\"\n.visible .entry k() {\n.reg .u32 %r<3>;\n"
               ".loc 1 9 1\n.loc 1 3 9, function_name $L__info_string0+2, inlined_at 1 9 1\nmov.u32 %r1, 1;\n"
               "ret;\n}\n.section .debug_str\n{\n$L__info_string0:\n.b8 102,0\n}\n");
    Body *body = body_from(module);
    Buf out = {0};
    body_print(body, true, &out);
    assert_true(
        buf_has(&out, "\t.loc 1 9 1\n\t.loc 1 3 9, function_name $L__info_string0+2, inlined_at 1 9 1\n\tmov.u32"));
    buf_free(&out);
    release(module);
}

#define COMMENTED(first, second, third)                                                                                \
    "// a\r\n" HEADER "\n/* b */ " first "\n// c\n" second "// d\n" third "\n\n// e"
#define FIRST ".entry a()  {ret; /* a's */ }"
#define SECOND                                                                                                         \
    ".visible  .entry k( .param .u64 p ) // k's\n{ // inner\n  .reg .b32  x;\n\n  add .s32 x,x , 1 ; ret; } // end\n"
#define THIRD ".func f\n{\n ret;\n}"

static void expect_as_written(const Module *module, const char *text)
{
    Buf out = {0};
    emit_module_as_written(module, &out);
    assert_string_equal(buf_text(&out), text);
    buf_free(&out);
}

static void test_as_written(void **state)
{
    (void)state;
    const char *text = COMMENTED(FIRST, SECOND, THIRD);
    Module *module = module_from(text);
    assert_true(module_is_as_written(module));
    expect_as_written(module, text);

    Function *kernel = function_of(module, "k");
    kernel->tuning.maxnreg = 24;
    kernel->is_retuned = true;
    assert_false(module_is_as_written(module));
    expect_as_written(module, COMMENTED(FIRST,
                                        ".visible .entry k(\n\t.param .u64 p\n)\n.maxnreg 24\n"
                                        "{ // inner\n  .reg .b32  x;\n\n  add .s32 x,x , 1 ; ret; } // end\n",
                                        THIRD));
    kernel->tuning.maxnreg = 0;
    kernel->is_retuned = false;

    body_from(module);
    expect_as_written(module, COMMENTED(FIRST,
                                        ".visible .entry k(\n\t.param .u64 p\n)\n{\n\t.reg .b32 x;\n\n"
                                        "\tadd.s32 x, x, 1;\n\tret;\n}\n // end\n",
                                        THIRD));
    function_set_body(kernel, NULL);
    expect_as_written(module, text);

    Variable *variable = ARENA_NEW(module->arena, Variable);
    *variable = (Variable){.name = "added", .space = SPACE_CONST, .type = TYPE_U32, .vector = 1, .const_bank = -1};
    Item item = {.kind = ITEM_VARIABLE, .variable = variable};
    VEC_PUSH(module->arena, module->items, item);
    expect_as_written(module, COMMENTED(FIRST, SECOND, THIRD) "\n.const .u32 added;\n");
    release(module);
}

static bool keeps_k(void *context, const Function *function)
{
    ++*(unsigned *)context;
    return strcmp(function->name, "k") == 0;
}

/* Bodies that are not kept are checked like the others. */
static void test_not_kept(void **state)
{
    (void)state;
    static const char text[] = COMMENTED(FIRST, SECOND, THIRD);
    static const char wrong[] = COMMENTED(FIRST, SECOND, ".func g\n{ mov.u32 a, b; bra nowhere; }");
    unsigned asked = 0;
    ParseOptions options = {.keeps = keeps_k, .context = &asked};
    for (unsigned i = 0; i < 2; i++) {
        Arena *arena = arena_new();
        char *messages = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&messages, &length);
        Diag diag;
        Source *source = source_from_memory(arena, "test.ptx", i ? wrong : text, strlen(i ? wrong : text));
        diag_init(&diag, source, out);
        Module *module = parse_module_with(arena, source, &diag, &options);
        fclose(out);
        assert_int_equal(asked, 3 + 3 * i);
        assert_int_equal(diag.errors, i ? 2 : 0);
        if (i) {
            assert_null(module);
            assert_non_null(strstr(messages, "unknown label 'nowhere'"));
        } else {
            assert_true(function_of(module, "a")->is_text);
            assert_int_equal(function_of(module, "a")->stmts.count, 0);
            assert_false(function_of(module, "k")->is_text);
            assert_int_equal(function_of(module, "k")->stmts.count, 3);
            expect_as_written(module, text);
            Buf canonical = {0};
            emit_module(module, &canonical);
            assert_non_null(strstr(buf_text(&canonical), ".entry a()\n{ret; /* a's */ }\n"));
            assert_non_null(strstr(buf_text(&canonical), "\tadd.s32 x, x, 1;\n"));
            buf_free(&canonical);
        }
        free(messages);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_module_scope),
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_numbers_without_spelling),
        cmocka_unit_test(test_reduced_module),
        cmocka_unit_test(test_other_body),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_register_declarations),
        cmocka_unit_test(test_locations_keep_their_callers),
        cmocka_unit_test(test_as_written),
        cmocka_unit_test(test_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
