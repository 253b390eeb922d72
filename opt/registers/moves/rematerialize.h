/* Recomputing values before distant uses instead of keeping them in registers. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_REMATERIALIZE_H
#define PTXOPT_OPT_REGISTERS_MOVES_REMATERIALIZE_H

#include "analysis/analysis.h"

/* True if the instruction can be executed again elsewhere, from the same operands: it has one result, and no other
 * effect. Divisions and roots take too long. */
bool inst_is_recomputable(const Inst *inst);

typedef struct RematerializeRequest {
    int32_t limit;     /* pressure is high where more registers than this are live */
    unsigned cost;     /* instructions that one recomputation may take, not counting opaque copies */
    bool opaque;       /* start from opaque copies of the operands, so that the assembler does not merge it again */
    uint32_t distance; /* instructions of a block between two uses that make a recomputation worthwhile */
    bool extend;       /* operands may be kept live for longer: one often serves many values */
    bool ignore_pressure; /* recompute wherever the distance is long, not only across high pressure */
} RematerializeRequest;

typedef struct RematerializeCandidate {
    RegId value;
    int64_t gain; /* register places of high pressure freed for each instruction; comparable within one list */
} RematerializeCandidate;

/* Lists the values that could be recomputed, best first, in 'arena'. Requires SSA form; only the scratch numbers of
 * instructions change. */
uint32_t rematerialize_candidates(Arena *arena, Body *body, Analyses *analyses, const RematerializeRequest *request,
                                  RematerializeCandidate **out);
/* Recomputes these values before their distant uses. Requires and preserves SSA form; blocks and edges stay. Returns
 * the number of recomputations. */
unsigned rematerialize_values(Body *body, Analyses *analyses, const RematerializeRequest *request,
                              const RematerializeCandidate *values, uint32_t count);

#endif
