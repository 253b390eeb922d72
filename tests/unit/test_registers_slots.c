/* Values that the register search demotes to shared memory: each thread of a block has places of its own, whatever
 * shape the block has, and the kernel's memory and its bounds stay what a launch needs. */
#include "tests/unit/test_registers_model.h"

#include "emulator/emulator.h"
#include "opt/passes.h"
#include "opt/registers/registers.h"

enum { VALUES = 40, MOST_SHARED = 48 * 1024 };

/* Each thread makes values of its own early and stores them late; 'code' comes first. */
static const char *kernel_of(const char *directives, const char *code)
{
    const char *text = arena_printf(
        text_arena,
        KERNEL_HEAD ".extern .shared .b8 memory[];\n.extern .func unknown();\n"
                    ".visible .entry k(.param .u64 out) %s\n{\n.reg .b32 %%r<300>;\n.reg .b64 %%rd<3>;\n%s\n"
                    "ld.param.u64 %%rd1, [out];\nmov.u32 %%r290, %%tid.x;\nmov.u32 %%r291, %%tid.y;\n"
                    "mov.u32 %%r292, %%tid.z;\nmov.u32 %%r293, %%ntid.x;\nmov.u32 %%r294, %%ntid.y;\n"
                    "mad.lo.u32 %%r291, %%r292, %%r294, %%r291;\nmad.lo.u32 %%r200, %%r291, %%r293, %%r290;\n"
                    "mad.wide.u32 %%rd1, %%r200, 512, %%rd1;\n",
        directives, code);
    for (int i = 0; i < VALUES; i++)
        text = arena_printf(text_arena, "%smad.lo.s32 %%r%d, %%r200, %d, %d;\n", text, i, 2 * i + 3, i + 1);
    return arena_printf(text_arena, "%sret;\n}\n", values_stored_late(text_arena, text, VALUES));
}

/* Values are demoted: the assembler has places only where a test says so. */
static void slots_start(Case *test, const char *text, unsigned block)
{
    case_start(test, text, HONEST);
    memset(test->passes.enabled, false, sizeof test->passes.enabled);
    test->passes.enabled[PASS_BOUNDS] = test->passes.enabled[PASS_SPILLING] = true;
    test->block_threads = block;
    test->request.target = 24;
}

static uint64_t slots_size(const Case *test)
{
    assert_true(test->body->variables.count <= 1);
    return test->body->variables.count ? variable_bytes(test->body->variables.data[0]) : 0;
}

static void assert_computes(Case *test, const char *text, const unsigned block[3])
{
    LaunchArgument argument = {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .fill = FILL_ZERO,
                               .count = (uint64_t)128 * block[0] * block[1] * block[2]};
    Launch launch = {.kernel = "k", .arguments = &argument, .argument_count = 1};
    EmulatorOptions options = {0};
    Module *original = module_of_text(text);
    memcpy(launch.block, block, sizeof launch.block);
    function_set_body(test->kernel, test->body);
    const EmulatorComparison *comparison =
        emulator_compare(test->arena, original, test->module, "k", &launch, NULL, &options);
    if (!comparison->equal)
        fail_msg("%s", comparison->message);
    function_set_body(test->kernel, NULL); /* frees it */
    test->body = NULL;
    arena_free(original->arena);
}

/* .maxntid limits the number of threads only, .reqntid gives the shape. */
static void threads_of_all_shapes_have_their_own_places(void **state)
{
    (void)state;
    static const struct {
        const char *directives;
        unsigned block[3];
    } cases[] = {
        {"", {64, 1, 1}},
        {".maxntid 64", {16, 4, 1}},
        {".maxntid 64", {1, 1, 64}},
        {".maxntid 16, 4", {4, 16, 1}},
        {".maxntid 4, 4, 4", {8, 2, 4}},
        {".reqntid 64", {64, 1, 1}},
        {".reqntid 64, 1", {64, 1, 1}},
        {".reqntid 16, 4", {16, 4, 1}},
        {".reqntid 16, 1, 4", {16, 1, 4}},
        {".reqntid 64, 1, 1", {64, 1, 1}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        const char *text = kernel_of(cases[i].directives, "");
        slots_start(&test, text, 64);
        case_run(&test);
        assert_true(test.result.reached);
        assert_int_equal(figures_spills(&test.result.after), 0);
        assert_true(slots_size(&test) > 0);
        assert_int_equal(slots_size(&test) % (4 * 64), 0);
        assert_computes(&test, text, cases[i].block);
        case_end(&test);
    }
}

/* Static and dynamic shared memory are at most 48 KiB together, unless a program requests more. */
static void slots_leave_what_launches_need(void **state)
{
    (void)state;
    for (unsigned dynamic = 0; dynamic <= 40000; dynamic += 20000) {
        Case test;
        slots_start(&test, kernel_of("", ""), 1024);
        test.request.dynamic_shared = dynamic;
        case_run(&test);
        assert_true(slots_size(&test) > 0);
        assert_true(slots_size(&test) + dynamic <= MOST_SHARED);
        assert_true(slots_size(&test) + dynamic > MOST_SHARED - 2 * 4096);
        case_end(&test);
    }
}

/* The block that is given is no reason to forbid larger ones. */
static void bounds_of_the_input_stay(void **state)
{
    (void)state;
    Case test;
    slots_start(&test, kernel_of(".maxntid 256", ""), 128);
    case_run(&test);
    assert_int_equal(test.body->tuning.maxntid[0], 256);
    assert_true(slots_size(&test) > 0);
    assert_int_equal(slots_size(&test) % (4 * 256), 0);
    case_end(&test);
}

/* The assembler has no places beside dynamic shared memory; there are slots where its size is known, and no function is
 * called that could need some. A kernel that asks for the size of its memory would be told of either. */
static void other_shared_memory_stays_free(void **state)
{
    (void)state;
    static const char uses[] = "mov.u32 %r1, memory;\nst.shared.u32 [%r1], %r1;";
    static const struct {
        const char *code;
        unsigned dynamic;
        bool has_places, has_slots;
    } cases[] = {
        {"", 0, true, true},
        {uses, 0, false, false},
        {uses, 1024, false, true},
        {"st.shared.u32 [memory+4], %r1;", 0, false, false},
        {"st.shared.v2.u32 [memory], {%r1, %r2};", 0, false, false},
        {"mov.u32 %r1, %total_smem_size;", 1024, false, false},
        {"mov.u32 %r1, %dynamic_smem_size;", 1024, false, false},
        {"mov.u32 %r1, %aggr_smem_size;", 1024, false, false},
        {"call unknown;", 1024, true, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (unsigned places = 0; places <= 64; places += 64) {
            Case test;
            slots_start(&test, kernel_of("", cases[i].code), 64);
            test.request.dynamic_shared = cases[i].dynamic;
            test.judge.places = places;
            case_run(&test);
            const bool by_assembler = places && cases[i].has_places, by_slots = !by_assembler && cases[i].has_slots;
            assert_int_equal(test.body->blocks.data[0]->pragmas.count, by_assembler);
            assert_int_equal(slots_size(&test) > 0, by_slots);
            assert_int_equal(figures_spills(&test.result.after) < figures_spills(&test.result.capped),
                             by_assembler || by_slots);
            case_end(&test);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_all_shapes_have_their_own_places),
        cmocka_unit_test(slots_leave_what_launches_need),
        cmocka_unit_test(bounds_of_the_input_stay),
        cmocka_unit_test(other_shared_memory_stays_free),
    };
    return cmocka_run_group_tests(tests, texts_start, texts_end);
}
