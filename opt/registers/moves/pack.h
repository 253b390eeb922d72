/* Several values of few bits in one register where too many are live. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_PACK_H
#define PTXOPT_OPT_REGISTERS_MOVES_PACK_H

#include "analysis/analysis.h"
#include "target/target.h"

typedef struct PackRequest {
    int32_t limit; /* values are packed until no more than this many registers are live */
    uint64_t most; /* instructions of machine code that may be added */
} PackRequest;

typedef struct Packing {
    unsigned values; /* that share registers; 0: the body is unchanged */
    unsigned words;  /* the registers */
    unsigned insts;  /* of machine code that are added, at most */
} Packing;

/* Puts values of at most 16 significant bits into fields of common registers between their uses: first those that leave
 * the most places free where too many are live, for what that costs. Requires and preserves SSA form; blocks and edges
 * stay. */
Packing pack_values(Body *body, Analyses *analyses, const SmLimits *sm, const PackRequest *request);

#endif
