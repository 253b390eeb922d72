/* Access patterns: how the address of each access to global memory depends on the indices of thread and block and on
 * the rounds of loops ("A GPGPU Compiler for Memory Optimization and Parallelism Management", PLDI'10, 3.2 and 3.4).
 *
 * An address is a sum of products of indices, parameters and other values, for instance
 *
 *     a + 64*w*ctaid.y + 4*w*tid.y + 4*round       of a[row * w + k]
 *
 * Arithmetic is taken not to wrap, so a pattern is right for all launches that do not overflow an index; nothing may
 * rely on it to be correct, only to be fast. */
#ifndef PTXOPT_ANALYSIS_PATTERNS_H
#define PTXOPT_ANALYSIS_PATTERNS_H

#include "analysis/affine/affine.h"
#include "analysis/loops.h"
#include "analysis/values.h"
#include "ir/ir.h"
#include "support/support.h"

/* The indices that an address may depend on: bits of a mask. Loop l is PATTERN_LOOPS + Loop.index; those that no bit is
 * left for share the last one. */
typedef uint64_t PatternMask;
enum { PATTERN_X, PATTERN_Y, PATTERN_Z, PATTERN_BLOCK_X, PATTERN_BLOCK_Y, PATTERN_BLOCK_Z, PATTERN_LOOPS };
#define PATTERN_THREADS ((PatternMask)7)
#define PATTERN_BLOCKS ((PatternMask)7 << PATTERN_BLOCK_X)
PatternMask pattern_loop_bit(const Loop *loop);

typedef enum PatternBaseKind {
    PATTERN_BASE_SREG,   /* object: the Sreg */
    PATTERN_BASE_PARAM,  /* object: the entry parameter's Variable; offset: bytes; reg: bits */
    PATTERN_BASE_SYMBOL, /* object: the Variable whose address it is */
    PATTERN_BASE_WINDOW, /* offset: a Space, as AFFINE_WINDOW */
    PATTERN_BASE_ROUND,  /* object: the Loop; from 0 */
    PATTERN_BASE_VALUE,  /* reg: anything else that the register holds */
    PATTERN_BASE_JOIN,   /* reg: the part of a phi in which its arguments differ; offset: 0: that is all of it */
} PatternBaseKind;

typedef struct PatternBase {
    PatternBaseKind kind;
    const void *object;
    RegId reg;
    int64_t offset;
    PatternMask depends; /* the indices that its value may differ with, where it is defined */
    const Block *block;  /* where that is; NULL: everywhere */
    const Loop *after;   /* PATTERN_BASE_JOIN: it counts the rounds of this loop, which has ended, */
    int64_t each;        /* each as this many; NULL, 0: it does not */
} PatternBase;

enum { PATTERN_FACTORS = 4, PATTERN_TERMS = 24 };

/* coefficient * product of bases. */
typedef struct PatternTerm {
    int64_t coefficient;                /* not 0 */
    uint16_t factors[PATTERN_FACTORS]; /* into Patterns.bases, the largest first; 0: none */
} PatternTerm;

typedef struct PatternSum {
    bool known;
    unsigned term_count;
    int64_t constant;
    const PatternTerm *terms; /* ordered by factors */
} PatternSum;

/* The paper's kinds of indices; of several that occur, the last one in this order. */
typedef enum PatternClass {
    PATTERN_CONSTANT,   /* the same in all threads and rounds of a block */
    PATTERN_THREAD,     /* differs with the index of the thread */
    PATTERN_LOOP,       /* differs with the round of a loop */
    PATTERN_UNRESOLVED, /* differs between threads or rounds by something unknown */
} PatternClass;

/* Accesses of one loop that follow one another at equal distances, so that together they are one access of a loop that
 * has been unrolled; or just one access. */
typedef struct PatternGroup {
    const struct AccessPattern *first;
    unsigned count;      /* accesses */
    PatternSum distance; /* of each from the one before it; 1 access: not known */
} PatternGroup;

typedef struct AccessPattern {
    const Inst *inst;
    AccessKind kind;
    unsigned bytes;
    const Loop *loop;    /* the innermost; NULL: none */
    PatternSum address;  /* not known: the address is not a number */
    PatternClass class;
    PatternMask depends; /* threads and blocks of which there is only one do not count */
    PatternMask unknown; /* of these: those with which it changes by something unknown */
    PatternGroup group;
} AccessPattern;

