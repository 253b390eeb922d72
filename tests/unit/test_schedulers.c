/* How evenly the warps of uneven blocks load the schedulers of an SM, and how blocks follow each other on places. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/internal.h"

enum { BLOCKS = 4096 };

/* Every eighth block is seven times as long as the others; its warps are alike. */
static Profile uneven(float (*work)[WARP_PLACES], unsigned warps)
{
    for (size_t i = 0; i < BLOCKS; i++)
        for (unsigned place = 0; place < WARP_PLACES; place++)
            work[i][place] = place < warps ? (i % 8 ? 1 : 7) / (float)(BLOCKS * warps * 14 / 8) : 0;
    return (Profile){.counted = true, .blocks = BLOCKS, .block_threads = 32 * warps, .place_work = work};
}

/* Blocks of four warps load all schedulers alike; fewer warps leave the lengths of blocks to chance, and that evens out
 * as more blocks run at once. */
static void few_warps(void **state)
{
    (void)state;
    static float work[BLOCKS][WARP_PLACES];
    Device device = *device_for(90);
    Profile profile = uneven(work, 4);
    assert_true(fabs(scheduler_share(&profile, &device, 8) - 1) < 1e-6);
    device.multiprocessors = 3; /* so that long blocks follow each other on each SM after 7 others */
    profile = uneven(work, 1);
    const double few = scheduler_share(&profile, &device, 4), many = scheduler_share(&profile, &device, 64);
    assert_true(few > 1.5 && many > 1 && many < few);
    profile = uneven(work, 2);
    const double pairs = scheduler_share(&profile, &device, 4);
    assert_true(pairs > 1 && pairs < few);
    profile.place_work = NULL;
    assert_true(scheduler_share(&profile, &device, 4) == 1);
}

/* One warp of four that works alone keeps one scheduler busy. */
static void one_warp_works(void **state)
{
    (void)state;
    static float work[BLOCKS][WARP_PLACES];
    for (size_t i = 0; i < BLOCKS; i++)
        work[i][0] = 1 / (float)BLOCKS;
    Device device = *device_for(90);
    const Profile profile = {.counted = true, .blocks = BLOCKS, .block_threads = 128, .place_work = work};
    assert_true(fabs(scheduler_share(&profile, &device, 16) - 4) < 1e-6);
    device.schedulers = 1;
    assert_true(fabs(scheduler_share(&profile, &device, 16) - 1) < 1e-6);
    device.schedulers = 8; /* more than blocks are counted for */
    assert_true(scheduler_share(&profile, &device, 16) == 1);
}

static double latency_on(const Profile *profile, double block_start, double store_wait)
{
    Device device = *device_for(90);
    device.block_start = block_start;
    device.store_wait = store_wait;
    const SmUse use = {.registers = 32};
    return time_predict(profile, sm_limits_for("sm_90"), &device, &use).demand[RESOURCE_LATENCY];
}

/* Blocks follow each other as soon as the device lets them: those that store, and those that have no work. */
static void places(void **state)
{
    (void)state;
    static double lengths[BLOCKS];
    Profile profile = {.blocks = 132 * 8 * 4, .block_threads = 256, .stores = 1};
    const double latency = latency_on(&profile, 0, 0);
    assert_true(fabs(latency_on(&profile, 350, 0) - latency - 4 * 350) < 1.01 * 4);
    assert_true(fabs(latency_on(&profile, 0, 200) - latency - 4 * 200) < 1.01 * 4);
    profile.stores = 0;
    assert_true(latency_on(&profile, 0, 200) == latency);
    assert_true(working_share(&profile) == 1);
    for (size_t i = 0; i < BLOCKS; i++)
        lengths[i] = i % 4 ? 0.1 : 3.7;
    profile = (Profile){.blocks = BLOCKS, .block_lengths = lengths};
    assert_true(working_share(&profile) == 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_warps),
        cmocka_unit_test(one_warp_works),
        cmocka_unit_test(places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
