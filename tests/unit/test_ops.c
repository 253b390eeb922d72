/* The instruction table: every row and alternative matches its own spelling, operands bind with the right roles, types
 * and effects, and instructions that an assembler refuses are refused with a message that says why. The file is long
 * because it has a case for each kind of operand and each kind of refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ir/table/internal.h"

/* A small reader for one instruction, so that these tests depend on ir/ only. */

typedef struct Fixture {
    Arena *arena;
    Module *module;
    Function function, callee, kernel;
    Diag diag;
    FILE *messages;
    char *text;
    size_t text_size;
    const char *at;
    Inst *inst;
} Fixture;

static Variable *new_variable(Fixture *f, const char *name, Space space, Type type, uint64_t count)
{
    Variable *variable = ARENA_NEW(f->arena, Variable);
    variable->name = intern(f->module->names, name);
    variable->space = space;
    variable->type = type;
    variable->vector = 1;
    if (count) {
        variable->is_array = true;
        variable->dims = ARENA_ARRAY(f->arena, uint64_t, 1);
        variable->dims[0] = count;
        variable->dim_count = 1;
    }
    return variable;
}

static Variable *shared_array, *global_array, *const_array, *parameter, *call_value;

static int set_up(void **state)
{
    static const struct {
        const char *prefix;
        Type type;
        unsigned vector;
    } kinds[] = {{"%p", TYPE_PRED, 1}, {"%c", TYPE_B8, 1},   {"%h", TYPE_B16, 1},  {"%r", TYPE_B32, 1},
                 {"%u", TYPE_U32, 1},  {"%s", TYPE_S32, 1},  {"%f", TYPE_F32, 1},  {"%rd", TYPE_B64, 1},
                 {"%ud", TYPE_U64, 1}, {"%fd", TYPE_F64, 1}, {"%q", TYPE_B128, 1}, {"%hx", TYPE_F16X2, 1},
                 {"%hf", TYPE_F16, 1}, {"%va", TYPE_B32, 2}, {"%vb", TYPE_F32, 4}};
    Fixture *f = calloc(1, sizeof *f);
    f->arena = arena_new();
    f->module = module_new(f->arena, interner_new(f->arena, 0), NULL);
    f->module->version = 90;
    f->module->targets = ARENA_ARRAY(f->arena, Name, 1);
    f->module->targets[0] = intern(f->module->names, "sm_90a");
    f->module->target_count = 1;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (int n = 0; n < 10; n++) {
            char name[16];
            snprintf(name, sizeof name, "%s%d", kinds[i].prefix, n);
            VEC_PUSH(f->arena, f->function.regs,
                     (Reg){.name = intern(f->module->names, name),
                           .type = kinds[i].type,
                           .vector = (uint8_t)kinds[i].vector});
        }
    f->messages = open_memstream(&f->text, &f->text_size);
    diag_init(&f->diag, NULL, f->messages);
    f->diag.error_limit = 1000;
    shared_array = new_variable(f, "sh", SPACE_SHARED, TYPE_B32, 64);
    global_array = new_variable(f, "gl", SPACE_GLOBAL, TYPE_B32, 64);
    const_array = new_variable(f, "co", SPACE_CONST, TYPE_B32, 64);
    parameter = new_variable(f, "param", SPACE_PARAM, TYPE_U64, 0);
    parameter->is_parameter = true;
    parameter->function = &f->function;
    f->function.is_entry = true;
    call_value = new_variable(f, "value", SPACE_PARAM, TYPE_B32, 0);
    f->callee.name = "callee";
    f->callee.prototype.params = ARENA_ARRAY(f->arena, Variable *, 2);
    f->callee.prototype.params[0] = new_variable(f, "a", SPACE_PARAM, TYPE_B32, 0);
    f->callee.prototype.params[1] = new_variable(f, "b", SPACE_PARAM, TYPE_F64, 0);
    f->callee.prototype.param_count = 2;
    f->callee.prototype.returns = ARENA_ARRAY(f->arena, Variable *, 1);
    f->callee.prototype.returns[0] = new_variable(f, "r", SPACE_PARAM, TYPE_B32, 0);
    f->callee.prototype.return_count = 1;
    f->kernel.name = "kernel";
    f->kernel.is_entry = true;
    *state = f;
    return 0;
}

/* A register of each type, "%x_TYPE", and the unnumbered ones that register-types.tsv uses. */
static void add_typed_registers(Fixture *f)
{
    static const struct {
        const char *name;
        Type type;
    } others[] = {{"%p", TYPE_PRED}, {"%h", TYPE_B16},  {"%r", TYPE_B32}, {"%f", TYPE_F32},
                  {"%a", TYPE_B64},  {"%rd", TYPE_B64}, {"%fd", TYPE_F64}};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        VEC_PUSH(f->arena, f->function.regs,
                 (Reg){.name = intern(f->module->names, others[i].name), .type = others[i].type, .vector = 1});
    for (unsigned type = TYPE_NONE + 1; type < TYPE_COUNT; type++) {
        char name[32];
        snprintf(name, sizeof name, "%%x_%s", type_name((Type)type));
        VEC_PUSH(f->arena, f->function.regs,
                 (Reg){.name = intern(f->module->names, name), .type = (Type)type, .vector = 1});
    }
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    fclose(f->messages);
    free(f->text);
    arena_free(f->arena);
    free(f);
    return 0;
}

