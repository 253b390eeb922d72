/* Launch contracts: the header for programs (runtime/ptxopt-launch.h) and ptxopt's own reading of them agree, about
 * random contracts and launches, and about symbols that are not contracts. */
#include "runtime/ptxopt-launch.h"

#include "parsed.h"

#include "emulator/emulator.h"
#include "engine/choose/pays.h"
#include "engine/report/contract_words.h"
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
    const bool grows = draw(state, 2), refines = !grows && draw(state, 3) == 0;
    contract.shrinks_grid = draw(state, 2);
    contract.whole_warps = draw(state, 4) == 0;
    for (unsigned d = 0; d < 3; d++) {
        contract.shape.threads[d] = refines || draw(state, 2) ? 1 : 1 + draw(state, 4);
        contract.shape.blocks[d] = refines || draw(state, 2) ? 1 : 1 + draw(state, 4);
        contract.shape.grown[d] = grows && draw(state, 2) ? 1 + draw(state, 6) : 1;
        contract.shape.refined[d] = refines && draw(state, 2) ? 2 << draw(state, 5) : 1;
        contract.shape.spread[d] = contract.shape.refined[d] > 1 ? 1 << draw(state, 2) : 1;
        contract.block[d] = draw(state, 4) ? 0 : 8 * (1 + draw(state, 8));
    }
    if (contract.shrinks_grid && draw(state, 2))
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
    LaunchUnmet figures;
    const char *unmet = contract_is_met(contract, launch->block, launch->grid, &figures)
                            ? NULL
                            : unmet_text(arena, &figures);
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
        LaunchUnmet unmet;
        contract_add_symbol(module, symbol);
        assert_int_equal(contract_find(module, "k", &found), CONTRACT_FOUND);
        contract_remove_symbol(module, symbol);
        uint32_t words[PTXOPT_CONTRACT_WORDS], again[PTXOPT_CONTRACT_WORDS];
        words_of(module, &contract, words);
        words_of(module, &found, again);
        assert_memory_equal(words, again, sizeof words);
        Launch launch = {.dynamic_shared = draw(&random, 2) ? 0 : draw(&random, 5000)};
        for (unsigned d = 0; d < 3; d++) {
            launch.block[d] = draw(&random, 2) ? 1 : contract.shape.threads[d] * 4 * (1 + draw(&random, 16));
            launch.block[d] = contract.block[d] && draw(&random, 8) ? contract.block[d] : launch.block[d];
            launch.grid[d] = (contract.shrinks_grid ? contract.shape.blocks[d] : 1) * (1 + draw(&random, 5));
            launch.grid[d] *= contract.shape.grown[d];
            launch.grid[d] += draw(&random, 6) == 0;
            launch.grid[d] += draw(&random, 20) == 0 ? 0x10000000 : 0;
        }
        good += contract_is_met(&contract, launch.block, launch.grid, &unmet);
        check_launch(arena, &contract, words, &launch);
        arena_free(arena);
    }
    assert_in_range(good, 1000, 19000);
    release(module);
}

/* Programs from before contracts about the grid use a function, and may have been compiled with a header, that do not
 * know them. */
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
    } wrong[] = {{0, 1}, {1, 4}, {1, 1}, {2, 0}, {3, 0}, {9, 0}, {13, 0}, {14, 0}, {15, 0}};
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

/* The block is multiplied and the grid divided, by contracts that readers of the first two formats refuse, and blocks
 * that would be too large are not launched. */
