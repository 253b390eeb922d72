/* The order of blocks: the map that the entry computes, and what is refused. */
#include "parsed.h"

#include "emulator/emulator.h"
#include "engine/engine.h"
#include "engine/report/refusal_words.h"
#include "ir/match.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "options/options.h"

/* A block's place in a grid, of which it needs x and y only. */
typedef struct Point {
    uint64_t x, y;
} Point;

static Body *body_of(Module **module, const char *head, const char *directives, const char *code)
{
    Buf text = {0};
    buf_printf(&text,
               "%s%s.visible .entry k(.param .u64 out)%s\n{\n\t.reg .b32 %%r<20>;\n\t.reg .b64 %%a, %%d<8>;\n"
               "\t.reg .pred %%p<8>;\n\t.reg .b16 %%h<4>;\n\tld.param.u64 %%a, [out];\n%s\tret;\n}\n",
               strncmp(head, ".version", 8) == 0 ? "" : SM_90, head, directives, code);
    *module = module_from(buf_text(&text));
    Body *body = body_from(*module);
    body_to_ssa(body);
    buf_free(&text);
    return body;
}

#define READ_BOTH "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ctaid.y;\n"

/* The body after the pass; the module owns it. */
static void reorder(Module *module, Body *body, const GridOrder *order)
{
    Arena *arena = arena_new();
    PassOptions options = {0};
    memset(options.enabled, true, sizeof options.enabled);
    PassContext context = pass_context_new(arena, &options, body->function, body);
    context.order = order;
    assert_true(pass_run(&context, PASS_BLOCK_ORDER));
    assert_ptr_equal(pass_take_body(&context), body);
    assert_non_null(module);
    arena_free(arena);
}

/* Executes the entry block alone: where the block at (x, y) works. */
static Point place_of(Arena *scratch, const Body *body, const uint32_t grid[2], Point block)
{
    uint64_t *values = ARENA_ARRAY(scratch, uint64_t, body->regs.count);
    for (const Inst *inst = body->blocks.data[0]->first; inst; inst = inst->next) {
        const Sreg *sreg = inst_sreg(inst);
        uint64_t *result = &values[inst_reg(inst, 0)], inputs[4];
        if (sreg) {
            assert_true(sreg->axis == SREG_AXIS_X || sreg->axis == SREG_AXIS_Y);
            const bool is_size = sreg->role == SREG_ROLE_NCTAID;
            assert_true(is_size || sreg->role == SREG_ROLE_CTAID);
            *result = is_size ? grid[sreg->axis] : sreg->axis == SREG_AXIS_X ? block.x : block.y;
            continue;
        }
        for (unsigned i = 1; i < inst->operand_count; i++) {
            uint64_t constant = 0;
            const RegId reg = inst_reg(inst, i);
            if (reg == REG_NONE)
                assert_true(operand_is_integer(&inst->operands[i], &constant));
            inputs[i - 1] = reg != REG_NONE ? values[reg] : constant & UINT32_MAX;
        }
        if (!emulator_evaluate(inst_spelling(scratch, inst), inputs, inst->operand_count - 1, result))
            fail_msg("'%s' is not evaluated", inst_spelling(scratch, inst));
    }
    const RegId x = reg_named(body, "%ctaid_x"), y = reg_named(body, "%ctaid_y");
    return (Point){values[x], y == REG_NONE ? block.y : values[y]};
}

/* The map as opt/order/block_order.c describes it, without its limits. */
static Point expected_place(const GridOrder *order, const uint32_t grid[2], Point block)
{
    if (order->kind == GRID_ORDER_DIAGONAL)
        return (Point){(block.x + block.y) % grid[0], block.y};
    if ((uint64_t)order->rows * grid[0] > UINT32_MAX)
        return block;
    const uint64_t top = block.y / order->rows * order->rows, left = grid[1] - top;
    const uint64_t rows = left < order->rows ? left : order->rows, number = (block.y - top) * grid[0] + block.x;
    return (Point){number / rows, top + number % rows};
}

static void check_place(Arena *scratch, const Body *body, const GridOrder *order, const uint32_t grid[2], Point block)
{
    const Point got = place_of(scratch, body, grid, block), wanted = expected_place(order, grid, block);
    if (got.x != wanted.x || got.y != wanted.y || got.x >= grid[0] || got.y >= grid[1])
        fail_msg("block %llu,%llu of %u x %u works at %llu,%llu, not %llu,%llu (kind %d, %u rows)",
                 (unsigned long long)block.x, (unsigned long long)block.y, grid[0], grid[1],
                 (unsigned long long)got.x, (unsigned long long)got.y, (unsigned long long)wanted.x,
                 (unsigned long long)wanted.y, order->kind, order->rows);
}

