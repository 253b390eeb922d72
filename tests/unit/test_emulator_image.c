/* Textures and surfaces: launch files that describe them, and fetches against values worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "parser/parser.h"

#define WORDS 64
#define MODULE                                                                                                         \
    ".version 8.0\n.target sm_90%s\n.address_size 64\n%s\n"                                                            \
    ".visible .entry k(.param .u64 out, .param .u64 t)\n{\n"                                                           \
    ".reg .pred %%p<4>; .reg .b16 %%h<8>; .reg .b32 %%r<40>; .reg .b64 %%rd<8>; .reg .f32 %%f<20>;\n"                  \
    "ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [t]; mov.u32 %%r1, %%tid.x; mul.wide.u32 %%rd3, %%r1, 16;\n"       \
    "add.u64 %%rd3, %%rd3, %%rd1; cvt.rn.f32.u32 %%f1, %%r1;\n%s\nret;\n}\n"

typedef struct Setting {
    const char *target, *variables; /* of the module; NULL: none */
    const char *image;              /* the launch file's argument */
    const char *more;               /* further arguments */
    unsigned threads;
} Setting;

static Launch *read_launch(Arena *arena, const Setting *setting, const char **error)
{
    const char *folder = getenv("TEST_TMP");
    char *path = arena_printf(arena, "%s/%ld-image.json", folder ? folder : "/tmp", (long)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "{\"kernel\": \"k\", \"grid\": [1], \"block\": [%u], \"args\": ["
            "{\"buffer\": \"out\", \"type\": \"u32\", \"count\": %d, \"init\": \"zero\"}, %s%s%s]}",
            setting->threads ? setting->threads : 1, WORDS, setting->image, setting->more ? ", " : "",
            setting->more ? setting->more : "");
    fclose(file);
    Launch *launch = launch_read(arena, path, error);
    unlink(path);
    return launch;
}

static EmulatorResult *execute(Arena *arena, const Setting *setting, const char *body)
{
    Buf text = {0};
    Diag diag;
    const char *error;
    buf_printf(&text, MODULE, setting->target ? setting->target : "", setting->variables ? setting->variables : "",
               body);
    Source *source = source_from_memory(arena, "image.ptx", buf_text(&text), text.length);
    buf_free(&text);
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    Launch *launch = read_launch(arena, setting, &error);
    if (!launch)
        fail_msg("%s", error);
    EmulatorOptions options = {.check_races = true,
                               .check_registers = true,
                               .check_unwritten = true,
                               .count_memory = true,
                               .count_reuse = true};
    EmulatorResult *result = emulator_run(arena, module, launch, &options);
    if (result->fault.kind != FAULT_NONE)
        result->fault.message = fault_text(arena, module, &result->fault);
    return result;
}

static const uint32_t *run(Arena *arena, const Setting *setting, const char *body)
{
    EmulatorResult *result = execute(arena, setting, body);
    if (result->fault.kind != FAULT_NONE)
        fail_msg("%s", result->fault.message);
    return (const uint32_t *)emulator_buffer(result, "out")->bytes;
}

static void expect_floats(const Setting *setting, const char *body, const float *expected, unsigned count)
{
    Arena *arena = arena_new();
    const float *got = (const float *)run(arena, setting, body);
    for (unsigned i = 0; i < count; i++)
        if (got[i] != expected[i])
            fail_msg("value %u is %.9g, not %.9g, after %s", i, got[i], expected[i], body);
    arena_free(arena);
}

static void expect_words(const Setting *setting, const char *body, const uint32_t *expected, unsigned count)
{
    Arena *arena = arena_new();
    const uint32_t *got = run(arena, setting, body);
    for (unsigned i = 0; i < count; i++)
        if (got[i] != expected[i])
            fail_msg("word %u is 0x%x, not 0x%x, after %s", i, got[i], expected[i], body);
    arena_free(arena);
}

