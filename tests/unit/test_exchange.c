/* Threads that change places: all of the work is done once, whatever the sizes, and kernels that could tell are left
 * alone. */
#include "parsed.h"

#include "emit/emit.h"
#include "emulator/emulator.h"
#include "opt/passes.h"
#include "tests/tools/form_difference.h"
#include "tests/tools/kernel_writer.h"
#include "tests/tools/one_pass.h"

enum { MOST = 4096, LAUNCHES = 150 };

/* k(in, out, channels, width, total): %i is the thread's index, %x = i % width, %c = i / width % channels and
 * %b = i / width / channels, %from and %to the indices of the same element in [b][c][x] and [b][x][c]. */
#define BEGIN SM_90 ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 channels, .param .u32 width, "     \
              ".param .u32 total)\n{\n"                                                                               \
              "\t.reg .b32 %r<40>, %i, %x, %c, %b, %q, %channels, %width, %total, %to;\n"                             \
              "\t.reg .b64 %in, %out, %d<9>;\n\t.reg .b16 %h<3>;\n\t.reg .pred %p<4>;\n"                              \
              "\tld.param.u64 %in, [in];\n\tld.param.u64 %out, [out];\n"                                              \
              "\tld.param.u32 %channels, [channels];\n\tld.param.u32 %width, [width];\n"                              \
              "\tld.param.u32 %total, [total];\n"                                                                     \
              "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
#define INDEX "\tmad.lo.s32 %i, %r1, %r2, %r3;\n"
#define PRODUCT "\tmul.lo.s32 %r4, %r2, %r1;\n\tadd.s32 %i, %r3, %r4;\n"
#define GUARD "\tsetp.ge.s32 %p1, %i, %total;\n\t@%p1 bra DONE;\n"
#define PLACE "\tdiv.s32 %q, %i, %width;\n\trem.s32 %x, %i, %width;\n\trem.s32 %c, %q, %channels;\n"                   \
              "\tdiv.s32 %b, %q, %channels;\n\tmad.lo.s32 %r5, %b, %width, %x;\n"                                     \
              "\tmad.lo.s32 %to, %r5, %channels, %c;\n"
#define ADDRESSES(bytes) "\tmul.wide.s32 %d1, %i, " bytes ";\n\tadd.s64 %d2, %in, %d1;\n"                              \
                         "\tmul.wide.s32 %d3, %to, " bytes ";\n\tadd.s64 %d4, %out, %d3;\n"
#define COPY "\tld.global.u32 %r6, [%d2];\n\tst.global.u32 [%d4], %r6;\n"
#define END "DONE:\n\tret;\n}\n"

/* The kernel with this code after the pass, if that changes it; the caller frees the text. */
static bool run(Module *module, Buf *after)
{
    Body *body = body_from(module);
    body_to_ssa(body);
    body = body_clone(body);
    one_pass(&body, PASS_CLEANUP);
    const bool changed = one_pass(&body, PASS_EXCHANGE);
    one_pass(&body, PASS_CLEANUP);
    body_from_ssa(body);
    function_set_body(module_find_function(module, "k"), body);
    emit_module(module, after);
    function_set_body(module_find_function(module, "k"), NULL);
    return changed;
}

static Launch kernel_launch(Writer *writer, Arena *arena, Type type)
{
    static const unsigned blocks[] = {32, 64, 96, 128, 7};
    static const unsigned widths[] = {1, 2, 3, 7, 8, 9, 16, 31, 32, 49, 64, 100, 256};
    const unsigned channels = 1 + below(writer, 20), width = widths[below(writer, COUNT_OF(widths))];
    const unsigned total = channels * width * (1 + below(writer, 3)), block = blocks[below(writer, COUNT_OF(blocks))];
    const unsigned used = total > MOST ? MOST : total;
    Launch launch = {.kernel = "k", .grid = {(used + block - 1) / block + below(writer, 3), 1, 1},
                     .block = {block, 1, 1}, .argument_count = 5};
    launch.arguments = ARENA_ARRAY(arena, LaunchArgument, 5);
    launch.arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "in", .type = type, .count = used,
                                           .fill = FILL_UNIFORM, .low = 0, .high = 127, .seed = total};
    /* indices of what is left out of the last image are beyond the others */
    launch.arguments[1] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "out", .type = type,
                                           .count = (uint64_t)total + channels * width,
                                           .fill = FILL_ZERO};
    scalar_argument(arena, &launch.arguments[2], channels);
    scalar_argument(arena, &launch.arguments[3], width);
    scalar_argument(arena, &launch.arguments[4], used);
    return launch;
}

/* The threads of random launches do the work of the original's. */
static void check_launches(const char *code, Type type)
{
    Writer writer = {.random = {type}};
    for (unsigned i = 0; i < LAUNCHES; i++) {
        Arena *arena = arena_new();
        Buf text = {0}, after = {0};
        buf_printf(&text, "%s%s%s", BEGIN, code, END);
        Module *module = module_from(buf_text(&text));
        const Launch launch = kernel_launch(&writer, arena, type);
        const EmulatorOptions options = {0};
        EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
        assert_int_equal(expected->fault.kind, FAULT_NONE);
        assert_true(run(module, &after));
        const LaunchChange change = {0};
        const char *message = form_difference(arena, &after, &launch, &change, expected, &options, NULL);
        if (message)
            fail_msg("launch %u: %s\n%s", i, message, buf_text(&after));
        release(module);
        arena_free(arena);
        buf_free(&text);
        buf_free(&after);
    }
}