static void skip_blanks(Fixture *f)
{
    while (*f->at == ' ')
        f->at++;
}

static bool take(Fixture *f, char c)
{
    skip_blanks(f);
    if (*f->at != c)
        return false;
    f->at++;
    return true;
}

static Name read_word(Fixture *f)
{
    size_t length = 0;
    skip_blanks(f);
    while (isalnum((unsigned char)f->at[length]) || strchr("%_$", f->at[length]) != NULL) {
        if (!f->at[length])
            break;
        length++;
    }
    f->at += length;
    return intern_n(f->module->names, f->at - length, length);
}

static Operand read_operand(Fixture *f);

static void read_items(Fixture *f, Operand *operand, char close)
{
    operand->items = ARENA_ARRAY(f->arena, Operand, 16);
    while (!take(f, close)) {
        operand->items[operand->item_count++] = read_operand(f);
        take(f, ',');
    }
}

static Constant *read_constant(Fixture *f)
{
    Constant *constant = ARENA_NEW(f->arena, Constant);
    char *end;
    skip_blanks(f);
    if (!strncmp(f->at, "0f", 2) || !strncmp(f->at, "0d", 2)) {
        constant->kind = f->at[1] == 'f' ? CONSTANT_F32 : CONSTANT_F64;
        constant->bits = strtoull(f->at + 2, &end, 16);
    } else if (f->at[strspn(f->at, "-0123456789")] == '.') {
        double value = strtod(f->at, &end);
        constant->kind = CONSTANT_DECIMAL;
        memcpy(&constant->bits, &value, sizeof value);
    } else {
        constant->kind = CONSTANT_INT;
        constant->bits = (uint64_t)strtoll(f->at, &end, 0);
    }
    f->at = end;
    return constant;
}

static Operand read_register(Fixture *f, Name name)
{
    Operand operand = {.kind = OPERAND_REG};
    for (RegId id = 0; id < f->function.regs.count; id++)
        if (f->function.regs.data[id].name == name) {
            operand.ref = f->inst->ref_count;
            f->inst->refs[f->inst->ref_count++] = (RegRef){.reg = id, .partner = REF_NONE};
            if (*f->at == '.') {
                size_t length = 1 + strspn(f->at + 1, "abghrwxyz0123456789");
                operand.selector = intern_n(f->module->names, f->at, length);
                f->at += length;
            }
            return operand;
        }
    fail_msg("no register %s", name);
    return operand;
}

static Operand read_symbol(Fixture *f, Name name)
{
    Variable *const variables[] = {shared_array, global_array, const_array, parameter, call_value};
    Operand operand = {.kind = OPERAND_SYMBOL, .symbol.kind = SYMBOL_VARIABLE};
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (variables[i]->name == name)
            operand.symbol.variable = variables[i];
    if (!strcmp(name, "callee") || !strcmp(name, "kernel")) {
        operand.symbol.kind = SYMBOL_FUNCTION;
        operand.symbol.function = *name == 'c' ? &f->callee : &f->kernel;
    } else if (!strcmp(name, "LABEL")) {
        operand.symbol.kind = SYMBOL_LABEL;
        operand.symbol.label = ARENA_NEW(f->arena, Label);
        operand.symbol.label->name = name;
    } else if (!operand.symbol.variable) {
        fail_msg("no symbol %s", name);
    }
    return operand;
}

static Operand read_single(Fixture *f)
{
    Operand operand = {.kind = OPERAND_SINK};
    if (take(f, '{')) {
        operand.kind = OPERAND_VECTOR;
        read_items(f, &operand, '}');
        return operand;
    }
    if (take(f, '(')) {
        operand.kind = OPERAND_LIST;
        read_items(f, &operand, ')');
        return operand;
    }
    if (take(f, '[')) {
        read_items(f, &operand, ']');
        operand.kind = operand.item_count == 1 ? OPERAND_ADDRESS : OPERAND_COMPOSITE;
        if (operand.item_count == 1 && operand.items[0].kind != OPERAND_CONSTANT) {
            operand.constant = operand.items[0].constant;
            operand.items[0].constant = NULL;
        }
        return operand;
    }
    bool inverted = take(f, '!');
    skip_blanks(f);
    if (isdigit((unsigned char)*f->at) || (*f->at == '-' && f->at[1] != '%')) {
        operand.kind = OPERAND_CONSTANT;
        operand.constant = read_constant(f);
        return operand;
    }
    bool negated = take(f, '-');
    Name word = read_word(f);
    if (!strcmp(word, "_"))
        return operand;
    char special[32];
    snprintf(special, sizeof special, "%s%.2s", word, *f->at == '.' ? f->at : "");
    if (sreg_find(special) || sreg_find(word)) {
        operand.kind = OPERAND_SREG;
        operand.sreg = sreg_find(special) ? sreg_find(special) : sreg_find(word);
        f->at += sreg_find(special) && *f->at == '.' ? 2 : 0;
        return operand;
    }
    operand = *word == '%' ? read_register(f, word) : read_symbol(f, word);
    operand.inverted = inverted;
    operand.negated = negated;
    if (take(f, '+'))
        operand.constant = read_constant(f);
    return operand;
}

static Operand read_operand(Fixture *f)
{
    Operand first = read_single(f);
    if (!take(f, '|'))
        return first;
    Operand pair = {.kind = OPERAND_PAIR, .item_count = 2, .items = ARENA_ARRAY(f->arena, Operand, 2)};
    pair.items[0] = first;
    pair.items[1] = read_single(f);
    return pair;
}