static void expect_fault(const Setting *setting, const char *body, FaultKind kind, const char *message)
{
    Arena *arena = arena_new();
    EmulatorResult *result = execute(arena, setting, body);
    assert_int_equal(result->fault.kind, kind);
    if (!strstr(result->fault.message, message))
        fail_msg("\"%s\" does not say \"%s\"", result->fault.message, message);
    arena_free(arena);
}

#define RAMP "\"type\": \"f32\", \"init\": \"iota\", \"start\": 10, \"step\": 4"
#define STORE_F4 "st.global.v4.f32 [%rd3], {%f4, %f5, %f6, %f7};"
#define STORE_F1 "st.global.f32 [%rd3], %f4;"

static void linear_memory_is_read_by_texel(void **state)
{
    (void)state;
    /* Texel tid - 1: zero outside the texture; neither filter nor address mode matters. */
    Setting setting = {
        .image = "{\"texture\": \"t\", \"memory\": \"linear\", \"filter\": \"linear\", \"width\": 3, " RAMP "}",
        .threads = 5};
    expect_floats(&setting, "sub.s32 %r2, %r1, 1; tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd2, {%r2}];" STORE_F4,
                  (float[]){0, 0, 0, 1, 10, 0, 0, 1, 14, 0, 0, 1, 18, 0, 0, 1, 0, 0, 0, 1}, 20);
    /* The texture uses the memory of a buffer that is also an argument of the kernel. */
    Setting shared = {.image = "{\"buffer\": \"a\", \"type\": \"f32\", \"count\": 4, \"values\": [1, 2, 3, 4]}",
                      .more =
                          "{\"texture\": \"t\", \"of\": \"a\", \"bind\": \"tex\", \"memory\": \"linear\", \"type\": "
                          "\"f32\", \"width\": 4}",
                      .variables = ".global .texref tex;",
                      .threads = 4};
    expect_floats(&shared,
                  "tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [tex, {%r1}]; mul.wide.u32 %rd4, %r1, 4;\n"
                  "add.u64 %rd4, %rd4, %rd2; ld.global.f32 %f5, [%rd4];" STORE_F4,
                  (float[]){1, 1, 0, 1, 2, 2, 0, 1, 3, 3, 0, 1, 4, 4, 0, 1}, 16);
}

/* Coordinates tid / 2 - 1 over the texels 10, 14, 18, 22. */
static void address_modes_and_filters(void **state)
{
    (void)state;
    static const struct {
        const char *sampling;
        float expected[12];
    } cases[] = {
        {"\"address\": \"clamp\"", {10, 10, 10, 10, 14, 14, 18, 18, 22, 22, 22, 22}},
        {"\"address\": \"border\"", {0, 0, 10, 10, 14, 14, 18, 18, 22, 22, 0, 0}},
        {"\"address\": \"wrap\"", {10, 10, 10, 10, 14, 14, 18, 18, 22, 22, 22, 22}},
        {"\"filter\": \"linear\"", {10, 10, 10, 10, 12, 14, 16, 18, 20, 22, 22, 22}},
        {"\"filter\": \"linear\", \"address\": \"border\"", {0, 0, 5, 10, 12, 14, 16, 18, 20, 22, 11, 0}},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char image[256];
        float expected[48] = {0};
        snprintf(image, sizeof image, "{\"texture\": \"t\", \"width\": 4, " RAMP ", %s}", cases[i].sampling);
        Setting setting = {.image = image, .threads = 12};
        for (unsigned k = 0; k < 12; k++)
            expected[4 * k] = cases[i].expected[k];
        expect_floats(&setting,
                      "fma.rn.f32 %f1, %f1, 0f3F000000, 0fBF800000;\n"
                      "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd2, {%f1}];" STORE_F1,
                      expected, 48);
    }
}

