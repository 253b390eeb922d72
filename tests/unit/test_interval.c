/* How sure predicted speedups are, and what a form may promise at which risk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/judge/form_cost.h"

/* Two forms that differ in nothing but time. */
typedef struct Pair {
    Profile profiles[2];
    FormCost before, after;
} Pair;

static void pair_init(Pair *pair)
{
    *pair = (Pair){.profiles = {{.counted = true, .load_sectors = 100}, {.counted = true, .load_sectors = 100}}};
    pair->before = (FormCost){.known = true, .profile = &pair->profiles[0]};
    pair->before.time = (Time){.known = true, .cycles = 130, .waves = 8, .resident_warps = 64, .binding = RESOURCE_L2};
    pair->after = pair->before;
    pair->after.profile = &pair->profiles[1];
    pair->after.time.cycles = 100;
}

static ChangeKind kind_of(const Pair *pair)
{
    return cost_interval(&pair->before, &pair->after).kind;
}

/* True if the first reason for doubt that applies gives the kind. */
static void test_kinds(void **state)
{
    (void)state;
    Pair pair;
    pair_init(&pair);
    assert_int_equal(kind_of(&pair), CHANGE_CODE);
    pair.profiles[1].load_sectors = 104;
    assert_int_equal(kind_of(&pair), CHANGE_CODE);
    pair.profiles[1].store_sectors = 2;
    assert_int_equal(kind_of(&pair), CHANGE_TRAFFIC);
    pair.profiles[1].store_sectors = 0;
    pair.profiles[1].load_sectors = 50;
    assert_int_equal(kind_of(&pair), CHANGE_TRAFFIC);
    pair.after.time.resident_warps = 63;
    assert_int_equal(kind_of(&pair), CHANGE_WARPS);
    pair.after.time.waves = 1.5;
    assert_int_equal(kind_of(&pair), CHANGE_WARPS);
    pair.after.time.waves = 1;
    assert_int_equal(kind_of(&pair), CHANGE_WAVE);
    pair.after.time.binding = RESOURCE_DRAM;
    assert_int_equal(kind_of(&pair), CHANGE_WAVE);
    pair.before.time.merge_share = 0.3;
    assert_int_equal(kind_of(&pair), CHANGE_PARTS);
    pair.before.time.binding = RESOURCE_DRAM;
    assert_int_equal(kind_of(&pair), CHANGE_DRAM);
    pair.before.time.binding = RESOURCE_FP64;
    assert_int_equal(kind_of(&pair), CHANGE_FP64);
    pair.before.time.binding = RESOURCE_L2;
    pair.after.time.binding = RESOURCE_FP64;
    assert_int_equal(kind_of(&pair), CHANGE_FP64);
    pair.profiles[1].uneven = true;
    assert_int_equal(kind_of(&pair), CHANGE_UNEVEN);
    pair.profiles[1].uneven = false;
    pair.profiles[0].uneven = true;
    assert_int_equal(kind_of(&pair), CHANGE_UNEVEN);
    pair.after.time.cycles = 131;
    assert_int_equal(kind_of(&pair), CHANGE_LOSS);
}

/* True if launches of one wave before and after are of that kind as well, and more warps are not. */
static void test_waves(void **state)
{
    (void)state;
    Pair pair;
    pair_init(&pair);
    pair.before.time.waves = pair.after.time.waves = 1;
    assert_int_equal(kind_of(&pair), CHANGE_WAVE);
    pair_init(&pair);
    pair.after.time.resident_warps = 128;
    assert_int_equal(kind_of(&pair), CHANGE_CODE);
}

/* Makes the pair one of the kind. */
static void pair_make(Pair *pair, ChangeKind kind)
{
    pair_init(pair);
    switch (kind) {
    case CHANGE_LOSS: pair->after.time.cycles = 200; break;
    case CHANGE_UNEVEN: pair->profiles[0].uneven = true; break;
    case CHANGE_FP64: pair->after.time.binding = RESOURCE_FP64; break;
    case CHANGE_DRAM: pair->before.time.binding = RESOURCE_DRAM; break;
    case CHANGE_PARTS: pair->before.time.merge_share = 1; break;
    case CHANGE_WAVE: pair->after.time.waves = 1; break;
    case CHANGE_WARPS: pair->after.time.resident_warps = 32; break;
    case CHANGE_TRAFFIC: pair->profiles[1].load_sectors = 50; break;
    default: break;
    }
    assert_int_equal(kind_of(pair), kind);
}

