/* Caches and DRAM: the traffic that follows from the counts of a launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/internal.h"

static const Residents full = {.blocks = 16, .block_warps = 4}, one = {.blocks = 1, .block_warps = 1};

/* Threads that walk through rows of their own come back to a sector after a line for each thread, so caches of
 * lines are full with a quarter of the bytes; what is stored in parts and evicted in between is read and written by
 * DRAM each time. A warp that loads what another one has just loaded hits, whatever the block loads in all. */
static void caches_of_lines(void **state)
{
    (void)state;
    const Device *device = device_for(90);
    Profile profile = {.counted = true, .blocks = 4096, .block_threads = 128, .loads = 1 << 20,
                       .load_sectors = 32 << 20, .load_lines = 32 << 20, .block_load_sectors = 4 << 20,
                       .load_footprint = 4 << 20, .store_footprint = 4 << 20};
    profile.own_reuse[5] = 28 << 20;
    const Traffic rows = traffic_predict(&profile, device, &full), alone = traffic_predict(&profile, device, &one);
    assert_true(rows.l1_hits < 0.7 && alone.l1_hits > 0.87);
    profile.own_rewrites[0] = 1 << 20;
    profile.stores = 1 << 20;
    profile.store_sectors = profile.store_lines = 32 << 20;
    const Traffic stored = traffic_predict(&profile, device, &full);
    profile.own_rewrites[0] = 0;
    profile.own_rewrites[12] = 1 << 20;
    const Traffic evicted = traffic_predict(&profile, device, &full);
    assert_true(evicted.dram_sectors > stored.dram_sectors + 3 * (1 << 20));
    profile.own_reuse[5] = 0;
    profile.shared_reuse[0] = 28 << 20;
    assert_true(traffic_predict(&profile, device, &full).l1_hits > 0.87);
    profile.shared_reuse[0] = 0;
    profile.shared_reuse[12] = 28 << 20;
    assert_true(traffic_predict(&profile, device, &full).l1_hits < 0.2);
}

/* A warp that loads what it needs of a sector in four rounds right after each other misses once for all of them. */
static void rounds_together(void **state)
{
    (void)state;
    const Device *device = device_for(90);
    SassProfile sm = {.rounds = 1};
    Profile profile = {.sm = &sm, .counted = true, .blocks = 4096, .block_threads = 128, .loads = 1 << 20,
                       .load_sectors = 32 << 20, .load_lines = 32 << 20, .block_load_sectors = 4 << 20,
                       .load_footprint = 4 << 20};
    profile.own_reuse[10] = 28 << 20;
    assert_true(traffic_predict(&profile, device, &full).l1_hits < 0.15);
    sm.rounds = 4;
    const double hits = traffic_predict(&profile, device, &full).l1_hits;
    assert_true(hits > 0.65 && hits < 0.7);
}

/* L2 keeps sectors: threads that come back to theirs after 128 lines find it there, if they use one of each line. */
static void l2_keeps_sectors(void **state)
{
    (void)state;
    const Device *device = device_for(90);
    Profile profile = {.counted = true, .blocks = 4096, .block_threads = 128, .loads = 1 << 20,
                       .load_sectors = 32 << 20, .load_lines = 32 << 20, .block_load_sectors = 4 << 20,
                       .load_footprint = 4 << 20};
    profile.own_reuse[6] = 28 << 20;
    assert_true(traffic_predict(&profile, device, &full).dram_sectors == 4 << 20);
    profile.load_lines = 8 << 20;
    assert_true(traffic_predict(&profile, device, &full).dram_sectors > 8 << 20);
}

/* Sectors of which a part is stored cost DRAM the other sector of each two and a reading, if nothing loads them. */
static void holes(void **state)
{
    (void)state;
    enum { SECTORS = 1 << 20 };
    const Device *device = device_for(90);
    Profile profile = {.counted = true, .blocks = 4096, .block_threads = 128, .stores = SECTORS,
                       .store_sectors = SECTORS, .store_lines = SECTORS, .block_store_sectors = SECTORS,
                       .store_footprint = SECTORS, .stored = (double)SECTORS * 32};
    assert_true(traffic_predict(&profile, device, &full).dram_sectors == SECTORS);
    profile.stored /= 2;
    assert_true(traffic_predict(&profile, device, &full).dram_sectors == 1.125 * SECTORS);
    profile.unread_footprint = SECTORS;
    assert_true(traffic_predict(&profile, device, &full).dram_sectors == 1.75 * SECTORS);
    profile.counted = false;
    assert_true(traffic_predict(&profile, device, &full).dram_sectors == SECTORS);
}

/* L2 merges a sector that is stored in parts: by several warps, by one much later, or with holes. Parts that follow
 * each other join, and sectors that are stored whole are not merged, however often. */
