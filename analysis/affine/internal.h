/* The interface between the files of affine sums: a sum in the making, and the state of evaluating one body. */
#ifndef PTXOPT_ANALYSIS_AFFINE_INTERNAL_H
#define PTXOPT_ANALYSIS_AFFINE_INTERNAL_H

#include "analysis/affine/affine.h"

typedef struct Sum {
    unsigned bits;
    unsigned term_count;
    int64_t constant;
    AffineTerm terms[2 * AFFINE_TERMS];
} Sum;

/* A fact that dominating branches prove about a 32-bit value: it is from, from + 1, ... or to, counted modulo 2^32. */
typedef struct AffineFact {
    const AffineForm *form; /* of the value, 32 bits */
    uint32_t from, to;
    const struct AffineFact *next;
} AffineFact;

typedef struct AffineClass AffineClass;

typedef struct Evaluator {
    Arena *arena, *scratch;
    const Body *body;
    const KnownParameters *known; /* NULL: none is */
    Affine *affine;
    uint64_t block_threads;   /* a bound on the threads of a block */
    const Inst **makers;      /* by RegId: the instruction evaluated so far that makes the value; NULL: none */
    Bounds *narrow;           /* by RegId: of values of 16 bits, which are not sums; bits 0: not evaluated yet */
    const Block **places;     /* by RegId: the block that has made the value so far; NULL: none */
    const AffineFact **facts; /* by Block.id: the facts that hold in the block */
    const AffineFact *here;   /* of the block being evaluated */
    AffineClass **classes;    /* a hash table */
    size_t class_mask;
} Evaluator;

/* sum.c */
int64_t affine_sign_extend(uint64_t value, unsigned bits);
/* Adds factor * constant; factor * term. */
void affine_sum_add_constant(Sum *sum, int64_t constant, int64_t factor);
void affine_sum_add_term(Sum *sum, const AffineTerm *term, int64_t factor);
/* Adds factor * form; false if the sum becomes too long, after which it must not be used. */
bool affine_sum_add(Sum *sum, const AffineForm *form, int64_t factor);
/* The bounds of the sum as an integer; false if a term has none. */
bool affine_terms_bounds(const AffineTerm *terms, unsigned count, int64_t constant, __int128 *low, __int128 *high);
/* The register as a base, with bounds if some narrower than its type are known (high 0: none). */
AffineTerm affine_reg_base(const Body *body, RegId reg, uint64_t high);
/* A copy of the terms, with another constant, in the arena. */
AffineForm affine_terms_copy(Arena *arena, const Sum *sum, int64_t constant);
/* True if the two have the same terms; constants are not compared. */
bool affine_terms_equal(const AffineForm *a, const AffineForm *b);

/* facts.c */
/* Collects the facts that the branch to the block proves. The block's dominators have been entered and evaluated. */
void affine_facts_enter(Evaluator *evaluator, const Dominance *dominance, const Block *block);
/* True if the facts that hold here prove that a 32-bit value with these terms and this constant is none of from, from +
 * 1, ... to. */
bool affine_facts_exclude(const Evaluator *evaluator, const AffineForm *value, uint32_t from, uint32_t to);

/* classes.c */
void affine_classes_start(Evaluator *evaluator);
/* The 32-bit sum 'narrow', which register 'reg' holds, extended to 64 bits, where it may have wrapped. */
void affine_class_extend(Evaluator *evaluator, const Sum *narrow, RegId reg, bool is_signed, Sum *out);
/* a * b + addend, which register 'reg' holds. False if its only sum is the register itself. */
bool affine_class_multiply(Evaluator *evaluator, const Sum *a, const Sum *b, const Sum *addend, RegId reg, Sum *out);

#endif