/* Coordinates tid / 8 - 0.5 of a texture from 0 to 1. */
static void normalized_coordinates(void **state)
{
    (void)state;
    static const struct {
        const char *sampling;
        float expected[12];
    } cases[] = {
        {"\"address\": \"clamp\"", {10, 10, 10, 10, 10, 10, 14, 14, 18, 18, 22, 22}},
        {"\"address\": \"wrap\"", {18, 18, 22, 22, 10, 10, 14, 14, 18, 18, 22, 22}},
        {"\"address\": \"mirror\"", {18, 14, 14, 10, 10, 10, 14, 14, 18, 18, 22, 22}},
        {"\"address\": \"wrap\", \"filter\": \"linear\"", {16, 18, 20, 22, 16, 10, 12, 14, 16, 18, 20, 22}},
        {"\"address\": \"mirror\", \"filter\": \"linear\"", {16, 14, 12, 10, 10, 10, 12, 14, 16, 18, 20, 22}},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char image[256];
        float expected[48] = {0};
        snprintf(image, sizeof image, "{\"texture\": \"t\", \"width\": 4, \"normalized\": true, " RAMP ", %s}",
                 cases[i].sampling);
        Setting setting = {.image = image, .threads = 12};
        for (unsigned k = 0; k < 12; k++)
            expected[4 * k] = cases[i].expected[k];
        expect_floats(&setting,
                      "fma.rn.f32 %f1, %f1, 0f3E000000, 0fBF000000;\n"
                      "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd2, {%f1}];" STORE_F1,
                      expected, 48);
    }
}

static void weights_have_eight_bits(void **state)
{
    (void)state;
    /* 1.5 + 1/1000 is nearest to 0/256 from the texel's middle, 1.5 + 3/1000 to 1/256. */
    Setting setting = {.image = "{\"texture\": \"t\", \"width\": 4, \"filter\": \"linear\", " RAMP "}"};
    expect_floats(&setting,
                  "mov.f32 %f1, 0f3FC020C5; tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd2, {%f1}];\n"
                  "mov.f32 %f2, 0f3FC0624E; tex.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%f2}];" STORE_F4,
                  (float[]){14, 14 + 4.0f / 256}, 2);
}

