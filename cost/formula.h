/* A value as the computation that makes it from the thread's index, the block's size, constants and the variables of a
 * loop, in an order in which it can be evaluated. */
#ifndef PTXOPT_COST_FORMULA_H
#define PTXOPT_COST_FORMULA_H

#include "cost/estimate.h"

enum { MOST_STEPS = 48, MOST_TURNS = 16 };

/* An instruction of the computation; its sources are special registers, constants and earlier steps. */
typedef struct Step {
    Computation computation;
    const Sreg *sreg;             /* what it reads instead; NULL: nothing */
    int start;                    /* a loop's variable: the step with its first value; else negative */
    int64_t advance;              /* then what it grows by in each round */
    const uint64_t *values;       /* the variable of a loop that divides or multiplies it: its value in each round */
    int turns[MOST_TURNS];        /* a loop's variable: the steps whose values it has in its rounds ... */
    unsigned turn_count;          /* 0: it is none of these; the last one's from then on */
    bool is_constant;             /* it is assumed to have the value 'constant' */
    uint64_t constant;
    unsigned bits;
    int sources[COMPUTE_SOURCES]; /* indices of steps; negative: a constant */
} Step;

/* The rounds of a loop whose number is assumed. */
typedef struct AssumedRounds {
    const Loop *loop;   /* NULL: no number is assumed */
    double count;       /* in the shortest steps of the variable */
    RegId bound;        /* with which the variable is compared to end the loop; REG_NONE: it is not known */
    uint64_t end;       /* the value at which the bound ends it after these rounds */
} AssumedRounds;

typedef struct Formula {
    const Estimate *estimate;
    AssumedRounds assumed;
    Step steps[MOST_STEPS];
    RegId results[MOST_STEPS];
    unsigned count;
    const Loop *loop; /* of its variables; NULL: none */
    unsigned rounds;  /* of the loop */
} Formula;

/* Puts the computation of the register into an order in which it can be evaluated, with 'estimate' and 'assumed' as
 * given. False if it needs anything else, as what is loaded, or too many steps. */
bool formula_make(Formula *formula, RegId reg);
/* Computes the value for one thread in one round; false if the ISA leaves it undefined. */
bool formula_run(const Formula *formula, const unsigned index[3], uint64_t round, uint64_t *value);
/* The first value and the constant step of a phi of the loop's header; the shortest of several steps in the same
 * direction. */
bool formula_counter(const Estimate *estimate, const Loop *loop, RegId reg, RegId *start, int64_t *advance);
/* True if it reads the thread's index. */
bool formula_reads_thread(const Formula *formula);

#endif
