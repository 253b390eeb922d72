/* The parser: the parsed form that it builds, the files that it accepts and refuses, and the places of all errors.
 *
 * tests/cases/parse/NAME.ptx lists all its errors, in order, in lines "//! LINE:COLUMN: error: MESSAGE".
 * tests/isa/examples must be accepted; tests/isa/examples-invalid must be refused at the line that ptxas names, or at
 * the one in tests/cases/parse/verdicts.tsv; tests/ptx and corpus, which compilers generated, must be accepted. */
#define _GNU_SOURCE /* memmem */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parser/parser.h"

typedef struct Parse {
    Arena *arena;
    Source *source;
    Module *module;
    Diag diag;
    char *messages; /* freed by parse_end */
} Parse;

static Parse parse_source(Arena *arena, Source *source)
{
    Parse parse = {.arena = arena, .source = source};
    size_t length;
    FILE *out = open_memstream(&parse.messages, &length);
    assert_non_null(out);
    diag_init(&parse.diag, source, out);
    parse.diag.error_limit = 1000;
    parse.diag.quiet = true;
    parse.module = parse_module(arena, source, &parse.diag);
    fclose(out);
    assert_int_equal(parse.module == NULL, parse.diag.errors > 0);
    return parse;
}

static Parse parse_text(const char *text)
{
    Arena *arena = arena_new();
    return parse_source(arena, source_from_memory(arena, "t.ptx", text, strlen(text)));
}

static Parse parse_file(const char *path)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    Source *source = source_read(arena, path, &error);
    if (source == NULL)
        fail_msg("%s: %s", path, error);
    return parse_source(arena, source);
}

static void parse_end(Parse *parse)
{
    free(parse->messages);
    arena_free(parse->arena);
}

#define HEADER ".version 9.0\n.target sm_90\n.address_size 64\n"

/* A module without errors. */
static Parse parse_good(const char *text)
{
    Parse parse = parse_text(text);
    if (parse.module == NULL)
        fail_msg("refused:\n%s", parse.messages);
    return parse;
}

static const Function *function_at(const Parse *parse, const char *name)
{
    const Function *function = module_find_function(parse->module, name);
    assert_non_null(function);
    return function;
}

/* The instruction with this number in the function. */
static const Inst *inst_at(const Function *function, unsigned number)
{
    for (size_t i = 0; i < function->stmts.count; i++) {
        if (function->stmts.data[i].kind == STMT_INST && number-- == 0)
            return function->stmts.data[i].inst;
    }
    fail_msg("no such instruction");
    return NULL;
}

static const Stmt *stmt_of_kind(const Function *function, StmtKind kind, unsigned number)
{
    for (size_t i = 0; i < function->stmts.count; i++) {
        if (function->stmts.data[i].kind == kind && number-- == 0)
            return &function->stmts.data[i];
    }
    fail_msg("no such statement");
    return NULL;
}

static const Reg *reg_of(const Function *function, const Inst *inst, const Operand *operand)
{
    assert_int_equal(operand->kind, OPERAND_REG);
    assert_true(operand->ref < inst->ref_count);
    return &function->regs.data[inst->refs[operand->ref].reg];
}

static void test_header(void **state)
{
    (void)state;
    Parse parse =
        parse_good(".version 8.4 .target sm_90a, texmode_independent, debug .address_size 64 .section .d { .b8 0 }");
    assert_int_equal(parse.module->version, 84);
    assert_int_equal(parse.module->target_count, 3);
    assert_string_equal(parse.module->targets[0], "sm_90a");
    assert_string_equal(parse.module->targets[2], "debug");
    assert_int_equal(parse.module->address_size, 64);
    parse_end(&parse);
}

