/* If the grid is kept, blocks with work and blocks that exit at once are spread evenly. */
#include "coarsened.h"
#include "cost/cost.h"

enum { MOST_BLOCKS = 4096 };

/* Finds the blocks of the grid, along x first, that have work after coarsening by blocks. */
static void find_working(const CoarsenRequest *request, const unsigned grid[3], bool *works)
{
    uint32_t n = 0;
    Try it = try_with("", "", "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ctaid.y;\n\tadd.u32 %r1, %r1, %r2;\n"
                      "\tatom.global.add.u32 %r3, [%a], %r1;\n", request);
    LaunchArgument arguments[] = {{.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = 64},
                                  {.kind = ARGUMENT_SCALAR, .type = TYPE_U32, .bytes = &n, .size = sizeof n}};
    Launch launch = {.kernel = "k", .grid = {grid[0], grid[1], grid[2]}, .block = {1, 1, 1}, .arguments = arguments,
                     .argument_count = 2};
    Arena *arena = arena_new();
    const char *error = NULL;
    assert_true(it.done);
    body_from_ssa(it.body);
    const FunctionForm form = {.function = module_find_function(it.module, "k"), .body = it.body};
    const Profile *profile = profile_count(arena, &form, &launch, NULL, &(CountOptions){.jobs = 1}, &error);
    if (!profile)
        fail_msg("%s", error);
    assert_true(profile->blocks <= MOST_BLOCKS);
    for (size_t i = 0; i < (size_t)profile->blocks; i++)
        works[i] = profile->block_lengths[i] > 1; /* than the mean */
    arena_free(arena);
    release(it.module);
}

/* The most that work among 'blocks' blocks at a distance of 'apart', wherever the first is. */
static unsigned most_of(const bool *works, size_t count, size_t blocks, size_t apart)
{
    unsigned most = 0;
    for (size_t first = 0; first + (blocks - 1) * apart < count; first++) {
        unsigned working = 0;
        for (size_t i = 0; i < blocks; i++)
            working += works[first + i * apart];
        most = working > most ? working : most;
    }
    return most;
}

/* An SM gets neighbours, or every n-th block of n SMs. */
static void spread(void **state)
{
    (void)state;
    static const struct {
        CoarsenRequest request;
        unsigned grid[3], apart;
        size_t blocks;
        unsigned most; /* the most of these that work, on any SM */
    } cases[] = {
        {{.shape.blocks = {2, 1, 1}}, {4096, 1, 1}, 1, 8, 5},
        {{.shape.blocks = {2, 1, 1}}, {4096, 1, 1}, 132, 8, 5},
        {{.shape.blocks = {2, 1, 1}}, {4096, 1, 1}, 108, 8, 6},
        {{.shape.blocks = {2, 1, 1}}, {4096, 1, 1}, 128, 8, 5},
        {{.shape.blocks = {2, 1, 1}}, {4096, 1, 1}, 40, 8, 7},
        {{.shape.blocks = {4, 1, 1}}, {4096, 1, 1}, 1, 16, 5},
        {{.shape.blocks = {4, 1, 1}}, {4096, 1, 1}, 132, 16, 7},
        {{.shape.blocks = {3, 1, 1}}, {3000, 1, 1}, 1, 12, 5},
        {{.shape.blocks = {1, 2, 1}}, {64, 64, 1}, 1, 8, 5},
        {{.shape.blocks = {1, 2, 1}}, {40, 64, 1}, 132, 8, 6},
        {{.shape.blocks = {1, 2, 1}}, {256, 16, 1}, 132, 8, 6},
        {{.shape.blocks = {2, 1, 1}}, {64, 64, 1}, 132, 8, 5},
        {{.shape.blocks = {4, 1, 1}}, {64, 64, 1}, 132, 16, 5},
        {{.shape.blocks = {2, 2, 1}}, {64, 64, 1}, 1, 16, 5},
        {{.shape.blocks = {2, 2, 1}}, {64, 64, 1}, 132, 16, 8},
        {{.shape.blocks = {2, 2, 1}}, {40, 64, 1}, 132, 16, 6},
        {{.shape.blocks = {2, 4, 1}}, {64, 64, 1}, 1, 32, 5},
        {{.shape.blocks = {3, 2, 1}}, {63, 64, 1}, 1, 24, 9},
    };
    static bool works[MOST_BLOCKS];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const unsigned *grid = cases[i].grid;
        find_working(&cases[i].request, grid, works);
        unsigned most = most_of(works, (size_t)grid[0] * grid[1] * grid[2], cases[i].blocks, cases[i].apart);
        if (most > cases[i].most)
            fail_msg("case %zu: %u of %zu blocks work", i, most, cases[i].blocks);
    }
}

/* One block of the last, incomplete group works, and no block without a group. */
static void rest(void **state)
{
    (void)state;
    static bool works[MOST_BLOCKS];
    for (unsigned blocks = 1; blocks < 300; blocks += 13) {
        unsigned count = 0;
        find_working(&(CoarsenRequest){.shape.blocks = {4, 1, 1}}, (unsigned[]){blocks, 1, 1}, works);
        for (unsigned i = 0; i < blocks; i++)
            count += works[i];
        if (blocks > 1 && count != divide_up(blocks, 4))
            fail_msg("%u of %u blocks work", count, blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread),
        cmocka_unit_test(rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
