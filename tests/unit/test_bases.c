/* The launches that -coarsen auto assumes if it does not know one. */
#include "tests/unit/parsed.h"

#include "engine/choose/bases.h"

/* A loop of 'step' elements in each round, up to a parameter, and another loop for the rest. */
static Module *loops_by(Arena *arena, unsigned step)
{
    return module_from(arena_printf(
        arena,
        SM_90 ".visible .entry k(.param .u64 data, .param .u32 n)\n{\n.reg .pred %%p<5>;\n.reg .b32 %%r<9>;\n"
              ".reg .b64 %%d<3>;\nld.param.u64 %%d1, [data];\nld.param.u32 %%r1, [n];\nand.b32 %%r2, %%r1, %u;\n"
              "add.s32 %%r3, %%r1, -1;\nsetp.lt.u32 %%p1, %%r3, %u;\n@%%p1 bra REST;\nsub.s32 %%r4, %%r1, %%r2;\n"
              "MAIN: st.global.u32 [%%d1], %%r4;\nadd.s32 %%r4, %%r4, -%u;\nsetp.ne.s32 %%p2, %%r4, 0;\n"
              "@%%p2 bra MAIN;\nREST: setp.eq.s32 %%p3, %%r2, 0;\n@%%p3 bra END;\n"
              "AGAIN: st.global.u32 [%%d1], %%r2;\nadd.s32 %%r2, %%r2, -1;\nsetp.ne.s32 %%p4, %%r2, 0;\n"
              "@%%p4 bra AGAIN;\nEND: ret;\n}\n",
        step - 1, step - 1, step));
}

/* The value of the parameter where the loop of 'step' elements makes no trip; 0: no such launch is assumed. */
static uint32_t value_without_trips(unsigned step, LaunchDecides decides)
{
    Arena *arena = arena_new();
    Module *module = loops_by(arena, step);
    const BlockSize block = {.threads = {128, 1, 1}};
    const Bases bases = bases_new(arena, sm_limits_for("sm_90"), device_for(90), function_of(module, "k"), NULL, &block,
                                  0, decides, FOR_LARGE);
    uint32_t found = 0;
    for (unsigned i = 0; i < bases.count; i++) {
        const CostBasis *basis = &bases.of[i].basis;
        if (bases.of[i].elsewhere != ELSEWHERE_REMAINDERS)
            continue;
        assert_int_equal(basis->known.count, 1);
        assert_string_equal(basis->known.of->variable->name, "n");
        memcpy(&found, basis->known.of->bytes, sizeof found);
        assert_true(basis->blocks > 0 && basis->blocks < basis->device.multiprocessors);
    }
    release(module);
    arena_free(arena);
    return found;
}

static void unrolled_loops_may_make_no_trip(void **state)
{
    (void)state;
    assert_int_equal(value_without_trips(4, DECIDES_NOTHING), 3);
    assert_int_equal(value_without_trips(8, DECIDES_NOTHING), 7);
    assert_int_equal(value_without_trips(1, DECIDES_NOTHING), 0);
    assert_int_equal(value_without_trips(4, DECIDES_BY_GRID), 0);
}

/* Blocks of a warp or less are assumed in large grids, and in those of a few blocks for each SM. */
static void small_blocks_come_in_two_grids(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = loops_by(arena, 4);
    const BlockSize unknown = {.origin = BLOCK_UNKNOWN};
    const Bases bases = bases_new(arena, sm_limits_for("sm_90"), device_for(90), function_of(module, "k"), NULL,
                                  &unknown, 0, DECIDES_BY_GRID, FOR_SMALL_BLOCKS);
    unsigned large = 0, small = 0;
    for (unsigned i = 0; i < bases.count; i++) {
        const CostBasis *basis = &bases.of[i].basis;
        assert_in_range(basis->block[0] * basis->block[1] * basis->block[2], 16, MOST_SMALL_BLOCK);
        if (bases.of[i].elsewhere != ELSEWHERE_NONE)
            continue;
        assert_int_equal(i, large + small);
        large += basis->blocks == 0; /* as many waves as are assumed */
        small += basis->blocks == 32 * basis->device.multiprocessors;
    }
    assert_int_equal(large, 2);
    assert_int_equal(small, 2);
    assert_false(bases_have_small(function_of(module, "k"))); /* it has one dimension */
    release(module);
    arena_free(arena);
}

/* A form for few blocks has to gain in a launch of fewer than there are SMs: in long loops if a parameter tells their
 * lengths, else where they are as usual, and it must not lose at the edge of the data or with other lengths. */
static void few_blocks_leave_multiprocessors_idle(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = loops_by(arena, 4);
    const BlockSize block = {.threads = {TWO_WARPS, 1, 1}};
    for (LaunchDecides decides = DECIDES_BY_GRID; decides <= DECIDES_BY_TRIPS; decides++) {
        const Bases bases = bases_new(arena, sm_limits_for("sm_90"), device_for(90), function_of(module, "k"), NULL,
                                      &block, 0, decides, FOR_FEW_BLOCKS);
        const bool by_trips = decides == DECIDES_BY_TRIPS;
        assert_int_equal(bases.count, by_trips ? 1 : 4);
        for (unsigned i = 0; i < bases.count; i++) {
            const CostBasis *basis = &bases.of[i].basis;
            assert_true(basis->blocks == (double)basis->device.multiprocessors / FEW_SMS);
            assert_int_equal(basis->block[0], TWO_WARPS);
            assert_int_equal(bases.of[i].elsewhere == ELSEWHERE_NONE, i == 0);
            assert_int_equal(basis->at_edge, i > 0);
        }
        assert_true(bases.of[0].basis.trips == (by_trips ? LONG_LOOP : 0));
    }
    assert_true(bases_are_linear(function_of(module, "k")));
    release(module);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unrolled_loops_may_make_no_trip),
        cmocka_unit_test(small_blocks_come_in_two_grids),
        cmocka_unit_test(few_blocks_leave_multiprocessors_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
