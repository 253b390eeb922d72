/* Lanes along two axes: all of the work is done once, whatever the sizes, and kernels that could tell, or that gain
 * nothing, are left alone. */
#include "launched_form.h"

#include "tests/tools/kernel_writer.h"

enum { LAUNCHES = 150, LEAST_DONE = 30, SECTOR = 32 };

/* k(in, out, n, high, wide): thread (%x, %o, %p) copies in[%p][%o][%x] to out[%x][%o][%p], where %p is along 'axis' and
 * %o along 'other'. 'is_flat': blocks have one thread along the axis. */
static void kernel_write(Buf *text, char axis, char other, bool is_flat, bool is_wide, const char *more)
{
    const unsigned bytes = is_wide ? 8 : 4;
    const char *type = is_wide ? "u64" : "u32", *data = is_wide ? "%d9" : "%r20";
    buf_printf(text, SM_90 ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 high, "
               ".param .u32 wide)\n{\n\t.reg .b32 %%r<40>, %%x, %%o, %%p, %%n, %%high, %%wide;\n"
               "\t.reg .b64 %%in, %%out, %%d<10>;\n\t.reg .pred %%q<6>;\n"
               "\tld.param.u64 %%in, [in];\n\tld.param.u64 %%out, [out];\n\tld.param.u32 %%n, [n];\n"
               "\tld.param.u32 %%high, [high];\n\tld.param.u32 %%wide, [wide];\n");
    const char axes[] = {'x', other, axis}, *const names[] = {"%x", "%o", "%p"};
    for (unsigned i = 0; i < 3; i++)
        buf_printf(text, "\tmov.u32 %%r1, %%ctaid.%c;\n\tmov.u32 %%r2, %%ntid.%c;\n\tmov.u32 %%r3, %%tid.%c;\n"
                   "\tmad.lo.s32 %s, %%r1, %%r2, %%r3;\n", axes[i], axes[i], axes[i], names[i]);
    if (is_flat)
        buf_printf(text, "\tmov.u32 %%p, %%ctaid.%c;\n", axis);
    buf_printf(text, "\tsetp.ge.s32 %%q1, %%x, %%wide;\n\tsetp.ge.s32 %%q2, %%o, %%high;\n"
               "\tsetp.ge.s32 %%q3, %%p, %%n;\n\tor.pred %%q4, %%q1, %%q2;\n\tor.pred %%q4, %%q4, %%q3;\n"
               "\t@%%q4 bra DONE;\n%s"
               "\tmad.lo.s32 %%r10, %%p, %%high, %%o;\n\tmad.lo.s32 %%r11, %%r10, %%wide, %%x;\n"
               "\tmul.wide.s32 %%d1, %%r11, %u;\n\tadd.s64 %%d2, %%in, %%d1;\n\tld.global.nc.%s %s, [%%d2];\n"
               "\tmad.lo.s32 %%r12, %%x, %%high, %%o;\n\tmad.lo.s32 %%r13, %%r12, %%n, %%p;\n"
               "\tmul.wide.s32 %%d3, %%r13, %u;\n\tadd.s64 %%d4, %%out, %%d3;\n\tst.global.%s [%%d4], %s;\n"
               "DONE:\n\tret;\n}\n", more, bytes, type, data, bytes, type, data);
}

static Launch kernel_launch(Arena *arena, const unsigned grid[3], const unsigned block[3], unsigned n, unsigned high,
                            unsigned wide, bool is_wide)
{
    const Type type = is_wide ? TYPE_U64 : TYPE_U32;
    const uint64_t count = (uint64_t)n * high * wide;
    Launch launch = {.kernel = "k", .grid = {grid[0], grid[1], grid[2]}, .block = {block[0], block[1], block[2]},
                     .argument_count = 5};
    launch.arguments = ARENA_ARRAY(arena, LaunchArgument, 5);
    launch.arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "in", .type = type, .count = count,
                                           .fill = FILL_UNIFORM, .low = 0, .high = 1 << 20, .seed = n};
    launch.arguments[1] =
        (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "out", .type = type, .count = count, .fill = FILL_ZERO};
    scalar_argument(arena, &launch.arguments[2], n);
    scalar_argument(arena, &launch.arguments[3], high);
    scalar_argument(arena, &launch.arguments[4], wide);
    return launch;
}

static bool has_lanes(const KernelRequest *request, const KernelResult *result)
{
    (void)request;
    return result->staged.exchange.done;
}

/* Merges threads or blocks along the axis. */
static KernelRequest request_of(const Launch *launch, unsigned axis, unsigned threads, unsigned blocks)
{
    KernelRequest request = {.staging = {.wanted = true}, .coarsen = true};
    memcpy(request.block, launch->block, sizeof request.block);
    request.coarsening.shape = (Shape){.threads = {1, 1, 1}, .blocks = {1, 1, 1}};
    request.coarsening.shape.threads[axis] = threads;
    request.coarsening.shape.blocks[axis] = blocks;
    request.coarsening.stride.kind = STRIDE_UNIT;
    request.coarsening.shrinks_grid = blocks > 1 && launch->grid[axis] % blocks == 0;
    return request;
}

