/* Staging: what the threads of a block read from global memory in a loop, and what they store there, goes through
 * shared memory. */
#ifndef PTXOPT_OPT_MEMORY_STAGE_H
#define PTXOPT_OPT_MEMORY_STAGE_H

#include "opt/common/refusal.h"

enum { STAGE_DEPTH = 128, STAGE_DEPTH_LEAST = 32, STAGE_DEPTH_MOST = 256, STAGE_BUFFERS = 4 };

typedef struct StageRequest {
    bool wanted;
    unsigned depth;          /* bytes that a thread reads of a row before the next tile; 0: STAGE_DEPTH, less if many
                              * tiles would then cost blocks on an SM */
    bool prefetches;         /* the next tile is loaded while the block works on this one, if neither has lines */
    unsigned buffers;        /* for each tile, which asynchronous copies fill ahead of the block where they can: 2 to
                              * STAGE_BUFFERS; 0: none */
    bool unrolls;            /* rounds of a staged loop become one, where it is a single block */
    bool before_vectors;     /* before accesses of replicas are joined to vectors: lines need single elements */
    bool holds_rows;         /* rows that several loops of a thread read stay in shared memory, where they fit */
    uint64_t dynamic_shared; /* bytes of a block at launch */
} StageRequest;

/* A load or store of a loop that was staged, or not. */
typedef struct StagedLoad {
    Span span;
    bool is_store;
    const Loc *loc; /* NULL: unknown */
    bool done;
    bool is_resolved; /* what follows is known: */
    bool depends_x, depends_y, depends_z, depends_round; /* what its address depends on */
    unsigned sharers;    /* done: threads of a block that read the same element in one round, on average */
    unsigned same_x, same_y; /* threads of a block along x and y that read the same in one round */
    unsigned warp_sectors; /* that a warp reads in one round, by the estimated strides */
    uint64_t bytes;      /* done: of its tile */
    uint64_t sectors_before, sectors_after; /* done: that a block moves for the rounds of a tile, about */
    Refusal refusal;     /* not done */
} StagedLoad;

/* A loop that was looked at. */
typedef struct StagedLoop {
    Span span;        /* of the branch that ends it */
    bool done;
    unsigned rounds;  /* done: the rounds that a tile is for */
    unsigned unrolled; /* done: those of them that follow one another without a branch */
    double work;      /* done: instructions of a round, with the round's share of what is done for its tile */
    uint64_t shared;  /* done: bytes of all its tiles */
    bool prefetches;  /* done: the next tile is loaded while the block works on this one */
    unsigned buffers; /* done: for each tile, filled by asynchronous copies; 0: they are loaded and stored */
    bool is_nest;     /* done: the loop inside reads what its tiles have */
    bool votes;       /* done: threads vote beforehand on whether all of them get there */
    Refusal refusal;  /* not done */
    VEC(StagedLoad) loads;
} StagedLoop;

/* Threads of the launch that change places: those of tiles of 'side' x 'side' elements (exchange.c), or 'lanes' of a
 * warp, which then go along another axis (lanes.c). */
typedef struct Exchange {
    bool done;
    unsigned side, lanes; /* the other one is 0 */
    Span span; /* of the access that was rows apart */
} Exchange;

/* Threads of a flattened grid that are tiles of its rows (unflatten.c). */
typedef struct Unflattened {
    bool done;
    unsigned columns, rows; /* threads of a tile */
    Span span;              /* of the index */
} Unflattened;

/* Rows that several loops of a thread read, in shared memory (held/held_rows.c). */
typedef struct HeldRows {
    bool done;
    unsigned rows;     /* of each thread */
    bool varies;       /* some threads' may be shorter than what they store there */
    unsigned accesses; /* that are of shared memory */
    uint64_t bytes;    /* of that */
    Variable *array;
    Span span;         /* of the first of them */
} HeldRows;

typedef struct StageResult {
    Refusal refusal; /* of the kernel as a whole */
    Exchange exchange;
    Unflattened unflattened;
    HeldRows held;
    unsigned row_threads; /* in a row, if the kernel arranges the threads of a block in rows; 0: it does not */
    VEC(StagedLoop) loops;
} StageResult;

/* The loops that were staged. */
unsigned stage_count(const StageResult *result);
/* Whether any is, or threads have changed places. */
bool stage_is_done(const StageResult *result);
/* Whether asynchronous copies fill the tiles of one of them. */
bool stage_is_async(const StageResult *result);

#endif
