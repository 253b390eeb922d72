/* Launch contracts: the header for programs (runtime/ptxopt-launch.h) and ptxopt's own reading of them agree, about
 * random contracts and launches, and about what is not a contract. */
#include "runtime/ptxopt-launch.h"

#include "parsed.h"

#include "emulator/emulator.h"
#include "opt/opt.h"

#include <string.h>

static unsigned draw(uint64_t *state, unsigned below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*state >> 33) % below;
}

static LaunchContract random_contract(uint64_t *state, Name kernel)
{
    LaunchContract contract = {.kernel = kernel, .stride_unit = draw(state, 4) ? 1 : 8, .dynamic_factor = 1};
    bool shrinks = draw(state, 2);
    contract.whole_warps = draw(state, 4) == 0;
    for (unsigned d = 0; d < 3; d++) {
        contract.factor[d] = draw(state, 2) ? 1 : 1 + draw(state, 4);
        contract.merged[d] = draw(state, 2) ? 1 : 1 + draw(state, 4);
        contract.grid_factor[d] = shrinks ? contract.merged[d] : 1;
        contract.block[d] = draw(state, 4) ? 0 : 8 * (1 + draw(state, 8));
    }
    if (shrinks && draw(state, 2))
        contract.dynamic_factor = 1 + draw(state, 12);
    return contract;
}

/* The words as a module has them. */
static void words_of(Module *module, const LaunchContract *contract, uint32_t words[PTXOPT_CONTRACT_WORDS])
{
    const Variable *symbol = contract_symbol(module, contract);
    assert_int_equal(symbol->init_count, PTXOPT_CONTRACT_WORDS + 2);
    for (unsigned i = 0; i < PTXOPT_CONTRACT_WORDS; i++)
        words[i] = (uint32_t)symbol->inits[i + 1].constant.bits;
}

static void check_launch(Arena *arena, const LaunchContract *contract, const uint32_t words[PTXOPT_CONTRACT_WORDS],
                         const Launch *launch)
{
    unsigned grid[3], block[3];
    size_t shared = launch->dynamic_shared;
    char message[200] = "";
    memcpy(grid, launch->grid, sizeof grid);
    memcpy(block, launch->block, sizeof block);
    const char *unmet = contract_unmet(arena, contract, launch->block, launch->grid);
    bool fits = ptxopt_launch_adapt_grid(words, grid, block, &shared, message, sizeof message);
    const LaunchChange change = contract_change(contract);
    const Launch *changed = fits ? launch_changed(arena, launch, &change) : launch;
    if (fits != !unmet)
        fail_msg("the header says '%s', the program '%s'", message, unmet ? unmet : "");
    assert_memory_equal(grid, changed->grid, sizeof grid);
    assert_memory_equal(block, changed->block, sizeof block);
    assert_int_equal(shared, changed->dynamic_shared);
    if (unmet && message[0] != 'i') /* "its launch contract ..." */
        assert_string_equal(message, unmet);
}

static void the_header_agrees(void **state)
{
    (void)state;
    Module *module = module_from(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n");
    Name kernel = module_find_function(module, "k")->name;
    uint64_t random = 1;
    unsigned good = 0;
    for (unsigned i = 0; i < 20000; i++) {
        Arena *arena = arena_new();
        LaunchContract contract = random_contract(&random, kernel), found;
        Variable *symbol = contract_symbol(module, &contract);
        const char *error;
        contract_add_symbol(module, symbol);
        assert_true(contract_find(arena, module, "k", &found, &error));
        contract_remove_symbol(module, symbol);
        found.level = contract.level;
        memcpy(found.merged, contract.merged, sizeof found.merged); /* what a launch does not depend on */
        assert_memory_equal(&found, &contract, sizeof found);
        uint32_t words[PTXOPT_CONTRACT_WORDS];
        words_of(module, &contract, words);
        Launch launch = {.dynamic_shared = draw(&random, 2) ? 0 : draw(&random, 5000)};
        for (unsigned d = 0; d < 3; d++) {
            launch.block[d] = draw(&random, 2) ? 1 : contract.factor[d] * 4 * (1 + draw(&random, 16));
            launch.block[d] = contract.block[d] && draw(&random, 8) ? contract.block[d] : launch.block[d];
            launch.grid[d] = contract.grid_factor[d] * (1 + draw(&random, 5)) + (draw(&random, 6) == 0);
        }
        good += !contract_unmet(arena, &contract, launch.block, launch.grid);
        check_launch(arena, &contract, words, &launch);
        arena_free(arena);
    }
    assert_in_range(good, 1000, 19000);
    release(module);
}

/* Programs of before there were contracts about the grid use a function, and may have been compiled with a header, that
 * do not know them. */
static void other_formats_are_refused(void **state)
{
    (void)state;
    uint32_t words[PTXOPT_CONTRACT_WORDS] = {PTXOPT_CONTRACT_MAGIC, 2, 2, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1};
    unsigned grid[3] = {4, 1, 1}, block[3] = {64, 1, 1};
    size_t shared = 100;
    char message[200];
    assert_false(ptxopt_launch_adapt(words, block, message, sizeof message));
    assert_non_null(strstr(message, "ptxopt_launch_adapt_grid"));
    assert_true(ptxopt_launch_adapt_grid(words, grid, block, &shared, message, sizeof message));
    assert_int_equal(grid[0], 2);
    assert_int_equal(shared, 256);
    static const struct {
        unsigned word, value;
    } wrong[] = {{0, 1}, {1, 3}, {1, 1}, {2, 0}, {3, 0}, {9, 0}, {13, 0}, {14, 0}, {15, 0}};
    for (unsigned i = 0; i < COUNT_OF(wrong); i++) {
        uint32_t changed[PTXOPT_CONTRACT_WORDS];
        memcpy(changed, words, sizeof changed);
        changed[wrong[i].word] = wrong[i].value;
        assert_false(ptxopt_launch_adapt_grid(changed, grid, block, &shared, message, sizeof message));
        assert_non_null(strstr(message, "not known"));
        assert_int_equal(grid[0], 2);
        assert_int_equal(shared, 256);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_agrees),
        cmocka_unit_test(other_formats_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