/* Reads and binds "@%p1 add.u32 %r1, %r2, 5"; f->text is the error message. */
static bool bind(Fixture *f, const char *text)
{
    Inst *inst = f->inst = ARENA_NEW(f->arena, Inst);
    inst->refs = ARENA_ARRAY(f->arena, RegRef, 128);
    inst->operands = ARENA_ARRAY(f->arena, Operand, 16);
    f->at = text;
    bool guarded = take(f, '@');
    inst->guard_inverted = guarded && take(f, '!');
    Name guard = guarded ? read_word(f) : NULL;
    skip_blanks(f);
    size_t length = strcspn(f->at, " ");
    inst->signature = signature_parse(f->module, arena_strndup(f->arena, f->at, length));
    f->at += length;
    for (skip_blanks(f); *f->at; take(f, ','), skip_blanks(f))
        inst->operands[inst->operand_count++] = read_operand(f);
    inst->guard = REF_NONE;
    if (guard) {
        inst->guard = inst->ref_count;
        read_register(f, guard);
    }
    fflush(f->messages);
    rewind(f->messages);
    bool bound = inst_bind(f->module, &f->function, inst, &f->diag);
    fputc(0, f->messages);
    fflush(f->messages);
    return bound;
}

static void check_bound(Fixture *f, const char *text, const char *form)
{
    if (!bind(f, text))
        fail_msg("%s: %s", text, f->text);
    assert_non_null(f->inst->form);
    assert_string_equal(form_name(f->inst->form), form);
}

static void check_refused(Fixture *f, const char *text, const char *why)
{
    if (bind(f, text))
        fail_msg("%s was taken as %s", text, f->inst->form ? form_name(f->inst->form) : "opaque");
    if (!strstr(f->text, why))
        fail_msg("%s: expected '%s' in: %s", text, why, f->text);
}

/* The spelling with alternative 'choice' for element 'special', the first for every other, and no optional ones. */
static const Signature *spell(Fixture *f, const Form *form, unsigned special, unsigned choice)
{
    Buf text = {0};
    const Element *elements = form_elements(form);
    buf_puts(&text, opcode_name((Opcode)form->op));
    for (unsigned i = 0; i < form->element_count; i++) {
        unsigned take_from = elements[i].same_as >= 0 ? (unsigned)elements[i].same_as : i;
        if (elements[i].kind == ELEMENT_OPTIONAL && take_from != special)
            continue;
        const Alternative *alternative = &element_alternatives(&elements[i])[take_from == special ? choice : 0];
        for (unsigned k = 0; k < alternative->mod_count; k++)
            buf_puts(&text, mod_name(alternative_mods(alternative)[k]));
    }
    const Signature *signature = signature_parse(f->module, buf_text(&text));
    buf_free(&text);
    return signature;
}

static const FormMatch *find_match(const Signature *signature, const Form *form)
{
    for (unsigned i = 0; i < signature->match_count; i++)
        if (signature->matches[i].form == form)
            return &signature->matches[i];
    return NULL;
}

static void check_slots(const FormMatch *match)
{
    for (unsigned i = 0; i < match->form->pattern_count; i++) {
        const Slot *slot = &match->slots[i];
        switch ((PatternKind)slot->pattern->kind) {
        case PATTERN_DST_LIST:
        case PATTERN_SRC_LIST:
        case PATTERN_TEXTURE:
        case PATTERN_TEXTURE_SAMPLER:
            if (!(slot->pattern->flags & PATTERN_SCALAR) && (slot->count < 1 || slot->count > 256))
                fail_msg("%s: operand %s has count %u", match->form->id, slot->pattern->name, slot->count);
            /* fallthrough */
        case PATTERN_DST:
        case PATTERN_SRC:
            if (slot->type == TYPE_NONE)
                fail_msg("%s: operand %s has no type", match->form->id, slot->pattern->name);
            break;
        default: break;
        }
    }
}

static void test_every_alternative(void **state)
{
    Fixture *f = *state;
    unsigned rows = 0;
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        unsigned count;
        const Form *first = opcode_first_form((Opcode)op, &count);
        assert_true(count > 0);
        rows += count;
        for (const Form *form = first; form < first + count; form++) {
            assert_int_equal(form->op, op);
            for (unsigned i = 0; i == 0 || i < form->element_count; i++) {
                unsigned choices = form->element_count ? form_elements(form)[i].alternative_count : 1;
                for (unsigned j = 0; j < choices; j++) {
                    const Signature *signature = spell(f, form, i, j);
                    const FormMatch *match = find_match(signature, form);
                    if (!match)
                        fail_msg("%s: alternative %u of modifier %u does not match", form->id, j, i);
                    check_slots(match);
                }
            }
        }
    }
    assert_int_equal(rows, FORM_COUNT);
}

