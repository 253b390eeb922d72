/* Shapes of accesses: shape.c. For the checks and counters of whole accesses (race.c, rows.c, coalesce.c). */
#ifndef PTXOPT_EMULATOR_SHAPE_H
#define PTXOPT_EMULATOR_SHAPE_H

#include "emulator/state/state.h"

/* Adjacent places. */
typedef struct Run {
    uint32_t first, bytes; /* 'first' is relative to the offset of lane 0, modulo 2^32 */
    uint16_t cell;         /* of its first byte, in AccessShape.lanes */
    bool is_shared;        /* each place is accessed by several lanes; else by one */
} Run;

/* Passes of the banks of L1 and shared memory; those beyond one for each group of lanes that is served together. */
typedef struct BankPasses {
    unsigned all, conflicts;
} BankPasses;

/* Accesses are aligned to their size, so two lanes access the same bytes or none in common. */
struct AccessShape {
    uint32_t mask; /* 0: no shape yet */
    uint32_t relative[LANES];
    uint8_t bytes;      /* those that a lane accesses */
    uint8_t shift, low; /* of a cell, see Region; the offset of lane 0 modulo 4 */
    uint8_t run_count;
    bool overlaps; /* some place is accessed by several lanes */
    uint16_t cell_count, cell_capacity;
    Run runs[LANES]; /* by address */
    /* For each cell, twice the last of the lanes that access it; twice the one before, or all ones if there is none. */
    uint32_t *lanes, *others;
    bool has_passes; /* they have been counted */
    BankPasses passes;
    unsigned joined; /* passes for the accesses of 16 bytes that contain the words, in shared memory */
};

/* Updates the shape to that of the active lanes' accesses, each of 'bytes' bytes, unless it already has it. Inactive
 * lanes have the offset of an active one; a cell is not larger than an access. */
void shape_update(Emulator *emulator, AccessShape *shape, uint32_t mask, const uint32_t *offsets, unsigned bytes,
                  unsigned shift);

/* coalesce.c: counts a load or store of this shape whose lane 0 has the offset. */
void count_shape(Exec *x, const Region *region, AccessShape *shape, uint32_t offset, bool writes);
/* reuse.c: the same, in a region that tracks the touches of its sectors. */
void reuse_shape(Exec *x, const Region *region, const AccessShape *shape, uint32_t offset, unsigned lines,
                 bool writes);

#endif
