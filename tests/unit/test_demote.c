/* Values that wait in shared memory: random code with many live values of all widths, whose lives overlap in every way,
 * some across a loop, must compute the same when most of them are demoted to a few slots. */
#include "test_registers_support.h"

#include "executed.h"
#include "opt/registers/moves/demote.h"

enum { VALUES = 28, STEPS = 90, WORDS = 256 };

typedef struct Maker {
    Random random;
    Buf text;
    unsigned defined; /* values 0 .. defined - 1 exist */
} Maker;

static const char *const types[] = {"u32", "u64", "f32", "f64", "u16"};

/* Registers %v0 .. of the type of their number. */
static unsigned type_of(unsigned value)
{
    return value % 7 < 3 ? 0 : value % 7 - 2;
}

static void value_define(Maker *m)
{
    unsigned v = m->defined++;
    const char *type = types[type_of(v)];
    buf_printf(&m->text, "mad.lo.u32 %%t, %%n, %u, %u;\nand.b32 %%t, %%t, %u;\nmad.wide.u32 %%a, %%t, 4, %%in;\n"
                         "ld.global.u32 %%t, [%%a];\n", 1 + random_below(&m->random, 40), v, WORDS - 1);
    if (type[0] == 'u')
        buf_printf(&m->text,
                   v % 7 == 6       ? "cvt.u16.u32 %%v%u, %%t;\n"
                   : type[1] == '6' ? "mul.wide.u32 %%v%u, %%t, 77777;\n"
                                    : "mov.u32 %%v%u, %%t;\n",
                   v);
    else
        buf_printf(&m->text, "cvt.rn.%s.u32 %%v%u, %%t;\n", type, v);
}

static void value_use(Maker *m)
{
    unsigned v = random_below(&m->random, m->defined);
    switch (type_of(v)) {
    case 0: buf_printf(&m->text, "mad.lo.u32 %%sum, %%sum, 3, %%v%u;\n", v); break;
    case 1: buf_printf(&m->text, "mad.lo.u64 %%wide, %%wide, 5, %%v%u;\n", v); break;
    case 2: buf_printf(&m->text, "cvt.rzi.u32.f32 %%t, %%v%u;\nmad.lo.u32 %%sum, %%sum, 7, %%t;\n", v); break;
    case 3: buf_printf(&m->text, "cvt.rzi.u32.f64 %%t, %%v%u;\nmad.lo.u32 %%sum, %%sum, 9, %%t;\n", v); break;
    default: buf_printf(&m->text, "cvt.u32.u16 %%t, %%v%u;\nmad.lo.u32 %%sum, %%sum, 11, %%t;\n", v); break;
    }
}

static void steps_make(Maker *m, unsigned steps)
{
    for (unsigned i = 0; i < steps; i++)
        if (m->defined < VALUES && (!m->defined || random_below(&m->random, STEPS) < VALUES + 8))
            value_define(m);
        else
            value_use(m);
}

static void program_make(Maker *m)
{
    buf_puts(&m->text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                       ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .pred %p;\n"
                              ".reg .b32 %t, %n, %sum, %x, %y, %z, %w, %h, %i;\n.reg .b64 %a, %in, %out, %wide;\n");
    for (unsigned v = 0; v < VALUES; v++)
        buf_printf(&m->text, ".reg .%s %%v%u;\n", types[type_of(v)], v);
    buf_puts(&m->text, "ld.param.u64 %out, [out];\nld.param.u64 %in, [in];\nmov.u32 %x, %tid.x;\nmov.u32 %y, %tid.y;\n"
                       "mov.u32 %z, %tid.z;\nmov.u32 %w, %ntid.x;\nmov.u32 %h, %ntid.y;\nmad.lo.u32 %n, %z, %h, %y;\n"
                       "mad.lo.u32 %n, %n, %w, %x;\nmov.u32 %sum, 1;\nmov.u64 %wide, 1;\n");
    steps_make(m, STEPS / 3);
    buf_puts(&m->text, "mov.u32 %i, 0;\nLOOP:\n");
    for (unsigned i = random_below(&m->random, 6); i > 0; i--)
        value_use(m);
    buf_puts(&m->text, "add.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, 3;\n@%p bra LOOP;\n");
    steps_make(m, STEPS);
    buf_puts(&m->text,
             "mad.wide.u32 %a, %n, 16, %out;\nst.global.u32 [%a], %sum;\nst.global.u64 [%a+8], %wide;\nret;\n}\n");
}

static void launch_run(Module *original, Module *changed, const unsigned block[3])
{
    LaunchArgument arguments[] = {
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U64, .count = 64 * 2, .fill = FILL_ZERO},
        {.kind = ARGUMENT_BUFFER, .name = "in", .type = TYPE_U32, .count = WORDS, .fill = FILL_UNIFORM, .high = 50000,
         .seed = 3},
    };
    Launch launch = {.kernel = "k", .arguments = arguments, .argument_count = COUNT_OF(arguments)};
    memcpy(launch.block, block, sizeof launch.block);
    EmulatorOptions options = {0};
    Arena *arena = arena_new();
    EmulatorComparison *comparison = emulator_compare(arena, original, changed, "k", &launch, NULL, &options);
    if (!comparison->equal)
        fail_msg("%s", comparison->message);
    arena_free(arena);
}

