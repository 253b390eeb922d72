/* Threads beside a diagonal: they go through the loop with the others, load nothing that no thread loads, and leave no
 * trace; kernels in which they might do either are left alone. */
#include "launched_form.h"

#include "tests/tools/kernel_writer.h"

enum { LAUNCHES = 150, LEAST_CROSSED = 40, MOST_DEPTH = 9 };

/* k(a, b, out, n, m, depth, s, x0, y0): threads at column %x and row %y, in %across columns, for which a condition
 * holds multiply row y - y0 of a with row x - x0 of b. */
#define BEGIN SM_90 ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n, "                 \
              ".param .u32 m, .param .u32 depth, .param .u32 s, .param .u32 x0, .param .u32 y0)\n{\n"                  \
              "\t.reg .b32 %r<30>, %x, %y, %across, %n, %m, %depth, %s, %x0, %y0, %k, %sum;\n"                         \
              "\t.reg .b64 %a, %b, %out, %d<9>;\n\t.reg .pred %p<6>;\n"                                                \
              "\tld.param.u64 %a, [a];\n\tld.param.u64 %b, [b];\n\tld.param.u64 %out, [out];\n"                        \
              "\tld.param.u32 %n, [n];\n\tld.param.u32 %m, [m];\n\tld.param.u32 %depth, [depth];\n"                    \
              "\tld.param.u32 %s, [s];\n\tld.param.u32 %x0, [x0];\n\tld.param.u32 %y0, [y0];\n"                        \
              "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"                            \
              "\tmad.lo.s32 %x, %r1, %r2, %r3;\n\tmov.u32 %r4, %nctaid.x;\n\tmul.lo.s32 %across, %r2, %r4;\n"          \
              "\tmov.u32 %r5, %ctaid.y;\n\tmov.u32 %r6, %ntid.y;\n\tmov.u32 %r7, %tid.y;\n"                            \
              "\tmad.lo.s32 %y, %r5, %r6, %r7;\n"                                                                      \
              "\tmad.lo.s32 %r8, %y, %across, %x;\n\tmul.wide.s32 %d1, %r8, 4;\n\tadd.s64 %d2, %out, %d1;\n"
#define NO_GUARD ""
#define GUARD "\tsetp.ge.s32 %p1, %x, %n;\n\tsetp.ge.or.s32 %p1, %y, %m, %p1;\n\t@%p1 bra DONE;\n"
#define GUARDS "\tsetp.ge.s32 %p1, %y, %m;\n\t@%p1 bra DONE;\n\tsetp.lt.s32 %p2, %x, %n;\n\t@!%p2 bra DONE;\n"
/* Those for which it does not hold store 7, or nothing. */
#define OR_SEVEN "\tmov.u32 %sum, 7;\n\t@!%p3 bra STORE;\n"
#define OR_NOTHING "\t@!%p3 bra DONE;\n"
/* The same, and the edges of the data are conditions of the same branch. */
#define BOUNDED_OR_NOTHING                                                                                             \
             "\tsetp.ge.s32 %p1, %y, %m;\n\tsetp.ge.s32 %p2, %x, %n;\n\tor.pred %p1, %p1, %p2;\n"                \
             "\tnot.pred %p3, %p3;\n\tor.pred %p3, %p3, %p1;\n\t@%p3 bra DONE;\n"
#define BOUNDED_BELOW_OR_NOTHING                                                                                       \
             "\tsetp.lt.s32 %p1, %y, %m;\n\tand.pred %p3, %p1, %p3;\n\t@!%p3 bra DONE;\n"
#define SUM "\tmov.u32 %sum, 1;\n"
#define OLD_SUM "\tld.global.u32 %sum, [%d2];\n"
#define ROWS "\tsub.s32 %r10, %y, %y0;\n\tsub.s32 %r11, %x, %x0;\n"
#define LOOP_TO(rounds)                                                                                                \
             "\tmul.lo.s32 %r10, %r10, %depth;\n\tmul.wide.s32 %d3, %r10, 4;\n\tadd.s64 %d4, %a, %d3;\n"               \
             "\tmul.lo.s32 %r11, %r11, %depth;\n\tmul.wide.s32 %d5, %r11, 4;\n\tadd.s64 %d6, %b, %d5;\n"               \
             "\tmov.u32 %k, 0;\n\tsetp.lt.s32 %p4, " rounds ", 1;\n\t@%p4 bra STORE;\n"                                \
             "NEXT:\n"                                                                                                 \
             "\tld.global.u32 %r20, [%d4];\n\tld.global.u32 %r21, [%d6];\n"                                            \
             "\tmad.lo.u32 %r22, %r20, %r21, %k;\n\tmad.lo.u32 %sum, %sum, 3, %r22;\n"                                 \
             "\tadd.s64 %d4, %d4, 4;\n\tadd.s64 %d6, %d6, 4;\n\tadd.u32 %k, %k, 1;\n"                                  \
             "\tsetp.lt.s32 %p5, %k, " rounds ";\n\t@%p5 bra NEXT;\n"                                                  \
             "STORE:\n"
