/* Called wherever plant.py plants a mistake: is it the one of this process, whose number PTXOPT_MUTANT has? Not part of
 * the program: tests/mutants/run copies it into the tree that it plants mistakes in. */
#ifndef PTXOPT_MUTANT_H
#define PTXOPT_MUTANT_H

/* A byte for each mutant, set once it is asked; shared with the file that PTXOPT_MUTANTS_REACHED names. */
extern unsigned char *mutants_reached;
/* -1: none. */
extern int mutant_chosen;

static inline int mutant(int n) {
    mutants_reached[n] = 1;
    return n == mutant_chosen;
}

#endif
