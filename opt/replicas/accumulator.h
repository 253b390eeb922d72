/* Cells of memory that a loop updates, and that are kept in registers meanwhile: by the accumulator pass, and as
 * partial sums of atomic operations (opt/counters/partial_sums.c). */
#ifndef PTXOPT_OPT_REPLICAS_ACCUMULATOR_H
#define PTXOPT_OPT_REPLICAS_ACCUMULATOR_H

#include "opt/common/trips.h"

/* A load that gets the value which was loaded or stored last. */
typedef struct LaterLoad {
    const PlainAccess *access;
    size_t stores; /* of the cell's, before it in the block */
} LaterLoad;

/* The accesses to one place in the loop. */
typedef struct Cell {
    const Inst *inst;        /* one that changes it */
    const AffineForm *form;  /* of its address */
    unsigned bytes;
    /* Plain accesses; a cell that atomic operations update has none. */
    uint32_t location;
    Block *block;
    const PlainAccess *load; /* the first one, if it is before the first store; NULL: none */
    VEC(LaterLoad) later;    /* the other loads */
    VEC(const PlainAccess *) stores;
} Cell;

/* A 32-bit index that grows in each round, extended to 64 bits in an address. */
typedef struct RangeIndex {
    bool is_found, is_signed;
    LoopCounter counter;
    int64_t coefficient;
} RangeIndex;

/* Addresses that an access, or a cell, reaches: from 'start' on, by 'step' for each round. The term of an index, if
 * there is one, is in 'start', and means its value in the first round; it wraps in none. */
typedef struct Range {
    const AffineTerm *object; /* what the address counts from; NULL: unknown */
    AffineForm start, step;
    int64_t bytes;
    const Cell *cell; /* NULL: another access */
    RangeIndex index;
    unsigned index_term; /* of the start */
    AffineTerm start_terms[AFFINE_TERMS + 1], step_terms[AFFINE_TERMS];
} Range;

typedef struct Promoter {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const Locations *locations; /* NULL: no cell is accessed plainly */
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
/* Sets the cells' loads. Drops cells with other accesses to the same location. */
void accumulator_cells_check(Promoter *promoter);

/* accumulator_loop.c */
/* The blocks on the edges that lead out of a loop. */
typedef VEC(Block *) BlockVec;
/* True if the instruction neither orders memory nor leaves the loop in an unknown way, and accesses memory plainly if
 * at all. */
bool accumulator_inst_is_plain(const Inst *inst);
/* Sets the loop with this header; false: it has no preheader. */
bool accumulator_loop_find(Promoter *promoter, const Block *header);
/* Sees to it that no plain access of the loop meets a cell, other than its own, by a test before the loop and a second
 * loop if need be; then gives each edge out of the loop a block of its own. False if that cannot be, and the body has
 * some dead code at most. Cells' instructions are still there, but analyses are forgotten, and forms with them. */
bool accumulator_free_cells(Promoter *promoter, const Block *header, BlockVec *exits);

/* accumulator_ranges.c */
/* Collects the ranges that have to be compared with the cells' at run time. False if one cannot be. */
bool accumulator_ranges_find(Promoter *promoter);
/* Adds code to the preheader that tells whether no cell meets anything else. REG_NONE if no code can tell. */
RegId accumulator_test_build(Promoter *promoter, const SumPlace *place, const TripCount *trips);

/* accumulator_index.c */
/* True if the term of a 64-bit sum is a multiple of an index; sets it. */
bool accumulator_index_find(const Promoter *promoter, const AffineTerm *term, RangeIndex *out);
/* Adds code: a 64-bit register with where the range, which has an index, starts; REG_NONE if none can be had. *fits: a
 * predicate that says that the index does not wrap up to the round 'last'. */
RegId accumulator_index_build(const SumPlace *place, const Range *range, RegId last, RegId *fits);

#endif
