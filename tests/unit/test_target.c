/* target/: names, the table's own consistency, occupancy against NVIDIA's answers, boundaries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/target.h"

#include <stdio.h>
#include <string.h>

static const SmLimits *known(const char *arch)
{
    const SmLimits *sm = sm_limits_for(arch);
    assert_non_null(sm);
    return sm;
}

static void finds_machines_by_name(void **state)
{
    (void)state;
    size_t count, machines = 0;
    const Architecture *architectures = architecture_list(&count);
    for (size_t i = 0; i < count; i++) {
        const SmLimits *sm = architecture_limits(&architectures[i]);
        assert_ptr_equal(architecture_find(architectures[i].number), &architectures[i]);
        assert_ptr_equal(sm_limits_for(arch_names((Arch){architectures[i].number, 0}).real), sm);
        machines += sm != NULL;
    }
    assert_true(machines > 20);
    assert_ptr_equal(sm_limits_for("sm_90a"), sm_limits_for("sm_90"));
    assert_ptr_equal(sm_limits_for("sm_100f"), sm_limits_for("sm_100"));
    assert_ptr_equal(sm_limits_for("compute_120"), sm_limits_for("sm_120"));
}

static void refuses_other_names(void **state)
{
    (void)state;
    static const char *const names[] = {"",       "sm",     "sm_",    "sm_9",   "sm_90b",   "sm_90aa",
                                        "sm_ 90", "SM_90",  "sm_-90", "sm_+90", "sm_90 ",   "lto_90",
                                        "sm_35",  "sm_20",  "sm_999", "native", "compute_", "sm_4294967386",
                                        "sm_18446744073709551706"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(sm_limits_for(names[i]));
}

static void names_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned number;
        char suffix;
        const char *real, *virtual;
    } good[] = {
        {"sm_90", 90, 0, "sm_90", "compute_90"},
        {"sm_90a", 90, 'a', "sm_90a", "compute_90a"},
        {"compute_100f", 100, 'f', "sm_100f", "compute_100f"},
        {"compute_121a", 121, 'a', "sm_121a", "compute_121a"},
        {"120", 120, 0, "sm_120", "compute_120"},
        {"sm_35", 35, 0, "sm_35", "compute_35"},
        {"sm_9", 9, 0, "sm_9", "compute_9"},
        {"sm_090", 90, 0, "sm_90", "compute_90"}, /* ptxas accepts this spelling */
        {"sm_9999f", 9999, 'f', "sm_9999f", "compute_9999f"},
    };
    static const char *const bad[] = {"",       "sm_",    "sm_90000", "sm_90b", "sm_90aa", "sm90",     "SM_90",
                                      "sm_-90", "native", "sm_90 ",   "lto_90", "sm_ 90a", "compute_", "sm_compute_90",
                                      "a",      "sm_90a,f"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        Arch arch;
        assert_true(arch_parse(good[i].text, &arch));
        assert_int_equal(arch.number, good[i].number);
        assert_int_equal(arch.suffix, good[i].suffix);
        assert_string_equal(arch_names(arch).real, good[i].real);
        assert_string_equal(arch_names(arch).virtual, good[i].virtual);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Arch arch = {1, 'x'};
        if (arch_parse(bad[i], &arch))
            fail_msg("'%s' was accepted", bad[i]);
        assert_int_equal(arch.number, 1);
    }
}

static void old_targets_are_assembled_for_the_lowest_architecture(void **state)
{
    (void)state;
    assert_int_equal(arch_assembled((Arch){0}).number, 75);
    assert_int_equal(arch_assembled((Arch){50, 0}).number, 75);
    assert_int_equal(arch_assembled((Arch){75, 0}).number, 75);
    assert_int_equal(arch_assembled((Arch){100, 'f'}).number, 100);
    assert_int_equal(arch_assembled((Arch){100, 'f'}).suffix, 'f');
}

static void machine_is_consistent(const SmLimits *sm)
{
    assert_int_equal(sm->threads_per_sm, sm->warps_per_sm * sm->warp_size);
    assert_true(sm->blocks_per_sm <= MACHINE_MAX_BLOCKS);
    assert_true(sm->registers_per_block <= sm->registers_per_sm);
    assert_true(sm->shared_per_block <= sm->shared_per_block_opt_in);
    assert_true(sm->shared_per_block_opt_in + sm->shared_reserved <= sm->shared_per_sm);
    assert_int_equal(sm->registers_per_sm % (sm->partitions * sm->register_unit), 0);
}

static void table_is_consistent(void **state)
{
    (void)state;
    size_t count;
    const Architecture *architectures = architecture_list(&count);
    for (size_t i = 0; i < count; i++) {
        const Architecture *row = &architectures[i];
        assert_true(i == 0 || architectures[i - 1].number < row->number);
        assert_true(architecture_version(row, 0) > 0);
        assert_int_equal(architecture_version(row, 'x'), 0);
        /* A family needs a PTX version that has families, and code needs limits. */
        assert_true(row->version_f == 0 || row->version_f >= 88);
        assert_true(!row->is_assembled || architecture_limits(row));
        assert_true(row->shared_in_cubin <= row->limits.shared_reserved);
        if (architecture_limits(row))
            machine_is_consistent(&row->limits);
    }
}

