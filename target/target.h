/* target: NVIDIA's architectures. Their names and PTX versions, the limits of one streaming multiprocessor (SM) of
 * each, and their consequences for a kernel: the number of its blocks that an SM runs at once (occupancy), and the
 * register counts at which that number changes (boundaries).
 *
 * All facts are in one table, target/architectures.def. They belong to the architecture, not to a product, so nothing
 * here needs a device or the CUDA libraries. Occupancy assumes the largest shared memory that an SM can be set to,
 * which is what the driver chooses by default. */
#ifndef PTXOPT_TARGET_H
#define PTXOPT_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/support.h"

/* sm_90a is {90, 'a'}. The suffix is 'a' (this architecture only), 'f' (its family) or 0. PTX ISA, .target. */
typedef struct Arch {
    unsigned number;
    char suffix;
} Arch;

/* Reads "sm_90a", "compute_90a" or "90a", whether or not such an architecture exists. False, with *arch unchanged, if
 * the text has another form. */
bool arch_parse(const char *text, Arch *arch);

/* An architecture's names: "sm_90a" (for which code is made) and "compute_90a" (against which PTX is checked). */
typedef struct ArchNames {
    char real[20], virtual[20];
} ArchNames;

ArchNames arch_names(Arch arch);

/* The architecture that PTX with this target is assembled for: the target itself, or the lowest one that assemblers
 * still make code for if the target is older. */
Arch arch_assembled(Arch target);

enum {
    MACHINE_MAX_BLOCKS = 32, /* no SM of the table holds more blocks */
};

/* The accesses for which machine code needs an address from a parameter, or one that is the same in all threads, in
 * registers. */
typedef enum ParameterLoads {
    LOADS_NOWHERE,       /* uniform registers address memory */
    LOADS_IN_ACCESSES,
    LOADS_IN_ARITHMETIC, /* also in accesses: nothing is added to an operand from the constant bank */
} ParameterLoads;

/* The limits of one SM. */
typedef struct SmLimits {
    unsigned registers_per_sm;      /* 32-bit registers */
    unsigned registers_per_block;   /* the most that one block can have */
    unsigned registers_per_thread;  /* the most that one thread can have */
    unsigned threads_per_block;
    unsigned threads_per_sm;
    unsigned warps_per_sm;
    unsigned blocks_per_sm;
    unsigned warp_size;             /* threads */
    unsigned register_unit;         /* a warp's registers are allocated in multiples of this */
    unsigned partitions;            /* an SM's registers are split evenly over these; a warp lives in one of them */
    unsigned launch_partitions;     /* a block's warps are rounded up to a multiple of this when a launch is admitted */
    unsigned shared_per_sm;         /* bytes */
    unsigned shared_per_block;      /* bytes that a kernel can use without opting in; the most for static variables */
    unsigned shared_per_block_opt_in; /* bytes that a kernel can use after opting in (cuFuncSetAttribute) */
    unsigned shared_reserved;       /* bytes of each block's allocation that the system keeps */
    unsigned shared_unit;           /* a block's shared memory is allocated in multiples of this many bytes */
    ParameterLoads loads_parameters; /* the places where its code needs addresses from parameters in registers */
} SmLimits;

/* The limits of an SM of a target: "sm_90", "sm_90a", "sm_100f", "compute_90". NULL if the text is not an
 * architecture's name or the table does not have its limits. */
const SmLimits *sm_limits_for(const char *name);

/* A row of the table. */
typedef struct Architecture {
    unsigned number;                        /* 90 for sm_90 */
    unsigned version, version_a, version_f; /* see architecture_version() */
    bool is_assembled;                      /* assemblers make code for it */
    unsigned shared_in_cubin;               /* bytes of limits.shared_reserved that a cubin's figure includes */
    SmLimits limits;                     /* see architecture_limits() */
} Architecture;

/* The whole table, by ascending number. */
const Architecture *architecture_list(size_t *count);

/* NULL if the table has no such architecture. */
const Architecture *architecture_find(unsigned number);

/* The limits of the architecture's SM, or NULL if the table does not have them. */
const SmLimits *architecture_limits(const Architecture *architecture);

/* The PTX .version, times 10, that introduced the target with this suffix; 0 if there is no such target. */
unsigned architecture_version(const Architecture *architecture, char suffix);

/* The time model's figures of one product. Throughputs are for each cycle of one SM unless stated, latencies in cycles;
 * target/devices.def has the values and their sources. */