static void test_effects_are_consistent(void **state)
{
    (void)state;
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        unsigned count;
        const Form *first = opcode_first_form((Opcode)op, &count);
        for (const Form *form = first; form < first + count; form++) {
            unsigned effects = form_effects(form);
            bool sreg = form->pattern_count == 2 && form_patterns(form)[1].kind == PATTERN_SREG;
            assert_true(effects != 0);
            if (!(effects & EFFECT_SYNC) != (form_sync(form) == SYNC_NONE))
                fail_msg("%s: effects and kind of synchronisation differ", form->id);
            if (effects & EFFECT_PURE && !sreg && effects & ~(unsigned)(EFFECT_PURE | EFFECT_CC_READ | EFFECT_CC_WRITE))
                fail_msg("%s: pure and something else", form->id);
            if (form_category(form) == CATEGORY_ATOMIC)
                assert_int_equal(effects & (EFFECT_READ | EFFECT_WRITE | EFFECT_SYNC),
                                 EFFECT_READ | EFFECT_WRITE | EFFECT_SYNC);
            /* An instruction that needs its destination must not count as one without effect. */
            if (effects == EFFECT_HINT && form->pattern_count)
                assert_int_equal(form_patterns(form)[0].kind, PATTERN_ADDRESS);
            assert_in_range(form_min_version(form), 10, LATEST_VERSION);
        }
    }
}

static void test_slow_opcodes(void **state)
{
    (void)state;
    for (unsigned op = OP_UNKNOWN; op < OP_COUNT; op++)
        assert_int_equal(opcode_is_slow((Opcode)op), op == OP_DIV || op == OP_REM || op == OP_SQRT || op == OP_RCP);
}

static void test_lookups(void **state)
{
    (void)state;
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++)
        assert_int_equal(opcode_from_name(opcode_name((Opcode)op)), op);
    for (unsigned mod = MOD_UNKNOWN + 1; mod < MOD_COUNT; mod++)
        assert_int_equal(mod_from_name(mod_name((ModId)mod)), mod);
    assert_int_equal(opcode_from_name("frobnicate"), OP_UNKNOWN);
    assert_int_equal(opcode_from_name(""), OP_UNKNOWN);
    assert_int_equal(mod_from_name(".frobnicate"), MOD_UNKNOWN);
    assert_int_equal(mod_from_name(".shared::cta"), MOD_SHARED_CTA);
    assert_int_not_equal(MOD_NAN, MOD_NaN);
    for (unsigned type = TYPE_NONE + 1; type < TYPE_COUNT; type++)
        assert_int_equal(type_from_name(type_name((Type)type)), type);
    assert_int_equal(type_from_name("f8"), TYPE_NONE);
    assert_int_equal(type_registers(TYPE_PRED), 0);
    assert_int_equal(type_registers(TYPE_U16), 1);
    assert_int_equal(type_registers(TYPE_F64), 2);
    assert_int_equal(type_registers(TYPE_B128), 4);
    assert_int_equal(type_bits_of_width(64), TYPE_B64);
}

static void test_signatures(void **state)
{
    Fixture *f = *state;
    const Signature *load = signature_parse(f->module, "ld.global.nc.v4.f32");
    assert_ptr_equal(load, signature_parse(f->module, "ld.global.nc.v4.f32"));
    assert_int_equal(load->op, OP_LD);
    assert_int_equal(load->space, SPACE_GLOBAL);
    assert_int_equal(load->vector, 4);
    assert_int_equal(load->type_count, 1);
    assert_int_equal(load->types[0], TYPE_F32);
    assert_true(signature_has(load, MOD_NC));
    assert_false(signature_has(load, MOD_CA));
    const Signature *convert = signature_parse(f->module, "cvt.rn.f32.u8");
    assert_int_equal(convert->type_count, 2);
    assert_int_equal(convert->types[0], TYPE_F32);
    assert_int_equal(convert->types[1], TYPE_U8);
    assert_int_equal(convert->vector, 1);
    const Signature *unknown = signature_parse(f->module, "frobnicate.x");
    assert_int_equal(unknown->op, OP_UNKNOWN);
    assert_int_equal(unknown->match_count, 0);
    char many[400] = "add";
    for (int i = 0; i < 60; i++)
        strcat(many, ".u32");
    assert_int_equal(signature_parse(f->module, many)->match_count, 0);
}

/* ptxas accepts most modifiers in any order, and so must we; types and sub-operations have a fixed order. */
static void test_modifier_order(void **state)
{
    static const char *const taken[] = {
        "ld.u32.global",  "ld.f32.v2.global",         "ld.gpu.relaxed.global.u32", "cvt.f32.rn.f64",
        "cvt.f32.f64.rn", "atom.add.release.gpu.u32", "atom.u32.add.global",       "add.f32.ftz.rn",
        "setp.u32.eq",    "ld.global.u32.relaxed.gpu"};
    static const char *const refused[] = {"mul.u32.lo", "mad.u32.wide", "cvt.rn", "bar.warp"};
    Fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(taken); i++)
        if (!signature_parse(f->module, taken[i])->match_count)
            fail_msg("%s matches nothing", taken[i]);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (signature_parse(f->module, refused[i])->match_count)
            fail_msg("%s matches", refused[i]);
    check_bound(f, "dp4a.u32.s32 %r1, %r2, %r3, %r4", "dp4a");
    check_refused(f, "cvt.f64.f32.rn %f1, %fd1", "");
}

