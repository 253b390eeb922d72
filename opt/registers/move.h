/* The changes that the register search tries, as facts: engine/report/moves.c words them. */
#ifndef PTXOPT_OPT_REGISTERS_MOVE_H
#define PTXOPT_OPT_REGISTERS_MOVE_H

#include <stdbool.h>

/* The kinds, and what Move.count counts. */
typedef enum MoveKind {
    MOVE_CAP,            /* .maxnreg: registers */
    MOVE_CAP_UNSPILLED,  /* the same, in the search for the lowest count that adds no spills */
    MOVE_TARGET,         /* a lower target, without .maxnreg: registers */
    MOVE_FEWEST,         /* nothing changes, but these are the fewest registers so far at the price */
    MOVE_BLOCK,          /* .maxntid: threads */
    MOVE_POOL,           /* setmaxnreg: registers after each .inc, and .released after each .dec */
    MOVE_ONE_BASE,       /* addresses from one base */
    MOVE_DISTANCES,      /* pointers by uniform distances */
    MOVE_SHIFTS,         /* offsets shifted instead of multiplied */
    MOVE_PACK,           /* small values that share .words registers */
    MOVE_RECOMPUTE,      /* instructions that are executed again after places, a register being worth .worth of them */
    MOVE_ORDER,          /* instructions by the rule .rule */
    MOVE_ORDER_BLOCK,    /* the same for one block */
    MOVE_ORDER_EXACT,    /* blocks whose order changed, .lowered below what rules give, .proved to be the lowest */
    MOVE_WEIGHTS,        /* a rule with random weights */
    MOVE_WEIGHTS_BLOCK,  /* the same for one block */
    MOVE_ORDER_RANDOM,   /* an order changed at random */
    MOVE_SINK,           /* definitions sunk where that saves registers */
    MOVE_SINK_LOADS,     /* the same, including loads */
    MOVE_SINK_COPIES,    /* definitions copied to each block that uses them */
    MOVE_SINK_ALL,       /* definitions, and loads, sunk wherever possible */
    MOVE_HOIST,          /* computations hoisted where that saves registers */
    MOVE_REMATERIALIZE,  /* values */
    MOVE_OPAQUE,         /* values, from opaque copies of their operands */
    MOVE_NOUNROLL,       /* loops that the assembler must not unroll */
    MOVE_KNOBS,          /* a set of options of the assembler, .knobs and .controls */
    MOVE_SPILLS,         /* the assembler's own spills in shared memory */
    MOVE_DEMOTE,         /* values in .slots of shared memory */
} MoveKind;

typedef struct Move {
    MoveKind kind;
    unsigned count;
    unsigned words, worth, lowered, proved, knobs, slots, released; /* 0, except where the kind says */
    const char *rule;  /* its name in the table of rules */
    const char *controls; /* MOVE_KNOBS: as in Tuning */
    bool of_input;     /* MOVE_KNOBS: of the input, not of the best form */
    bool is_slower;    /* MOVE_KNOBS: predicted to be */
    bool is_objected;  /* the form is not worth its price */
    bool is_compared;  /* MOVE_SPILLS, MOVE_DEMOTE: with the best form, and then: */
    unsigned blocks, blocks_before; /* on an SM */
    double speedup;                 /* predicted */
} Move;

static inline Move move_of(MoveKind kind, unsigned count) { return (Move){.kind = kind, .count = count}; }

#endif
