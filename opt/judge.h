/* The interface through which passes ask an assembler about a form of a kernel. */
#ifndef PTXOPT_OPT_JUDGE_H
#define PTXOPT_OPT_JUDGE_H

#include "ir/ir.h"

/* The assembler's own figures for one kernel. */
typedef struct Figures {
    bool known;         /* false: it was not assembled; 'message' says why */
    bool serialized;    /* the assembler warns that asynchronous matrix products wait for one another (C75xx) */
    bool repeated;      /* the judge has answered for the same text before, so it took no time */
    bool broke;         /* the assembler crashed, or reached its limit of time or memory */
    unsigned registers; /* 32-bit, for each thread */
    unsigned barriers;
    uint64_t spill_stores, spill_loads; /* bytes */
    uint64_t stack, shared, constant;   /* bytes */
    uint64_t instructions;              /* of machine code */
    const char *message;
    const struct DemandObjection *unmet; /* it is assembled, but not known because of this; NULL: it is not */
} Figures;

static inline uint64_t figures_spills(const Figures *figures) { return figures->spill_stores + figures->spill_loads; }

/* The cost model's prediction for a form (cost/). */
typedef struct Prediction {
    bool known;
    bool is_new;     /* it had to be computed; that takes an assembly only for what measure() did not assemble */
    bool is_machine; /* instructions are those of machine code, else of PTX */
    double cycles;
    double instructions; /* executed, in all warps of the launch */
    double looped;       /* of these, in loops of the machine code; of PTX, all */
    unsigned warps;      /* on an SM at once */
    double path;         /* cycles of one warp alone, waiting for what it loads; 0: not known */
    double accesses;     /* executed, in all warps: loads and stores of shared memory and of spilled registers */
    double spills;       /* executed, in all warps: loads and stores of registers that are spilled to local memory */
} Prediction;

/* Assembles kernels. The program implements it with emit/ and assembler/, tests as they like. */
typedef struct Judge {
    void *context;
    /* Assembles one form of a kernel with the functions it needs. The cap, if any, is its tuning's maxnreg. A body in
     * SSA form is copied, and the copy leaves SSA form before it is printed; nothing is changed. False,
     * with out->known false and a message that lives as long as the judge, if it does not assemble. */
    bool (*measure)(void *context, const FunctionForm *form, Figures *out);
    /* Begins to assemble a form, beside the caller; a later measure() waits for it. NULL: not offered. */
    void (*prepare)(void *context, const FunctionForm *form);
    /* Begins what predict() has to assemble for a form that is not of a search, the input. NULL: not offered. */
    void (*prepare_prediction)(void *context, const FunctionForm *form);
    unsigned width; /* forms that are assembled at the same time; 0 is taken for 1 */
    /* True if the time for a search is over, or the user wants its end. NULL: never. */
    bool (*is_over)(void *context);
    /* Predicts the time of a form that measure() gave 'figures', and that is launched with this change; it assembles
     * nothing, except for the input, which no search has measured. NULL: times are not predicted. */
    Prediction (*predict)(void *context, const FunctionForm *form, const Figures *figures,
                          const LaunchChange *change);
} Judge;

#endif