static void test_variables(void **state)
{
    (void)state;
    Parse parse = parse_good(HEADER ".visible .global .align 16 .v2 .f32 a[2][3], b;\n"
                                    ".global .u32 list[] = {1, -2, 3};\n"
                                    ".const .u64 address[2] = {generic(list)+4, a};\n"
                                    ".global .u8 bytes[1] = {0xff00(list)};\n"
                                    ".extern .shared .b8 dynamic[];\n"
                                    ".global .texref t = {addr_mode_0 = wrap, width = 4};\n"
                                    ".global .u32 r<2>;\n");
    assert_int_equal(parse.module->items.count, 9);
    const Variable *a = module_find_variable(parse.module, "a");
    assert_int_equal(a->space, SPACE_GLOBAL);
    assert_int_equal(a->linkage, LINKAGE_VISIBLE);
    assert_int_equal(a->align, 16);
    assert_int_equal(a->vector, 2);
    assert_int_equal(a->type, TYPE_F32);
    assert_int_equal(a->dim_count, 2);
    assert_int_equal(a->dims[1], 3);
    assert_int_equal(variable_bytes(a), 48);
    assert_false(module_find_variable(parse.module, "b")->is_array);

    const Variable *list = module_find_variable(parse.module, "list");
    assert_int_equal(list->dims[0], 3);
    assert_int_equal(list->init_count, 5);
    assert_int_equal(list->inits[0].kind, INIT_OPEN);
    assert_true(list->inits[2].constant.bits == (uint64_t)-2);
    assert_string_equal(list->inits[2].constant.spelling, "-2");
    assert_int_equal(list->inits[4].kind, INIT_CLOSE);

    const Variable *address = module_find_variable(parse.module, "address");
    assert_int_equal(address->inits[1].kind, INIT_SYMBOL);
    assert_true(address->inits[1].generic);
    assert_ptr_equal(address->inits[1].symbol.variable, list);
    assert_int_equal(address->inits[1].constant.bits, 4);
    assert_ptr_equal(address->inits[2].symbol.variable, a);
    const Variable *bytes = module_find_variable(parse.module, "bytes");
    assert_true(bytes->inits[1].masked);
    assert_int_equal(bytes->inits[1].mask_byte, 1);
    assert_int_equal(module_find_variable(parse.module, "dynamic")->dims[0], 0);
    const Variable *t = module_find_variable(parse.module, "t");
    assert_string_equal(t->inits[1].field, "addr_mode_0");
    assert_string_equal(t->inits[1].word, "wrap");
    assert_int_equal(t->inits[2].constant.bits, 4);
    assert_non_null(module_find_variable(parse.module, "r1"));
    parse_end(&parse);
}

static void test_entry(void **state)
{
    (void)state;
    Parse parse = parse_good(HEADER ".func (.param .b32 r) f(.param .b64 a, .param .align 8 .b8 b[16]);\n"
                                    ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .u32 _)\n"
                                    ".maxntid 16, 8\n.maxnreg 32\n.pragma \"nounroll\";\n{ ret; }\n"
                                    ".func (.param .b32 r) f(.param .b64 x, .param .align 8 .b8 y[16]) { ret; }\n"
                                    ".func g(.reg .u32 n) .noreturn { exit; }\n"
                                    ".visible .func h(); .visible .func e() { ret; } .alias h, e;");
    const Function *k = function_at(&parse, "k");
    assert_true(k->is_entry && k->has_body);
    assert_int_equal(k->linkage, LINKAGE_VISIBLE);
    assert_int_equal(k->prototype.param_count, 2);
    const Variable *p = k->prototype.params[0];
    assert_true(p->is_parameter && p->is_ptr);
    assert_int_equal(p->ptr_space, SPACE_GLOBAL);
    assert_int_equal(p->ptr_align, 16);
    assert_int_equal(p->align, 0);
    assert_ptr_equal(p->function, k);
    assert_null(k->prototype.params[1]->name);
    assert_int_equal(k->tuning.maxntid_count, 2);
    assert_int_equal(k->tuning.maxntid[1], 8);
    assert_int_equal(k->tuning.maxntid[2], 1);
    assert_int_equal(k->tuning.maxnreg, 32);
    assert_int_equal(k->pragmas.count, 1);
    assert_string_equal(k->pragmas.data[0].strings[0], "nounroll");

    const Function *f = function_at(&parse, "f");
    assert_true(f->has_body);
    const Function *declared = parse.module->items.data[0].function;
    assert_false(declared->has_body);
    assert_ptr_equal(declared->definition, f);
    assert_int_equal(f->prototype.return_count, 1);

    const Function *g = function_at(&parse, "g");
    assert_true(g->prototype.noreturn);
    assert_int_equal(g->prototype.params[0]->space, SPACE_REG);
    assert_string_equal(g->regs.data[g->prototype.params[0]->reg].name, "n");
    const Item *alias = &parse.module->items.data[parse.module->items.count - 1];
    assert_int_equal(alias->kind, ITEM_ALIAS);
    assert_string_equal(alias->alias.alias->name, "h");
    assert_string_equal(alias->alias.aliasee->name, "e");
    parse_end(&parse);
}

