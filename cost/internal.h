/* The interface between the files of cost/. */
#ifndef PTXOPT_COST_INTERNAL_H
#define PTXOPT_COST_INTERNAL_H

#include "cost/cost.h"

enum { WARP_THREADS = 32, WORD_BYTES = 4, SECTOR_BYTES = 32, LINE_BYTES = 128 };

/* A profile being built; everything is in the arena. */
typedef struct ProfileBuilder {
    Arena *arena;
    VEC(InstProfile) instructions;
    VEC(const Inst *) places; /* the instruction of each of them */
    VEC(uint32_t) inputs;
    VEC(RunProfile) runs;
} ProfileBuilder;

/* Adds the instructions of a body, without counts. */
void profile_add_body(ProfileBuilder *all, const Body *body);
/* The profile with its totals, from the counts of the instructions. */
Profile *profile_finish(ProfileBuilder *all);

/* The cycles of L1 for all accesses to global memory, if it looks up 'lines' lines in a cycle: those of its data banks
 * or, if lanes are in many lines, of looking these up. Loads of 6, 11 and 20 lines, in forms of a convolution, took
 * 2.6, 3.4 and 8.4 cycles on an H100, and their banks two. */
double profile_l1_passes(const Profile *profile, double lines);

/* How long loads take, in cycles. */
typedef struct LoadLatency {
    double global, local;    /* mean */
    double hit, miss;        /* of global memory: in L1, and beyond it */
    double fresh_misses;     /* the share of the sectors that the block has not loaded before which miss in L1, */
    double other_misses;     /* and of the others */
} LoadLatency;

/* The cycles that a warp alone spends in the profiled code: the mean over the warps of the launch. */
typedef struct WarpPath {
    double cycles, steps;             /* all; steps are instructions */
    double other_cycles, other_steps; /* of these, in runs that warps execute differently often */
} WarpPath;

/* Adds a run that a warp executes 'times' times in the mean. */
void path_add(WarpPath *path, double times, double cycles, double steps);
/* How much longer a warp is, in cycles of the mean path, for each mean path of instructions that it executes more. */
double path_spread(const WarpPath *path);

/* The path over the 'warps' warps of the launch. */
WarpPath warp_path(const Profile *profile, const Device *device, LoadLatency latency, double warps);
/* The same for the profile's machine code, which must be known. */
WarpPath sass_path(const Profile *profile, const Device *device, LoadLatency latency, double warps);

/* A launch's use of the caches. */
typedef struct Traffic {
    double l2_sectors;   /* passes of L2 for those read from it and written to it */
    double merge_share;  /* of these, to merge parts of sectors that are stored */
    double dram_sectors;
    LoadLatency latency;
    double l1_hits;      /* share of the sectors of loads from global memory */
} Traffic;

/* The blocks that are on an SM at once. */
typedef struct Residents {
    double blocks, block_warps;
    double shared; /* bytes of a block */
    double local;  /* bytes of a thread */
} Residents;

Traffic traffic_predict(const Profile *profile, const Device *device, const Residents *residents);

/* The time at which the last block ends, in units of the mean warp's path, when blocks start in order on whichever of
 * 'slots' places is free first, each 'start' after the previous block on that place has ended. The instructions that
 * the longest warp of a block executes beyond the mean warp's take 'spread' of their share of the path. */
double blocks_makespan(const Profile *profile, double slots, double start, double spread);
/* The most blocks that an SM gets over the launch. An SM gets blocks of four warps before the next SM gets any:
 * counters of an H100 show four blocks of a warp on one SM, or two blocks of two, and other SMs without work. */
double blocks_of_busiest(const Profile *profile, const Device *device);
/* The work of the busiest scheduler of an SM over that of the mean one, if an SM has 'resident' blocks at once. Warps
 * go to the schedulers in turn, and those of the next blocks do not make up for it if one of them has more to do. */
double scheduler_share(const Profile *profile, const Device *device, double resident);
/* The share of the blocks that have work: at least half as much as the mean block. */
double working_share(const Profile *profile);
/* The share of the launch's work that the busiest SM does. */
double busiest_share(const Profile *profile, const Device *device);

#endif