#define LOOP LOOP_TO("%depth")
#define STORE "\tst.global.u32 [%d2], %sum;\n"
#define TRIPLE "\tld.global.u32 %r25, [%d2];\n\tmad.lo.u32 %sum, %r25, 3, %sum;\n" STORE
#define END "DONE:\n\tret;\n}\n"

typedef struct Condition {
    const char *code; /* that sets %p3 */
    bool (*holds)(int x, int y, int s);
} Condition;

static bool is_below(int x, int y, int s) { return (void)s, x <= y; }
static bool is_under(int x, int y, int s) { return (void)s, x < y; }
static bool is_above(int x, int y, int s) { return (void)s, x >= y; }
static bool is_shifted(int x, int y, int s) { return x + s <= y; }
static bool is_before(int x, int y, int s) { return x + y < s; }
static bool is_on(int x, int y, int s) { return (void)s, x == y; }
static bool is_steep(int x, int y, int s) { return (void)s, 2 * x <= y; }
static bool is_mixed(int x, int y, int s) { return (x ^ y) < s; }

static const Condition conditions[] = {
    {"\tsetp.le.s32 %p3, %x, %y;\n", is_below},
    {"\tsetp.lt.s32 %p3, %x, %y;\n", is_under},
    {"\tsetp.lt.s32 %p0, %x, %y;\n\tnot.pred %p3, %p0;\n", is_above},
    {"\tadd.s32 %r28, %x, %s;\n\tsetp.le.s32 %p3, %r28, %y;\n", is_shifted},
    {"\tadd.s32 %r28, %x, %y;\n\tsetp.lt.s32 %p3, %r28, %s;\n", is_before},
    {"\tsetp.eq.s32 %p3, %x, %y;\n", is_on},
    {"\tshl.b32 %r28, %x, 1;\n\tsetp.le.s32 %p3, %r28, %y;\n", is_steep},
    {"\txor.b32 %r28, %x, %y;\n\tsetp.lt.s32 %p3, %r28, %s;\n", is_mixed},
};

static LaunchArgument buffer(const char *name, unsigned count, unsigned seed)
{
    return (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = name, .type = TYPE_U32, .fill = FILL_UNIFORM,
                            .count = count, .high = 99, .seed = seed};
}

/* A launch whose buffers have no element that no thread reads. */
static Launch kernel_launch(Writer *writer, Arena *arena, const Condition *condition, bool has_guard)
{
    static const unsigned blocks[][2] = {{16, 16}, {8, 8}, {32, 4}, {4, 16}, {7, 5}};
    const unsigned *block = blocks[below(writer, COUNT_OF(blocks))];
    Launch launch = {.kernel = "k", .grid = {1 + below(writer, 5), 1 + below(writer, 5), 1},
                     .block = {block[0], block[1], 1}, .argument_count = 9};
    const unsigned across = launch.grid[0] * block[0], down = launch.grid[1] * block[1];
    const unsigned n = has_guard ? below(writer, across + 2) : across, m = has_guard ? below(writer, down + 2) : down;
    const unsigned depth = below(writer, MOST_DEPTH), s = below(writer, 30);
    unsigned x0 = across, y0 = down, columns = 0, rows = 0;
    for (unsigned y = 0; y < m && y < down; y++)
        for (unsigned x = 0; x < n && x < across; x++)
            if (condition->holds((int)x, (int)y, (int)s)) {
                x0 = x < x0 ? x : x0;
                y0 = y < y0 ? y : y0;
                columns = x >= columns ? x + 1 : columns;
                rows = y >= rows ? y + 1 : rows;
            }
    launch.arguments = ARENA_ARRAY(arena, LaunchArgument, 9);
    launch.arguments[0] = buffer("a", rows > y0 && depth ? (rows - y0) * depth : 1, 1);
    launch.arguments[1] = buffer("b", columns > x0 && depth ? (columns - x0) * depth : 1, 2);
    launch.arguments[2] = buffer("out", across * down, 3);
    scalar_argument(arena, &launch.arguments[3], n);
    scalar_argument(arena, &launch.arguments[4], m);
    scalar_argument(arena, &launch.arguments[5], depth);
    scalar_argument(arena, &launch.arguments[6], s);
    scalar_argument(arena, &launch.arguments[7], x0);
    scalar_argument(arena, &launch.arguments[8], y0);
    return launch;
}

