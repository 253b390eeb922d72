/* The parameters that set how often all loops of a kernel go round, and where its data ends. */
#include "tests/unit/parsed.h"

#include "cost/cost.h"

/* Loops up to n, m or other bounds: %r1 is n, %r2 is m, %r3 the thread's index. */
static bool find(const char *body, TripParameter *found)
{
    Arena *arena = arena_new();
    Module *module = module_from(arena_printf(
        arena,
        SM_90 ".visible .entry k(.param .u64 data, .param .u32 n, .param .u32 m)\n{\n.reg .pred %%p<5>;\n"
              ".reg .b32 %%r<9>;\n.reg .b64 %%d<3>;\nld.param.u64 %%d1, [data];\nld.param.u32 %%r1, [n];\n"
              "ld.param.u32 %%r2, [m];\nmov.u32 %%r3, %%tid.x;\nmov.u32 %%r4, 0;\n%s\nret;\n}\n",
        body));
    const bool is_found = trip_parameter_find(function_of(module, "k"), found);
    release(module);
    arena_free(arena);
    return is_found;
}

/* 'index': of the parameter, or -1: none sets all lengths. */
static void check(const char *body, int index, double slope)
{
    TripParameter found = {0};
    const bool is_found = find(body, &found);
    if (is_found != (index >= 0))
        fail_msg("%sfound:\n%s", is_found ? "" : "not ", body);
    if (is_found && ((int)found.index != index || found.slope != slope))
        fail_msg("parameter %u, slope %g, not %d and %g:\n%s", found.index, found.slope, index, slope, body);
}

#define STORE "st.global.u32 [%d1], %r3;\n"
/* A loop up to 'bound' in steps, in another one up to 'outer' in steps. */
#define NEST(outer, outer_step, bound, step)                                                                           \
    "OUT: mov.u32 %r5, 0;\nIN: " STORE "add.u32 %r5, %r5, " step ";\nsetp.lt.u32 %p2, %r5, " bound ";\n@%p2 bra IN;\n" \
    "add.u32 %r4, %r4, " outer_step ";\nsetp.lt.u32 %p1, %r4, " outer ";\n@%p1 bra OUT;"

static void one_parameter_sets_all_lengths(void **state)
{
    (void)state;
    check("IN: " STORE "add.u32 %r4, %r4, 4;\nsetp.lt.u32 %p2, %r4, %r2;\n@%p2 bra IN;", 2, 0.25);
    check(NEST("%r1", "1", "%r1", "2"), 1, 0.5);
    check(NEST("%r1", "1", "%r2", "1"), -1, 0); /* two parameters */
    check(NEST("%r1", "1", "%r3", "1"), -1, 0); /* the thread's index */
}

/* An inner loop that ends at the variable of the outer one makes half as many rounds in the mean. */
static void a_loop_may_end_at_the_variable_of_an_outer_one(void **state)
{
    (void)state;
    check(NEST("%r1", "1", "%r4", "1"), 1, 0.5);
    check(NEST("%r1", "2", "%r4", "4"), 1, 0.125);
    check("mul.lo.u32 %r6, %r1, 8;\n" NEST("%r6", "1", "%r4", "1"), 1, 4);
    check(NEST("64", "1", "%r4", "1"), -1, 0);    /* no parameter sets the outer length */
    check("ld.global.u32 %r6, [%d1];\n" NEST("%r6", "1", "%r4", "1"), -1, 0);
    /* An inner loop of its own parameter, in one that the first sets. */
    check("add.u32 %r6, %r2, 0;\n" NEST("%r1", "1", "%r6", "1"), -1, 0);
}

/* The index of the parameter that bounds places, or -1. %r1 is n, %r2 m, %r3 the thread's index. */
static int bound_of(const char *body)
{
    Arena *arena = arena_new();
    Module *module = module_from(arena_printf(
        arena,
        SM_90 ".visible .entry k(.param .u64 data, .param .u32 n, .param .u32 m)\n{\n.reg .pred %%p<5>;\n"
              ".reg .b32 %%r<9>;\n.reg .b64 %%d<3>;\nld.param.u64 %%d1, [data];\nld.param.u32 %%r1, [n];\n"
              "ld.param.u32 %%r2, [m];\nmov.u32 %%r3, %%tid.x;\nmov.u32 %%r4, %%ctaid.x;\nmov.u32 %%r5, %%ntid.x;\n"
              "mad.lo.u32 %%r6, %%r4, %%r5, %%r3;\n%s\nret;\n}\n",
        body));
    unsigned index;
    const bool is_found = bound_parameter_find(function_of(module, "k"), &index);
    release(module);
    arena_free(arena);
    return is_found ? (int)index : -1;
}

static void a_parameter_bounds_places(void **state)
{
    (void)state;
    assert_int_equal(bound_of("setp.ge.u32 %p1, %r6, %r2;\n@%p1 ret;"), 2);
    assert_int_equal(bound_of("setp.gt.s32 %p1, %r1, %r6;\n@!%p1 ret;"), 1);
    assert_int_equal(bound_of("setp.lt.u32 %p1, %r3, 32;\nsetp.ge.u32 %p2, %r3, %r1;\n@%p2 ret;"), 1);
    assert_int_equal(bound_of("add.u32 %r7, %r6, 5;\nsetp.ge.u32 %p1, %r7, %r1;\n@%p1 ret;"), -1);
    assert_int_equal(bound_of("setp.lt.u32 %p1, %r1, 9;\n@%p1 ret;"), -1); /* no place */
    assert_int_equal(bound_of("setp.ge.u32 %p1, %r6, %r1;\nsetp.ge.u32 %p2, %r6, %r2;\n@%p2 ret;"), -1);
    assert_int_equal(bound_of("shl.b32 %r7, %r1, 1;\nsetp.ge.u32 %p1, %r6, %r7;\n@%p1 ret;"), -1); /* twice one */
    assert_int_equal(bound_of("shl.b32 %r7, %r6, 1;\nsetp.ge.u32 %p1, %r7, %r1;\n@%p1 ret;"), -1); /* two for each */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_parameter_sets_all_lengths),
        cmocka_unit_test(a_loop_may_end_at_the_variable_of_an_outer_one),
        cmocka_unit_test(a_parameter_bounds_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
