/* Register pressure: a small value type, and trackers that follow it through a block. */
#ifndef PTXOPT_ANALYSIS_PRESSURE_H
#define PTXOPT_ANALYSIS_PRESSURE_H

#include "analysis/liveness.h"
#include "ir/ir.h"
#include "support/support.h"

/* The number of live 32-bit registers and predicates: b64 takes 2, b128 4, anything narrower than 32 bits 1. Predicates
 * have a file of their own. */
typedef struct Pressure {
    int32_t regs32, predicates;
} Pressure;

static inline Pressure pressure_add(Pressure a, Pressure b)
{
    return (Pressure){a.regs32 + b.regs32, a.predicates + b.predicates};
}
static inline Pressure pressure_sub(Pressure a, Pressure b)
{
    return (Pressure){a.regs32 - b.regs32, a.predicates - b.predicates};
}
/* The maximum of each component. */
static inline Pressure pressure_max(Pressure a, Pressure b)
{
    return (Pressure){a.regs32 > b.regs32 ? a.regs32 : b.regs32,
                      a.predicates > b.predicates ? a.predicates : b.predicates};
}
static inline bool pressure_equal(Pressure a, Pressure b)
{
    return a.regs32 == b.regs32 && a.predicates == b.predicates;
}
Pressure pressure_of_reg(const Body *body, RegId reg);

/* The pressure at an instruction is that before it or that after it, whichever is higher, where the latter includes its
 * results that are never read: results may take the registers of operands whose last read this is. */
typedef struct PressureProfile {
    Pressure *blocks;     /* by Block.id: the highest at any instruction of the block, or at its top when it has none */
    Inst **block_peaks;   /* by Block.id: the first instruction at which regs32 is highest; NULL: at the top, after the
                           * phis */
    Pressure peak;        /* the highest of the body */
    Block *peak_block;    /* where peak.regs32 is reached first, in layout order */
    Inst *peak_inst;      /* in peak_block; NULL: at its top */
} PressureProfile;
PressureProfile *pressure_compute(Arena *arena, const Liveness *liveness);

/* Follows the pressure of a block whose instructions are being put in some order, from the top down or from the bottom
 * up. The caller chooses the order, which must respect the block's dependences. 'current' is the pressure at the place
 * reached, 'peak' the highest on the way. One tracker serves many blocks; a block costs O(its references + its live-out
 * set) to start. */
typedef struct PressureTracker {
    const Liveness *liveness;
    const Body *body;
    Pressure current, peak;
    RegSet live;
    uint32_t *reads_left; /* by RegId: reads of the block that are still to come; going down only */
    RegSet read;          /* registers with an entry in reads_left */
    RegSet kept;          /* the block's live-out registers; going down only */
} PressureTracker;
PressureTracker pressure_tracker_new(Arena *arena, const Liveness *liveness);

/* Top down: starts with the registers that are live at the top (live-in and the phis' results), then takes one
 * instruction after the other. */
void pressure_tracker_start_top(PressureTracker *tracker, const Block *block);
void pressure_tracker_advance(PressureTracker *tracker, const Inst *inst);
/* The change that pressure_tracker_advance would make to 'current'. */
Pressure pressure_tracker_advance_delta(const PressureTracker *tracker, const Inst *inst);

/* Bottom up: starts with the registers that are live at the end. */
void pressure_tracker_start_bottom(PressureTracker *tracker, const Block *block);
void pressure_tracker_recede(PressureTracker *tracker, const Inst *inst);
Pressure pressure_tracker_recede_delta(const PressureTracker *tracker, const Inst *inst);

#endif