static void agrees_with_nvidia(void **state)
{
    (void)state;
    FILE *file = fopen("tests/machine/occupancy.tsv", "r");
    assert_non_null(file);
    char line[256];
    size_t rows = 0;
    while (fgets(line, sizeof line, file)) {
        unsigned arch, threads, registers, shared, blocks, limits;
        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%u %u %u %u %u %u", &arch, &threads, &registers, &shared, &blocks, &limits), 6);
        char name[32];
        snprintf(name, sizeof name, "sm_%u", arch);
        Occupancy occupancy = sm_occupancy(known(name), threads, registers, shared);
        if (occupancy.blocks != blocks || occupancy.limits != limits)
            fail_msg("%u blocks, limits %u for: %s", occupancy.blocks, occupancy.limits, line);
        rows++;
    }
    fclose(file);
    assert_true(rows > 1000);
}

static void computes_worked_examples(void **state)
{
    (void)state;
    const SmLimits *hopper = known("sm_90");
    Occupancy full = sm_occupancy(hopper, 256, 32, 0);
    assert_int_equal(full.blocks, 8);
    assert_int_equal(full.warps, 64);
    assert_true(full.fraction == 1.0);
    assert_int_equal(full.limits, LIMIT_WARPS | LIMIT_REGISTERS);
    assert_int_equal(full.registers_allocated, 256 * 32);
    assert_int_equal(full.shared_allocated, 1024);

    /* One register more is a whole unit of eight more. */
    Occupancy more = sm_occupancy(hopper, 256, 33, 0);
    assert_int_equal(more.blocks, 6);
    assert_int_equal(more.limits, LIMIT_REGISTERS);
    assert_int_equal(more.registers_allocated, 256 * 40);
    assert_true(more.fraction == 0.75);

    /* 228 KiB an SM and 1 KiB of each block's reserved. */
    Occupancy shared = sm_occupancy(hopper, 128, 32, 56 * 1024);
    assert_int_equal(shared.blocks, 4);
    assert_int_equal(shared.limits, LIMIT_SHARED);
    assert_int_equal(sm_occupancy(hopper, 128, 32, 227 * 1024).blocks, 1);
    assert_int_equal(sm_occupancy(hopper, 128, 32, 227 * 1024 + 1).blocks, 0);
}

static void survives_any_input(void **state)
{
    (void)state;
    const SmLimits *sm = known("sm_80");
    assert_int_equal(sm_occupancy(sm, 0, 32, 0).blocks, 0);
    assert_int_equal(sm_occupancy(sm, 1025, 32, 0).blocks, 0);
    assert_int_equal(sm_occupancy(sm, UINT32_MAX, UINT32_MAX, UINT64_MAX).blocks, 0);
    assert_int_equal(sm_occupancy(sm, UINT32_MAX, 255, 0).blocks, 0);
    assert_int_equal(sm_occupancy(sm, 32, 256, 0).blocks, 0);
    assert_int_equal(sm_occupancy(sm, 32, 256, 0).limits, LIMIT_REGISTERS);
    assert_int_equal(sm_occupancy(sm, 32, 32, UINT64_MAX).limits, LIMIT_SHARED);
    assert_int_equal(sm_occupancy(sm, 32, 0, 0).blocks, 32);
    assert_int_equal(sm_boundaries(sm, 0, 0).count, 0);
    assert_int_equal(sm_boundaries(sm, 2000, 0).count, 0);
    assert_int_equal(sm_boundaries(sm, 32, UINT64_MAX).count, 0);
    assert_int_equal(sm_boundary_below(sm, 0, 0, 64), 0);
    assert_int_equal(sm_boundary_above(sm, 0, 0, 64), 64);
    for (unsigned limits = 0; limits < 32; limits++)
        assert_non_null(occupancy_limits_name(limits));
    assert_string_equal(occupancy_limits_name(LIMIT_REGISTERS | LIMIT_SHARED), "registers and shared memory");
}

static void lists_boundaries(void **state)
{
    (void)state;
    /* 65536 / 256 threads / n blocks, down to the unit of eight: n = 1 .. 8. */
    static const unsigned expected[][2] = {{255, 1}, {128, 2}, {80, 3}, {64, 4}, {48, 5}, {40, 6}, {32, 8}};
    BoundaryList list = sm_boundaries(known("sm_90"), 256, 0);
    assert_int_equal(list.count, sizeof expected / sizeof *expected);
    for (unsigned i = 0; i < list.count; i++) {
        assert_int_equal(list.items[i].registers, expected[i][0]);
        assert_int_equal(list.items[i].blocks, expected[i][1]);
        assert_int_equal(list.items[i].warps, expected[i][1] * 8);
    }
    /* With 48 warps an SM 40 registers are enough, with 32 warps 64 are. */
    list = sm_boundaries(known("sm_86"), 256, 0);
    assert_int_equal(list.items[list.count - 1].registers, 40);
    list = sm_boundaries(known("sm_75"), 256, 0);
    assert_int_equal(list.items[list.count - 1].registers, 64);
    /* 1024 threads start with 64 registers at most. */
    list = sm_boundaries(known("sm_90"), 1024, 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].registers, 64);
    assert_int_equal(list.items[1].registers, 32);
    /* If shared memory admits two blocks, registers matter no further. */
    list = sm_boundaries(known("sm_90"), 256, 100 * 1024);
    assert_int_equal(list.items[list.count - 1].blocks, 2);
    assert_int_equal(list.items[list.count - 1].registers, 128);
}