static void test_registers(void **state)
{
    (void)state;
    Parse parse = parse_good(HEADER ".entry k() {\n.reg .b32 %r<100>, a; .reg .v4 .f32 v;\n"
                                    "add.u32 %r1, %r99, a; { .reg .b64 %r<2>; mov.u64 %r1, 1; mov.u32 %r5, %r007; }\n"
                                    "mov.u32 %r1, %tid.x; mov.f32 v.x, 0f3F800000; }\n");
    const Function *k = function_at(&parse, "k");
    const Inst *add = inst_at(k, 0);
    assert_int_equal(add->operand_count, 3);
    assert_int_equal(add->ref_count, 3);
    assert_int_equal(add->refs[0].role, REF_DEF);
    assert_int_equal(add->refs[1].role, REF_USE);
    assert_string_equal(reg_of(k, add, &add->operands[0])->name, "%r1");
    assert_string_equal(reg_of(k, add, &add->operands[1])->name, "%r99");
    assert_int_equal(reg_of(k, add, &add->operands[2])->type, TYPE_B32);
    const Inst *inner = inst_at(k, 1);
    assert_string_equal(reg_of(k, inner, &inner->operands[0])->name, "%r1");
    assert_int_equal(reg_of(k, inner, &inner->operands[0])->type, TYPE_B64);
    const Inst *zeros = inst_at(k, 2);
    assert_string_equal(reg_of(k, zeros, &zeros->operands[1])->name, "%r7");
    const Inst *special = inst_at(k, 3);
    assert_int_equal(special->refs[0].reg, add->refs[0].reg);
    assert_int_equal(special->operands[1].kind, OPERAND_SREG);
    assert_string_equal(special->operands[1].sreg->name, "%tid.x");
    const Inst *element = inst_at(k, 4);
    assert_string_equal(element->operands[0].selector, ".x");
    assert_int_equal(reg_of(k, element, &element->operands[0])->vector, 4);
    /* Only registers that are used have an entry: %r1 twice, %r99, a, %r5, %r7, v. */
    assert_int_equal(k->regs.count, 7);
    const RegDecl *declaration = stmt_of_kind(k, STMT_REGISTERS, 0)->registers;
    assert_int_equal(declaration->item_count, 2);
    assert_true(declaration->items[0].is_range);
    assert_int_equal(declaration->items[0].count, 100);
    parse_end(&parse);
}

