/* Launches on a device whose memory exists before and after: EmulatorDevice. */
#include <stdlib.h>

#include "emulated.h"

#define FIRST UINT64_C(0x10000000000)

typedef struct Fixture {
    Arena *arena;
    Module *module;
    EmulatorMemory memories[4];
    EmulatorDevice device;
    EmulatorHeap heap;
} Fixture;

static const char text[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".global .align 4 .u32 count = 5;\n"
    ".global .align 8 .u64 where = count;\n"
    ".const .align 4 .u32 step = 3;\n"
    ".extern .func (.param .b64 result) malloc(.param .b64 bytes);\n"
    ".visible .entry adds(.param .u64 to)\n{\n.reg .b64 %a<4>; .reg .b32 %r<4>; .reg .pred %p;\n"
    "ld.param.u64 %a0, [to];\nld.u64 %a0, [%a0];\nld.global.u64 %a1, [where];\nld.global.u32 %r0, [%a1];\n"
    "ld.const.u32 %r1, [step];\nadd.u32 %r0, %r0, %r1;\nst.global.u32 [%a1], %r0;\n"
    "isspacep.global %p, %a0;\n@%p st.u32 [%a0], %r0;\nret;\n}\n"
    ".visible .entry takes(.param .u64 to)\n{\n.reg .b64 %a<2>;\n.param .b64 bytes; .param .b64 result;\n"
    "ld.param.u64 %a0, [to];\nst.param.b64 [bytes], 16;\ncall (result), malloc, (bytes);\n"
    "ld.param.b64 %a1, [result];\nst.u64 [%a0], %a1;\nret;\n}\n"
    ".visible .entry beyond(.param .u64 to)\n{\n.reg .b64 %a;\n"
    "ld.param.u64 %a, [to];\nst.global.u32 [%a+64], 1;\nret;\n}\n"
    ".visible .entry samples(.param .u64 texture, .param .u64 to)\n{\n.reg .b64 %a<2>; .reg .f32 %f<4>; .reg .b32 %r;\n"
    "ld.param.u64 %a0, [texture];\nld.param.u64 %a1, [to];\nmov.u32 %r, 1;\n"
    "tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%a0, {%r, %r}];\nst.global.f32 [%a1], %f0;\nret;\n}\n";

/* Two buffers of 64 bytes, and the variables; the first word of the first buffer is the address of the second. */
static int setup(void **state)
{
    static uint8_t bytes[4][64];
    static const char *const names[] = {"first", "second", "count", "where"};
    Fixture *fixture = calloc(1, sizeof *fixture);
    Diag diag;
    memset(bytes, 0, sizeof bytes);
    fixture->arena = arena_new();
    Source *source = source_from_memory(fixture->arena, "device", text, strlen(text));
    diag_init(&diag, source, stderr);
    fixture->module = parse_module(fixture->arena, source, &diag);
    assert_non_null(fixture->module);
    for (unsigned i = 0; i < 4; i++)
        fixture->memories[i] =
            (EmulatorMemory){.name = names[i],
                             .address = FIRST + 256 * i,
                             .size = i < 2    ? 64
                                     : i == 2 ? 4
                                              : 8,
                             .bytes = bytes[i],
                             .variable = i < 2 ? NULL : module_find_variable(fixture->module, names[i])};
    memcpy(bytes[0], &fixture->memories[1].address, sizeof(uint64_t));
    fixture->device = (EmulatorDevice){.memories = fixture->memories, .memory_count = 4};
    emulator_load(fixture->module, &fixture->device);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    Fixture *fixture = *state;
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

static EmulatorResult *launch_with(const Fixture *fixture, const char *kernel, uint64_t first, uint64_t second,
                                   const EmulatorOptions *options)
{
    uint64_t *values = ARENA_ARRAY(fixture->arena, uint64_t, 2);
    LaunchArgument *arguments = ARENA_ARRAY(fixture->arena, LaunchArgument, 2);
    values[0] = first;
    values[1] = second;
    for (unsigned i = 0; i < 2; i++)
        arguments[i] =
            (LaunchArgument){.kind = ARGUMENT_SCALAR, .type = TYPE_U64, .count = 1, .bytes = &values[i], .size = 8};
    const Launch wanted = {
        .kernel = kernel, .arguments = arguments, .argument_count = second ? 2 : 1, .device = &fixture->device};
    return emulator_run(fixture->arena, fixture->module, &wanted, options);
}

static EmulatorResult *launch(const Fixture *fixture, const char *kernel, uint64_t first, uint64_t second)
{
    return launch_with(fixture, kernel, first, second, &(EmulatorOptions){.check_races = true});
}

static uint32_t word(const EmulatorMemory *memory)
{
    uint32_t value;
    memcpy(&value, memory->bytes, sizeof value);
    return value;
}

/* Variables get their values once; a kernel finds the results of the one before, through pointers in memory. */
static void test_stays(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(word(&fixture->memories[2]), 5);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(launch(fixture, "adds", FIRST, 0)->fault.kind, FAULT_NONE);
        assert_int_equal(word(&fixture->memories[1]), 5 + 3 * i);
        assert_int_equal(word(&fixture->memories[2]), 5 + 3 * i);
    }
}

static void test_bounds(void **state)
{
    Fixture *fixture = *state;
    EmulatorResult *result = launch(fixture, "beyond", FIRST, 0);
    assert_int_equal(result->fault.kind, FAULT_BOUNDS);
    assert_string_equal(result->fault.message, "store of 4 bytes at offset 64 of first");
    result = launch(fixture, "beyond", 4096, 0);
    assert_int_equal(result->fault.kind, FAULT_BOUNDS);
    assert_string_equal(result->fault.message, "store of 4 bytes at address 0x1040");
}

static uint8_t beside[64];

/* The bytes after the first buffer, up to the second. */
static bool find_outside(uint64_t address, uint64_t size, EmulatorMemory *memory)
{
    *memory = (EmulatorMemory){.name = "outside", .address = FIRST + 64, .size = sizeof beside, .bytes = beside};
    return address >= memory->address && address + size <= memory->address + memory->size;
}

static void test_outside(void **state)
{
    Fixture *fixture = *state;
    fixture->device.outside = find_outside;
    EmulatorResult *result = launch(fixture, "beyond", FIRST, 0);
    assert_int_equal(result->fault.kind, FAULT_NONE);
    assert_int_equal(beside[0], 1);
    assert_int_equal(result->outside.kind, FAULT_BOUNDS);
    assert_string_equal(result->outside.message, "store of 4 bytes at offset 64 of first");
    result = launch(fixture, "adds", FIRST, 0);
    assert_int_equal(result->fault.kind, FAULT_NONE);
    assert_int_equal(result->outside.kind, FAULT_NONE);
    result = launch(fixture, "beyond", FIRST + 64, 0);
    assert_int_equal(result->fault.kind, FAULT_BOUNDS);
    assert_string_equal(result->fault.message, "store of 4 bytes at offset 128 of first");
}

static void test_heap(void **state)
{
    Fixture *fixture = *state;
    uint64_t address;
    fixture->heap = (EmulatorHeap){.address = FIRST + 256, .size = 40};
    fixture->device.heap = &fixture->heap;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(launch(fixture, "takes", FIRST, 0)->fault.kind, FAULT_NONE);
        memcpy(&address, fixture->memories[0].bytes, sizeof address);
        assert_int_equal(address, i < 2 ? FIRST + 256 + 16 * i : 0);
    }
    /* With room between pieces, of which 16 bytes each may be accessed. */
    uint8_t pieces[64] = {0};
    fixture->heap = (EmulatorHeap){.address = FIRST + 256, .size = sizeof pieces, .pieces = pieces};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(launch(fixture, "takes", FIRST, 0)->fault.kind, FAULT_NONE);
        memcpy(&address, fixture->memories[0].bytes, sizeof address);
        assert_int_equal(address, i < 2 ? FIRST + 256 + 32 * i : 0);
    }
    assert_true(pieces[0] && !pieces[16] && pieces[32] && !pieces[48]);
}

