/* Moving definitions down to their uses. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_SINK_H
#define PTXOPT_OPT_REGISTERS_MOVES_SINK_H

#include "analysis/analysis.h"

/* An instruction with one of these effects is neither moved to another block nor recomputed. */
#define EFFECTS_IN_PLACE                                                                                               \
    (EFFECT_WRITE | EFFECT_SYNC | EFFECT_CONTROL | EFFECT_VOLATILE | EFFECT_ASYNC | EFFECT_HINT | EFFECT_CC_READ |     \
     EFFECT_CC_WRITE)

typedef enum SinkMode {
    SINK_SAVING, /* only where no more registers stay live than before */
    SINK_ALL,    /* everything that may move */
    SINK_COPIES, /* everything; a cheap value with uses in several blocks is recomputed in each */
} SinkMode;

/* Moves definitions to the blocks of their uses, but never into a deeper loop; 'loads' lets loads move, too. Requires
 * and preserves SSA form; blocks and edges stay. Returns how many moved. */
unsigned sink_values(Body *body, Analyses *analyses, SinkMode mode, bool loads);

#endif
