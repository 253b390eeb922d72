/* Tiles of threads in flattened grids: all of the work is done once, whatever the sizes, merged or not, and kernels
 * that could tell, or that tiles do not help, are left alone. */
#include "launched_form.h"

#include "tests/tools/kernel_writer.h"

enum { LAUNCHES = 120, LEAST_TILED = 15 };

/* k(a, b, out, n, m, depth, total): thread %i works on column %x = i % n of row %y = i / n % m of image %z. It
 * multiplies the row of a with the column of b. */
#define BEGIN SM_90 ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n, "                 \
              ".param .u32 m, .param .u32 depth, .param .u32 total)\n{\n"                                              \
              "\t.reg .b32 %r<40>, %i, %x, %y, %z, %q, %n, %m, %depth, %total, %k, %sum;\n"                            \
              "\t.reg .b64 %a, %b, %out, %d<9>;\n\t.reg .pred %p<4>;\n"                                                \
              "\tld.param.u64 %a, [a];\n\tld.param.u64 %b, [b];\n\tld.param.u64 %out, [out];\n"                        \
              "\tld.param.u32 %n, [n];\n\tld.param.u32 %m, [m];\n\tld.param.u32 %depth, [depth];\n"                    \
              "\tld.param.u32 %total, [total];\n"                                                                      \
              "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
#define INDEX "\tmad.lo.s32 %i, %r1, %r2, %r3;\n"
#define PRODUCT "\tmul.lo.s32 %r4, %r2, %r1;\n\tadd.s32 %i, %r3, %r4;\n"
#define GUARD "\tsetp.ge.s32 %p1, %i, %total;\n\t@%p1 bra DONE;\n"
#define ROWS "\tdiv.s32 %y, %i, %n;\n\trem.s32 %x, %i, %n;\n\tmov.u32 %z, 0;\n"
#define ROWS_BY_PRODUCT "\tdiv.u32 %y, %i, %n;\n\tmul.lo.u32 %r5, %y, %n;\n\tsub.u32 %x, %i, %r5;\n\tmov.u32 %z, 0;\n"
#define IMAGES "\tdiv.u32 %q, %i, %n;\n\trem.u32 %x, %i, %n;\n\trem.u32 %y, %q, %m;\n\tdiv.u32 %z, %q, %m;\n"
#define IMAGES_BY_PRODUCT "\tmul.lo.u32 %r6, %m, %n;\n\tdiv.s32 %q, %i, %n;\n\tdiv.s32 %z, %i, %r6;\n"                 \
                          "\tmul.lo.s32 %r5, %n, %q;\n\tsub.s32 %x, %i, %r5;\n\tmul.lo.s32 %r7, %z, %m;\n"             \
                          "\tsub.s32 %y, %q, %r7;\n"
#define ADDRESSES "\tmad.lo.s32 %r10, %z, %m, %y;\n\tmul.lo.s32 %r11, %r10, %depth;\n"                                 \
                  "\tmul.wide.s32 %d1, %r11, 4;\n\tadd.s64 %d2, %a, %d1;\n"                                            \
                  "\tmul.lo.s32 %r12, %z, %depth;\n\tmad.lo.s32 %r13, %r12, %n, %x;\n"
/* %x of the image's rows in another matrix, of which compilers know the first one as %q - %y; and sums like it */
#define SCORES "\tadd.s32 %r8, %x, %q;\n\tsub.s32 %r13, %r8, %y;\n"
#define ADDRESSES_OF(b) "\tmul.lo.s32 %r11, %q, %depth;\n\tmul.wide.s32 %d1, %r11, 4;\n\tadd.s64 %d2, %a, %d1;\n" b
#define LOOP "\tmov.u32 %sum, 1;\n\tmov.u32 %k, 0;\n\tsetp.lt.s32 %p2, %depth, 1;\n\t@%p2 bra STORE;\n"                \
             "NEXT:\n"                                                                                                 \
             "\tmul.wide.s32 %d3, %r13, 4;\n\tadd.s64 %d4, %b, %d3;\n"                                                 \
             "\tld.global.u32 %r20, [%d2];\n\tld.global.u32 %r21, [%d4];\n"                                            \
             "\tmad.lo.u32 %r22, %r20, %r21, %k;\n\tmad.lo.u32 %sum, %sum, 3, %r22;\n"                                 \
             "\tadd.s64 %d2, %d2, 4;\n\tadd.s32 %r13, %r13, %n;\n\tadd.u32 %k, %k, 1;\n"                               \
             "\tsetp.lt.s32 %p3, %k, %depth;\n\t@%p3 bra NEXT;\n"                                                      \
             "STORE:\n"
#define STORE "\tmul.wide.s32 %d5, %i, 4;\n\tadd.s64 %d6, %out, %d5;\n\tst.global.u32 [%d6], %sum;\n"
#define END "DONE:\n\tret;\n}\n"