static void larger_blocks(void **state)
{
    (void)state;
    const uint32_t words[PTXOPT_CONTRACT_WORDS] = {
        PTXOPT_CONTRACT_MAGIC, 3, 1, 1 | 4 << 16, 2 | 2 << 16, 1 | 1 << 16, 0, 0, 0, 1, 0, 0, 0, 8 | 1 << 16,
        2 | 1 << 16, 1 | 1 << 16};
    unsigned grid[3] = {16, 6, 3}, block[3] = {16, 16, 1};
    size_t shared = 100;
    char message[200];
    assert_true(ptxopt_launch_adapt_grid(words, grid, block, &shared, message, sizeof message));
    assert_int_equal(grid[0], 2);
    assert_int_equal(grid[1], 3);
    assert_int_equal(grid[2], 3);
    assert_int_equal(block[0], 64);
    assert_int_equal(block[1], 16);
    assert_int_equal(shared, 100);
    unsigned wide[3] = {32, 9, 1};
    assert_false(ptxopt_launch_adapt_grid(words, (unsigned[]){8, 2, 1}, wide, &shared, message, sizeof message));
    assert_string_equal(message, "block.x * block.y * block.z is 288, more than 256");
    assert_int_equal(wide[0], 32);
    const uint32_t deep[PTXOPT_CONTRACT_WORDS] = {
        PTXOPT_CONTRACT_MAGIC, 3, 1, 1 | 1 << 16, 1 | 1 << 16, 1 | 4 << 16, 0, 0, 0, 1, 0, 0, 0, 1 | 1 << 16,
        1 | 1 << 16, 4 | 1 << 16};
    unsigned high[3] = {1, 1, 17};
    assert_false(ptxopt_launch_adapt_grid(deep, (unsigned[]){1, 1, 4}, high, &shared, message, sizeof message));
    assert_string_equal(message, "block.z is 17, more than 16");
    high[2] = 16;
    assert_true(ptxopt_launch_adapt_grid(deep, (unsigned[]){1, 1, 4}, high, &shared, message, sizeof message));
    assert_int_equal(high[2], 64);
    for (unsigned word = 3; word < 6; word++) { /* no multiplier, or no divisor */
        uint32_t changed[PTXOPT_CONTRACT_WORDS];
        for (unsigned half = 0; half < 2; half++) {
            memcpy(changed, words, sizeof changed);
            changed[word] &= half ? 0xffff0000 : 0xffff;
            assert_false(ptxopt_launch_adapt_grid(changed, grid, (unsigned[]){16, 16, 1}, &shared, message,
                                                  sizeof message));
            assert_non_null(strstr(message, "not known"));
        }
    }
}

/* Reads the contract of 'k' from a module with this symbol. */
static bool read_symbol(const char *symbol, LaunchContract *contract, char message[200])
{
    Buf text = {0};
    buf_printf(&text, HEADER "%s\n.visible .entry k()\n{\n\tret;\n}\n", symbol);
    Module *module = module_from(buf_text(&text));
    const ContractState state = contract_find(module, "k", contract);
    const char *error = contract_error_text(module->arena, state, "k");
    snprintf(message, 200, "%s", error ? error : "");
    release(module);
    buf_free(&text);
    return state == CONTRACT_FOUND;
}

static void check_symbol_wrong(const char *symbol, const char *error)
{
    LaunchContract contract;
    char message[200];
    if (read_symbol(symbol, &contract, message) || !strstr(message, error))
        fail_msg("%s: '%s', not '%s'", symbol, message, error);
}