/* Each place of a small grid is worked at once. */
static void check_grid(const Body *body, const GridOrder *order, const uint32_t grid[2])
{
    enum { MOST = 24 };
    bool seen[MOST][MOST] = {{false}};
    Arena *scratch = arena_new();
    for (uint32_t y = 0; y < grid[1]; y++)
        for (uint32_t x = 0; x < grid[0]; x++) {
            check_place(scratch, body, order, grid, (Point){x, y});
            const Point at = place_of(scratch, body, grid, (Point){x, y});
            assert_false(seen[at.y][at.x]);
            seen[at.y][at.x] = true;
        }
    arena_free(scratch);
}

/* The largest grids, and those around the width at which groups are given up. */
static void check_large(const Body *body, const GridOrder *order)
{
    const uint32_t widest = order->rows ? UINT32_MAX / order->rows : INT32_MAX;
    const uint32_t widths[] = {1, 7, 65535, widest - 1, widest, widest + 1, INT32_MAX - 1, INT32_MAX};
    const uint32_t heights[] = {1, 2, 5, 1023, 1025, 65534, 65535};
    Arena *scratch = arena_new();
    for (unsigned w = 0; w < COUNT_OF(widths); w++)
        for (unsigned h = 0; h < COUNT_OF(heights); h++) {
            const uint32_t grid[2] = {widths[w] < INT32_MAX ? widths[w] : INT32_MAX, heights[h]};
            const uint64_t xs[] = {0, 1 % grid[0], grid[0] / 2, grid[0] - 1};
            const uint64_t ys[] = {0, 1 % grid[1], grid[1] / 2, grid[1] - 1};
            for (unsigned i = 0; i < 16; i++)
                check_place(scratch, body, order, grid, (Point){xs[i % 4], ys[i / 4]});
        }
    arena_free(scratch);
}

static void check_order(GridOrder order)
{
    Module *module;
    Body *body = body_of(&module, "", "", READ_BOTH "\tst.global.v2.u32 [%a], {%r1, %r2};\n");
    reorder(module, body, &order);
    for (uint32_t width = 1; width <= 9; width++)
        for (uint32_t height = 1; height <= 9; height++)
            check_grid(body, &order, (uint32_t[]){width, height});
    check_grid(body, &order, (uint32_t[]){3, 23});
    check_grid(body, &order, (uint32_t[]){23, 3});
    check_large(body, &order);
    release(module);
}

static void test_map(void **state)
{
    (void)state;
    static const unsigned rows[] = {2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 1000, 1023, 1024};
    check_order((GridOrder){.kind = GRID_ORDER_DIAGONAL});
    for (unsigned i = 0; i < COUNT_OF(rows); i++)
        check_order((GridOrder){.kind = GRID_ORDER_GROUPS, .rows = rows[i]});
}

/* The rows and the columns of a grid of 64 x 64 blocks in which each 'wave' blocks that begin together work, summed
 * over the waves: what a matrix product loads, in bands of its matrices. */
static unsigned bands(const GridOrder *order, unsigned wave)
{
    enum { SIDE = 64 };
    const uint32_t grid[2] = {SIDE, SIDE};
    unsigned sum = 0;
    for (unsigned first = 0; first < SIDE * SIDE; first += wave) {
        bool rows[SIDE] = {false}, columns[SIDE] = {false};
        for (unsigned i = first; i < first + wave && i < SIDE * SIDE; i++) {
            const Point block = {i % SIDE, i / SIDE};
            const Point at = order->kind == GRID_ORDER_ROWS ? block : expected_place(order, grid, block);
            sum += !rows[at.y] + !columns[at.x];
            rows[at.y] = columns[at.x] = true;
        }
    }
    return sum;
}

/* The figures of docs/block-order.md. */
static void test_bands(void **state)
{
    static const struct {
        GridOrder order;
        unsigned few, many; /* with 264 and 1056 blocks at a time */
    } rows[] = {
        {{.kind = GRID_ORDER_ROWS}, 1102, 322},
        {{.kind = GRID_ORDER_GROUPS, .rows = 8}, 696, 344},
        {{.kind = GRID_ORDER_GROUPS, .rows = 16}, 568, 362},
        {{.kind = GRID_ORDER_GROUPS, .rows = 32}, 684, 288},
        {{.kind = GRID_ORDER_DIAGONAL}, 1102, 322},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(bands(&rows[i].order, 264), rows[i].few);
        assert_int_equal(bands(&rows[i].order, 1056), rows[i].many);
    }
}

