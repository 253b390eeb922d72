/* The parts of leaving SSA form: destruct.c drives, live.c computes live ranges, coalesce.c finds the values that can
 * share a register, copies.c writes the remaining copies. */
#ifndef PTXOPT_IR_SSA_DESTRUCT_H
#define PTXOPT_IR_SSA_DESTRUCT_H

#include "ir/internal.h"

#define VALUE_NONE UINT32_MAX

/* Positions within a block: phis define at 0, the copies out of them are at 1, instruction k at 3 + 2k and the
 * copies before it at 2 + 2k; the copies into the successors' phis are where those of the terminator would be, or
 * after the last instruction. Reads at a position come before writes at it. */
enum { POSITION_PHI = 0, POSITION_ENTRY = 1, POSITION_FIRST = 3 };

/* A value: a register of the SSA form (its index is the RegId), or one end of a copy that isolates a phi or a tie
 * (above). */
typedef struct Value {
    uint32_t block, position; /* where it is written; VALUE_NONE: nowhere, it is undefined */
    RegId origin;
    Type type;
    uint32_t same;   /* the value that it is a copy of, or itself */
    uint32_t parent; /* union-find */
    uint32_t equal;  /* while a set is checked: the nearest dominating member that lives here with the same contents */
    uint32_t rank;   /* its place among all defined values, as a walk of the dominator tree meets them */
    uint32_t last;   /* for an isolating copy, the position of its only use, in the same block */
    bool tracked;    /* live range known */
} Value;

typedef struct Copy {
    uint32_t dst, src;
    uint32_t block, position;
    uint32_t depth; /* loops around it */
} Copy;

typedef struct LiveRange {
    const uint64_t *uses; /* block << 32 | position, ascending */
    uint32_t use_count;
    const uint32_t *blocks; /* where it is live at the end, ascending */
    uint32_t block_count;
} LiveRange;

/* Values that share a register: of a root of the union-find. */
typedef struct Set {
    uint32_t *members; /* defined values by rank; NULL: the value alone */
    uint32_t count, capacity;
} Set;

typedef struct Leaver {
    Body *body;
    Arena *scratch;
    const Dominance *dominance;
    uint32_t registers; /* values below are registers */
    VEC(Value) values;
    VEC(Copy) copies;  /* by block and position */
    LiveRange *ranges; /* by register */
    Set *sets;         /* by value; valid for roots */
} Leaver;

/* Fills 'ranges' for the tracked registers from the instructions and the copies' sources. */
void live_ranges_compute(Leaver *leaver);
/* True if a and b, of which a is written first on every path, are live at the same time. */
bool values_intersect(const Leaver *leaver, uint32_t a, uint32_t b);
static inline bool value_dominates(const Leaver *leaver, uint32_t a, uint32_t b)
{
    const Value *x = &leaver->values.data[a], *y = &leaver->values.data[b];
    return x->block == y->block ? x->position <= y->position : dominance_has_id(leaver->dominance, x->block, y->block);
}

static inline bool value_defined(const Leaver *leaver, uint32_t value)
{
    return leaver->values.data[value].block != VALUE_NONE;
}
static inline uint32_t find(Leaver *leaver, uint32_t value)
{
    Value *values = leaver->values.data;
    while (values[value].parent != value) {
        values[value].parent = values[values[value].parent].parent;
        value = values[value].parent;
    }
    return value;
}

/* Puts values that a copy connects, or that are versions of one register, into common sets where none of a set's
 * values are live together with different contents. Begins with the sets that 'parent' holds already. */
void copies_coalesce(Leaver *leaver);
/* The members of the set of the root, which itself is the list of a set of one. */
const uint32_t *set_members(const Leaver *leaver, const uint32_t *root, uint32_t *count);

/* Writes the remaining copies as moves; 'chosen' gives the register of each value. */
void copies_write(Leaver *leaver, const RegId *chosen);

#endif