/* the same by numbers, of an index that may be below 0 or not */
#define ROWS_BY_BITS "\tshr.s32 %r5, %i, 31;\n\tshr.u32 %r6, %r5, 27;\n\tadd.s32 %r7, %i, %r6;\n"                      \
                     "\tshr.s32 %y, %r7, 5;\n\tand.b32 %r8, %r7, -32;\n\tsub.s32 %x, %i, %r8;\n\tmov.u32 %z, 0;\n"
#define IMAGES_BY_BITS "\tshr.u32 %q, %i, 5;\n\tand.b32 %x, %i, 31;\n\tand.b32 %y, %q, 15;\n\tshr.u32 %z, %i, 9;\n"

static unsigned choose(Writer *writer, const unsigned *numbers, unsigned count)
{
    return numbers[below(writer, count)];
}

/* A launch of some rows more or less than there are, in blocks that are tiles or not; 'by_bits': rows of 32, images of
 * 16 rows. */
static Launch kernel_launch(Writer *writer, Arena *arena, bool has_images, bool by_bits)
{
    static const unsigned widths[] = {1, 3, 8, 16, 24, 32, 32, 64}, heights[] = {1, 4, 8, 16, 16, 24, 32};
    static const unsigned blocks[] = {64, 64, 64, 128, 256, 96};
    const unsigned n = by_bits ? 32 : choose(writer, widths, COUNT_OF(widths));
    const unsigned block = choose(writer, blocks, COUNT_OF(blocks));
    const unsigned m = by_bits ? 16 : choose(writer, heights, COUNT_OF(heights)), depth = below(writer, 20);
    const unsigned rows = m * (1 + below(writer, 4)), wanted = n * rows + (chance(writer, 30) ? below(writer, 40) : 0);
    const unsigned grid = (wanted + block - 1) / block + (chance(writer, 20) ? 1 + below(writer, 4) : 0);
    const unsigned all = grid * block, last = all / n + 1, images = has_images ? last / m + 1 : 1;
    Launch launch = {.kernel = "k", .grid = {grid, 1, 1}, .block = {block, 1, 1}, .argument_count = 7};
    launch.arguments = ARENA_ARRAY(arena, LaunchArgument, 7);
    launch.arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "a", .type = TYPE_U32, .fill = FILL_UNIFORM,
                                           .count = (uint64_t)(last + m) * (depth + 1), .low = 0, .high = 99,
                                           .seed = n};
    launch.arguments[1] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "b", .type = TYPE_U32, .fill = FILL_UNIFORM,
                                           .count = (uint64_t)(images + 1) * (depth + 1) * n + 2 * last, .low = 0,
                                           .high = 99, .seed = m};
    launch.arguments[2] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = all,
                                           .fill = FILL_ZERO};
    scalar_argument(arena, &launch.arguments[3], n);
    scalar_argument(arena, &launch.arguments[4], m);
    scalar_argument(arena, &launch.arguments[5], depth);
    scalar_argument(arena, &launch.arguments[6], chance(writer, 80) ? n * rows : below(writer, all + 1));
    return launch;
}

static bool has_tiles(const KernelRequest *request, const KernelResult *result)
{
    (void)request;
    return result->staged.unflattened.done;
}

static KernelRequest random_request(Writer *writer, const Launch *launch)
{
    static const unsigned merged[] = {1, 1, 2, 4, 8, 16};
    const unsigned blocks = choose(writer, merged, COUNT_OF(merged));
    KernelRequest request = {.staging = {.wanted = true}};
    memcpy(request.block, launch->block, sizeof request.block);
    if (chance(writer, 10))
        request.block[0] = 256; /* the most; the launch has fewer */
    if (blocks == 1)
        return request;
    request.coarsen = true;
    request.coarsening.shape = (Shape){.threads = {1, 1, 1}, .blocks = {blocks, 1, 1}};
    request.coarsening.shrinks_grid = launch->grid[0] % blocks == 0;
    return request;
}

/* The threads of random launches do the work of the original's. */
static void check_launches(const char *code, bool has_images, unsigned seed)
{
    const bool by_bits = strstr(code, "shr.") != NULL;
    Writer writer = {.random = {seed}};
    unsigned tiled = 0;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        Arena *arena = arena_new();
        Buf text = {0};
        buf_printf(&text, "%s%s%s", BEGIN, code, END);
        const Launch launch = kernel_launch(&writer, arena, has_images, by_bits);
        const KernelRequest request = random_request(&writer, &launch);
        EmulatorCounters counters = {0};
        if (form_check(arena, &text, &launch, &request, has_tiles, &counters))
            tiled += counters.barriers > 0;
        arena_free(arena);
        buf_free(&text);
    }
    if (tiled < LEAST_TILED)
        fail_msg("tiles in %u launches only", tiled);
}