/* Every read is replaced, also in a loop and of half the register; z and sizes are not. */
static void test_reads(void **state)
{
    (void)state;
    const GridOrder order = {.kind = GRID_ORDER_GROUPS, .rows = 4};
    Module *module;
    Body *body = body_of(&module, "", "",
                         READ_BOTH "L:\n\tmov.u16 %h1, %ctaid.x;\n\tcvt.u64.u32 %d1, %r1;\n\tmov.u32 %r3, %ctaid.z;\n"
                                   "\tmov.u32 %r4, %ctaid.y;\n\tst.global.u16 [%a], %h1;\n\tst.global.u32 [%a], %r3;\n"
                                   "\tsetp.lt.u32 %p1, %r4, %r2;\n\t@%p1 bra L;\n");
    reorder(module, body, &order);
    unsigned reads[3] = {0};
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            const Sreg *sreg = inst_sreg(inst);
            if (!sreg || sreg->role != SREG_ROLE_CTAID)
                continue;
            assert_true(sreg->axis == SREG_AXIS_Z || b == 0);
            reads[sreg->axis]++;
        }
    assert_int_equal(reads[0], 1);
    assert_int_equal(reads[1], 1);
    assert_int_equal(reads[2], 1);
    release(module);
}

static void check_may(const char *head, const char *directives, const char *code, const char *reason)
{
    Module *module;
    Refusal refusal;
    Body *body = body_of(&module, head, directives, code);
    const size_t count = inst_count(body);
    const bool may = coarsening_may_renumber(body, &refusal);
    const char *text = refusal_text(module->arena, &refusal);
    assert_int_equal(inst_count(body), count);
    if (may != !reason || (reason && !strstr(text, reason)))
        fail_msg("%s, not %s:\n%s", may ? "accepted" : text, reason ? reason : "accepted", code);
    release(module);
}

#define FLAG "\tld.volatile.global.u32 %r3, [%a];\n"
#define UNTIL_SET "\tsetp.eq.u32 %p1, %r3, 0;\n\t@%p1 bra L;\n"

static void test_refusals(void **state)
{
    (void)state;
    check_may("", "", READ_BOTH, NULL);
    check_may("", "", "\tmov.u32 %r1, %ctaid.x;\n", "does not read %ctaid.y");
    check_may("", "", "\tmov.u32 %r1, %ctaid.y;\n", "does not read %ctaid.x");
    check_may("", "", "\tmov.u32 %r1, %nctaid.y;\n", "does not read %ctaid.x");
    check_may("", "", "\tmov.v4.u32 {%r1, %r2, %r3, %r4}, %ctaid;\n", NULL); /* becomes reads of components */
    check_may("", " .reqnctapercluster 2", READ_BOTH, "form clusters");
    check_may("", "", READ_BOTH "\tmov.u32 %r3, %cluster_ctarank;\n", "'%cluster_ctarank' is about clusters");
    check_may("", "", READ_BOTH "\tmov.u32 %r3, %clusterid.x;\n", "about clusters");
    check_may("", "", READ_BOTH "\tbarrier.cluster.arrive;\n", "about clusters");
    check_may("", "", READ_BOTH "\tmapa.u64 %d1, %a, %r1;\n", "about clusters");
    check_may(".shared .b64 s[4];\n", "", READ_BOTH "\tmov.u16 %h1, 3;\n\tcp.async.bulk.shared::cluster.global."
              "mbarrier::complete_tx::bytes.multicast::cluster [s], [%a], 16, [s+16], %h1;\n", "about clusters");
    check_may(".shared .b64 s[4];\n", "", READ_BOTH "\tcp.async.bulk.shared::cluster.global."
              "mbarrier::complete_tx::bytes [s], [%a], 16, [s+16];\n", NULL);
    check_may(".version 8.6\n.target sm_100\n.address_size 64\n.shared .b64 s[4];\n", "", READ_BOTH
              "\tclusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [s], [s+16];\n",
              "not modelled");
    /* waiting: for a flag of another block, for its own block, for time, and for no thread */
    check_may("", "", READ_BOTH "L:\n" FLAG UNTIL_SET, "may wait for another thread through 'ld.volatile.global.u32'");
    check_may("", "", READ_BOTH "L:\n\tatom.global.add.u32 %r3, [%a], 0;\n" UNTIL_SET, "may wait");
    check_may("", "", READ_BOTH "L:\n\tld.acquire.gpu.global.u32 %r3, [%a];\n" UNTIL_SET, "may wait");
    check_may("", "", READ_BOTH "L:\n\tld.volatile.u32 %r3, [%a];\n" UNTIL_SET, "may wait");
    check_may(".shared .b32 s[2];\n", "", READ_BOTH "L:\n" FLAG "\tst.shared.u32 [s], %r3;\n\tbar.sync 0;\n"
              "\tld.shared.u32 %r3, [s];\n" UNTIL_SET, "may wait");
    check_may(".shared .b32 s[2];\n", "", READ_BOTH "L:\n\tld.volatile.shared.u32 %r3, [s];\n" UNTIL_SET, NULL);
    check_may(".shared .b64 s;\n", "", READ_BOTH "L:\n\tmbarrier.try_wait.parity.shared.b64 %p1, [s], 0;\n"
              "\t@!%p1 bra L;\n", NULL);
    check_may("", "", READ_BOTH "L:\n\tmov.u32 %r3, %clock;\n" UNTIL_SET, NULL);
    check_may("", "", READ_BOTH FLAG "\tadd.u32 %r3, %r3, 1;\n", NULL);
    check_may("", "", READ_BOTH "\tatom.global.add.u32 %r3, [%a], 1;\n\tst.global.u32 [%a+4], %r3;\n", NULL);
    check_may("", "", READ_BOTH "\tld.global.u32 %r4, [%a];\nL:\n\tadd.u32 %r5, %r4, 1;\n"
              "\tatom.global.cas.b32 %r6, [%a], %r4, %r5;\n\tsetp.ne.u32 %p1, %r6, %r4;\n\tmov.u32 %r4, %r6;\n"
              "\t@%p1 bra L;\n", NULL);
    /* calls */
    check_may(".extern .func f();\n", "", READ_BOTH "\tcall f;\n", "calls 'f', which is not defined");
    check_may(".func f()\n{\n\t.reg .b32 %r;\n\tmov.u32 %r, %ctaid.x;\n\tret;\n}\n", "", READ_BOTH "\tcall f;\n",
              "calls 'f', which reads %ctaid.x");
    check_may(".func f()\n{\n\t.reg .b32 %r;\n\tmov.u32 %r, %tid.x;\n\tret;\n}\n", "", READ_BOTH "\tcall f;\n", NULL);
    check_may("", "", "\tsub.cc.u32 %r1, %r2, %r3;\nL:\n\tsubc.u32 %r1, %r2, %r3;\n\tsetp.eq.u32 %p1, %r1, 0;\n"
              "\t@%p1 bra L;\n" READ_BOTH, "carry flag");
}

