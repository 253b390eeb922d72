/* The interface between the files of cost/. */
#ifndef PTXOPT_COST_INTERNAL_H
#define PTXOPT_COST_INTERNAL_H

#include "cost/cost.h"

enum { WARP_THREADS = 32, SECTOR_BYTES = 32, LINE_BYTES = 128 };

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

/* The cycles that a warp alone spends in the profiled code, over the 'warps' warps of the launch, when a load from
 * global memory takes 'global_latency'. */
double warp_path(const Profile *profile, const Device *device, double global_latency, double warps);
/* The same for the profile's machine code, which must be known. */
double sass_path(const Profile *profile, const Device *device, double global_latency, double warps);

/* A launch's use of the caches. */
typedef struct Traffic {
    double l2_sectors;   /* those read from L2, plus twice those written to it */
    double dram_sectors;
    double load_latency; /* mean, in cycles */
    double l1_hits;      /* share of load sectors */
} Traffic;

/* 'blocks' of 'block_warps' warps run on an SM at once. */
Traffic traffic_predict(const Profile *profile, const Device *device, double blocks, double block_warps);

/* The time at which the last block ends, in units of the mean warp's path, when blocks start in order on whichever of
 * 'slots' places is free first, each 'start' after the previous block on that place has ended. */
double blocks_makespan(const Profile *profile, double slots, double start);
/* The share of the launch's work that the busiest SM does. */
double busiest_share(const Profile *profile, const Device *device);

#endif