static void test_operands(void **state)
{
    (void)state;
    Parse parse = parse_good(HEADER ".global .b32 g[8];\n.entry k() {\n"
                                    ".reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>;\n"
                                    "@!%p1 ld.global.v2.u32 {%r1, _}, [%rd1+-8];\n"
                                    "setp.lt.s32 %p1|%p2, %r1, (1 + 2) * 3;\n"
                                    "ld.global.u32 %r1, g[2];\n"
                                    "st.global.u32 g[%r1+1], %r2;\n"
                                    "mov.u64 %rd1, g+4;\n"
                                    "vmad.s32.s32.u32 %r3, -%r0.h0, %r1.b3, %r2;\n"
                                    "and.pred %p1, !%p2, %p1;\n"
                                    "ld.local.u32 %r1, [16];\n"
                                    "mov.u32 %r1, 7 /* c */  % 4; }\n");
    const Function *k = function_at(&parse, "k");
    const Inst *load = inst_at(k, 0);
    assert_int_equal(load->guard, 2);
    assert_true(load->guard_inverted);
    assert_int_equal(load->ref_count, 3);
    assert_string_equal(k->regs.data[load->refs[load->guard].reg].name, "%p1");
    assert_int_equal(load->operands[0].kind, OPERAND_VECTOR);
    assert_int_equal(load->operands[0].item_count, 2);
    assert_int_equal(load->operands[0].items[1].kind, OPERAND_SINK);
    assert_int_equal(load->operands[1].kind, OPERAND_ADDRESS);
    assert_true(load->operands[1].constant->bits == (uint64_t)-8);
    assert_string_equal(load->operands[1].constant->spelling, "-8");
    assert_int_equal(load->operands[1].items[0].kind, OPERAND_REG);
    const Inst *compare = inst_at(k, 1);
    assert_int_equal(compare->operands[0].kind, OPERAND_PAIR);
    assert_int_equal(compare->operands[2].constant->bits, 9);
    assert_string_equal(compare->operands[2].constant->spelling, "(1 + 2) * 3");
    const Operand *indexed = &inst_at(k, 2)->operands[1];
    assert_true(indexed->indexed);
    assert_int_equal(indexed->constant->bits, 8);
    const Operand *by_register = &inst_at(k, 3)->operands[0];
    assert_int_equal(by_register->item_count, 2);
    assert_int_equal(by_register->constant->bits, 1);
    const Operand *sum = &inst_at(k, 4)->operands[1];
    assert_int_equal(sum->kind, OPERAND_SYMBOL);
    assert_string_equal(symbol_name(&sum->symbol), "g");
    assert_int_equal(sum->constant->bits, 4);
    assert_true(inst_at(k, 5)->operands[1].negated);
    assert_string_equal(inst_at(k, 5)->operands[1].selector, ".h0");
    assert_true(inst_at(k, 6)->operands[1].inverted);
    assert_int_equal(inst_at(k, 7)->operands[1].items[0].kind, OPERAND_CONSTANT);
    assert_string_equal(inst_at(k, 8)->operands[1].constant->spelling, "7 % 4");
    parse_end(&parse);
}

static void test_labels(void **state)
{
    (void)state;
    Parse parse = parse_good(HEADER ".global .u32 X;\n.entry k() {\n"
                                    ".reg .u32 %r; T: .branchtargets X, Y, X;\n"
                                    "X: bra Y;\n"
                                    "{ bra X; { bra X; } X: bra X; }\n"
                                    "brx.idx %r, T; Y: }\n");
    const Function *k = function_at(&parse, "k");
    const Label *outer = stmt_of_kind(k, STMT_LABEL, 0)->label;
    const Label *inner = stmt_of_kind(k, STMT_LABEL, 1)->label;
    const Label *end = stmt_of_kind(k, STMT_LABEL, 2)->label;
    assert_string_equal(end->name, "Y");
    assert_ptr_equal(end->stmt, stmt_of_kind(k, STMT_LABEL, 2));
    assert_ptr_equal(inst_at(k, 0)->operands[0].symbol.label, end);
    for (unsigned i = 1; i <= 3; i++)
        assert_ptr_equal(inst_at(k, i)->operands[0].symbol.label, inner);
    const Table *table = inst_at(k, 4)->operands[1].symbol.table;
    assert_int_equal(table->count, 3);
    assert_ptr_equal(table->labels[0], outer);
    assert_ptr_equal(table->labels[1], end);
    parse_end(&parse);
}

