/* The limits of each architecture, one row apiece.
 *
 * Sources: NVIDIA's CUDA programming guide, "Compute capabilities", tables of technical specifications per compute
 * capability, edition 13, from 7.5 on; NVIDIA's cuda_occupancy.h of CUDA 13.0 for what the guide leaves out: allocation
 * units, partitions, and 8.8 and 10.1, which the guide has no column for. What neither says is filled in for 8.8 from
 * its siblings 8.6 and 8.9, for 10.1 from 11.0, the name it was given later. The guide's edition 13 has no rows below
 * 7.5, and assemblers no code for them: shared sizes from 5.0 to 7.2 have not been held against an older edition.
 *
 * The same everywhere: warps of 32, blocks of at most 1024 threads, 255 registers a thread, 64 Ki registers an SM,
 * allocated to warps by 256, 48 KiB of shared memory without opting in. A launch is admitted as if an SM had four
 * partitions, also on 6.0, which has two. */
#include "machine/machine.h"

#include "machine/table.h"

#define KIB 1024u

#define MACHINE(arch_, block_registers_, warps_, blocks_, partitions_, shared_, opt_in_, reserved_, shared_unit_)      \
    {                                                                                                                  \
        .arch = (arch_), .registers_per_sm = 64 * KIB, .registers_per_block = (block_registers_) * KIB,                \
        .registers_per_thread = 255, .threads_per_block = 1024, .threads_per_sm = (warps_) * 32,                       \
        .warps_per_sm = (warps_), .blocks_per_sm = (blocks_), .warp_size = 32, .register_unit = 256,                   \
        .partitions = (partitions_), .launch_partitions = 4, .shared_per_sm = (shared_) * KIB,                         \
        .shared_per_block = 48 * KIB, .shared_per_block_opt_in = (opt_in_) * KIB,                                      \
        .shared_reserved = (reserved_) * KIB, .shared_unit = (shared_unit_),                                           \
    }

const Machine machine_table[] = {
    /*        Ki regs            parti-  shared memory, KiB     shared
     *  arch  /block  warps  blocks  tions  SM  block  reserved  unit */
    MACHINE(50, 64, 64, 32, 4, 64, 48, 0, 256),
    MACHINE(52, 64, 64, 32, 4, 96, 48, 0, 256),
    MACHINE(53, 32, 64, 32, 4, 64, 48, 0, 256),
    MACHINE(60, 64, 64, 32, 2, 64, 48, 0, 256),
    MACHINE(61, 64, 64, 32, 4, 96, 48, 0, 256),
    MACHINE(62, 32, 64, 32, 4, 64, 48, 0, 256),
    MACHINE(70, 64, 64, 32, 4, 96, 96, 0, 256),
    MACHINE(72, 64, 64, 32, 4, 96, 48, 0, 256),
    MACHINE(75, 64, 32, 16, 4, 64, 64, 0, 256),
    MACHINE(80, 64, 64, 32, 4, 164, 163, 1, 128),
    MACHINE(86, 64, 48, 16, 4, 100, 99, 1, 128),
    MACHINE(87, 64, 48, 16, 4, 164, 163, 1, 128),
    MACHINE(88, 64, 48, 16, 4, 100, 99, 1, 128),
    MACHINE(89, 64, 48, 24, 4, 100, 99, 1, 128),
    MACHINE(90, 64, 64, 32, 4, 228, 227, 1, 128),
    MACHINE(100, 64, 64, 32, 4, 228, 227, 1, 128),
    MACHINE(101, 64, 48, 24, 4, 228, 227, 1, 128),
    MACHINE(103, 64, 64, 32, 4, 228, 227, 1, 128),
    MACHINE(110, 64, 48, 24, 4, 228, 227, 1, 128),
    MACHINE(120, 64, 48, 24, 4, 100, 99, 1, 128),
    MACHINE(121, 64, 48, 24, 4, 100, 99, 1, 128),
};

const size_t machine_table_count = sizeof machine_table / sizeof machine_table[0];