static void test_special_registers(void **state)
{
    (void)state;
    assert_non_null(sreg_find("%tid.x"));
    assert_ptr_equal(sreg_find("%tid.r"), sreg_find("%tid.x"));
    assert_ptr_equal(sreg_find("%ctaid.a"), sreg_find("%ctaid.w"));
    assert_int_equal(sreg_find("%tid")->vector, 4);
    assert_int_equal(sreg_find("%tid.x")->dependence, SREG_THREAD);
    assert_int_equal(sreg_find("%ctaid.y")->dependence, SREG_BLOCK);
    assert_int_equal(sreg_find("%ntid.z")->dependence, SREG_LAUNCH);
    assert_int_equal(sreg_find("%clock64")->dependence, SREG_VOLATILE);
    assert_int_equal(sreg_find("%clock64")->type, TYPE_U64);
    assert_int_equal(sreg_find("%is_explicit_cluster")->type, TYPE_PRED);
    assert_non_null(sreg_find("%envreg31"));
    assert_non_null(sreg_find("%pm7_64"));
    assert_null(sreg_find("%envreg32"));
    assert_null(sreg_find("%laneid.x"));
    assert_null(sreg_find("%tid.q"));
    assert_null(sreg_find("tid"));
    assert_null(sreg_find(""));
}

static void check_ref(const Inst *inst, unsigned index, RefRole role, Type type)
{
    assert_true(index < inst->ref_count);
    assert_int_equal(inst->refs[index].role, role);
    assert_int_equal(inst->refs[index].type, type);
}

static void test_roles(void **state)
{
    Fixture *f = *state;
    check_bound(f, "@!%p1 add.u32 %r1, %s2, 5", "add.int");
    check_ref(f->inst, 0, REF_DEF, TYPE_U32);
    check_ref(f->inst, 1, REF_USE, TYPE_U32);
    check_ref(f->inst, 2, REF_USE, TYPE_PRED);
    check_bound(f, "ld.global.v4.f32 {%f1, _, %f2, %f3}, [%rd1+16]", "ld.vec");
    check_ref(f->inst, 2, REF_DEF, TYPE_F32);
    check_ref(f->inst, 3, REF_USE, TYPE_B64);
    check_bound(f, "ld.global.u8 %r1, [%ud1]", "ld.scalar");
    check_ref(f->inst, 0, REF_DEF, TYPE_U8);
    check_ref(f->inst, 1, REF_USE, TYPE_U64);
    check_bound(f, "setp.eq.and.f32 %p1|%p2, %f1, 1.0, !%p3", "setp.f32.bool");
    check_ref(f->inst, 0, REF_DEF, TYPE_PRED);
    check_ref(f->inst, 1, REF_DEF, TYPE_PRED);
    check_ref(f->inst, 2, REF_USE, TYPE_F32);
    check_ref(f->inst, 3, REF_USE, TYPE_PRED);
    check_bound(f, "mad.wide.s32 %rd1, %r1, %r2, %rd2", "mad.wide");
    check_ref(f->inst, 0, REF_DEF, TYPE_S64);
    check_bound(f, "shfl.sync.idx.b32 %f1|%p1, %f2, 0, 31, -1", "shfl.sync");
    check_bound(f, "ld.global.v4.f32 %vb1, [gl]", "ld.vec");
    check_ref(f->inst, 0, REF_DEF, TYPE_F32);
    check_bound(f, "add.u32 %va1.y, %r1, %va1.x", "add.int");
    check_ref(f->inst, 0, REF_BOTH, TYPE_U32);
    check_ref(f->inst, 2, REF_USE, TYPE_U32);
    check_bound(f, "mov.b64 {%r1, %r2}, %rd1", "mov.unpack64");
    check_ref(f->inst, 1, REF_DEF, TYPE_B32);
    check_bound(f, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0",
                "wgmma.f16.f32.ss");
    check_ref(f->inst, 0, REF_BOTH, TYPE_F32);
    check_ref(f->inst, 4, REF_USE, TYPE_B64);
    check_bound(f, "call (%r1), callee, (%r2, %fd1)", "call.direct.ret");
    check_ref(f->inst, 0, REF_DEF, TYPE_B32);
    check_ref(f->inst, 1, REF_USE, TYPE_B32);
    check_ref(f->inst, 2, REF_USE, TYPE_F64);
    check_bound(f, "call (value), callee, (value, 1.5)", "call.direct.ret");
    check_bound(f, "atom.global.add.u32 _, [%rd1], %r1", "atom.int");
    check_bound(f, "add.u64 %rd1, %rd2, gl+4", "add.int");
    check_bound(f, "vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1", "vadd");
}

static void test_effects(void **state)
{
    Fixture *f = *state;
    check_bound(f, "addc.u32 %r1, %r2, %r3", "addc");
    assert_int_equal(f->inst->effects, EFFECT_PURE | EFFECT_CC_READ);
    check_bound(f, "addc.cc.u32 %r1, %r2, %r3", "addc");
    assert_int_equal(f->inst->effects, EFFECT_PURE | EFFECT_CC_READ | EFFECT_CC_WRITE);
    check_bound(f, "mov.u32 %r1, %tid.x", "mov.sreg32");
    assert_int_equal(f->inst->effects, EFFECT_PURE | EFFECT_THREAD);
    check_bound(f, "mov.u32 %r1, %ntid.x", "mov.sreg32");
    assert_int_equal(f->inst->effects, EFFECT_PURE);
    check_bound(f, "mov.u32 %r1, %clock", "mov.sreg32");
    assert_int_equal(f->inst->effects, EFFECT_VOLATILE | EFFECT_THREAD);
    assert_true(bind(f, "cvt.u64.u32 %rd1, %clock"));
    assert_int_equal(f->inst->effects, EFFECT_VOLATILE | EFFECT_THREAD);
    check_bound(f, "bar.sync 0", "bar.sync");
    assert_int_equal(f->inst->sync, SYNC_BLOCK_BARRIER);
    check_bound(f, "bar.warp.sync -1", "bar.warp.sync");
    assert_int_equal(f->inst->sync, SYNC_WARP);
    check_bound(f, "membar.gl", "membar");
    assert_int_equal(f->inst->sync, SYNC_FENCE);
    check_bound(f, "ld.relaxed.gpu.global.u32 %r1, [%rd1]", "ld.sem");
    assert_int_equal(f->inst->sync, SYNC_STRONG);
    check_bound(f, "cp.async.commit_group", "cp.async.commit_group");
    assert_int_equal(f->inst->sync, SYNC_ASYNC_GROUP);
    check_bound(f, "barrier.cluster.wait", "barrier.cluster.wait");
    assert_int_equal(f->inst->sync, SYNC_CLUSTER_BARRIER);
    check_bound(f, "mbarrier.init.shared.b64 [%r1], 32", "mbarrier.init");
    assert_int_equal(f->inst->sync, SYNC_MBARRIER);
}