static void more_dimensions(void **state)
{
    (void)state;
    /* Texel x, y, z, layer of a texture of 3 x 2 x 2 holds its index. */
    Setting flat = {.image = "{\"texture\": \"t\", \"width\": 3, \"height\": 2, \"type\": \"f32\", \"filter\": "
                             "\"linear\", \"init\": \"iota\", \"start\": 0}"};
    expect_floats(&flat,
                  "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3FC00000; mov.f32 %f3, 0f40200000;\n"
                  "tex.2d.v4.f32.f32 {%f4, _, _, _}, [%rd2, {%f1, %f1}];\n"  /* 0 1 3 4 in equal parts */
                  "tex.2d.v4.f32.f32 {%f5, _, _, _}, [%rd2, {%f3, %f2}];\n"  /* texel 2, 1 */
                  "tld4.r.2d.v4.f32.f32 {%f6, %f7, %f8, %f9}, [%rd2, {%f1, %f1}];\n"
                  "st.global.v4.f32 [%rd3+16], {%f6, %f7, %f8, %f9};\n"
                  "tex.2d.v4.f32.s32 {%f6, _, _, _}, [%rd2, {1, 1}], {1, -1};\n"
                  "mov.f32 %f7, 0f00000000;" STORE_F4,
                  (float[]){2, 5, 2, 0, 3, 4, 1, 0}, 8);
    Setting deep = {.image = "{\"texture\": \"t\", \"width\": 3, \"height\": 2, \"depth\": 2, \"type\": \"f32\", "
                             "\"init\": \"iota\", \"start\": 0}"};
    expect_floats(&deep,
                  "mov.f32 %f1, 0f3FC00000; mov.f32 %f2, 0f3F000000;\n"
                  "tex.3d.v4.f32.f32 {%f4, _, _, _}|%p1, [%rd2, {%f1, %f2, %f1, %f1}]; @!%p1 mov.f32 %f4, %f1;\n"
                  "tex.level.3d.v4.f32.f32 {%f5, _, _, _}, [%rd2, {%f2, %f1, %f2, %f2}], %f1;\n"
                  "mov.f32 %f6, %f5; mov.f32 %f7, %f5;" STORE_F4,
                  (float[]){7, 3}, 2);
    Setting layers = {.image = "{\"texture\": \"t\", \"width\": 3, \"height\": 2, \"layers\": 2, \"type\": \"f32\", "
                               "\"init\": \"iota\", \"start\": 0}"};
    expect_floats(&layers,
                  "mov.f32 %f1, 0f3FC00000; mov.u32 %r2, 1; mov.u32 %r3, 9;\n"
                  "tex.a2d.v4.f32.f32 {%f4, _, _, _}, [%rd2, {%r2, %f1, %f1, %f1}];\n"
                  "tex.a1d.v4.f32.f32 {%f5, _, _, _}, [%rd2, {%r3, %f1}];\n"
                  "mov.f32 %f6, %f5; mov.f32 %f7, %f5;" STORE_F4,
                  (float[]){10, 7}, 2);
    Setting cube = {.image = "{\"texture\": \"t\", \"width\": 1, \"height\": 1, \"layers\": 12, \"type\": \"f32\", "
                             "\"init\": \"iota\", \"start\": 0}"};
    expect_floats(&cube,
                  "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0fC0400000; mov.u32 %r2, 1;\n"
                  "tex.cube.v4.f32.f32 {%f4, _, _, _}, [%rd2, {%f1, %f2, %f1, %f1}];\n"
                  "tex.acube.v4.f32.f32 {%f5, _, _, _}, [%rd2, {%r2, %f1, %f1, %f2}];\n"
                  "mov.f32 %f6, %f5; mov.f32 %f7, %f5;" STORE_F4,
                  (float[]){3, 11}, 2);
}

static void channel_types(void **state)
{
    (void)state;
    Setting bytes = {.image = "{\"texture\": \"t\", \"width\": 2, \"channels\": 4, \"type\": \"u8\", \"values\": "
                              "[1, 2, 3, 4, 0, 51, 255, 102]}"};
    expect_words(&bytes,
                 "tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd2, {1}]; st.global.v4.u32 [%rd3], {%r4, %r5, %r6, %r7};",
                 (uint32_t[]){0, 51, 255, 102}, 4);
    Setting units = {.image = "{\"texture\": \"t\", \"width\": 2, \"channels\": 4, \"read\": \"normalized\", \"type\": "
                              "\"u8\", \"values\": [1, 2, 3, 4, 0, 51, 255, 102]}"};
    expect_floats(&units, "tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd2, {1}];" STORE_F4,
                  (float[]){0, 0.2f, 1, 0.4f}, 4);
    Setting signs = {.image = "{\"texture\": \"t\", \"width\": 1, \"channels\": 2, \"type\": \"s16\", \"values\": [-2, "
                              "300]}"};
    expect_words(&signs,
                 "tex.1d.v4.s32.s32 {%r4, %r5, %r6, %r7}, [%rd2, {0}]; st.global.v4.u32 [%rd3], {%r4, %r5, %r6, %r7};",
                 (uint32_t[]){0xfffffffe, 300, 0, 1}, 4);
    Setting halves = {.image = "{\"texture\": \"t\", \"width\": 1, \"channels\": 4, \"type\": \"f16\", \"values\": "
                               "[1.5, -2, 0.5, 3]}"};
    expect_floats(&halves, "tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd2, {0}];" STORE_F4,
                  (float[]){1.5f, -2, 0.5f, 3}, 4);
    expect_words(&halves, "tex.1d.v2.f16x2.s32 {%r4, %r5}, [%rd2, {0}]; st.global.v2.u32 [%rd3], {%r4, %r5};",
                 (uint32_t[]){0xc0003e00, 0x42003800}, 2);
}