/* Symbols that a module may have under the name of a contract. */
static void symbols(void **state)
{
    (void)state;
#define CONST ".visible .const .align 4 .u32 __ptxopt_launch_k"
    LaunchContract contract;
    char message[200];
    assert_true(read_symbol(CONST "[16] = {1347964752, 1, 0, 2, 4, 1, 2, 8, 1, 8, 64, 32, 1, 0, 0, 0};", &contract,
                            message));
    assert_int_equal(contract.shape.threads[1], 4);
    assert_int_equal(contract.shape.blocks[0], 1);
    assert_int_equal(contract.dynamic_factor, 1);
    assert_int_equal(contract.stride.number, 8);
    assert_int_equal(contract.block[1], 32);
    assert_true(contract.whole_warps);
    assert_true(read_symbol(".visible .const .align 4 .b8 __ptxopt_launch_k[64] = {80, 79, 88, 80, 2, 0, 0, 0, "
                            "6, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
                            "1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0};",
                            &contract, message));
    assert_int_equal(contract.shape.blocks[0], 3);
    assert_int_equal(contract.shape.blocks[1], 2);
    assert_int_equal(contract.dynamic_factor, 6);
    assert_false(read_symbol("", &contract, message));
    assert_string_equal(message, "");
    check_symbol_wrong(CONST "[16] = {1, 1, 0, 2, 1, 1, 0, 0, 0, 1};", "is not a launch contract");
    check_symbol_wrong(CONST "[17] = {1347964752, 1, 0, 2, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 5};",
                       "is not a launch contract");
    check_symbol_wrong(".global .u64 g;\n.visible .const .align 8 .u64 __ptxopt_launch_k[2] = {1347964752, g};",
                       "is not a launch contract");
    check_symbol_wrong(CONST "[16] = {1347964752, 4, 0, 2, 1, 1, 0, 0, 0, 1};", "does not know");
    check_symbol_wrong(CONST "[16] = {1347964752, 1, 1, 2, 1, 1, 0, 0, 0, 1};", "does not know");
    check_symbol_wrong(CONST "[16] = {1347964752, 1, 0, 2, 0, 1, 0, 0, 0, 1};", "the factor 0");
    check_symbol_wrong(CONST "[16] = {1347964752, 1};", "the factor 0");
    check_symbol_wrong(CONST "[16] = {1347964752, 2, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1};", "the factor 0");
    check_symbol_wrong(CONST "[16] = {1347964752, 2, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1};", "the factor 0");
}

static void check_conditions(const LaunchContract *contract, const char *first, const char *second)
{
    Arena *arena = arena_new();
    LaunchCondition conditions[CONTRACT_CONDITIONS];
    unsigned count = contract_conditions(contract, conditions);
    assert_int_equal(count, 1 + (second != NULL));
    assert_string_equal(condition_text(arena, &conditions[0]), first);
    if (second)
        assert_string_equal(condition_text(arena, &conditions[1]), second);
    arena_free(arena);
}

static void conditions_in_words(void **state)
{
    (void)state;
    LaunchContract contract = {.shape = {{2, 1, 1}, {1, 1, 1}}, .dynamic_factor = 1, .stride_unit = 1};
    check_conditions(&contract, "block.x is a multiple of 2", NULL);
    contract.stride_unit = 8;
    check_conditions(&contract, "block.x is a multiple of 16", NULL);
    contract.whole_warps = true;
    check_conditions(&contract, "block.x is a multiple of 64", NULL);
    contract.shape.threads[1] = 4;
    check_conditions(&contract, "block.y is a multiple of 32", "block.x is a multiple of 64");
    contract.shape.threads[0] = 1;
    check_conditions(&contract, "block.y is a multiple of 32", "block.x * block.y is a multiple of 128");
    contract.whole_warps = false;
    contract.shape.blocks[2] = 3;
    contract.shrinks_grid = true;
    check_conditions(&contract, "block.y is a multiple of 32", "grid.z is a multiple of 3");
    contract.shape.threads[1] = 1;
    contract.whole_warps = true; /* of threads, which are not merged */
    check_conditions(&contract, "grid.z is a multiple of 3", NULL);
}