static void test_opaque(void **state)
{
    Fixture *f = *state;
    assert_true(bind(f, "@%p1 ad.u32 %r1, [%rd1], {%r2, 5}"));
    assert_null(f->inst->form);
    assert_int_equal(f->inst->effects, EFFECTS_OPAQUE);
    assert_non_null(strstr(f->text, "unknown instruction 'ad'"));
    assert_non_null(strstr(f->text, "did you mean 'add'"));
    check_ref(f->inst, 0, REF_BOTH, TYPE_NONE);
    check_ref(f->inst, 2, REF_BOTH, TYPE_NONE);
    check_ref(f->inst, 3, REF_USE, TYPE_PRED);
    assert_true(bind(f, "ad.u32 %r1, %r2")); /* the same spelling: no second warning */
    assert_int_equal(f->diag.warnings, 1);
    Access access;
    assert_true(inst_access(f->inst, &access));
    assert_int_equal(access.kind, ACCESS_OTHER);
}

static void test_refused_modifiers(void **state)
{
    Fixture *f = *state;
    check_refused(f, "add.foo.u32 %r1, %r2, %r3", "unknown modifier '.foo' for 'add'");
    check_refused(f, "add.global.u32 %r1, %r2, %r3", "modifier '.global' is not allowed with 'add'");
    check_refused(f, "add.rn.rn.f32 %f1, %f2, %f3", "modifier '.rn' is given twice");
    check_refused(f, "add.rn.rz.f32 %f1, %f2, %f3", "modifier '.rz' cannot be combined with '.rn'");
    check_refused(f, "fma.f32 %f1, %f2, %f3, %f4", "needs one of .rn, .rz, .rm, .rp");
    check_refused(f, "mul.u32.lo %r1, %r2, %r3", "write 'mul.lo.u32'");
    check_refused(f, "cvt.f32.f64 %f1, %fd1", "needs one of .rn, .rz, .rm, .rp");
    check_refused(f, "ld.relaxed.u32 %r1, [%rd1]", "needs one of .cta, .cluster, .gpu, .sys");
    check_refused(f, "popc.b16 %r1, %h1", "'.b16'");
    check_refused(f, "ld.global.f16 %h1, [%rd1]", "'.f16'");
    check_refused(f, "add %r1, %r2, %r3", "'add' needs");
    check_refused(f, "add.ftz.f64 %fd1, %fd2, %fd3", "'.ftz'");
    check_refused(f, "atom.local.add.u32 %r1, [%rd1], %r2", "'.local' is not allowed with 'atom'");
}

