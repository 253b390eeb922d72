/* Liveness, on SSA and non-SSA bodies. */
#ifndef PTXOPT_ANALYSIS_LIVENESS_H
#define PTXOPT_ANALYSIS_LIVENESS_H

#include "ir/ir.h"
#include "support/support.h"

/* A sorted set of registers. */
typedef struct LiveSet {
    const RegId *regs; /* ascending */
    uint32_t count;
} LiveSet;
bool live_set_has(LiveSet set, RegId reg); /* O(log count) */

/* The registers that are live at the tops and ends of the blocks.
 *
 * A phi reads its arguments at the end of the predecessors and writes at the top of its block: its arguments are live
 * out of the predecessors, its result is in no live-in set. Tied references are reads. A guarded definition kills the
 * register in SSA form only (there it has a tied reference), because the old value stays if the guard is false. An SSA
 * value without a definition is undefined: any register will do for it, so it is never live.
 *
 * The sets are sparse: they are found register by register, walking from each use up to the definition (Boissinot,
 * Brandner, Darte, de Dinechin, Rastello, 2011, section 4), so time and memory are O(I + R + the size of all sets),
 * however many registers there are: the cost depends on the live registers only. */
typedef struct Liveness {
    const Body *body;
    size_t reg_count;
    LiveSet *in, *out; /* by Block.id */
    BitSet undefined;  /* SSA: values that nothing defines */
} Liveness;
Liveness *liveness_compute(Arena *arena, const Body *body);

static inline LiveSet live_in(const Liveness *liveness, const Block *block) { return liveness->in[block->id]; }
static inline LiveSet live_out(const Liveness *liveness, const Block *block) { return liveness->out[block->id]; }

static inline bool live_is_undefined(const Liveness *liveness, RegId reg)
{
    return bitset_has(&liveness->undefined, reg);
}

/* A set of registers that is emptied in O(1) and walked in O(its size) (Briggs and Torczon, 1993). */
typedef struct RegSet {
    RegId *members;
    uint32_t *position;
    uint32_t count, capacity;
} RegSet;
RegSet regset_new(Arena *arena, size_t reg_count);
static inline bool regset_has(const RegSet *set, RegId reg)
{
    return set->position[reg] < set->count && set->members[set->position[reg]] == reg;
}
/* True if the register was not (was) in the set. */
bool regset_add(RegSet *set, RegId reg);
bool regset_remove(RegSet *set, RegId reg);
static inline void regset_clear(RegSet *set) { set->count = 0; }

#endif