/* The words by which a launch is decided are those that ptxopt writes. */
static void launches_are_decided(void **state)
{
    (void)state;
    const uint32_t pays[PTXOPT_PAYS_WORDS] = {PAYS_MAGIC, PAYS_FORMAT, 384};
    const unsigned grid[3] = {6, 1, 1}, more[3] = {6, 2, 1}, block[3] = {128, 1, 1};
    assert_int_equal(PAYS_MAGIC, PTXOPT_PAYS_MAGIC);
    assert_true(ptxopt_launch_pays(pays, grid, block, 2));
    assert_false(ptxopt_launch_pays(pays, grid, block, 3));
    assert_true(ptxopt_launch_pays(pays, more, block, 3));
    /* Two threads along x and three along y become one. */
    const uint32_t both[PTXOPT_PAYS_WORDS] = {PAYS_MAGIC, PAYS_FORMAT, 0, 2 | 3 << 8};
    const unsigned full[3] = {32, 12, 1}, less[3] = {32, 9, 1}, half[3] = {8, 6, 1}, narrow[3] = {4, 3, 1};
    assert_int_equal(pays_factors(&(Shape){.threads = {2, 3, 1}, .blocks = {4, 1, 1}}), 2 | 3 << 8);
    assert_int_equal(pays_factors(&(Shape){.threads = {1, 1, 1}, .blocks = {4, 1, 1}}), 0);
    assert_true(ptxopt_launch_pays(both, grid, full, 2));    /* 2 of 12 warps */
    assert_false(ptxopt_launch_pays(both, grid, less, 2));   /* 2 of 9: for 12 */
    assert_false(ptxopt_launch_pays(both, grid, half, 2));   /* 1 of 2 */
    assert_false(ptxopt_launch_pays(both, grid, narrow, 2)); /* 1 of 1 */
    /* By a parameter: 768 threads for two SMs. */
    const uint32_t trips[PTXOPT_TRIPS_WORDS] = {TRIPS_MAGIC, TRIPS_FORMAT, 1, 3, 0, 10, UINT32_MAX, 20, 400, 40, 300};
    int32_t other = 0, value = 5;
    void *const parameters[] = {&other, &value};
    assert_int_equal(TRIPS_MAGIC, PTXOPT_TRIPS_MAGIC);
    assert_int_equal(TRIPS_WORDS, PTXOPT_TRIPS_WORDS);
    assert_int_equal(PAYS_WORDS, PTXOPT_PAYS_WORDS);
    assert_int_equal(PAYS_WORDS + TRIPS_WORDS + LIMIT_WORDS, PTXOPT_FORM_WORDS);
    const PaysTable table = {.parameter = 1, .count = 3, .points = {{10, PAYS_NEVER}, {20, 400}, {40, 300}}};
    uint32_t written[TRIPS_WORDS] = {0};
    trips_set(written, &table);
    assert_memory_equal(written, trips, sizeof written);
    assert_false(ptxopt_launch_pays_for(pays, trips, grid, block, 2, parameters));
    value = -1;
    assert_false(ptxopt_launch_pays_for(pays, trips, grid, block, 2, parameters));
    value = 19; /* between the least and a number that no grid has */
    assert_false(ptxopt_launch_pays_for(pays, trips, grid, block, 2, parameters));
    value = 20;
    assert_false(ptxopt_launch_pays_for(pays, trips, grid, block, 2, parameters));
    assert_true(ptxopt_trips_threads(trips, 30) == 350);
    value = 30;
    assert_true(ptxopt_launch_pays_for(pays, trips, grid, block, 2, parameters));
    assert_true(ptxopt_trips_threads(trips, INT32_MAX) == 300);
    value = 5; /* without parameters, or words of another format, the grid alone decides */
    assert_true(ptxopt_launch_pays_for(pays, trips, grid, block, 2, NULL));
    const uint32_t unknown[PTXOPT_TRIPS_WORDS] = {TRIPS_MAGIC, 2, 1, 3};
    const uint32_t many[PTXOPT_TRIPS_WORDS] = {TRIPS_MAGIC, 1, 1, 6};
    assert_true(ptxopt_launch_pays_for(pays, unknown, grid, block, 2, parameters));
    assert_true(ptxopt_launch_pays_for(pays, many, grid, block, 2, parameters));
    /* The second parameter has to be a multiple of four. */
    const uint32_t form[PTXOPT_FORM_WORDS] = {PAYS_MAGIC, PAYS_FORMAT, [23] = 1 | 4 << 16};
    const uint32_t none[PTXOPT_FORM_WORDS] = {PAYS_MAGIC, PAYS_FORMAT, [23] = 8192 | 4 << 16};
    for (value = -8; value < 8; value++)
        assert_int_equal(ptxopt_form_pays(form, grid, block, 2, parameters), value % 4 == 0);
    assert_false(ptxopt_form_pays(form, grid, block, 2, NULL));
    assert_false(ptxopt_form_pays(none, grid, block, 2, parameters)); /* more than any kernel has */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_agrees),
        cmocka_unit_test(launches_are_decided),
        cmocka_unit_test(other_formats_are_refused),
        cmocka_unit_test(larger_blocks),
        cmocka_unit_test(symbols),
        cmocka_unit_test(conditions_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