static void test_refused_operands(void **state)
{
    Fixture *f = *state;
    check_refused(f, "add.f32 %f1, %f2", "'add.f32' needs 3 operands, got 2");
    check_refused(f, "add.f32 %f1, %r1, %u2",
                  "operand 3 of 'add.f32': register '%u2' of type .u32 where .f32 is expected");
    check_refused(f, "add.u32 %r1, %f2, %r3",
                  "operand 2 of 'add.u32': register '%f2' of type .f32 where .u32 is expected");
    check_refused(f, "add.u64 %rd1, %rd2, %r3", "register '%r3' of type .b32 where .u64 is expected");
    check_refused(f, "add.f32 %f1, %f2, 1", "an integer where .f32 is expected");
    check_refused(f, "add.u32 %r1, %r2, 1.0", "a floating-point constant where .u32 is expected");
    check_refused(f, "add.u32 %r1, %r2, 0f3F800000", "a floating-point constant where .u32 is expected");
    check_refused(f, "mov.b32 %r1, 1.5", "a floating-point constant where .b32");
    check_refused(f, "add.u32 5, %r2, %r3", "destination register");
    check_refused(f, "add.u32 _, %r2, %r3", "cannot be discarded");
    check_refused(f, "add.u32 %r1, _, %r3", "not the sink '_'");
    check_refused(f, "add.u32 %r1, -%r2, %r3", "cannot be negated");
    check_refused(f, "add.u32 %r1, %r2.b0, %r3", "has no element '.b0'");
    check_refused(f, "add.u32 %r1, {%r2, %r3}, %r3", "not a list in braces");
    check_refused(f, "add.u32 %r1|%p1, %r2, %r3", "no second destination");
    check_refused(f, "elect.sync %r1, -1", "DESTINATION|PREDICATE");
    check_refused(f, "add.u32 %r1, %tid.x, 1", "special register '%tid.x' can only be read by mov");
    check_refused(f, "mov.u32 %tid.x, %r1", "cannot be written");
    check_refused(f, "mov.u32 %r1, %tid", "whole vector");
    check_refused(f, "mov.u64 %rd1, %tid.x", "special register '%tid.x' of type .u32");
    check_refused(f, "ld.global.u32 %r1, [%r2]", "too narrow for a global address");
    check_refused(f, "ld.u32 %r1, [%r2]", "too narrow for a generic address");
    check_refused(f, "ld.global.u32 %r1, [%fd1]", "cannot hold an address");
    check_refused(f, "ld.global.u32 %r1, [16]", "absolute addresses are allowed in .local only");
    check_refused(f, "ld.shared.u32 %r1, [gl]", "'gl' is in .global, not in .shared");
    check_refused(f, "ld.u32 %r1, [co]", "'co' is in .const, not in generic space");
    check_refused(f, "ld.global.u32 %r1, %rd1", "an address in brackets is expected");
    check_refused(f, "ld.global.v4.f32 {%f1, %f2}, [%rd1]", "a list of 4 is expected, not of 2");
    check_refused(f, "st.global.v2.u32 [%rd1], {%r1, _}", "not the sink '_'");
    check_refused(f, "st.param.u64 [param], %rd1", "input parameter 'param' cannot be written");
    check_refused(f, "@%p1 ld.param.b32 %r1, [value]", "cannot be predicated");
    check_refused(f, "@%r1 add.u32 %r1, %r2, %r3", "the guard '%r1' is of type .b32, not a predicate");
    check_refused(f, "selp.b32 %r1, %r2, %r3, %r4", "register '%r4' of type .b32 where .pred is expected");
    check_refused(f, "bar.sync 16", "out of range: 0 to 15");
    check_refused(f, "bar.sync 0, 48", "multiple of 32");
    check_refused(f, "lop3.b32 %r1, %r2, %r3, %r4, %r5", "an integer constant is expected");
    check_refused(f, "cp.async.ca.shared.global [%r1], [%rd1], 12", "the value must be 4 or 8 or 16");
    check_refused(f, "add.f16 %h1, %h2, 1.0", "register");
    check_refused(f, "call (%r1), callee, (%r2)", "the call has 1 arguments, but the callee has 2");
    check_refused(f, "call callee, (%r2, %fd1)", "the call has 0 results, but the callee has 1");
    check_refused(f, "call (%r1), callee, (%rd2, %fd1)", "register '%rd2' of type .b64 where .b32 is expected");
    check_refused(f, "call (%r1), kernel, (%r2, %fd1)", "is a kernel, not a device function");
    check_refused(f, "bra 5", "a label is expected");
    check_refused(f, "bra callee", "a label is expected, not a function");
}

/* tests/isa/register-types.tsv: the declared types that ptxas accepts at the places marked %x. */
static void test_register_types(void **state)
{
    static const char *const declared[] = {"b8",  "u8",  "s8",    "b16", "u16", "s16", "f16", "b32",  "u32",
                                           "s32", "f32", "f16x2", "b64", "u64", "s64", "f64", "b128", "pred"};
    Fixture *f = *state;
    char line[512];
    unsigned rows = 0, looser = 0;
    add_typed_registers(f);
    f->module->target_count = 0;
    FILE *table = fopen("tests/isa/register-types.tsv", "r");
    assert_non_null(table);
    while (fgets(line, sizeof line, table)) {
        char *example = strchr(line, '\t'), *accepted = example ? strchr(example + 1, '\t') : NULL;
        if (*line == '#' || !accepted || !strncmp(line, "instruction\t", 12))
            continue;
        *accepted++ = 0;
        example++;
        rows++;
        for (size_t i = 0; i < COUNT_OF(declared); i++) {
            Buf text = {0};
            char wanted[16];
            for (const char *p = example; *p && *p != ';'; p++) {
                if (p[0] == '%' && p[1] == 'x') {
                    buf_printf(&text, "%%x_%s", declared[i]);
                    p++;
                } else {
                    buf_printf(&text, *p == ',' ? ", " : "%c", *p);
                }
            }
            snprintf(wanted, sizeof wanted, ".%s", declared[i]);
            char *found = strstr(accepted, wanted);
            while (found && isalnum((unsigned char)found[strlen(wanted)]))
                found = strstr(found + 1, wanted);
            bool bound = bind(f, buf_text(&text));
            if (found && !bound)
                fail_msg("%s: %s", buf_text(&text), f->text);
            if (!found && bound) {
                looser++;
                if (getenv("PTXOPT_TEST_VERBOSE"))
                    print_message("taken, though ptxas does not: %s\n", buf_text(&text));
            }
            buf_free(&text);
        }
    }
    fclose(table);
    assert_int_equal(rows, 84);
    /* If we are less strict, the text is printed as it was read, and the assembler rejects it. */
    assert_in_range(looser, 0, 20);
}

static void test_availability(void **state)
{
    Fixture *f = *state;
    f->module->version = 70;
    f->module->targets[0] = intern(f->module->names, "sm_70");
    check_refused(f, "elect.sync %r1|%p1, -1", "'elect.sync' needs PTX ISA version 8.0 or later, the module has 7.0");
    f->module->version = 90;
    check_refused(f, "redux.sync.add.u32 %r1, %r2, -1", "is not supported on target 'sm_70': it needs sm_80 or later");
    check_refused(f, "shfl.idx.b32 %r1, %r2, 0, 31", "was removed after PTX ISA version 6.3 for sm_70 and later");
    check_refused(f, "sin.f32 %f1, %f2", "'sin.f32' needs .approx");
    check_refused(f, "wgmma.fence.sync.aligned", "it needs sm_90a");
    check_refused(f, "mov.u32 %r1, %clusterid.x", "'%clusterid.x' is not supported on target 'sm_70'");
    check_bound(f, "add.rm.f32 %f1, %f2, %f3", "add.f32");
}