typedef struct Device {
    const char *name;
    unsigned architecture;       /* 75 for sm_75: the limits of its SM are the architecture's */
    double multiprocessors;
    double clock_mhz;
    double schedulers;           /* of an SM; each issues one warp instruction in a cycle */
    double fp32, integer, special, fp64; /* results, in threads */
    double tensor;               /* multiply-adds in FP16 */
    double shared_bytes;
    double alu_latency, special_latency, shared_latency, l1_latency, l2_latency, dram_latency;
    double l1_size, l1_bytes;    /* bytes; bytes per cycle */
    double l1_lines;             /* lines of 128 bytes that L1 looks up in a cycle */
    double l2_size, l2_bytes;    /* of the device */
    double store_passes;         /* of L2 for a sector, or a part of one, that is stored; 1 for one that is loaded */
    double merge_passes;         /* more for one that is stored in parts which do not join, or with holes */
    double dram_bytes;           /* of the device */
    double blocks_per_cycle;     /* the blocks that the device can start per cycle */
    double block_start;          /* cycles from the end of a block to the first instruction of the next on its place */
    double store_wait;           /* cycles for which a block that stores keeps its place after its last instruction */
    double launch_cycles;        /* from the launch until every SM works, and from the last block to the end */
    bool is_fitted;              /* the model's constants were fitted to times measured on this product */
} Device;

/* The device of the architecture, or of the nearest one below (the first in the table if there is none). */
const Device *device_for(unsigned architecture);
/* Reduces the device to 'count' SMs with their share of L2 and DRAM. */
void device_slice(Device *device, double count);
/* Changes the members of *device that the machine file (docs/formats.md) names. False, with *error set to a message in
 * the arena, if the file cannot be read or is invalid. */
bool device_read(Arena *arena, const char *path, Device *device, const char **error);

/* The limits that keep an SM from running one more block. Several can bind at once; raising only one of them then gains
 * nothing. */
typedef enum OccupancyLimit {
    LIMIT_WARPS = 1 << 0, /* or the block has more threads than a block can have */
    LIMIT_BLOCKS = 1 << 1,
    LIMIT_REGISTERS = 1 << 2,
    LIMIT_SHARED = 1 << 3,
} OccupancyLimit;

typedef struct Occupancy {
    unsigned blocks;    /* per SM; 0 if the kernel cannot be launched like this */
    unsigned warps;     /* per SM */
    double fraction;    /* warps of the SM's warps_per_sm, 0 to 1 */
    unsigned limits;    /* set of OccupancyLimit: those that bind at 'blocks' */
    /* For one block, with granularity and the system's share; registers_allocated is 0 if the block or the register
     * count is too large to be launched at all. */
    unsigned registers_allocated;
    uint64_t shared_allocated; /* bytes */
} Occupancy;

/* The number of blocks that an SM runs at once: blocks of block_threads threads with 'registers' registers each, and
 * shared_bytes of shared memory (static and dynamic together). Equation 1 of Nugteren et al., "Analyzing CUDA's
 * Compiler through the Visualization of Decoded GPU Binaries" (SCOPES 2010), with the allocation granularity, the
 * register partitions and the other limits of today's machines; agrees with NVIDIA's cuda_occupancy.h (tests/machine).
 * block_threads 0 gives 0 blocks; registers 0 means that registers are not a limit. */
Occupancy sm_occupancy(const SmLimits *sm, unsigned block_threads, unsigned registers, uint64_t shared_bytes);

/* The names of a set of limits for a message: "registers", "shared memory", "registers and shared memory" ... */
const char *occupancy_limits_name(unsigned limits);

/* A register count at which one more block fits: with 'registers' a thread, an SM runs 'blocks' blocks; with one more
 * register, it runs fewer. */
typedef struct Boundary {
    unsigned registers;
    unsigned blocks;
    unsigned warps;
} Boundary;

/* By descending registers and ascending blocks. The first is the highest count at which the kernel can be launched at
 * all; below the last, registers no longer matter. Empty if the kernel cannot be launched with any count. */
typedef struct BoundaryList {
    unsigned count;
    Boundary items[MACHINE_MAX_BLOCKS];
} BoundaryList;

BoundaryList sm_boundaries(const SmLimits *sm, unsigned block_threads, uint64_t shared_bytes);

/* The next boundary below: the largest count under 'registers' at which more blocks fit. 0 if saving registers gains no
 * block. */
unsigned sm_boundary_below(const SmLimits *sm, unsigned block_threads, uint64_t shared_bytes,
                                unsigned registers);

/* The largest count, 'registers' or above, at which as many blocks fit: registers up to there cost nothing. 'registers'
 * itself if the kernel cannot be launched with that many. */
unsigned sm_boundary_above(const SmLimits *sm, unsigned block_threads, uint64_t shared_bytes,
                                unsigned registers);

/* A block size that fits better: the multiple of a warp, between half of block_threads and twice as many, with which an
 * SM holds the most warps, and the nearest one if there are several; 0 if none holds more than block_threads does.
 * *warps is set to that number of warps. Each block is assumed to use the same shared memory. Nugteren et al., section
 * 5.4, the third guideline. */
unsigned sm_block_better(const SmLimits *sm, unsigned block_threads, unsigned registers, uint64_t shared_bytes,
                              unsigned *warps);

#endif