/* The threads of random launches do the work of the original's. */
static void test_launches(void **state)
{
    (void)state;
    static const unsigned widths[] = {32, 32, 32, 16, 8, 64, 24, 7}, depths[] = {1, 1, 2, 4, 4, 8};
    Writer writer = {.random = {1}};
    unsigned done = 0;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        Arena *arena = arena_new();
        Buf text = {0};
        const unsigned axis = 1 + below(&writer, 2), other = 3 - axis, depth = depths[below(&writer, COUNT_OF(depths))];
        const bool is_wide = chance(&writer, 40);
        unsigned block[3] = {widths[below(&writer, COUNT_OF(widths))]}, grid[3] = {1 + below(&writer, 2)};
        block[axis] = depth;
        block[other] = 1 + below(&writer, 2);
        grid[axis] = 1 + below(&writer, 12);
        grid[other] = 1 + below(&writer, 2);
        const unsigned merged = 2 + 2 * below(&writer, 2);
        const bool by_threads = depth % merged == 0 && chance(&writer, 60);
        const unsigned left = chance(&writer, 40) ? below(&writer, 4) : 0, all = grid[axis] * depth;
        const unsigned n = all > left ? all - left : all, high = grid[other] * block[other];
        const Launch launch =
            kernel_launch(arena, grid, block, n, high, grid[0] * block[0] - below(&writer, 2), is_wide);
        const KernelRequest request = request_of(&launch, axis, by_threads ? merged : 1, by_threads ? 1 : merged);
        EmulatorCounters counters = {0};
        kernel_write(&text, axis == 1 ? 'y' : 'z', axis == 1 ? 'z' : 'y', depth == 1, is_wide, "");
        done += form_check(arena, &text, &launch, &request, has_lanes, &counters);
        arena_free(arena);
        buf_free(&text);
    }
    if (done < LEAST_DONE)
        fail_msg("done in %u launches only", done);
}

/* Every sector is stored once, by blocks or rows of threads that exchange theirs. */
static void test_sectors(void **state)
{
    (void)state;
    static const struct {
        unsigned grid[3], block[3], threads, blocks;
        bool is_wide;
    } cases[] = {
        {{2, 2, 16}, {32, 2, 1}, 1, 4, false},
        {{2, 2, 8}, {32, 2, 4}, 4, 1, false},
        {{2, 2, 2}, {32, 2, 8}, 4, 1, false}, /* rows of threads */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena *arena = arena_new();
        Buf text = {0};
        const unsigned n = cases[i].grid[2] * cases[i].block[2], high = cases[i].grid[1] * cases[i].block[1];
        const Launch launch = kernel_launch(arena, cases[i].grid, cases[i].block, n, high, 64, cases[i].is_wide);
        const KernelRequest request = request_of(&launch, 2, cases[i].threads, cases[i].blocks);
        EmulatorCounters counters = {0};
        kernel_write(&text, 'z', 'y', cases[i].block[2] == 1, cases[i].is_wide, "");
        if (!form_check(arena, &text, &launch, &request, has_lanes, &counters))
            fail_msg("case %zu: not done", i);
        assert_int_equal(counters.store_sectors, n * high * 64 * (cases[i].is_wide ? 8 : 4) / SECTOR);
        assert_int_equal(counters.load_sectors, counters.store_sectors);
        arena_free(arena);
        buf_free(&text);
    }
}

/* Kernels that could tell keep their threads. */
static void test_left_alone(void **state)
{
    (void)state;
    static const char *const together[] = {
        "\tbar.sync 0;\n",
        "\tmov.u32 %r30, %laneid;\n\tsetp.eq.u32 %q5, %r30, 7;\n\t@%q5 bra DONE;\n",
        "\tshfl.sync.idx.b32 %r30, %x, 0, 31, -1;\n",
        "\tatom.global.add.u32 %r30, [%out], 0;\n",
        "\tld.volatile.global.u32 %r30, [%in];\n",
        "\tsetp.eq.u32 %q5, %n, 77;\n\t@%q5 bra.uni DONE;\n",
    };
    static const unsigned grid[3] = {2, 2, 16}, block[3] = {32, 2, 1};
    for (size_t i = 0; i < COUNT_OF(together); i++) {
        Arena *arena = arena_new();
        Buf text = {0};
        const Launch launch = kernel_launch(arena, grid, block, 16, 4, 64, false);
        const KernelRequest request = request_of(&launch, 2, 1, 4);
        kernel_write(&text, 'z', 'y', true, false, together[i]);
        form_check_left(&text, &request, has_lanes);
        arena_free(arena);
        buf_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_sectors),
        cmocka_unit_test(test_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