/* A pointer in the first buffer, one in a variable, and the variable that it points to; then that and the second
 * buffer. */
static void test_footprint(void **state)
{
    const EmulatorOptions options = {.count_memory = true, .count_reuse = true};
    const EmulatorResult *result = launch_with(*state, "adds", FIRST, 0, &options);
    assert_int_equal(result->fault.kind, FAULT_NONE);
    assert_int_equal(result->counters.load_footprint, 3);
    assert_int_equal(result->counters.store_footprint, 2);
}

/* Rows of 16 bytes, of which three texels are used. */
static void test_images(void **state)
{
    Fixture *fixture = *state;
    float texels[8] = {0, 1, 2, -1, 10, 11, 12, -1}, found;
    const EmulatorImage images[] = {{0},
                                    {"a texture",
                                     {.width = 3, .height = 2, .depth = 1, .layers = 1, .channels = 1, .pitch = 16},
                                     TYPE_F32,
                                     (uint8_t *)texels}};
    fixture->device.images = images;
    fixture->device.image_count = 2;
    assert_int_equal(launch(fixture, "samples", emulator_image_handle(1), FIRST)->fault.kind, FAULT_NONE);
    memcpy(&found, fixture->memories[0].bytes, sizeof found);
    assert_true(found == 11);
    assert_int_equal(launch(fixture, "samples", emulator_image_handle(0), FIRST)->fault.kind, FAULT_BOUNDS);
    assert_int_equal(launch(fixture, "samples", emulator_image_handle(2), FIRST)->fault.kind, FAULT_BOUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_outside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_heap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_footprint, setup, teardown),
        cmocka_unit_test_setup_teardown(test_images, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
