/* The rows that have been found in a kernel, and the test that they are rows (held_rows.c). */
#ifndef PTXOPT_OPT_MEMORY_HELD_INTERNAL_H
#define PTXOPT_OPT_MEMORY_HELD_INTERNAL_H

#include "opt/memory/held/held.h"
#include "opt/memory/sweeps.h"
#include "opt/pass.h"

typedef VEC(const RowAccess *) RowAccessRefs;

/* The accesses of a sweep that load, or store, the row, or are where a row is stored. */
typedef struct Part {
    Sweep *sweep;
    RowAccessRefs accesses;
    bool fills;          /* in each round, a step, if all are executed */
    bool is_partial;     /* some of them are not */
    int64_t first, step; /* bytes from the first of the accesses */
    unsigned group;      /* the same: of sweeps that may go on where the one before ends */
} Part;

typedef VEC(Part) PartVec;

typedef struct Range {
    RegId begin, end;
} Range;

typedef struct HeldRow {
    const AffineForm *at;  /* an address in it */
    PartVec loads, stores; /* stores: in place */
    bool is_fixed;         /* nothing in the kernel writes what the loops load of it */
    unsigned group;        /* of the loads that take all of it */
    Range range;           /* set by the test */
} HeldRow;

/* An access that is executed once. */
typedef struct Single {
    Inst *inst;
    RegId base;
    int64_t constant;
    unsigned bytes;
    AffineForm form;
    bool is_store;
} Single;

typedef struct Holding {
    Sweeps s;
    PassContext *context;
    HeldRow rows[HELD_ROWS];
    unsigned row_count, tried; /* rows, and arrays that could have been */
    const AffineForm *out; /* an address where a row is stored that is not one of these; NULL: there is none */
    PartVec stores, again; /* the stores, and loads after them */
    unsigned host;         /* the row whose elements they replace in shared memory */
    Range out_range;       /* set by the test */
    VEC(Single) singles;
    unsigned element;      /* bytes; 0: not known yet */
    HeldPlan plan;
} Holding;

/* Finds the row with this address, and others beside it if they are wanted; false: it is not one that is read again. */
bool held_rows_find(Holding *h, const AffineForm *at, bool with_others);
/* Whether an address is in the row: in the same array, as far as parameters show, and not far in front of the first
 * access. This decides what is tried, not what is right. */
bool held_is_row_address(const Holding *h, const AffineForm *address, const AffineForm *row);
/* Whether it is in one of the rows, or where one is stored. */
bool held_is_address(const Holding *h, const AffineForm *address);
/* Adds an access of this size that goes to shared memory; false if it cannot, or does already. */
bool held_add(Holding *h, const HeldAccess *held, unsigned bytes);
bool held_group_fills(const PartVec *parts, unsigned group);
/* NULL: the sweep has none of them. */
const Part *held_part_of(const PartVec *parts, const Sweep *sweep);

/* Adds the test, if the first row is what the loops of its group load. */
bool held_test_build(Holding *h);

#endif
