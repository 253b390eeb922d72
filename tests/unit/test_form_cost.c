/* The reason for a loss that a verdict names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/report/cost_report.h"

static FormCost cost_of(Profile *profile, double instructions, unsigned warps, Resource binding)
{
    *profile = (Profile){.warp_instructions = instructions, .original_threads = 1};
    FormCost cost = {.known = true, .profile = profile};
    cost.time = (Time){.known = true, .binding = binding, .resident_warps = warps, .cycles = instructions};
    cost.time.demand[RESOURCE_ISSUE] = instructions;
    cost.time.demand[RESOURCE_LATENCY] = cost.time.demand[RESOURCE_L2] = 100;
    if (binding != RESOURCE_ISSUE)
        cost.time.demand[binding] = 2 * instructions;
    return cost;
}

static const char *verdict(Arena *arena, double instructions, unsigned warps, Resource binding)
{
    Profile before_profile, after_profile;
    const FormCost before = cost_of(&before_profile, 100, 64, RESOURCE_ISSUE);
    const FormCost after = cost_of(&after_profile, instructions, warps, binding);
    return cost_comparison_text(arena, &before, &after);
}

static void losses_have_reasons(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    /* The issue slots are busy: more instructions are to blame, however few warps there are. */
    assert_non_null(strstr(verdict(arena, 380, 40, RESOURCE_ISSUE), "3.80 times the instructions"));
    /* Warps that wait: as few warps are, unless each of them has even more to do. */
    assert_non_null(strstr(verdict(arena, 110, 16, RESOURCE_LATENCY), "16 warps on an SM instead of 64"));
    assert_null(strstr(verdict(arena, 500, 16, RESOURCE_LATENCY), "warps on an SM"));
    /* Traffic beyond L1 is to blame, although warps are lost, too. */
    assert_non_null(strstr(verdict(arena, 110, 48, RESOURCE_L2), "times the sectors that miss L1"));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(losses_have_reasons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