static void test_accesses(void **state)
{
    Fixture *f = *state;
    Access access;
    check_bound(f, "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16]", "ld.vec");
    assert_true(inst_access(f->inst, &access));
    assert_int_equal(access.kind, ACCESS_LOAD);
    assert_int_equal(access.space, SPACE_GLOBAL);
    assert_int_equal(access.bytes, 16);
    assert_ptr_equal(access.address, &f->inst->operands[1]);
    assert_true(access.weak);
    assert_false(access.read_only);
    check_bound(f, "ld.global.nc.u8 %r1, [%rd1]", "ld.nc");
    assert_true(inst_access(f->inst, &access));
    assert_true(access.read_only);
    assert_int_equal(access.bytes, 1);
    check_bound(f, "ld.param.u64 %rd1, [param]", "ld.scalar");
    assert_true(inst_access(f->inst, &access));
    assert_true(access.read_only);
    check_bound(f, "ld.param.b32 %r1, [value]", "ld.scalar");
    assert_true(inst_access(f->inst, &access));
    assert_false(access.read_only);
    check_bound(f, "st.volatile.shared.u32 [sh+4], %r1", "st.volatile");
    assert_true(inst_access(f->inst, &access));
    assert_int_equal(access.kind, ACCESS_STORE);
    assert_false(access.weak);
    check_bound(f, "st.u64 [%rd1], 5", "st.scalar");
    assert_true(inst_access(f->inst, &access));
    assert_int_equal(access.space, SPACE_NONE);
    assert_int_equal(access.bytes, 8);
    check_bound(f, "atom.global.cas.b64 %rd1, [%rd2], %rd3, %rd4", "atom.cas");
    assert_true(inst_access(f->inst, &access));
    assert_int_equal(access.kind, ACCESS_ATOMIC);
    assert_int_equal(access.bytes, 8);
    assert_false(access.weak);
    check_bound(f, "red.shared.add.f32 [%r1], %f1", "red.add.flt");
    assert_true(inst_access(f->inst, &access));
    assert_int_equal(access.kind, ACCESS_ATOMIC);
    check_bound(f, "cp.async.ca.shared.global [%r1], [%rd1], 4", "cp.async.ca");
    assert_true(inst_access(f->inst, &access));
    assert_int_equal(access.kind, ACCESS_OTHER);
    assert_null(access.address);
    check_bound(f, "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}]", "tex");
    assert_true(inst_access(f->inst, &access));
    assert_int_equal(access.kind, ACCESS_OTHER);
    assert_true(access.read_only);
    check_bound(f, "add.u32 %r1, %r2, %r3", "add.int");
    assert_false(inst_access(f->inst, &access));
    check_bound(f, "prefetch.global.L1 [%rd1]", "prefetch");
    assert_false(inst_access(f->inst, &access));
    check_bound(f, "bar.sync 0", "bar.sync");
    assert_false(inst_access(f->inst, &access));
}

static void test_module(void **state)
{
    Fixture *f = *state;
    Function declaration = {.name = "twice"}, definition = {.name = "twice", .has_body = true};
    VEC_PUSH(f->arena, f->module->items, (Item){.kind = ITEM_FUNCTION, .function = &declaration});
    assert_ptr_equal(module_find_function(f->module, "twice"), &declaration);
    VEC_PUSH(f->arena, f->module->items, (Item){.kind = ITEM_FUNCTION, .function = &definition});
    VEC_PUSH(f->arena, f->module->items, (Item){.kind = ITEM_VARIABLE, .variable = global_array});
    assert_ptr_equal(module_find_function(f->module, "twice"), &definition);
    assert_null(module_find_function(f->module, "thrice"));
    assert_ptr_equal(module_find_variable(f->module, "gl"), global_array);
    assert_null(module_find_variable(f->module, "twice"));
    assert_int_equal(variable_bytes(global_array), 256);
    assert_int_equal(variable_bytes(parameter), 8);
    Variable unsized = {.type = TYPE_B32, .vector = 1, .is_array = true};
    assert_int_equal(variable_bytes(&unsized), 0);
    uint64_t huge[] = {UINT64_MAX, 16};
    Variable overflowing = {.type = TYPE_B32, .vector = 1, .is_array = true, .dims = huge, .dim_count = 2};
    assert_int_equal(variable_bytes(&overflowing), 0);
    assert_string_equal(symbol_name(&(Symbol){.kind = SYMBOL_VARIABLE, .variable = global_array}), "gl");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_alternative),
        TEST(test_effects_are_consistent),
        TEST(test_slow_opcodes),
        TEST(test_lookups),
        TEST(test_signatures),
        TEST(test_modifier_order),
        TEST(test_special_registers),
        TEST(test_roles),
        TEST(test_effects),
        TEST(test_opaque),
        TEST(test_refused_modifiers),
        TEST(test_refused_operands),
        TEST(test_register_types),
        TEST(test_availability),
        TEST(test_accesses),
        TEST(test_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