static void parts_of_sectors(void **state)
{
    (void)state;
    enum { SECTORS = 1 << 20 };
    const Device *device = device_for(90);
    Profile profile = {.counted = true, .blocks = 4096, .block_threads = 128, .stores = SECTORS,
                       .store_sectors = SECTORS, .store_lines = SECTORS, .block_store_sectors = SECTORS,
                       .store_footprint = SECTORS, .stored = (double)SECTORS * 32};
    const Traffic whole = traffic_predict(&profile, device, &full);
    assert_true(whole.merge_share == 0);
    profile.store_sectors = 2 * SECTORS;
    const Traffic halves = traffic_predict(&profile, device, &full);
    assert_true(halves.merge_share > 0.3 && halves.l2_sectors > 3 * whole.l2_sectors);
    profile.own_rewrites[2] = SECTORS;
    const Traffic joined = traffic_predict(&profile, device, &full);
    assert_true(joined.merge_share == 0 && joined.l2_sectors < 1.5 * whole.l2_sectors);
    profile.own_rewrites[2] = 0;
    profile.own_rewrites[8] = SECTORS;
    assert_true(traffic_predict(&profile, device, &full).l2_sectors == halves.l2_sectors);
    profile.stored *= 2;
    assert_true(traffic_predict(&profile, device, &full).merge_share == 0);
    profile = (Profile){.counted = true, .blocks = 4096, .block_threads = 128, .store_sectors = SECTORS,
                        .store_footprint = SECTORS, .stored = (double)SECTORS * 4};
    assert_true(traffic_predict(&profile, device, &full).merge_share > 0.4);
    profile.counted = false;
    assert_true(traffic_predict(&profile, device, &full).merge_share == 0);
}

/* L1 loses lines before it is full, the more the longer ago they were loaded. */
static void l1_fills(void **state)
{
    (void)state;
    const Device *device = device_for(90);
    const Residents residents = {.blocks = 16, .block_warps = 4};
    Profile profile = {.counted = true, .blocks = 4096, .block_threads = 128, .loads = 1 << 20,
                       .load_sectors = 8 << 20, .load_lines = 2 << 20, .block_load_sectors = 4 << 20,
                       .load_footprint = 4 << 20};
    double hits[4];
    for (unsigned distance = 3; distance < 7; distance++) {
        profile.own_reuse[distance] = 4 << 20;
        hits[distance - 3] = traffic_predict(&profile, device, &residents).l1_hits;
        profile.own_reuse[distance] = 0;
    }
    assert_true(hits[0] > 0.49 && hits[1] < hits[0] && hits[2] < hits[1] && hits[3] < hits[2]);
}

/* Data that an estimated block loads again in another loop are lost if all that the blocks of an SM load does not fit
 * into L1, where data that all blocks load are once. L1 keeps a share of those in the same loop. */
static void estimated_repeats(void **state)
{
    (void)state;
    enum { SECTORS = 4 << 20 };
    const Device *device = device_for(90);
    const Residents few = {.blocks = 4, .block_warps = 4};
    Profile profile = {.blocks = 4096, .block_threads = 128, .loads = 3 << 20, .load_sectors = 3 * SECTORS,
                       .load_lines = 3 << 20, .block_load_sectors = SECTORS, .load_footprint = SECTORS,
                       .shared_unknown = 2 * SECTORS, .far_unknown = 2 * SECTORS}; /* 32 KiB a block, three times */
    assert_true(traffic_predict(&profile, device, &full).l1_hits < 0.1);
    assert_true(traffic_predict(&profile, device, &few).l1_hits > 0.6);
    profile.far_unknown = 0;
    assert_true(traffic_predict(&profile, device, &full).l1_hits > 0.3);
    profile.far_unknown = 2 * SECTORS;
    profile.hot_load_sectors = SECTORS;
    profile.load_footprint = SECTORS / 4096.0;
    assert_true(traffic_predict(&profile, device, &full).l1_hits > 0.6);
}

/* How many passes of L2 stores take is the device's. */
static void store_passes(void **state)
{
    (void)state;
    Device device = *device_for(90);
    Profile profile = {.counted = true, .blocks = 4096, .block_threads = 128, .store_sectors = 2 << 20,
                       .store_footprint = 1 << 20, .stored = SECTOR_BYTES * (double)(1 << 20)};
    assert_float_equal(traffic_predict(&profile, &device, &full).l2_sectors, (2 * 1.7 + 3.5) * (1 << 20), 1);
    device.store_passes = 1;
    device.merge_passes = 0;
    assert_float_equal(traffic_predict(&profile, &device, &full).l2_sectors, (2 << 20), 1);
    /* Parts of a sector join, but what fills sectors, as if stored again, does not. */
    profile.own_rewrites[0] = 1 << 20;
    assert_float_equal(traffic_predict(&profile, &device, &full).l2_sectors, (2 - 0.8) * (1 << 20), 1);
    profile.stored *= 2;
    assert_float_equal(traffic_predict(&profile, &device, &full).l2_sectors, (2 << 20), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_of_lines),
        cmocka_unit_test(rounds_together),
        cmocka_unit_test(l2_keeps_sectors),
        cmocka_unit_test(holes),
        cmocka_unit_test(parts_of_sectors),
        cmocka_unit_test(l1_fills),
        cmocka_unit_test(estimated_repeats),
        cmocka_unit_test(store_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