/* True if every kind has a range with the prediction's speed in it or near it, and its ends are in order. */
static void test_ranges(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4 * CHANGE_KIND_COUNT; i++) {
        Pair pair;
        pair_make(&pair, (ChangeKind)(i / 4));
        pair.before.time.on_fitted_device = pair.after.time.on_fitted_device = i & 1;
        pair.profiles[0].counted = pair.profiles[1].counted = i >> 1 & 1;
        const double speedup = cost_speedup(&pair.before, &pair.after);
        const Interval interval = cost_interval(&pair.before, &pair.after);
        assert_true(interval.low > 0.2 * speedup && interval.low <= interval.cautious);
        assert_true(interval.cautious < speedup && interval.cautious < interval.high);
        assert_true(interval.high > 0.7 * speedup);
        assert_non_null(change_kind_name(interval.kind));
    }
}

/* True if ranges depend on the device, and on whether the prediction is counted. */
static void test_origins(void **state)
{
    (void)state;
    Pair pair;
    double high[4];
    for (unsigned i = 0; i < 4; i++) {
        pair_init(&pair);
        pair.after.time.on_fitted_device = i & 1;
        pair.profiles[1].counted = i >> 1;
        high[i] = cost_interval(&pair.before, &pair.after).high;
        for (unsigned k = 0; k < i; k++)
            assert_true(high[i] != high[k]);
    }
}

/* True if the risk decides on which end of the range a choice relies. */
static void test_risks(void **state)
{
    (void)state;
    Pair pair;
    pair_init(&pair);
    const CostVerdict verdict = cost_verdict(&pair.before, &pair.after);
    assert_true(sure_speedup(&verdict, RISK_LOW) == verdict.interval.low);
    assert_true(sure_speedup(&verdict, RISK_NORMAL) == verdict.interval.cautious);
    assert_true(sure_speedup(&verdict, RISK_HIGH) == verdict.speedup);
    assert_true(verdict.speedup == 1.3);
}

/* True if a form must be predicted to gain, and be sure not to lose, over what the input gains by other means. */
static void test_promises(void **state)
{
    (void)state;
    Promise promise = {.speedup = 1.2, .sure = 1};
    assert_true(promise_suffices(&promise, 1));
    assert_false(promise_is_unsure(&promise, 1));
    promise.sure = 0.99;
    assert_false(promise_suffices(&promise, 1));
    assert_true(promise_is_unsure(&promise, 1));
    promise.speedup = 1.02;
    assert_false(promise_suffices(&promise, 1));
    assert_false(promise_is_unsure(&promise, 1));
    promise = (Promise){.speedup = 1.2, .sure = 1.05};
    assert_true(promise_suffices(&promise, 1.05));
    assert_false(promise_suffices(&promise, 1.06));
    assert_true(promise_is_unsure(&promise, 1.06));
    promise.is_uneven = true;
    assert_false(promise_suffices(&promise, 1.05));
}

/* A machine file with this text, read over the device of sm_90. */
static Device device_with(const char *text)
{
    const char *base = getenv("TEST_TMP");
    char path[4096];
    snprintf(path, sizeof path, "%s/interval-XXXXXX", base ? base : "/tmp");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    Arena *arena = arena_new();
    const char *error = NULL;
    Device device = *device_for(90);
    assert_true(device_read(arena, path, &device, &error));
    device.name = "";
    arena_free(arena);
    unlink(path);
    return device;
}

/* True if the constants of the model were fitted to times of the product, of which a machine file may name a part. */
static void test_devices(void **state)
{
    (void)state;
    assert_true(device_for(90)->is_fitted);
    assert_false(device_for(75)->is_fitted);
    assert_false(device_for(120)->is_fitted);
    assert_true(device_with("{\"name\": \"two SMs\", \"slice\": 2}").is_fitted);
    assert_true(device_with("{\"multiprocessors\": 114, \"clock_mhz\": 1755}").is_fitted);
    assert_false(device_with("{\"clock_mhz\": 1755, \"l2_bytes\": 2000}").is_fitted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),   cmocka_unit_test(test_waves),    cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_origins), cmocka_unit_test(test_risks),    cmocka_unit_test(test_promises),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
