/* The size of a kernel's blocks at launch: resolved once, here, from what the module and the command line say. */
#ifndef PTXOPT_OPT_BLOCK_SIZE_H
#define PTXOPT_OPT_BLOCK_SIZE_H

#include "ir/ir.h"

enum { BLOCK_MOST_THREADS = 1024 }; /* on every architecture (CUDA Programming Guide, "Compute Capabilities") */

/* The sources of a block size, the one that prevails first. */
typedef enum BlockOrigin {
    BLOCK_UNKNOWN,
    BLOCK_REQUIRED, /* .reqntid: a launch cannot differ */
    BLOCK_GIVEN,    /* the user (-block) */
    BLOCK_BOUNDED,  /* .maxntid: nearly always the size too, good enough for occupancy but not for a launch contract */
} BlockOrigin;

typedef struct BlockSize {
    BlockOrigin origin;
    unsigned threads[3]; /* along x, y, z; 0: unknown */
} BlockSize;

/* 'given': the user's size, zeros for none. */
BlockSize block_size_resolve(const Tuning *tuning, const unsigned given[3]);
/* The size if every launch has exactly this one; otherwise unknown. */
BlockSize block_size_exact(const BlockSize *block);
/* Threads of a block; 0: unknown. */
unsigned block_size_total(const BlockSize *block);
/* The sources of a number of threads. */
typedef enum ThreadsOrigin {
    THREADS_KNOWN,
    THREADS_LAUNCHED, /* in the launch that is counted; others may have other blocks */
    THREADS_ASSUMED,  /* a common size */
    THREADS_BOUNDED,  /* the most that .maxntid allows */
} ThreadsOrigin;
/* The same for occupancy; if it is unknown, that of the launch that is counted (0: none is), or a common size. */
unsigned block_size_total_assumed(const BlockSize *block, unsigned launched, ThreadsOrigin *origin);
/* The size after coarsening, whose 'tuning' the coarsened kernel has. */
BlockSize block_size_coarsened(const BlockSize *block, const unsigned factor[3], const Tuning *tuning);
/* Declares it as .maxntid, with as many numbers as it needs. */
void block_size_declare(const BlockSize *block, Tuning *tuning);

#endif