static void test_calls(void **state)
{
    (void)state;
    Parse parse = parse_good(HEADER ".func (.reg .u32 r) f(.reg .u32 a) { ret; }\n.entry k() {\n"
                                    ".reg .u32 %r<3>; .reg .u64 %rd;\n"
                                    "call (%r1), f, (5);\ncall.uni (_), f, (%r2);\nmov.u64 %rd, f;\n"
                                    "P: .callprototype (.reg .u32 _) _ (.reg .u32 _);\nC: .calltargets f;\n"
                                    "call (%r1), %rd, (%r2), P;\ncall (%r1), %rd, ((1 + 1)), C; }\n");
    const Function *k = function_at(&parse, "k");
    const Inst *call = inst_at(k, 0);
    assert_int_equal(call->operand_count, 3);
    assert_int_equal(call->operands[0].kind, OPERAND_LIST);
    assert_int_equal(call->operands[1].symbol.kind, SYMBOL_FUNCTION);
    assert_int_equal(call->operands[2].kind, OPERAND_LIST);
    assert_int_equal(call->operands[2].item_count, 1);
    assert_string_equal(call->operands[2].items[0].constant->spelling, "5");
    assert_int_equal(call->refs[0].role, REF_DEF);
    const Inst *indirect = inst_at(k, 3);
    assert_int_equal(indirect->operands[3].symbol.table->kind, TABLE_CALL_PROTOTYPE);
    assert_int_equal(indirect->operands[3].symbol.table->prototype.param_count, 1);
    assert_int_equal(inst_at(k, 4)->operands[3].symbol.table->kind, TABLE_CALL_TARGETS);
    assert_string_equal(inst_at(k, 4)->operands[2].items[0].constant->spelling, "(1 + 1)");
    parse_end(&parse);
}

static void test_debug_data(void **state)
{
    (void)state;
    Parse parse =
        parse_good(HEADER ".file 1 \"a.cu\"\n.file 2 \"b.h\", 17, 512\n.entry k() {\n"
                          ".loc 1 12 5\nbar.sync 0;\n"
                          ".loc 2 3 9, function_name $L__info_string0+2, inlined_at 1 12 5\nbar.sync 1;\nret; }\n"
                          ".section .debug_str\n{\n$L__info_string0:\n\t.b8 102,0 // }\n}\n");
    const Function *k = function_at(&parse, "k");
    const Loc *loc = inst_at(k, 0)->loc;
    assert_int_equal(loc->line, 12);
    const Loc *inlined = inst_at(k, 1)->loc;
    assert_true(inlined->inlined);
    assert_string_equal(inlined->function_name, "$L__info_string0");
    assert_int_equal(inlined->function_offset, 2);
    assert_int_equal(inlined->at_column, 5);
    assert_int_equal(parse.module->items.data[1].file.size, 512);
    const Item *section = &parse.module->items.data[3];
    assert_int_equal(section->kind, ITEM_SECTION);
    assert_string_equal(section->section.name, ".debug_str");
    assert_string_equal(section->section.text, "$L__info_string0:\n\t.b8 102,0 // }");
    parse_end(&parse);
}