static void handles_and_queries(void **state)
{
    (void)state;
    Setting setting = {.image = "{\"scalar\": \"u64\", \"value\": 0}",
                       .more = "{\"texture\": \"a\", \"bind\": \"ta\", \"width\": 5, \"height\": 4, \"channels\": 2, "
                               "\"address\": [\"wrap\", \"border\"], \"normalized\": true, " RAMP "},"
                               "{\"surface\": \"b\", \"bind\": \"sb\", \"width\": 7, \"type\": \"u16\"}",
                       .variables = ".global .texref ta; .global .texref tb; .global .surfref sb;"};
    expect_words(
        &setting,
        "txq.width.b32 %r2, [ta]; txq.height.b32 %r3, [ta]; mov.u64 %rd4, ta; txq.addr_mode_0.b32 %r4, [%rd4];\n"
        "suq.width.b32 %r5, [sb]; st.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};\n"
        "txq.channel_data_type.b32 %r2, [ta]; suq.channel_data_type.b32 %r3, [sb];\n"
        "txq.channel_order.b32 %r4, [ta]; txq.normalized_coords.b32 %r5, [ta];\n"
        "st.global.v4.u32 [%rd3+16], {%r2, %r3, %r4, %r5};",
        (uint32_t[]){5, 4, 1, 7, 0x10de, 0x10db, 0x10b2, 1}, 8);
    expect_fault(&setting, "txq.width.b32 %r2, [tb];", FAULT_BOUNDS, "binds nothing to tb");
    expect_fault(&setting, "txq.width.b32 %r2, [%rd1];", FAULT_BOUNDS, "not the handle");
    Setting sampler = {.target = ", texmode_independent",
                       .image = "{\"texture\": \"t\", \"width\": 4, " RAMP "}",
                       .variables = ".global .samplerref s0 = {addr_mode_0 = clamp_to_border, filter_mode = nearest, "
                                    "force_unnormalized_coords = 1};\n"
                                    ".global .samplerref s1 = {addr_mode_0 = wrap, filter_mode = linear};"};
    expect_floats(&sampler,
                  "mov.f32 %f1, 0fBF800000; tex.1d.v4.f32.f32 {%f4, _, _, _}, [%rd2, s0, {%f1}];\n"
                  "mov.f32 %f2, 0f00000000; tex.1d.v4.f32.f32 {%f5, _, _, _}, [%rd2, s1, {%f2}];\n"
                  "mov.f32 %f6, %f5; mov.f32 %f7, %f5;" STORE_F4,
                  (float[]){0, 16}, 2);
}

#define SURFACE "{\"surface\": \"t\", \"width\": 4, \"height\": 2, \"type\": \"u32\", \"init\": \"iota\", \"start\": 0}"

static void surfaces_are_read_and_written(void **state)
{
    (void)state;
    Setting setting = {.image = SURFACE};
    expect_words(&setting,
                 "suld.b.2d.b32.trap %r4, [%rd2, {8, 1}]; suld.b.2d.b32.clamp %r5, [%rd2, {64, 9}];\n"
                 "suld.b.2d.b32.zero %r6, [%rd2, {64, 0}]; suld.b.2d.v2.b32.trap {%r7, _}, [%rd2, {8, 0}];\n"
                 "st.global.v4.u32 [%rd3], {%r4, %r5, %r6, %r7};\n"
                 "mov.b16 %h1, 0x1234; sust.b.2d.b16.trap [%rd2, {2, 0}], {%h1};\n"
                 "sust.b.2d.v2.b32.zero [%rd2, {-8, 0}], {%r4, %r4}; sust.b.2d.b32.clamp [%rd2, {12, 5}], 99;\n"
                 "suld.b.2d.b32.trap {%r4}, [%rd2, {0, 0}]; suld.b.2d.b32.trap %r5, [%rd2, {12, 1}];\n"
                 "st.global.v2.u32 [%rd3+16], {%r4, %r5};\n"
                 "sured.b.add.2d.u32.trap [%rd2, {4, 0}], 41; suld.b.2d.v4.b32.trap {%r4, %r5, %r6, %r7}, [%rd2, {0, "
                 "0}];\n"
                 "st.global.v4.u32 [%rd3+32], {%r4, %r5, %r6, %r7};",
                 (uint32_t[]){6, 7, 0, 2, 0x12340000, 99, 0, 0, 0x12340000, 42, 2, 3}, 12);
    expect_fault(&setting, "suld.b.2d.b32.trap %r4, [%rd2, {16, 0}];", FAULT_BOUNDS, "byte 16,0,0");
    expect_fault(&setting, "suld.b.2d.b32.trap %r4, [%rd2, {0, 2}];", FAULT_BOUNDS, "surface t");
    expect_fault(&setting, "suld.b.2d.b32.zero %r4, [%rd2, {2, 0}];", FAULT_ALIGNMENT, "surface t");
}