static const char *set_order(Arena *arena, Options *options, const char *value)
{
    options_init(options);
    return options_set(arena, options, "block-order", value);
}

static void check_value(const char *value, const char *kernel, GridOrder order)
{
    Arena *arena = arena_new();
    Options options;
    const char *error = set_order(arena, &options, value);
    if (error)
        fail_msg("'%s': %s", value, error);
    const OrderOption *read = &options.block_orders.data[0];
    assert_int_equal(read->order.kind, order.kind);
    assert_int_equal(read->order.rows, order.rows);
    assert_string_equal(read->kernel ? read->kernel : "", kernel);
    arena_free(arena);
}

static void check_wrong(const char *value, const char *words)
{
    Arena *arena = arena_new();
    Options options;
    const char *error = set_order(arena, &options, value);
    if (!error || !strstr(error, words) || !strstr(error, value))
        fail_msg("'%s': %s", value, error ? error : "accepted");
    arena_free(arena);
}

static void test_option(void **state)
{
    static const char expected[] = "expected 'off', 'diagonal', or 'groups:N' with 2 to 1024 rows";
    (void)state;
    check_value("off", "", (GridOrder){0});
    check_value("diagonal", "", (GridOrder){.kind = GRID_ORDER_DIAGONAL});
    check_value("groups:2", "", (GridOrder){.kind = GRID_ORDER_GROUPS, .rows = 2});
    check_value("groups:1024", "", (GridOrder){.kind = GRID_ORDER_GROUPS, .rows = 1024});
    check_value("k:groups:8", "k", (GridOrder){.kind = GRID_ORDER_GROUPS, .rows = 8});
    check_value("a::k:groups:8", "a::k", (GridOrder){.kind = GRID_ORDER_GROUPS, .rows = 8});
    check_value("groups:groups:8", "groups", (GridOrder){.kind = GRID_ORDER_GROUPS, .rows = 8});
    check_value("groups:off", "groups", (GridOrder){0});
    check_value("k:diagonal", "k", (GridOrder){.kind = GRID_ORDER_DIAGONAL});
    check_wrong("groups:1", expected);
    check_wrong("groups:1025", expected);
    check_wrong("groups:4x", expected);
    check_wrong("groups:", expected);
    check_wrong("groups", expected);
    check_wrong("k:rows", expected);
    check_wrong(":diagonal", "no kernel before the ':'");
    check_wrong("auto", "no order is chosen, because predicted times do not depend on it");
    check_wrong("k:auto", "no order is chosen");
    Arena *arena = arena_new();
    Options options;
    assert_null(set_order(arena, &options, "diagonal"));
    assert_null(options_set(arena, &options, "block-order", "k:off"));
    assert_null(options_set(arena, &options, "block-order", "groups:4"));
    assert_int_equal(options_order_for(&options, "k")->order.kind, GRID_ORDER_ROWS);
    assert_int_equal(options_order_for(&options, "m")->order.rows, 4);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_bands),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
