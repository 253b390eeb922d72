/* The files of the vectorizer share this: accesses of one block that become vectors, and what has to hold for that. */
#ifndef PTXOPT_OPT_REPLICAS_VECTORS_H
#define PTXOPT_OPT_REPLICAS_VECTORS_H

#include "analysis/analysis.h"
#include "opt/common/vector_list.h"

enum {
    VECTOR_PARTS = 16,   /* the most accesses that become one */
    VECTOR_BYTES = 16,
    VECTOR_TERMS = 12,   /* to be tested */
    VECTOR_DISTANCES = 6,
};

/* Accesses that become one vector, by address. */
typedef struct Vector {
    Block *block;
    unsigned count;
    const PlainAccess *parts[VECTOR_PARTS];
    const PlainAccess *first, *last; /* in the order of the block */
} Vector;

/* A sum that must not be within [low, high], or accesses that change places would meet. */
typedef struct Distance {
    AffineForm sum; /* its constant is 0 */
    int64_t low, high;
} Distance;

/* Terms that a test has shown to be multiples of 'unit' wherever control comes by the block. */
typedef struct Tested {
    const Block *block;
    AffineTerm *terms;
    unsigned term_count;
    uint64_t unit;
} Tested;

typedef struct Vectorizer {
    Arena *scratch;
    Arena *lasting; /* for what is known while blocks change; NULL: nothing is kept */
    VEC(Tested) tested;
    const Block *block; /* whose accesses are looked at */
    Body *body;
    Analyses *analyses;
    const Locations *locations;
    uint32_t begin, end; /* the block's accesses */
    VEC(Vector) vectors;
    bool by_thread;      /* VectorWish */
    bool everywhere;     /* also elements of one and two bytes, distances, and versions of parts of the code */
    bool proven_only;    /* no tests */
    bool is_deep;        /* a sum was too deep for all of its constants to be counted */
    /* The loop that is to be unrolled by a factor, so that its phis step by that many times as much; NULL: none. */
    const Loop *unrolled;
    unsigned factor;
    /* The terms that have to be multiples of 'unit' for the vectors of one block. */
    AffineTerm terms[VECTOR_TERMS];
    unsigned term_count;
    uint64_t unit;
    Distance distances[VECTOR_DISTANCES];
    unsigned distance_count;
    /* Why the last candidate is no vector, with the instruction that is in its way; and why each access is in none, by
     * its place in the block. */
    RefusalReason obstacle; /* REFUSAL_NONE: none is known */
    const Inst *obstacle_inst;
    VectorNote *left;
    VectorList *list; /* NULL: no notes are wanted; else they are in 'list_arena' */
    Arena *list_arena;
} Vectorizer;

/* vector_alignment.c */
/* The phi of a loop's header that the term is a multiple of, everywhere also one of 32 bits that is extended; NULL:
 * none. */
const Phi *vector_phi(const Vectorizer *vectorizer, const AffineTerm *term, const Loop **loop);
/* Shows that the address with this sum is a multiple of 'unit' in every round of the loops around it, or collects terms
 * that have to be, on which all threads of a block agree. False if that is not enough, or there are too many. */
bool vector_is_aligned(Vectorizer *vectorizer, const AffineForm *form, uint64_t unit);

/* vector_distances.c */
/* Adds the condition that the two accesses, which change places, have no byte in common. False if no code before the
 * loops around them can tell. */
bool vector_distance_add(Vectorizer *vectorizer, const Inst *moved, const Inst *crossed);

/* vector_versions.c */
/* Tests what the block's vectors need and makes two versions of the code: of the loops around it or, if those hold
 * threads together, of the code that the block alone leads to. 'saved' is the number of accesses that the tests save.
 * False, perhaps with a block split for nothing, if that is not possible. */
bool vector_versions_make(Vectorizer *vectorizer, Block *block, unsigned saved);

/* vector_pieces.c */
/* The location of an access that has one. */
const Location *vector_location(const Vectorizer *vectorizer, const PlainAccess *access);
/* True if the access, of one element, is to one of a size that vectors can have. */
bool vector_is_element(const Vectorizer *vectorizer, const PlainAccess *access);
/* True if two accesses belong to one array of neighbours: one spelling, and sums that differ by a constant. */
bool vector_related(const Vectorizer *vectorizer, const PlainAccess *a, const PlainAccess *b, int64_t *distance);
/* The spelling of the vector of these accesses; NULL: there is none. */
const char *vector_spelling(const Vectorizer *vectorizer, const Vector *vector);
/* Puts the vector in the place of its accesses. */
void vector_build(const Vectorizer *vectorizer, const Vector *vector);

#endif
