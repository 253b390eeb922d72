/* Called wherever plant.py plants a mistake: is it one of this process, which PTXOPT_MUTANT lists? Not part of the
 * program: tests/mutants/run copies it into the tree that it plants mistakes in. */
#ifndef PTXOPT_MUTANT_H
#define PTXOPT_MUTANT_H

enum { MUTANT_REACHED = 1, MUTANT_DIFFERS = 2 };

/* A byte for each mutant: whether it was reached, and whether it made a difference to a value there, or would have.
 * Shared with the file that PTXOPT_MUTANTS_REACHED names. */
extern unsigned char *mutants_reached;
/* A byte for each: is it switched on? */
extern unsigned char mutants_on[];

static inline int mutant_noted(int n, int differs)
{
    mutants_reached[n] |= differs ? MUTANT_REACHED | MUTANT_DIFFERS : MUTANT_REACHED;
    return mutants_on[n];
}

/* The mistake makes a difference wherever it is reached. */
static inline int mutant(int n)
{
    return mutant_noted(n, 1);
}

/* An operand of && that does not count: true. */
static inline int mutant_true(int n, int operand)
{
    return mutant_noted(n, !operand) || operand;
}

/* An operand of || that does not count: false. */
static inline int mutant_false(int n, int operand)
{
    return !mutant_noted(n, operand) && operand;
}

/* Two operators on the same operands, which are evaluated once; ?: makes values of arrays and bit-fields. */
#define MUTANT_EITHER(n, left, right, is, becomes)                                                                     \
    ({                                                                                                                 \
        __auto_type mutant_left = 1 ? (left) : (left);                                                                 \
        __auto_type mutant_right = 1 ? (right) : (right);                                                              \
        __auto_type mutant_value = mutant_left is mutant_right;                                                        \
        __auto_type mutant_other = mutant_left becomes mutant_right;                                                   \
        mutant_noted(n, mutant_value != mutant_other) ? mutant_other : mutant_value;                                   \
    })
#define MUTANT_EXCHANGED(n, left, right)                                                                               \
    ({                                                                                                                 \
        __auto_type mutant_left = 1 ? (left) : (left);                                                                 \
        __auto_type mutant_right = 1 ? (right) : (right);                                                              \
        mutant_noted(n, mutant_left != mutant_right) ? mutant_right - mutant_left : mutant_left - mutant_right;        \
    })

#endif
