/* The race check's records of accesses: stamps.c, race.c. */
#ifndef PTXOPT_EMULATOR_RACE_H
#define PTXOPT_EMULATOR_RACE_H

#include "emulator/state/shape.h"

/* A stamp identifies an access: 0, or the number of its warp's epoch << STAMP_SHIFT, with twice the lane and the bit
 * STAMP_STRONG. An epoch is a stretch of a warp's run in which neither its clock nor Emulator.tick changes. */
#define STAMP_STRONG 1u

typedef struct Epoch {
    uint32_t block, clock, tick, warp;
} Epoch;

/* The accesses to a region. A cell is 1 << shift bytes. */
struct RaceCells {
    unsigned shift;               /* 2 until an access smaller than a word */
    bool is_written;              /* some cell has been written; else no read can conflict */
    bool skipped_reads;           /* reads were not recorded (race_skip); no cell may be written any more */
    uint32_t *writes;             /* for each cell, the stamp of its last write; NULL: no access yet */
    uint32_t *newer, *older;      /* and those of the last reads of two threads after that write; NULL: no read yet */
    uint8_t *pending;             /* whether an asynchronous copy may still write there; NULL: there was none */
    uint8_t *seen;                /* the kinds of access that each cell has seen, for race_merge; NULL: not needed */
};

/* stamps.c */

uint32_t stamp_now(Exec *x); /* of lane 0's weak accesses */
const Epoch *stamp_epoch(const Emulator *emulator, uint32_t stamp);
/* True if the access of the stamp is ordered before those that the warp now makes in other lanes. */
bool stamp_is_ordered(const Exec *x, uint32_t stamp);
bool stamp_is_of_warp(const Exec *x, uint32_t stamp);
size_t race_cell_count(const Region *region);

/* race.c */

/* Prepares the region's cells for accesses of 'bytes' bytes, aligned to their size; returns the shift of a cell. */
unsigned race_shift(Emulator *emulator, Region *region, unsigned bytes, bool writes);
/* True if the access need not be recorded, which it notes: a read of a region that no block has written, after the
 * first block has ended. If the region is written all the same, the run ends without a fault, and
 * Emulator.misses_reads is set. */
bool race_skip(const Emulator *emulator, Region *region, bool writes);
/* Sets whether an asynchronous copy to this place has been begun, and not waited for (pending.c). */
void race_set_pending(Emulator *emulator, Region *region, uint64_t offset, unsigned bytes, bool pending);
/* race_check for all lanes of a weak access, whose lane 0 has the offset. If it returns false, nothing has been done,
 * and the lanes must be checked one by one. */
bool race_row(Exec *x, Region *region, const AccessShape *shape, uint32_t offset, bool writes);

#endif