static void boundaries_hold_everywhere(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 32, 64, 96, 128, 192, 256, 270, 384, 480, 512, 768, 1000, 1024};
    static const unsigned shared[] = {0, 3000, 49152, 65536};
    size_t count;
    const Architecture *architectures = architecture_list(&count);
    for (size_t m = 0; m < count; m++) {
        const SmLimits *sm = architecture_limits(&architectures[m]);
        if (!sm)
            continue;
        for (size_t i = 0; i < (sizeof sizes / sizeof *sizes) * (sizeof shared / sizeof *shared); i++) {
            unsigned threads = sizes[i / 4], bytes = shared[i % 4];
            BoundaryList list = sm_boundaries(sm, threads, bytes);
            for (unsigned b = 0; b < list.count; b++) {
                unsigned registers = list.items[b].registers;
                unsigned blocks = list.items[b].blocks;
                assert_int_equal(sm_occupancy(sm, threads, registers, bytes).blocks, blocks);
                assert_true(sm_occupancy(sm, threads, registers + 1, bytes).blocks < blocks);
                assert_true(b == 0 || (registers < list.items[b - 1].registers && blocks > list.items[b - 1].blocks));
            }
            /* A step that shares no factor with the allocation unit of eight. */
            for (unsigned registers = 1; registers <= 255; registers += 5) {
                unsigned blocks = sm_occupancy(sm, threads, registers, bytes).blocks;
                unsigned below = sm_boundary_below(sm, threads, bytes, registers);
                unsigned above = sm_boundary_above(sm, threads, bytes, registers);
                assert_true(above >= registers);
                assert_int_equal(sm_occupancy(sm, threads, above, bytes).blocks, blocks);
                assert_true(below < registers);
                if (below > 0) {
                    assert_true(sm_occupancy(sm, threads, below, bytes).blocks > blocks);
                    assert_int_equal(sm_occupancy(sm, threads, below + 1, bytes).blocks, blocks);
                } else {
                    assert_int_equal(sm_occupancy(sm, threads, 1, bytes).blocks, blocks);
                }
            }
        }
    }
}

static void block_sizes_fit_better(void **state)
{
    (void)state;
    const SmLimits *hopper = sm_limits_for("sm_90"), *turing = sm_limits_for("sm_75");
    unsigned warps = 0;
    assert_int_equal(sm_block_better(hopper, 320, 32, 0, &warps), 256); /* 6 blocks of 10 warps leave 4 places */
    assert_int_equal(warps, 64);
    assert_int_equal(sm_block_better(hopper, 480, 16, 0, &warps), 512);
    assert_int_equal(warps, 64);
    /* Full occupancy already. */
    assert_int_equal(sm_block_better(turing, 256, 64, 0, &warps), 0);
    assert_int_equal(sm_block_better(hopper, 1024, 32, 0, &warps), 0);
    /* Each against the definition. */
    for (unsigned threads = 32; threads <= 1024; threads += 32)
        for (unsigned registers = 16; registers <= 255; registers += 13) {
            unsigned now = sm_occupancy(hopper, threads, registers, 0).warps;
            unsigned better = sm_block_better(hopper, threads, registers, 0, &warps);
            unsigned most = now;
            for (unsigned other = 32; other <= 1024 && other <= 2 * threads; other += 32)
                if (2 * other >= threads && sm_occupancy(hopper, other, registers, 0).warps > most)
                    most = sm_occupancy(hopper, other, registers, 0).warps;
            assert_int_equal(warps, most);
            assert_int_equal(better != 0, most > now);
            if (better)
                assert_int_equal(sm_occupancy(hopper, better, registers, 0).warps, most);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_machines_by_name),
        cmocka_unit_test(refuses_other_names),
        cmocka_unit_test(names_are_read_and_written),
        cmocka_unit_test(old_targets_are_assembled_for_the_lowest_architecture),
        cmocka_unit_test(table_is_consistent),
        cmocka_unit_test(agrees_with_nvidia),
        cmocka_unit_test(computes_worked_examples),
        cmocka_unit_test(survives_any_input),
        cmocka_unit_test(lists_boundaries),
        cmocka_unit_test(boundaries_hold_everywhere),
        cmocka_unit_test(block_sizes_fit_better),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
