/* What an assembler makes of a kernel: the interface through which passes ask. */
#ifndef PTXOPT_OPT_JUDGE_H
#define PTXOPT_OPT_JUDGE_H

#include "ir/ir.h"

/* The assembler's own figures for one kernel. */
typedef struct Figures {
    bool known;         /* false: it was not assembled, 'message' says why, or why not */
    unsigned registers; /* 32-bit, for each thread */
    unsigned barriers;
    uint64_t spill_stores, spill_loads; /* bytes */
    uint64_t stack, shared, constant;   /* bytes */
    uint64_t instructions;              /* of machine code */
    const char *message;
} Figures;

static inline uint64_t figures_spills(const Figures *figures) { return figures->spill_stores + figures->spill_loads; }

/* Assembles kernels.  The program implements it with emit/ and assembler/; tests with whatever they like. */
typedef struct Judge {
    void *context;
    /* Assembles 'kernel' printed from 'candidate' (from its statements, with NULL), with the functions it needs.  The
     * cap, if any, is the candidate's tuning.maxnreg.  'candidate' may be in SSA form: a copy leaves it before
     * printing.  Neither is changed. False, with out->known false and a message that outlives the judge's arena, if it
     * could not be assembled. */
    bool (*measure)(void *context, Function *kernel, const Body *candidate, Figures *out);
} Judge;

#endif
