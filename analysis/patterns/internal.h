/* The interface between the files of access patterns. */
#ifndef PTXOPT_ANALYSIS_PATTERNS_INTERNAL_H
#define PTXOPT_ANALYSIS_PATTERNS_INTERNAL_H

#include "analysis/patterns/patterns.h"

/* A sum in the making; !known: it became too long, or has a factor too many. */
typedef struct Terms {
    bool known;
    unsigned count;
    int64_t constant;
    PatternTerm terms[2 * PATTERN_TERMS];
} Terms;

typedef struct Finder {
    Arena *arena, *scratch;
    const PatternRequest *request;
    Patterns *patterns;
    PatternMask *depends;  /* by RegId: the indices that its value may differ with, where it is defined */
    PatternMask *joins;    /* by Block.id: those that decide from where control comes to it */
    PatternSum *first;     /* by RegId: sums in which each phi is a base */
    uint16_t *value_bases; /* by RegId; 0: none yet */
    bool is_first;         /* these sums are being found */
} Finder;

/* sums.c */
Terms terms_of_constant(int64_t constant);
Terms terms_of_base(uint16_t base);
Terms terms_of(const PatternSum *sum);
/* *sum += factor * added. */
void terms_add(Terms *sum, const PatternSum *added, int64_t factor);
void terms_add_term(Terms *sum, const PatternTerm *term, int64_t factor);
void terms_multiply(Terms *out, const PatternSum *a, const PatternSum *b);
PatternSum terms_store(Arena *arena, const Terms *terms);
bool pattern_sums_equal(const PatternSum *a, const PatternSum *b);
/* -1, 0 or 1, by their factors. */
int pattern_terms_compare(const PatternTerm *a, const PatternTerm *b);
/* The number of the base, which is added if it is new; 0: there are too many. */
uint16_t pattern_base(Patterns *patterns, Arena *arena, const PatternBase *base);

/* depends.c */
/* True if the block is on a cycle that is not a loop, whose rounds have no number. */
bool pattern_is_lost(const LoopForest *loops, const Block *block);
void patterns_find_depends(Finder *finder);
/* The mask of a value where the block uses it: after a loop, that of what decides when a thread leaves replaces the
 * round. */
PatternMask pattern_mask_at(const LoopForest *loops, const PatternMask *exits, PatternMask mask, const Block *at);

/* values.c */
void patterns_find_sums(Finder *finder);
/* The sum of an address of the instruction. */
PatternSum pattern_address(Finder *finder, const Inst *inst, const Operand *address);

/* depends.c: the bit of an index, from PATTERN_X on. */
PatternMask pattern_index_bit(unsigned index);

/* slopes.c */
/* The index that a base is, where 'at' uses it; -1: it is none. */
int pattern_index(const Patterns *patterns, const PatternBase *base, const Block *at);

/* groups.c */
void patterns_find_groups(Arena *arena, Patterns *patterns);
void patterns_find_rests(Patterns *patterns);

#endif
