/* machine: what one streaming multiprocessor (SM) of each NVIDIA architecture holds, and what follows for a kernel: how
 * many of its blocks an SM runs at once (occupancy), and at which register counts that number changes (boundaries).
 *
 * All limits are facts of the architecture, none of the product: nothing here needs a device or the CUDA libraries. The
 * figures assume the largest shared memory an SM can be set to, which is what the driver chooses by default. */
#ifndef PTXOPT_MACHINE_H
#define PTXOPT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MACHINE_MAX_BLOCKS = 32, /* no SM of the table holds more blocks */
};

typedef struct Machine {
    unsigned arch;                  /* 90 for sm_90 */
    unsigned registers_per_sm;      /* 32-bit registers */
    unsigned registers_per_block;   /* most that one block may be given */
    unsigned registers_per_thread;  /* most that one thread may be given */
    unsigned threads_per_block;
    unsigned threads_per_sm;
    unsigned warps_per_sm;
    unsigned blocks_per_sm;
    unsigned warp_size;             /* threads */
    unsigned register_unit;         /* a warp's registers are allocated in multiples of this */
    unsigned partitions;            /* an SM's registers are split evenly over these; a warp lives in one of them */
    unsigned launch_partitions;     /* a block's warps are rounded up to a multiple of this when a launch is admitted */
    unsigned shared_per_sm;         /* bytes */
    unsigned shared_per_block;      /* bytes a kernel gets without asking, and the most for static variables */
    unsigned shared_per_block_opt_in; /* bytes, for kernels that ask (cuFuncSetAttribute) */
    unsigned shared_reserved;       /* bytes of each block's allocation that the system keeps to itself */
    unsigned shared_unit;           /* a block's shared memory is allocated in multiples of this; bytes */
} Machine;

/* The machine of a target: "sm_90", "sm_90a", "sm_100f", "compute_90". NULL for a name that is none or one that the
 * table does not have. Never freed. */
const Machine *machine_for(const char *arch);

/* The whole table, by ascending arch. */
const Machine *machine_list(size_t *count);

/* What keeps an SM from running one more block. Several can bind at once; then easing one of them gains nothing. */
typedef enum OccupancyLimit {
    LIMIT_WARPS = 1 << 0, /* or the block has more threads than a block may */
    LIMIT_BLOCKS = 1 << 1,
    LIMIT_REGISTERS = 1 << 2,
    LIMIT_SHARED = 1 << 3,
} OccupancyLimit;

typedef struct Occupancy {
    unsigned blocks;    /* per SM; 0 where the kernel cannot be launched like this */
    unsigned warps;     /* per SM */
    double fraction;    /* warps of the machine's warps_per_sm, 0 to 1 */
    unsigned limits;    /* set of OccupancyLimit: all that bind at 'blocks' */
    /* What one block takes, with granularity and reserve; registers_allocated is 0 where the block or the count is too
     * large to be launched at all. */
    unsigned registers_allocated;
    uint64_t shared_allocated; /* bytes */
} Occupancy;

/* How many blocks of block_threads threads, each with that many registers, and shared_bytes of shared memory (static
 * and dynamic together) an SM runs at once. Equation 1 of Nugteren et al., "Analyzing CUDA's Compiler through the
 * Visualization of Decoded GPU Binaries" (SCOPES 2010), with the allocation granularity, the register partitions and
 * the other limits of today's machines; agrees with NVIDIA's cuda_occupancy.h (tests/machine). block_threads 0 gives 0
 * blocks; registers 0 means that registers do not limit. */
Occupancy machine_occupancy(const Machine *machine, unsigned block_threads, unsigned registers, uint64_t shared_bytes);

/* "registers", "shared memory", "registers and shared memory" ...: the names of a set of limits, for people. */
const char *occupancy_limits_name(unsigned limits);

/* A register count at which one more block fits: with 'registers' a thread an SM runs 'blocks' blocks, with one
 * register more it runs fewer. */
typedef struct Boundary {
    unsigned registers;
    unsigned blocks;
    unsigned warps;
} Boundary;

/* By descending registers and ascending blocks. The first is the most registers with which the kernel can be launched
 * at all, the last the count below which registers no longer matter. Empty where no count can be launched. */
typedef struct BoundaryList {
    unsigned count;
    Boundary items[MACHINE_MAX_BLOCKS];
} BoundaryList;

BoundaryList machine_boundaries(const Machine *machine, unsigned block_threads, uint64_t shared_bytes);

/* The next boundary below: the largest count under 'registers' with which more blocks fit than with 'registers'. 0
 * where saving registers gains no block. */
unsigned machine_boundary_below(const Machine *machine, unsigned block_threads, uint64_t shared_bytes,
                                unsigned registers);

/* The largest count, 'registers' or above, with which as many blocks fit as with 'registers': registers up to there
 * cost nothing. 'registers' itself where the kernel cannot be launched with that many. */
unsigned machine_boundary_above(const Machine *machine, unsigned block_threads, uint64_t shared_bytes,
                                unsigned registers);

#endif