/* Sectors have 8 texels, lines 32. */
static void accesses_are_counted(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Setting texture = {.image = "{\"texture\": \"t\", \"width\": 64, \"filter\": \"linear\", " RAMP "}",
                             .threads = 32};
    /* Each thread mixes its texel and the next one: 33 of them. */
    const EmulatorResult *result = execute(
        arena, &texture, "add.f32 %f1, %f1, 0f3F800000; tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd2, {%f1}];");
    assert_int_equal(result->counters.load_sectors, 5);
    assert_int_equal(result->counters.load_lines, 2);
    assert_int_equal(result->counters.load_footprint, 5);
    assert_int_equal(result->counters.store_sectors, 0);
    const Setting surface = {.image = "{\"surface\": \"t\", \"width\": 64, \"type\": \"u32\"}", .threads = 32};
    result = execute(arena, &surface, "shl.b32 %r2, %r1, 3; sust.b.1d.b32.zero [%rd2, {%r2}], %r1;");
    assert_int_equal(result->counters.store_sectors, 8);
    assert_int_equal(result->counters.store_footprint, 8);
    assert_int_equal(result->counters.load_sectors, 0);
    /* A sector has four texels of two rows where tiles of 16 x 8 are whole, else eight of a row. */
    const struct {
        const char *image;
        unsigned sectors, lines;
    } columns[] = {{"{\"surface\": \"t\", \"width\": 16, \"height\": 32, \"type\": \"u32\"}", 16, 8},
                   {"{\"surface\": \"t\", \"width\": 16, \"height\": 36, \"type\": \"u32\"}", 32, 16},
                   {"{\"surface\": \"t\", \"width\": 24, \"height\": 32, \"type\": \"u32\"}", 32, 24}};
    for (unsigned i = 0; i < 3; i++) {
        const Setting column = {.image = columns[i].image, .threads = 32};
        result = execute(arena, &column, "sust.b.2d.b32.trap [%rd2, {12, %r1}], %r1;");
        assert_int_equal(result->counters.store_sectors, columns[i].sectors);
        assert_int_equal(result->counters.store_footprint, columns[i].sectors);
        assert_int_equal(result->counters.store_lines, columns[i].lines);
    }
    arena_free(arena);
}

static void formatted_stores_convert(void **state)
{
    (void)state;
    Setting half = {.image = "{\"surface\": \"t\", \"width\": 4, \"channels\": 2, \"type\": \"f16\", \"init\": "
                             "\"zero\"}"};
    expect_words(&half,
                 "mov.b32 %r4, 0f3FC00000; sust.p.1d.v2.b32.trap [%rd2, {1}], {%r4, %r4};\n"
                 "suld.b.1d.b32.trap %r5, [%rd2, {4}]; st.global.u32 [%rd3], %r5;",
                 (uint32_t[]){0x3e003e00}, 1);
    Setting byte = {.image = "{\"surface\": \"t\", \"width\": 4, \"type\": \"u8\", \"init\": \"zero\"}"};
    expect_words(&byte,
                 "sust.p.1d.b32.trap [%rd2, {1}], 7; sust.p.1d.b32.trap [%rd2, {3}], 700;\n"
                 "suld.b.1d.b32.trap %r5, [%rd2, {0}]; st.global.u32 [%rd3], %r5;",
                 (uint32_t[]){0xff000700}, 1);
}