static KernelRequest random_request(Writer *writer, const Launch *launch)
{
    KernelRequest request = {.edges = true, .staging = {.wanted = chance(writer, 70)}};
    memcpy(request.block, launch->block, sizeof request.block);
    request.coarsening.shape = (Shape){.threads = {1, 1, 1}, .blocks = {1, 1, 1}, .grown = {1, 1, 1}};
    Shape *shape = &request.coarsening.shape;
    request.coarsening.stride.kind = chance(writer, 60) ? STRIDE_UNIT : STRIDE_BLOCK;
    request.coarsening.shrinks_grid = chance(writer, 40);
    for (unsigned d = 0; d < 2; d++) {
        const unsigned factor = 1 + below(writer, 4);
        const bool divides = launch->grid[d] % factor == 0 || !request.coarsening.shrinks_grid;
        if (chance(writer, 50) && divides)
            shape->blocks[d] = factor;
        else if (chance(writer, 40) && launch->block[d] % factor == 0)
            shape->threads[d] = factor;
    }
    request.coarsen = shape->blocks[0] * shape->blocks[1] * shape->threads[0] * shape->threads[1] > 1;
    return request;
}

static bool crosses(const KernelRequest *request, const KernelResult *result)
{
    return (!request->coarsen || result->coarsening == OUTCOME_DONE) && result->edges == OUTCOME_DONE &&
           result->edges_result.diagonal.end;
}

/* Random launches of the kernel that these parts make around each condition. */
static void check_launches(const char *guard, const char *code, bool is_bounded, unsigned seed)
{
    Writer writer = {.random = {seed}};
    unsigned crossed = 0;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        Arena *arena = arena_new();
        Buf text = {0};
        const Condition *condition = &conditions[below(&writer, COUNT_OF(conditions))];
        buf_printf(&text, "%s%s%s%s%s", BEGIN, guard, condition->code, code, END);
        const Launch launch = kernel_launch(&writer, arena, condition, is_bounded);
        const KernelRequest request = random_request(&writer, &launch);
        EmulatorCounters counters = {0};
        crossed += form_check(arena, &text, &launch, &request, crosses, &counters);
        arena_free(arena);
        buf_free(&text);
    }
    if (crossed < LEAST_CROSSED)
        fail_msg("crossed in %u launches only", crossed);
}

static void test_launches(void **state)
{
    (void)state;
    check_launches(NO_GUARD, OR_SEVEN SUM ROWS LOOP STORE, false, 1);
    check_launches(GUARD, OR_SEVEN SUM ROWS LOOP STORE, true, 2);
    check_launches(GUARDS, OR_SEVEN SUM ROWS LOOP TRIPLE, true, 3);
    check_launches(NO_GUARD, OR_NOTHING SUM ROWS LOOP STORE, false, 4);
    check_launches(GUARD, OR_NOTHING SUM ROWS LOOP TRIPLE, true, 5);
    check_launches(GUARDS, OR_NOTHING OLD_SUM ROWS LOOP STORE, true, 6);
    check_launches(NO_GUARD, BOUNDED_OR_NOTHING SUM ROWS LOOP TRIPLE, true, 7);
    check_launches(GUARD, BOUNDED_BELOW_OR_NOTHING SUM ROWS LOOP STORE, true, 8);
}

static void check_left(const char *code)
{
    Buf text = {0};
    buf_printf(&text, "%s%s%s%s%s", BEGIN, GUARD, conditions[0].code, code, END);
    form_check_left(&text, &(KernelRequest){.edges = true, .block = {16, 16, 1}}, crosses);
    buf_free(&text);
}

static void test_left(void **state)
{
    (void)state;
    /* a load, or a number of rounds, depends on both, or on what is not known */
    check_left(OR_SEVEN SUM ROWS "\tadd.s32 %r10, %r10, %x;\n" LOOP STORE);
    check_left(OR_SEVEN SUM ROWS "\tadd.s32 %depth, %depth, %x;\n" LOOP STORE);
    check_left(OR_SEVEN SUM ROWS LOOP_TO("%y") STORE);
    check_left(OR_SEVEN SUM ROWS "\tmov.u32 %r9, %laneid;\n\tadd.s32 %r10, %r10, %r9;\n" LOOP STORE);
    check_left(OR_SEVEN SUM ROWS "\tld.global.u32 %r9, [%a];\n\tadd.s32 %r10, %r10, %r9;\n" LOOP STORE);
    /* no load depends on either */
    check_left(OR_SEVEN SUM "\tmov.u32 %r10, 0;\n\tmov.u32 %r11, 0;\n" LOOP STORE);
    /* threads do something else on the way, or together */
    check_left(OR_SEVEN SUM ROWS "\tst.global.u32 [%d2], %x;\n" LOOP STORE);
    check_left(OR_SEVEN SUM ROWS "\tatom.global.add.u32 %r9, [%out], 1;\n" LOOP STORE);
    check_left(OR_SEVEN SUM ROWS "\tactivemask.b32 %r9;\n\tadd.s32 %sum, %sum, %r9;\n" LOOP STORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launches), cmocka_unit_test(test_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