/* Returns how many values share slots with others. */
static unsigned program_check(uint64_t seed)
{
    static const unsigned blocks[][3] = {{64, 1, 1}, {16, 4, 1}, {8, 2, 4}, {1, 64, 1}};
    Maker m = {.random = {seed}};
    program_make(&m);
    const unsigned *block = blocks[random_below(&m.random, COUNT_OF(blocks))];
    Module *original = module_of_text(buf_text(&m.text)), *changed = module_of_text(buf_text(&m.text));
    Function *kernel = module_find_function(changed, "k");
    Body *body = body_in_ssa(kernel);
    const DemoteRequest request = {.limit = 2 + (int32_t)random_below(&m.random, 8),
                                   .slots = 1 + random_below(&m.random, 10),
                                   .threads = 64,
                                   .is_line = block[0] == 64 && random_below(&m.random, 2)};
    Analyses *analyses = analyses_new(body);
    Demotion demotion = demote_values(body, analyses, sm_limits_for("sm_90"), &request);
    analyses_free(analyses);
    body_verify(body, "demotion");
    body_from_ssa(body);
    function_set_body(kernel, body);
    launch_run(original, changed, block);
    function_set_body(kernel, NULL);
    arena_free(original->arena);
    arena_free(changed->arena);
    buf_free(&m.text);
    return demotion.values > demotion.slots ? demotion.values - demotion.slots : 0;
}

static void values_that_wait_keep_their_bits(void **state)
{
    (void)state;
    unsigned shared = 0;
    for (uint64_t seed = 1; seed <= 400; seed++)
        shared += program_check(seed);
    assert_true(shared > 250);
}

static Demotion demote_most(Body *body, unsigned slots)
{
    const DemoteRequest request = {.limit = 1, .slots = slots, .threads = 64, .is_line = true};
    Analyses *analyses = analyses_new(body);
    Demotion demotion = demote_values(body, analyses, sm_limits_for("sm_90"), &request);
    analyses_free(analyses);
    body_verify(body, "demotion");
    return demotion;
}

/* A value is defined, and used after many stores, which keep their address in a register. */
static void values_of_other_widths_stay(void **state)
{
    (void)state;
    static const struct {
        const char *type, *define, *use;
        unsigned count;
    } cases[] = {
        {".u32", "ld.global.u32 %v, [%in];", "st.global.u32 [%out], %v;", 1},
        {".b8", "ld.global.u8 %v, [%in];", "st.global.u8 [%out], %v;", 0},
        {".b128", "ld.global.b128 %v, [%in];", "st.global.b128 [%out], %v;", 0},
        {".v2 .u32", "ld.global.v2.u32 %v, [%in];", "st.global.v2.u32 [%out], %v;", 2},
        {".pred", "setp.eq.u64 %v, %in, 0;", "@%v st.global.u32 [%out], 1;", 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Buf text = {0};
        buf_printf(&text,
                   ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n"
                   "{\n.reg .b64 %%in, %%out;\n.reg %s %%v;\nld.param.u64 %%in, [in];\n%s\n"
                   "ld.param.u64 %%out, [out];\n",
                   cases[i].type, cases[i].define);
        for (unsigned k = 1; k < 40; k++)
            buf_printf(&text, "st.global.u32 [%%out+%u], %u;\n", 4 * k, k);
        buf_printf(&text, "%s\nret;\n}\n", cases[i].use);
        Module *module = module_of_text(buf_text(&text));
        Body *body = body_in_ssa(module_find_function(module, "k"));
        assert_int_equal(demote_most(body, 10).values, cases[i].count);
        body_free(body);
        arena_free(module->arena);
        buf_free(&text);
    }
}

static void stores_add(Buf *text)
{
    for (unsigned k = 1; k < 40; k++)
        buf_printf(text, "st.global.u32 [%%a], %u;\n", k);
}

/* The first instruction after paths meet is the last use of one value, and another, a phi, begins before it: they
 * do not share a slot. A third is defined on one of the paths only. */
static void values_that_meet_do_not_share(void **state)
{
    (void)state;
    static const unsigned block[3] = {64, 1, 1};
    Buf text = {0};
    buf_puts(&text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                    ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .pred %p;\n"
                    ".reg .b32 %t, %old, %met, %set, %used;\n.reg .b64 %a, %in;\n"
                    "ld.param.u64 %a, [out];\nld.param.u64 %in, [in];\nmov.u32 %t, %tid.x;\n"
                    "mad.wide.u32 %a, %t, 16, %a;\nmad.wide.u32 %in, %t, 4, %in;\nld.global.u32 %old, [%in];\n"
                    "setp.gt.u32 %p, %old, 25000;\n@%p bra SETS;\n");
    stores_add(&text);
    buf_puts(&text, "ld.global.u32 %met, [%in+256];\nbra MEET;\nSETS:\n");
    stores_add(&text);
    buf_puts(&text, "ld.global.u32 %met, [%in+512];\nld.global.u32 %set, [%in+128];\nMEET:\n"
                    "st.global.u32 [%a+4], %old;\n");
    stores_add(&text);
    buf_puts(&text, "st.global.u32 [%a+8], %met;\nmov.u32 %used, 0;\n@%p mov.u32 %used, %set;\n"
                    "st.global.u32 [%a+12], %used;\nret;\n}\n");
    for (unsigned slots = 1; slots <= 3; slots++) {
        Module *original = module_of_text(buf_text(&text)), *changed = module_of_text(buf_text(&text));
        Function *kernel = module_find_function(changed, "k");
        Body *body = body_in_ssa(kernel);
        assert_true(demote_most(body, slots).slots == slots);
        body_from_ssa(body);
        function_set_body(kernel, body);
        launch_run(original, changed, block);
        function_set_body(kernel, NULL);
        arena_free(original->arena);
        arena_free(changed->arena);
    }
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_meet_do_not_share),
        cmocka_unit_test(values_that_wait_keep_their_bits),
        cmocka_unit_test(values_of_other_widths_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