static void test_constants(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"1+2*3", 7},   {"(1+2)*3", 9},   {"7/2", 3},      {"-7/2", -3},  {"-7 % 4", 1}, {"1<<4|3", 19},
        {"-16>>2", -4}, {"5&3", 1},       {"5^3", 6},      {"~5", -6},    {"!5", 0},     {"-(-5)", 5},
        {"3<=2", 0},    {"1==1", 1},      {"1&&0", 0},     {"1||0", 1},   {"5?1:2", 1},   {"0?1:0?2:3", 3},
        {"1<<2+1", 8},  {"1<<65", 2},     {"WARP_SZ*2-1", 63},            {"(.s64)-1>>63", -1},
        {"(.u64)-1>>63", 1},              {"0xFFFFFFFFFFFFFFFF>>60", 15}, {"-1<0U", 0},
        {"(-9223372036854775807-1)/-1", INT64_MIN},                       {"~0>>63", 1},
        {"(1?-1:2U)>>63", -1},            {"(0xffffffffffffffff/2)>>62", 1}, {"-1>>65", -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[256];
        snprintf(text, sizeof text, HEADER ".entry k() { .reg .b64 %%rd; mov.b64 %%rd, %s; }", cases[i].text);
        Parse parse = parse_good(text);
        const Constant *constant = inst_at(function_at(&parse, "k"), 0)->operands[1].constant;
        if ((int64_t)constant->bits != cases[i].value)
            fail_msg("%s is %lld", cases[i].text, (long long)constant->bits);
        assert_string_equal(constant->spelling, cases[i].text);
        parse_end(&parse);
    }
    Parse parse = parse_good(HEADER ".entry k() { .reg .f64 %fd; mov.f64 %fd, -(1.5*2.0-0.25)/2.0; }");
    const Constant *constant = inst_at(function_at(&parse, "k"), 0)->operands[1].constant;
    double number;
    memcpy(&number, &constant->bits, sizeof number);
    assert_int_equal(constant->kind, CONSTANT_DECIMAL);
    assert_true(number == -1.375);
    parse_end(&parse);
}

/* before, opening repeated, middle, closing repeated, after */
static Parse parse_nested(const char *before, const char *open, const char *middle, const char *close,
                          const char *after, size_t depth)
{
    Buf text = {0};
    buf_puts(&text, before);
    for (size_t i = 0; i < depth; i++)
        buf_puts(&text, open);
    buf_puts(&text, middle);
    for (size_t i = 0; i < depth; i++)
        buf_puts(&text, close);
    buf_puts(&text, after);
    Parse parse = parse_text(buf_text(&text));
    buf_free(&text);
    return parse;
}

static void test_depth(void **state)
{
    (void)state;
    const char *body = HEADER ".entry k() { .reg .b32 %r; ";
    Parse parse = parse_nested(body, "{", "mov.b32 %r, 1;", "}", "}", 100000);
    assert_non_null(parse.module);
    parse_end(&parse);
    parse = parse_nested(HEADER ".entry k() { .reg .b32 %r; mov.b32 %r, ", "(", "1", ")", "; }", 100000);
    assert_non_null(parse.module);
    parse_end(&parse);
    parse = parse_nested(HEADER ".global .u32 a = ", "{", "1", "}", ";", 100000);
    assert_non_null(strstr(parse.messages, "too many levels of braces for 'a'"));
    parse_end(&parse);
    parse = parse_nested(HEADER ".entry k() { .reg .b32 %r; mov.b32 %r, ", "-", "1", "", "; }", 3000000);
    assert_non_null(strstr(parse.messages, "this is nested too deeply"));
    assert_int_equal(parse.diag.errors, 1);
    parse_end(&parse);
}

/* Calls 'check' for each NAME.ptx in the folder, which must contain at least 'least' of them. */
static void for_each_file(const char *folder, unsigned least, void (*check)(const char *path, const char *name))
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        fail_msg("no folder %s", folder);
    unsigned count = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char path[1024];
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".ptx") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        check(path, entry->d_name);
        count++;
    }
    closedir(dir);
    assert_true(count >= least);
}

static unsigned failures;

static void complain(const char *path, const char *what, const char *messages)
{
    print_error("%s: %s\n%s", path, what, messages);
    failures++;
}

static void check_accepted(const char *path, const char *name)
{
    (void)name;
    Parse parse = parse_file(path);
    if (parse.module == NULL)
        complain(path, "refused", parse.messages);
    parse_end(&parse);
}

static void test_accepted(void **state)
{
    (void)state;
    failures = 0;
    for_each_file("tests/isa/examples", 170, check_accepted);
    for_each_file("tests/ptx", 50, check_accepted);
    assert_int_equal(failures, 0);
}

