/* How many blocks an SM holds of two forms of a kernel, for every block that a launch may have. */
#ifndef PTXOPT_OPT_RESIDENCY_H
#define PTXOPT_OPT_RESIDENCY_H

#include "opt/block_size.h"
#include "opt/judge.h"
#include "target/target.h"

/* The launches that are compared: of the original, and of a form whose launch is changed. */
typedef struct Residency {
    const SmLimits *sm;
    BlockSize block;         /* of the original */
    LaunchChange change;
    bool whole_warps;        /* the changed launch needs whole warps */
    uint64_t dynamic_shared; /* bytes of a block of the original */
} Residency;

/* A block size for which the number of blocks on an SM differs. */
typedef struct ResidencyChange {
    unsigned threads;       /* of the original's block */
    unsigned before, after; /* blocks on an SM */
} ResidencyChange;

/* True if an SM holds fewer blocks of the form than of the original for some block that a launch may have: the one that
 * is known, else any multiple of a warp that .maxntid and the change allow. Both figures must be known. */
bool residency_falls(const Residency *residency, const Figures *before, const Figures *after, ResidencyChange *change);
/* The same for more blocks. */
bool residency_rises(const Residency *residency, const Figures *before, const Figures *after, ResidencyChange *change);

#endif