/* The known properties of a launch. */
typedef struct PatternLaunch {
    unsigned block[3], grid[3]; /* 0: unknown */
    KnownParameters parameters;
} PatternLaunch;

/* A loop that goes on where another one ended, as the remainder of one that was unrolled does. */
typedef struct PatternRest {
    const Loop *of; /* NULL: it is none */
    int64_t rounds; /* of this loop in one of the other; 1 if that is not known to be more */
} PatternRest;

typedef struct Patterns {
    const Body *body;
    const LoopForest *loops;
    PatternLaunch launch;
    PatternSum *sums;      /* by RegId, before anything of the launch is put in */
    PatternMask *exits;    /* by Loop.index: what decides when a thread leaves it */
    VEC(PatternBase) bases; /* [0] is not one */
    PatternRest *rests;    /* by Loop.index */
    AccessPattern *accesses; /* in code order */
    size_t access_count;
} Patterns;

typedef struct PatternRequest {
    const Body *body; /* in SSA form */
    const Dominance *dominance;
    const LoopForest *loops;
    const Values *values;
    const Affine *affine;
    PatternLaunch launch;
    bool only_sums;       /* Patterns.accesses are not wanted */
    bool through_selects; /* a select is taken to be the first of its two values, unless all threads select alike: those
                           * beyond the edge take another one's place (opt/edges/edges.c), and the others' slope
                           * counts */
} PatternRequest;

/* Computes the patterns of all accesses to global memory whose address is an operand. O(I + R) for each of a few
 * rounds, besides the branches that decide on each phi. */
Patterns *patterns_compute(Arena *arena, const PatternRequest *request);

/* The slope of the sum in an index: the sum of its multiples, without the index. False if that is unknown, or is not
 * the same for all threads of a block, in all rounds. 'at': the block in which the sum is used. */
bool pattern_slope(Arena *arena, const Patterns *patterns, const PatternSum *sum, const Block *at, unsigned index,
                   PatternSum *slope);
/* True if the sum is just a number. */
static inline bool pattern_is_number(const PatternSum *sum) { return sum->known && !sum->term_count; }

/* The indices that the sum may differ with, where it is used; *unknown: those of values that are not indices. */
PatternMask pattern_depends(const Patterns *patterns, const PatternSum *sum, const Block *at, PatternMask *unknown);

/* A set of executions of an access. */
typedef struct PatternPlaces {
    unsigned block[3];     /* the index of the block */
    unsigned first, count; /* threads of it, in the order in which warps have them */
    const Loop *loop;      /* its rounds from 0 to rounds - 1; NULL: of no loop */
    uint64_t rounds;
    const int64_t *round;  /* by Loop.index: the round of every other loop; NULL: 0 */
    bool is_group;         /* those of the other accesses of the group, too; rounds are those of the loop before it was
                            * unrolled */
} PatternPlaces;

/* The bytes that a set of executions touches. Sums that are not numbers are taken to be whole sectors, and those that
 * differ to be apart. */
typedef struct PatternExtent {
    bool known;
    uint64_t bytes;   /* different ones */
    uint64_t sectors; /* of 32 bytes */
    uint64_t pieces;  /* runs of bytes without a gap */
    uint64_t piece;   /* bytes of each; 0: they differ */
    uint64_t reads;   /* executions */
} PatternExtent;
PatternExtent pattern_extent(const Patterns *patterns, const AccessPattern *access, const PatternPlaces *places);
/* The bytes that two sets of executions of an access have in common; false if that is unknown. */
bool pattern_overlap(const Patterns *patterns, const AccessPattern *access, const PatternPlaces *a,
                     const PatternPlaces *b, uint64_t *bytes);

enum { PATTERN_SECTOR = 32, PATTERN_ROUNDS = 16 /* after which patterns repeat, for coalescing: section 3.2 */ };
/* The sectors of one execution by the first warp of a block: the mean over the first rounds of the innermost loop in
 * which they change; below 0: unknown. */
double pattern_warp_sectors(const Patterns *patterns, const AccessPattern *access);
/* True if the bytes that the warp accesses would not fit in fewer sectors. */
bool pattern_is_coalesced(const Patterns *patterns, const AccessPattern *access);
/* The threads of a block along x, y or z that access the same address at the same time. */
unsigned pattern_same(const Patterns *patterns, const AccessPattern *access, unsigned axis);

/* Writes "a + 4*w*%tid.y + 4*round(line 66)". */
void pattern_print(const Patterns *patterns, const PatternSum *sum, Buf *out);

#endif
