/* Keeping values in shared memory where too many are live for the registers. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_DEMOTE_H
#define PTXOPT_OPT_REGISTERS_MOVES_DEMOTE_H

#include "analysis/analysis.h"
#include "opt/block_size.h"
#include "opt/registers/registers.h"
#include "target/target.h"

typedef struct DemoteRequest {
    int32_t limit;     /* values leave the registers until no more than this many are live */
    unsigned slots;    /* of four bytes for each thread, at most */
    unsigned threads;  /* that a block has at most, whatever its launch */
    bool is_line;      /* no block extends along y or z */
    bool loads_early;  /* even where that leaves too many live */
} DemoteRequest;

typedef struct Demotion {
    unsigned values; /* that left the registers; 0: the body is unchanged */
    unsigned slots;  /* that they take; values that are never live at the same time share them */
} Demotion;

/* Why the body's values cannot be kept in shared memory. */
SharedObstacle demote_obstacle(const Body *body, bool dynamic_is_known);
/* True if the body accesses shared memory whose size is given at launch, beside which ptxas rejects its pragma for
 * spills in shared memory, or asks how much it has, which would be more with the pragma. */
bool demote_minds_shared_memory(const Body *body);

/* Stores values in shared memory where they are defined, and loads them again before distant uses: first those that
 * leave the most places free where more than request->limit registers are live, for each word stored or loaded, which
 * count more in loops. Requires and preserves SSA form; blocks and edges stay. */
Demotion demote_values(Body *body, Analyses *analyses, const SmLimits *sm, const DemoteRequest *request);

#endif