/* The expected line of the file's first error; 0: it must be accepted, -1: the file names no line. */
static int verdict(const char *path, const char *name, const Source *source)
{
    static const char table[] = "tests/cases/parse/verdicts.tsv";
    FILE *file = fopen(table, "r");
    if (file == NULL)
        fail_msg("no %s", table);
    char line[512], key[256], word[64];
    int result = -2;
    while (result == -2 && fgets(line, sizeof line, file)) {
        if (line[0] == '#' || sscanf(line, "%255[^\t]\t%63[^\t]", key, word) != 2)
            continue;
        if (strncmp(name, key, strlen(key)) == 0 && strcmp(name + strlen(key), ".ptx") == 0)
            result = strcmp(word, "accepted") == 0 ? 0 : atoi(word);
    }
    fclose(file);
    if (result != -2)
        return result;
    const char *found = strstr(source->text, "ptxas 13.");
    int place;
    if (!found || sscanf(found, "ptxas 13.%*u: line %d", &place) != 1) {
        complain(path, "names no line", "");
        return -1;
    }
    return place;
}

static int first_error_line(const Parse *parse)
{
    const char *error = strstr(parse->messages, ": error: ");
    if (error == NULL)
        return 0;
    while (error > parse->messages && error[-1] != '\n')
        error--;
    size_t path = strlen(parse->source->path);
    return strncmp(error, parse->source->path, path) == 0 && error[path] == ':' ? atoi(error + path + 1) : -1;
}

static void check_refused(const char *path, const char *name)
{
    Parse parse = parse_file(path);
    int wanted = verdict(path, name, parse.source);
    int line = first_error_line(&parse);
    if (line != wanted) {
        print_error("%s: first error on line %d, not %d\n%s", path, line, wanted, parse.messages);
        failures++;
    }
    parse_end(&parse);
}

static void test_refused(void **state)
{
    (void)state;
    failures = 0;
    for_each_file("tests/isa/examples-invalid", 300, check_refused);
    assert_int_equal(failures, 0);
}

/* Copies the rest of each line that begins with 'prefix' and contains 'wanted'. */
static void collect(const char *text, const char *prefix, const char *wanted, Buf *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        size_t skip = strlen(prefix);
        if (strncmp(text, prefix, skip) == 0 && memmem(text, length, wanted, strlen(wanted))) {
            buf_write(out, text + skip, length - skip);
            buf_putc(out, '\n');
        }
        text += length + (text[length] == '\n');
    }
}

static void check_messages(const char *path, const char *name)
{
    (void)name;
    Parse parse = parse_file(path);
    Buf wanted = {0}, found = {0};
    char prefix[1024];
    snprintf(prefix, sizeof prefix, "%s:", path);
    collect(parse.source->text, "//! ", ": error: ", &wanted);
    collect(parse.messages, prefix, ": error: ", &found);
    if (strcmp(buf_text(&wanted), buf_text(&found)) != 0)
        complain(path, "its errors differ from those it lists; they are:", buf_text(&found));
    buf_free(&wanted);
    buf_free(&found);
    parse_end(&parse);
}

static void test_messages(void **state)
{
    (void)state;
    failures = 0;
    for_each_file("tests/cases/parse", 10, check_messages);
    assert_int_equal(failures, 0);
}

/* Every prefix of a module is accepted or refused; none crashes the parser. */
static void test_prefixes(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *error = NULL;
    Source *source = source_read(arena, "tests/isa/examples/lex-names-scopes-labels.ptx", &error);
    assert_non_null(source);
    for (size_t size = 0; size < source->size; size += 3) {
        Arena *part = arena_new();
        Parse parse = parse_source(part, source_from_memory(part, "part.ptx", source->text, size));
        parse_end(&parse);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),    cmocka_unit_test(test_variables),  cmocka_unit_test(test_entry),
        cmocka_unit_test(test_registers), cmocka_unit_test(test_operands),   cmocka_unit_test(test_labels),
        cmocka_unit_test(test_calls),     cmocka_unit_test(test_debug_data), cmocka_unit_test(test_constants),
        cmocka_unit_test(test_depth),     cmocka_unit_test(test_accepted),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_messages),  cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests_name("parser", tests, NULL, NULL);
}
