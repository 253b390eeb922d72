/* The files of the accumulator pass share this: a loop, and the cells of memory that it updates. */
#ifndef PTXOPT_OPT_REPLICAS_ACCUMULATOR_H
#define PTXOPT_OPT_REPLICAS_ACCUMULATOR_H

#include "opt/common/trips.h"

/* The accesses to one location in the loop. */
typedef struct Cell {
    uint32_t location;
    Block *block;
    const PlainAccess *load;  /* before the first store; NULL: none */
    VEC(const PlainAccess *) stores;
} Cell;

/* Addresses that an access, or a cell, reaches: from 'start' on, by 'step' for each round. */
typedef struct Range {
    const void *object; /* what the address counts from; NULL: unknown */
    AffineForm start, step;
    int64_t bytes;
    const Cell *cell; /* NULL: another access */
    AffineTerm start_terms[AFFINE_TERMS + 1], step_terms[AFFINE_TERMS];
} Range;

typedef struct Promoter {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const Locations *locations;
    const LoopForest *loops;
    const Loop *loop;
    VEC(Cell) cells;
    VEC(Range *) ranges;
} Promoter;

/* accumulator_cells.c */
/* True if the register is made outside the loop. */
bool accumulator_is_invariant(const Promoter *promoter, RegId reg);
/* True if the access is one of the cell's. */
bool accumulator_cell_has(const Cell *cell, const PlainAccess *access);
/* Sets the cells: the invariant locations that the loop stores to in one block that every round passes. */
void accumulator_cells_find(Promoter *promoter);
/* Sets the cells' loads: before the first store one at most; those after a store have been forwarded. Drops cells with
 * other accesses to the same location. */
void accumulator_cells_check(Promoter *promoter);

/* accumulator_ranges.c */
/* Collects the ranges that have to be compared with the cells' at run time. False if one cannot be. */
bool accumulator_ranges_find(Promoter *promoter);
/* Adds code to the preheader that tells whether no cell meets anything else. REG_NONE if no code can tell. */
RegId accumulator_test_build(Promoter *promoter, const SumPlace *place, const TripCount *trips);

#endif
