/* The places in memory that a body loads and stores plainly, told apart by their addresses; and the points at which a
 * place still holds what the thread itself has loaded from it or stored there. */
#ifndef PTXOPT_ANALYSIS_LOCATIONS_H
#define PTXOPT_ANALYSIS_LOCATIONS_H

#include "analysis/dependence.h"
#include "analysis/loops.h"
#include "ir/ir.h"
#include "support/support.h"

#define LOCATION_NONE UINT32_MAX

/* One element of an access: the same bytes at an address with the same sum, read in the same way. Loads that extend it
 * may do so to registers of several widths. */
typedef struct Location {
    Space space;       /* of the address: SPACE_NONE for generic and global ones */
    Space lies_in;     /* where it is known to lie; SPACE_NONE: unknown */
    AffineForm form;   /* of the address */
    unsigned bytes;
    Type narrow;       /* elements narrower than their registers: the type of the access; else TYPE_NONE */
    unsigned reg_bits; /* the width of the registers that hold it, or of the first of them */
    bool read_only;    /* nothing in the kernel writes there */
    bool awaited;      /* Access.awaited */
    const RegId *leaves; /* the registers that the address is computed from (affine_leaves) */
    uint32_t leaf_count;
} Location;

/* A plain, unguarded access whose elements are all locations. */
typedef struct PlainAccess {
    Inst *inst;
    bool is_store;
    const Operand *data; /* the operand, or the items of the vector */
    unsigned count;      /* of elements, which are locations[0 .. count) */
    const uint32_t *locations;
} PlainAccess;

typedef struct Locations {
    const Body *body;
    Location *items;
    uint32_t count;
    PlainAccess *accesses; /* in the order of the blocks */
    uint32_t access_count;
    uint32_t inst_count;
    const PlainAccess **access_of; /* by Inst.id; NULL: not plain */
    BitSet **ended;   /* by Inst.id: locations that the instruction may write, or that must not be reused across it;
                       * NULL: none */
    BitSet *renewed;  /* by Block.id: locations whose address the block computes anew */
    BitSet *entry;    /* by Block.id: locations that still hold, on every path to its top, what the thread last loaded
                       * or stored there */
} Locations;

/* The accesses that make a place known: loads only, or stores too; LOCATION_PLACES: none, the problem is not solved. */
typedef enum LocationSource { LOCATION_LOADS, LOCATION_STORES, LOCATION_PLACES } LocationSource;

/* Solves a forward problem over all paths: an access makes its locations known; they stop being known at
 * - a store that may touch them, and anything that writes memory in an unknown way;
 * - a barrier, a fence, a strong or volatile access, a call, an opaque instruction, except in read-only memory;
 * - the computation of a register of their address, as in the next iteration of a loop.
 * LOCATION_LOADS has one location for loads that extend it to different widths, the others one for each.
 * LOCATION_PLACES finds the accesses and their locations alone, which takes much less time; ended, renewed and entry
 * are NULL.
 * Writes a number into Inst.id. NULL if the body has too many accesses. SSA only. */
Locations *locations_compute(Arena *arena, const Body *body, const MemoryModel *model, const Values *values,
                             LocationSource source);
/* Follows one instruction: 'known' has the locations that hold before it, and on return those that hold after it. */
void locations_step(const Locations *locations, const Inst *inst, LocationSource source, BitSet *known);

#endif
