/* Coarsened kernels do no more than what an expert would write: accesses and address arithmetic, counted. */
#include "parsed.h"

#include "opt/opt.h"
#include "opt/passes.h"

/* The coarsened kernel of a file; *module owns it. */
static Body *form_of(Arena *arena, const char *path, const char *kernel, const KernelRequest *request, Module **module)
{
    const char *error = NULL;
    Source *source = source_read(arena, path, &error);
    assert_non_null(source);
    Diag diag;
    diag_init(&diag, source, stderr);
    *module = parse_module(arena, source, &diag);
    assert_non_null(*module);
    PipelineOptions options = {.level = 2};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        options.passes.enabled[i] = true;
    KernelResult result;
    pipeline_run(arena, function_of(*module, kernel), request, &options, &result);
    assert_int_equal(result.coarsening, OUTCOME_DONE);
    return result.body;
}

typedef struct Work {
    unsigned loads, stores, loads_first; /* loads_first: before the first store */
    unsigned multiply_adds, pointer_sums;
} Work;

static Work work_of(const Block *block)
{
    Work work = {0};
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        bool is_access = (inst_op(inst) == OP_LD || inst_op(inst) == OP_ST) && inst->signature->space != SPACE_PARAM;
        work.loads += is_access && inst_op(inst) == OP_LD;
        work.stores += is_access && inst_op(inst) == OP_ST;
        work.loads_first += is_access && inst_op(inst) == OP_LD && !work.stores;
        work.multiply_adds += inst_op(inst) == OP_FMA;
        work.pointer_sums += inst_op(inst) == OP_ADD && type_bits(inst->signature->types[0]) == 64;
    }
    return work;
}

static void test_product(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module;
    const KernelRequest request = {
        .coarsen = true,
        .coarsening = {.shape.threads = {4, 4, 1}, .stride = {STRIDE_UNIT, 0}},
        .block = {16, 16, 1}};
    Body *body = form_of(arena, "corpus/matmul_naive/matmul_naive.sm_90.ptx", "matmul_naive", &request, &module);
    Work most = {0};
    for (size_t b = 0; b < body->blocks.count; b++) {
        Work work = work_of(body->blocks.data[b]);
        if (!body->blocks.data[b]->is_cold && work.multiply_adds > most.multiply_adds)
            most = work;
    }
    /* Four rounds of 16 sums. One addition for each round's row of B, and for each of the four rows of A, along which
     * one pointer walks. With a pointer for each row that would be one addition less, but ptxas then copies pairs of
     * registers around: 2% more machine instructions. */
    assert_int_equal(most.multiply_adds, 64);
    assert_true(most.loads * 10 <= most.multiply_adds * 3);
    assert_true(most.pointer_sums <= 4 + 4 + 1);
    body_free(body);
    arena_free(arena);
}

static void test_guard(void **state)
{
    (void)state;
    static const StrideKind strides[] = {STRIDE_BLOCK, STRIDE_UNIT};
    static const GuardForm guards[] = {GUARDS_AUTO, GUARDS_FAST, GUARDS_PREDICATED};
    for (unsigned i = 0; i < 2 * COUNT_OF(strides) * COUNT_OF(guards); i++) {
        bool has_size = i >= COUNT_OF(strides) * COUNT_OF(guards);
        Arena *arena = arena_new();
        Module *module;
        const KernelRequest request = {.coarsen = true,
                                       .coarsening = {.shape.threads = {4, 1, 1},
                                                      .stride = {strides[i % COUNT_OF(strides)], 0},
                                                      .guards = guards[i / COUNT_OF(strides) % COUNT_OF(guards)]},
                                       .block = {has_size ? 256 : 0, has_size, has_size}};
        Body *body = form_of(arena, "corpus/vectoradd/vectoradd.sm_90.ptx", "vectoradd", &request, &module);
        size_t b = 0;
        while (b < body->blocks.count && !work_of(body->blocks.data[b]).stores)
            b++;
        assert_true(b < body->blocks.count);
        Work work = work_of(body->blocks.data[b]);
        bool wide = strides[i % COUNT_OF(strides)] == STRIDE_UNIT &&
                    guards[i / COUNT_OF(strides) % COUNT_OF(guards)] != GUARDS_PREDICATED;
        assert_int_equal(work.stores, wide ? 1 : 4);
        assert_int_equal(work.loads_first, wide ? 2 : 8);
        assert_int_equal(work.loads, work.loads_first);
        body_free(body);
        arena_free(arena);
    }
}

static void test_stencil(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module;
    const KernelRequest request = {
        .coarsen = true,
        .coarsening = {.shape.threads = {1, 4, 1}, .stride = {STRIDE_UNIT, 0}},
        .block = {32, 8, 1}};
    Body *body = form_of(arena, "bench/expert/conv3.ptx", "conv3", &request, &module);
    size_t b = 0;
    while (b < body->blocks.count && (body->blocks.data[b]->is_cold || work_of(body->blocks.data[b]).stores < 4))
        b++;
    assert_true(b < body->blocks.count);
    assert_int_equal(work_of(body->blocks.data[b]).loads, 18);
    body_free(body);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_product), cmocka_unit_test(test_guard),
                                       cmocka_unit_test(test_stencil)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
