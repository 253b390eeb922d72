/* The register search with a register model that is wrong: it may cost forms, but no result may be wrong, or worse than
 * under the cap alone. This file has the model's functions (opt/registers/search/estimate.h), instead of those of
 * opt/registers/search/estimate.c. */
#include "tests/unit/test_registers_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "emulator/emulator.h"
#include "opt/registers/search/estimate.h"

typedef enum Nonsense { ALWAYS_NOTHING, ALWAYS_HUGE, RISING, FALLING, RANDOM, NONSENSE_COUNT } Nonsense;

static Nonsense nonsense;
static unsigned asked; /* how often the search asked the model */

static uint64_t answer(void)
{
    static uint64_t state = 1;
    asked++;
    state = state * 6364136223846793005u + 1442695040888963407u;
    switch (nonsense) {
    case ALWAYS_NOTHING: return 0;
    case ALWAYS_HUGE: return UINT32_MAX;
    case RISING: return asked;
    case FALLING: return UINT32_MAX - asked;
    default: return state >> 40;
    }
}

RegisterEstimate register_estimate(Arena *arena, const Body *body, Analyses *analyses, const SmLimits *sm)
{
    (void)arena, (void)body, (void)analyses, (void)sm;
    return (RegisterEstimate){.known = true, .registers = (unsigned)answer()};
}

int32_t register_room(const SmLimits *sm, unsigned target)
{
    (void)sm, (void)target;
    return (int32_t)(answer() % INT32_MAX);
}

uint64_t register_excess(const Body *body, Analyses *analyses, const SmLimits *sm, unsigned target)
{
    (void)body, (void)analyses, (void)sm, (void)target;
    return answer();
}

/* Takes pressure plus four registers; those above the cap are spilled. */
static bool measure(void *context, const FunctionForm *form, Figures *out)
{
    unsigned registers = (unsigned)body_peak(form->body) + 4, cap = form->body->tuning.maxnreg;
    unsigned above = cap && registers > cap ? registers - cap : 0;
    (void)context;
    *out = (Figures){.known = true, .registers = registers - above, .spill_stores = 4 * above,
                      .spill_loads = 4 * above};
    for (size_t i = 0; i < form->body->blocks.count; i++)
        for (const Inst *inst = form->body->blocks.data[i]->first; inst; inst = inst->next)
            out->instructions++;
    out->instructions += 2 * above;
    return true;
}

static bool is_worse(const Figures *a, const Figures *b)
{
    if (figures_spills(a) != figures_spills(b))
        return figures_spills(a) > figures_spills(b);
    return a->registers > b->registers && a->registers > 24;
}

static void nothing_is_wrong_or_worse(void **state)
{
    (void)state;
    static const char *const kernels[] = {"nlm", "fft16", "mriq"};
    for (nonsense = 0; nonsense < NONSENSE_COUNT; nonsense++)
        for (size_t k = 0; k < COUNT_OF(kernels); k++) {
            Arena *arena = arena_new();
            const char *path = arena_printf(arena, "corpus/%s/%s.sm_90.ptx", kernels[k], kernels[k]);
            const char *file = arena_printf(arena, "corpus/%s/%s.launch.json", kernels[k], kernels[k]);
            Module *original = module_of_file(path), *module = module_of_file(path);
            Function *kernel = module_find_function(module, kernels[k]);
            const char *reason, *error = NULL;
            const unsigned block[3] = {64, 1, 1};
            Judge judge = {.measure = measure};
            PassOptions passes = {0};
            memset(passes.enabled, true, sizeof passes.enabled);
            PassContext context = pass_context_new(arena, &passes, kernel, body_build(kernel, &reason));
            context.sm = sm_limits_for("sm_90");
            context.judge = &judge;
            context.block = block_size_resolve(&context.body->tuning, block);
            RegistersRequest request = {.target = 24, .spill = true, .effort = 40};
            RegistersResult result;
            registers_reduce(&context, &request, &result);
            assert_false(is_worse(&result.after, &result.capped));
            function_set_body(kernel, pass_take_body(&context));
            EmulatorOptions options = {0};
            Launch *launch = launch_read(arena, file, &error);
            assert_non_null(launch);
            assert_true(emulator_compare(arena, original, module, kernels[k], launch, NULL, &options)->equal);
            function_set_body(kernel, NULL);
            arena_free(original->arena);
            arena_free(module->arena);
            arena_free(arena);
        }
    assert_true(asked > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_wrong_or_worse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