static void test_launches(void **state)
{
    (void)state;
    check_launches(INDEX GUARD PLACE ADDRESSES("4") COPY, TYPE_U32);
    check_launches(PRODUCT GUARD PLACE ADDRESSES("4") COPY, TYPE_U32);
    check_launches(INDEX GUARD PLACE ADDRESSES("1")
                   "\tld.global.u8 %h1, [%d2];\n\tst.global.u8 [%d4], %h1;\n",
                   TYPE_U8);
    check_launches(INDEX GUARD PLACE ADDRESSES("2")
                   "\tld.global.u16 %h1, [%d2];\n\tst.global.u16 [%d4], %h1;\n",
                   TYPE_U16);
    check_launches(INDEX GUARD PLACE ADDRESSES("8")
                   "\tld.global.u64 %d5, [%d2];\n\tst.global.u64 [%d4], %d5;\n",
                   TYPE_U64);
    /* the other way, and rows by a constant */
    check_launches(INDEX GUARD "\tdiv.u32 %q, %i, %width;\n\trem.u32 %x, %i, %width;\n\trem.u32 %c, %q, %channels;\n"
                   "\tdiv.u32 %b, %q, %channels;\n\tmad.lo.u32 %r5, %b, %width, %x;\n"
                   "\tmad.lo.u32 %to, %r5, %channels, %c;\n\tsetp.lt.u32 %p2, %to, %total;\n\t@!%p2 bra DONE;\n"
                   "\tmul.wide.u32 %d1, %i, 4;\n\tadd.s64 %d2, %out, %d1;\n\tmul.wide.u32 %d3, %to, 4;\n"
                   "\tadd.s64 %d4, %in, %d3;\n\tld.global.u32 %r6, [%d4];\n\tst.global.u32 [%d2], %r6;\n", TYPE_U32);
    check_launches(INDEX GUARD "\tshr.u32 %q, %i, 5;\n\tand.b32 %x, %i, 31;\n\tmad.lo.u32 %to, %x, %width, %q;\n"
                   "\tsetp.lt.u32 %p2, %to, %total;\n\t@!%p2 bra DONE;\n" ADDRESSES("4")
                   "\tmul.wide.u32 %d5, %to, 4;\n\tadd.s64 %d6, %in, %d5;\n\tld.global.u32 %r6, [%d6];\n"
                   "\tadd.s64 %d7, %out, %d1;\n\tst.global.u32 [%d7], %r6;\n", TYPE_U32);
}

static void check_left(const char *code)
{
    Buf text = {0}, after = {0};
    buf_printf(&text, "%s%s%s", BEGIN, code, END);
    Module *module = module_from(buf_text(&text));
    if (run(module, &after))
        fail_msg("changed:\n%s", buf_text(&text));
    release(module);
    buf_free(&text);
    buf_free(&after);
}

static void test_left(void **state)
{
    (void)state;
#define KERNEL(more) INDEX GUARD PLACE ADDRESSES("4") more COPY
    /* neighbours load and store neighbours; the index is of another kind */
    check_left(INDEX GUARD "\tmul.wide.s32 %d1, %i, 4;\n\tadd.s64 %d2, %in, %d1;\n\tadd.s64 %d4, %out, %d1;\n" COPY);
    check_left("\tmad.lo.s32 %i, %r2, %r2, %r3;\n" GUARD PLACE ADDRESSES("4") COPY);
    check_left("\tmad.lo.s32 %i, %r1, %r3, %r3;\n" GUARD PLACE ADDRESSES("4") COPY);
    check_left("\tmad.lo.s32 %i, %r1, 64, %r3;\n" GUARD PLACE ADDRESSES("4") COPY);
    /* by what a thread's own number divides */
    check_left(INDEX GUARD "\tadd.s32 %width, %i, 1;\n" PLACE ADDRESSES("4") COPY);
    /* threads learn of their place, or do something together */
    check_left(KERNEL("\tst.global.u32 [%d4], %r3;\n"));
    check_left(KERNEL("\tsetp.eq.u32 %p3, %r1, 0;\n\t@%p3 bra DONE;\n"));
    check_left(KERNEL("\tmov.u32 %r8, %laneid;\n\tst.global.u32 [%d4], %r8;\n"));
    check_left(KERNEL("\tmov.u32 %r8, %smid;\n\tst.global.u32 [%d4], %r8;\n"));
    check_left(KERNEL("\tbar.sync 0;\n"));
    check_left(KERNEL("\tshfl.sync.idx.b32 %r8, %x, 0, 31, -1;\n\tst.global.u32 [%d4], %r8;\n"));
    check_left(KERNEL("\tatom.global.add.u32 %r8, [%in], 1;\n\tst.global.u32 [%d4], %r8;\n"));
    check_left(KERNEL("\tld.volatile.global.u32 %r8, [%in];\n\tst.global.u32 [%d4], %r8;\n"));
    check_left(KERNEL("\t.shared .b32 word;\n\tst.shared.u32 [word], %x;\n"));
    check_left(KERNEL("\tmembar.gl;\n"));
#undef KERNEL
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launches), cmocka_unit_test(test_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