static void test_launches(void **state)
{
    (void)state;
    check_launches(INDEX GUARD ROWS ADDRESSES LOOP STORE, false, 1);
    check_launches(PRODUCT GUARD ROWS_BY_PRODUCT ADDRESSES LOOP STORE, false, 2);
    check_launches(INDEX GUARD IMAGES ADDRESSES LOOP STORE, true, 3);
    check_launches(PRODUCT GUARD IMAGES_BY_PRODUCT ADDRESSES LOOP STORE, true, 4);
    check_launches(INDEX GUARD ROWS_BY_BITS ADDRESSES LOOP STORE, false, 6);
    check_launches(INDEX GUARD IMAGES_BY_BITS ADDRESSES LOOP STORE, true, 7);
    /* the quotient is divided, and multiplied, by other numbers as well */
    check_launches(INDEX GUARD IMAGES ADDRESSES
                   "\tadd.u32 %r30, %depth, 1;\n\tdiv.u32 %r31, %q, %r30;\n\trem.u32 %r32, %q, %r30;\n"
                   "\tmul.lo.u32 %r33, %q, %m;\n\tsub.u32 %r34, %i, %q;\n" LOOP
                   "\tmad.lo.u32 %sum, %r31, 7, %sum;\n\tmad.lo.u32 %sum, %r32, 11, %sum;\n"
                   "\tmad.lo.u32 %sum, %r33, 13, %sum;\n\tadd.u32 %sum, %sum, %r34;\n" STORE, true, 8);
    check_launches(INDEX GUARD IMAGES ADDRESSES_OF(SCORES) LOOP STORE, true, 13);
    check_launches(INDEX GUARD IMAGES_BY_PRODUCT ADDRESSES_OF("\tsub.s32 %r9, %q, %y;\n\tadd.s32 %r13, %r9, %x;\n")
                   "\tsub.s32 %r30, %x, %y;\n\tsub.s32 %r31, %r30, %q;\n\tadd.s32 %r32, %r9, %y;\n"
                   "\tadd.s32 %r33, %r13, %x;\n" LOOP "\tmad.lo.u32 %sum, %r31, 7, %sum;\n"
                   "\tmad.lo.u32 %sum, %r32, 11, %sum;\n\tmad.lo.u32 %sum, %r33, 13, %sum;\n" STORE, true, 22);
    /* the quotient is stored as well, and threads know the other axes */
    check_launches(INDEX GUARD IMAGES ADDRESSES LOOP "\tadd.u32 %sum, %sum, %q;\n\tmov.u32 %r30, %ctaid.y;\n"
                   "\tadd.u32 %sum, %sum, %r30;\n" STORE, true, 5);
}

static void check_left(const char *code)
{
    Buf text = {0};
    buf_printf(&text, "%s%s%s", BEGIN, code, END);
    form_check_left(&text, &(KernelRequest){.staging = {.wanted = true}, .block = {64, 1, 1}}, has_tiles);
    buf_free(&text);
}

static void test_left(void **state)
{
    (void)state;
#define KERNEL(more) INDEX GUARD ROWS ADDRESSES LOOP more STORE
    /* nothing is a column, or a row; both loads depend on both */
    check_left(INDEX GUARD ROWS "\tmov.u32 %x, 0;\n" ADDRESSES LOOP STORE);
    check_left(INDEX GUARD ROWS "\tmov.u32 %y, 0;\n" ADDRESSES LOOP STORE);
    check_left(INDEX GUARD ROWS "\tadd.s32 %x, %x, %y;\n" ADDRESSES LOOP STORE);
    check_left(INDEX GUARD ROWS "\tadd.s32 %x, %x, %i;\n" ADDRESSES LOOP STORE);
    check_left(INDEX GUARD IMAGES ADDRESSES_OF("\tadd.s32 %r8, %x, %q;\n\tadd.s32 %r13, %r8, %y;\n") LOOP STORE);
    /* by what a thread's own number divides; an index of another kind */
    check_left(INDEX GUARD "\tadd.s32 %n, %i, 1;\n" ROWS ADDRESSES LOOP STORE);
    check_left(INDEX GUARD "\tadd.s32 %r36, %i, 1;\n\tdiv.s32 %y, %i, %r36;\n\trem.s32 %x, %i, %r36;\n"
               "\tmov.u32 %z, 0;\n" ADDRESSES LOOP STORE);
    check_left("\tmad.lo.s32 %i, %r1, 64, %r3;\n" GUARD ROWS ADDRESSES LOOP STORE);
    check_left("\tmad.lo.s32 %i, %r1, %r3, %r3;\n" GUARD ROWS ADDRESSES LOOP STORE);
    /* threads learn of their place, or do something together */
    check_left(KERNEL("\tadd.u32 %sum, %sum, %r3;\n"));
    check_left(KERNEL("\tadd.u32 %sum, %sum, %r1;\n"));
    check_left(KERNEL("\tmov.u32 %r8, %laneid;\n\tadd.u32 %sum, %sum, %r8;\n"));
    check_left(KERNEL("\tbar.sync 0;\n"));
    check_left(KERNEL("\tshfl.sync.idx.b32 %sum, %sum, 0, 31, -1;\n"));
    check_left(KERNEL("\tatom.global.add.u32 %sum, [%a], 1;\n"));
    check_left(KERNEL("\tld.volatile.global.u32 %sum, [%a];\n"));
#undef KERNEL
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launches), cmocka_unit_test(test_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
