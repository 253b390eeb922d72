/* The interface between the files of this folder.
 *
 * Each kind of registers has a pool whose members differ between threads and one whose members do not ("uniform").
 * They are assigned again and again, so programs are far from SSA form. Uniform registers get only what is computed
 * from uniform ones, under control that is the same in all threads of the block; so barriers and collectives can be
 * placed where they are legal. */
#ifndef PTXOPT_TESTS_GENERATE_MAKER_H
#define PTXOPT_TESTS_GENERATE_MAKER_H

#include "generate.h"
#include "tests/tools/kernel_writer.h"

typedef enum Kind { KIND_PRED, KIND_16, KIND_32, KIND_64, KIND_F32, KIND_F64, KIND_COUNT } Kind;

enum {
    IN_BYTES = 1024, /* of 'in', below what the threads read by their numbers */
    OWN_BYTES = 64,  /* of 'out' for each thread */
    WIDE_WORDS = 4,  /* of 'wide' for each thread */
    SUMS = 16,       /* words */
    SPOT_BYTES = 32, /* of local memory */
    DEPTH = 4,       /* of nested constructs */
    JOINS_MOST = 24,
    OPERANDS_MOST = 8, /* of a computation, with its results */
    RECENT = 6,        /* computations that are remembered */
};

/* An enclosing construct that ends at the label "J<number>". */
typedef struct Join {
    unsigned number;
    bool outside, inside; /* control is uniform there */
} Join;

typedef struct Loop {
    unsigned number; /* "B<number>" is after it, "C<number>" its next round */
    bool uniform;    /* all threads go round it together */
} Loop;

typedef struct Word {
    char text[40];
} Word;

/* A computation whose operands all have values everywhere. */
typedef struct Computed {
    unsigned row;
    bool uniform;
    Word words[OPERANDS_MOST];
} Computed;

typedef struct Maker {
    Writer to;
    unsigned share[PART_COUNT];
    unsigned temporaries[KIND_COUNT];
    int budget;
    bool uniform; /* control is the same for all threads of the block */
    bool exited;  /* some threads may have ended */
    bool barriers, warps;
    unsigned block[3], grid[3], threads; /* of the launch; 'threads' of all blocks */
    Join joins[JOINS_MOST];
    unsigned join_count;
    Loop loops[JOINS_MOST];
    unsigned loop_count;
    unsigned function_count; /* device functions */
    bool in_function;        /* writes the body of one */
    Computed recent[RECENT];
    unsigned computed; /* computations that were remembered */
} Maker;

/* program.c */
/* A register of the pool; uniform: of the other. */
Word pool_register(Maker *m, Kind kind, bool uniform);
/* One that nothing else uses. */
Word fresh_register(Maker *m, Kind kind);
/* The number of a new label. */
unsigned new_label(Maker *m);
void put_label(Maker *m, const char *kind, unsigned number);

/* values.c */
/* Computes something random into a register of a pool. */
void make_value(Maker *m);
/* A register, or sometimes a constant. */
Word operand(Maker *m, Kind kind, bool uniform);
/* A predicate that has just been set. */
Word condition(Maker *m, bool uniform);
/* "" or "!". */
const char *maybe_not(Maker *m);
/* A 32-bit register with a number below 'bound', a power of two. */
Word small_number(Maker *m, bool uniform, unsigned bound);

/* memory.c */
void make_access(Maker *m);

/* flow.c */
void make_flow(Maker *m, unsigned depth);
void make_statements(Maker *m, unsigned depth, unsigned count);

/* together.c */
/* Threads of a warp or block exchange values; nothing where that is not legal. */
void make_together(Maker *m);

/* idioms.c */
/* A loop as people write it; nothing where that is not legal. */
void make_idiom(Maker *m);

#endif