static void races_are_seen(void **state)
{
    (void)state;
    Setting setting = {.image = SURFACE, .threads = 2};
    expect_fault(&setting, "sust.b.2d.b32.trap [%rd2, {0, 0}], %r1;", FAULT_RACE, "byte 0 of t");
    Setting unwritten = {.image = "{\"surface\": \"t\", \"width\": 4, \"type\": \"u32\", \"init\": \"poison\"}"};
    expect_fault(&unwritten, "suld.b.1d.b32.trap %r4, [%rd2, {4}];", FAULT_UNWRITTEN, "of t");
}

static void what_is_not_executed_is_refused(void **state)
{
    (void)state;
    Setting setting = {.image = "{\"texture\": \"t\", \"width\": 4, " RAMP "}"};
    expect_fault(&setting, "tex.2dms.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd2, {0, 0, 0, 0}];", FAULT_UNSUPPORTED,
                 "tex.2dms.v4.f32.s32");
    expect_fault(&setting, "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd2, {%f1, %f1}], %f1;", FAULT_UNSUPPORTED,
                 "tex.2d");
}

static void bad_descriptions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *image, *message;
    } cases[] = {
        {"{\"texture\": \"t\", \"type\": \"f64\"}", "unknown type"},
        {"{\"texture\": \"t\", \"type\": \"f32\", \"channels\": 3}", "1, 2 or 4 channels"},
        {"{\"texture\": \"t\", \"type\": \"f32\", \"width\": 0}", "is not a whole number"},
        {"{\"texture\": \"t\", \"type\": \"f32\", \"width\": 65536, \"height\": 65536}", "too large"},
        {"{\"texture\": \"t\", \"type\": \"f32\", \"filter\": \"cubic\"}", "\"point\" or \"linear\""},
        {"{\"texture\": \"t\", \"type\": \"f32\", \"address\": \"repeat\"}", "\"address\""},
        {"{\"texture\": \"t\", \"type\": \"f32\", \"address\": []}", "\"address\""},
        {"{\"texture\": \"t\", \"type\": \"f32\", \"values\": [1, 2]}", "more values than texels"},
        {"{\"surface\": \"t\", \"type\": \"f32\", \"init\": \"odd\"}", "unknown init"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *arena = arena_new();
        const char *error = NULL;
        Setting setting = {.image = cases[i].image};
        assert_null(read_launch(arena, &setting, &error));
        if (!strstr(error, cases[i].message))
            fail_msg("\"%s\" does not say \"%s\"", error, cases[i].message);
        arena_free(arena);
    }
    Setting missing = {.image = "{\"texture\": \"t\", \"of\": \"b\", \"type\": \"f32\"}"};
    expect_fault(&missing, "", FAULT_LAUNCH, "no earlier buffer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_memory_is_read_by_texel),
        cmocka_unit_test(address_modes_and_filters),
        cmocka_unit_test(normalized_coordinates),
        cmocka_unit_test(weights_have_eight_bits),
        cmocka_unit_test(more_dimensions),
        cmocka_unit_test(channel_types),
        cmocka_unit_test(handles_and_queries),
        cmocka_unit_test(surfaces_are_read_and_written),
        cmocka_unit_test(accesses_are_counted),
        cmocka_unit_test(formatted_stores_convert),
        cmocka_unit_test(races_are_seen),
        cmocka_unit_test(what_is_not_executed_is_refused),
        cmocka_unit_test(bad_descriptions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
