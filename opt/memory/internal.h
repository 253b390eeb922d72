/* The declarations that the files of staging share. */
#ifndef PTXOPT_OPT_MEMORY_INTERNAL_H
#define PTXOPT_OPT_MEMORY_INTERNAL_H

#include "analysis/analysis.h"
#include "opt/block_size.h"
#include "opt/common/trips.h"
#include "opt/common/early.h"
#include "opt/memory/stage.h"
#include "target/target.h"

/* An address may depend on the indices of the thread in its block, and on the number of the round. */
typedef enum Index {
    INDEX_X, INDEX_Y, INDEX_Z, INDEX_ROUND, INDEX_COUNT,
    INDEX_LINE = INDEX_COUNT, /* of a line (Tile.is_line): x, the round and the member as one number */
} Index;

/* How a register of the loop, or of the code before it, depends on the indices. */
typedef struct Pattern {
    bool is_resolved;  /* it can be computed for any thread and round: by pure instructions from the indices and from
                        * values that the block has in common */
    uint8_t depends;   /* a bit for each Index */
    uint8_t unknown;   /* those whose slope is unknown */
    int64_t slope[INDEX_COUNT]; /* what it grows by with the index, where arithmetic does not wrap: this decides what
                                 * pays, never what is right */
    bool is_scaled;             /* unknown ones are 'scaled' times something that the block has in common; */
    bool is_mixed;              /* or there are others */
    int64_t scaled[INDEX_COUNT];
} Pattern;

/* A phi of the loop's header that grows by the same sum each round. */
typedef struct Induction {
    bool is_found;
    AffineForm step;
    AffineTerm terms[AFFINE_TERMS];
    RegId reg; /* the step; REG_NONE: it is a constant */
} Induction;

enum {
    UNIT_MEMBERS_MOST = 4,
    MEMBERS_MOST = 16,
    GUARDS_MOST = 8,
    UNIT_MOST = 16, /* bytes that a thread reads at once */
    LANES = 32,     /* of a warp */
};

/* A branch that sends some threads past the loop, or past a part of it. */
typedef struct Guard {
    const Block *block;
    RegId predicate;
    bool passes_if; /* the predicate's value in threads that go on */
} Guard;

/* The condition under which a thread executes a load, in each round or in none: it passes all parts. */
typedef struct Sometimes {
    Guard own[GUARDS_MOST];    /* those that depend on no other indices of the thread than the address, */
    unsigned own_count;
    Guard others[GUARDS_MOST]; /* and on other indices alone */
    unsigned other_count;
} Sometimes;

/* A load whose results come from shared memory, or a store whose data go there first. */
typedef struct Member {
    Inst *inst;
    const Sometimes *when; /* NULL: it is executed in every round */
    RegId base;      /* of its address, to which 'offset' is added */
    int64_t offset;  /* bytes */
    int64_t moved;   /* the part of it that is not in the instruction: the register there is 'base' and this */
    unsigned count;  /* elements of its vector */
    Type type;       /* of an element */
    unsigned bytes;  /* of an element */
    unsigned bits;   /* of a register for an element */
    Pattern pattern; /* of 'base' */
    RegId root;      /* a pointer that advances by a constant each round, 64 bits wide; REG_NONE: the base is not one
                      * plus a constant */
    int64_t from_root; /* the address less the pointer: bytes */
} Member;

typedef VEC(Member) MemberVec;

/* The elements that some loads of one block read in all threads and rounds: an array of *units*, each with an element
 * of every member, one after the other. */
typedef struct Tile {
    Member members[MEMBERS_MOST];
    unsigned member_count;
    bool is_row;                /* the members read neighbouring elements, which different threads load */
    bool is_line;               /* thread x reads 'span' elements of a line from across * x + step * round on: threads
                                 * share elements that they read in different rounds. They vote on whether addresses
                                 * are so */
    unsigned across, step, span; /* lines: elements */
    unsigned chunk;             /* lines: elements that a thread reads at once; across and step are multiples of it */
    unsigned pad;               /* lines: elements after the last one, which are zero, so that chunks are whole */
    int64_t start;               /* lines: the first element, in bytes from the members' root */
    unsigned field, row;        /* nests: the field that the line is of, and its row */
    bool is_voted;              /* threads vote on the members' condition; for tiles after it, too */
    bool is_fixed;              /* nests: its distance from the field's first line is the same in all rounds */
    unsigned count;             /* elements of a unit: 1, 2 or 4 */
    unsigned unit;              /* bytes */
    unsigned dim_count;
    Index dims[INDEX_COUNT];    /* the innermost first */
    uint32_t sizes[INDEX_COUNT];  /* of 'dims' */
    uint32_t pitches[INDEX_COUNT]; /* of 'dims': bytes */
    uint32_t bytes, offset;     /* in the shared array */
} Tile;

typedef VEC(Tile) TileVec;

/* The loads or stores of a loop that stores to global memory, at one register plus constants. In round j, they are
 * between base + step * j + first and base + step * j + end. */
typedef struct AccessGroup {
    RegId base;
    bool is_store;
    int64_t step, first, end; /* bytes */
    const Inst *any; /* one of them */
} AccessGroup;

/* A thread's stores must not touch what it loads, or stores otherwise, in other rounds. */
typedef struct Apart {
    const AccessGroup *a, *b;
    bool may_be_same; /* if both begin at one address, no round touches what another one does */
} Apart;

enum { GROUPS_MOST = 16, APARTS_MOST = 24 };

/* The lines that threads read in a loop inside of the staged one, of which each round of the staged loop, and each
 * thread along y, has one: an array of rows. In round j, thread y reads the lines from row across_y * y + j on. */
typedef struct Field {
    RegId root;                /* the start of the pointer that the first of its lines is read at */
    unsigned across_y;         /* rows */
    unsigned across, step, span, chunk, pad, unit; /* as of its lines */
    int64_t start;             /* the same */
    Inst *like;                /* a load */
    Type type;                 /* of an element */
    unsigned last;             /* the last of its lines: rows after the first */
    uint32_t rows, columns, pitch; /* pitch: elements */
    uint32_t offset, bytes;    /* in the shared array */
} Field;

enum { FIELDS_MOST = 8 };

typedef struct Staging {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const Dominance *dominance;
    const LoopForest *loops;
    const Values *values;
    const Loop *loop;
    const StageRequest *request;
    const SmLimits *sm;     /* NULL: unknown */
    uint64_t shared;        /* bytes that the kernel has of its own */
    BlockSize block;        /* its threads may be those of a row, and rows (rows.c) */
    BlockSize launched;     /* as the kernel is launched */
    unsigned threads;       /* of a block */
    TripCount trips;
    Block *latch, *after;   /* the end of the loop, and where it leads then */
    bool rounds_differ;     /* the counter's start or its bound does, between threads of a block: these compare the
                             * number of their rounds with thread 0's, and vote, */
    bool rounds_grow;       /* and may go more often than that, in the original loop */
    Guard guards[GUARDS_MOST];
    unsigned guard_count;
    Block *vote;            /* the block at whose end the threads vote; NULL: they need not */
    const Variance *variance; /* between the threads of a block all of which pass the guards */
    Pattern *patterns;      /* by RegId */
    Induction *inductions;  /* by phi of the header */
    uint32_t *order;        /* by Block.id: the number of its first instruction, in an order in which definitions come
                             * before uses; Inst.id continues from there */
    const Loop *inner;      /* nests: the loop inside that reads; NULL: the loop itself does */
    TripCount inner_trips;
    bool inner_starts_fixed; /* with this number, in a register that is not there before the staged loop: */
    int64_t inner_start;
    unsigned inner_rounds;  /* the most that its tiles are for */
    unsigned inner_factor;  /* of its rounds that follow one another without a branch */
    Guard inner_guards[GUARDS_MOST]; /* branches of a round that lead past it */
    unsigned inner_guard_count;
    Field fields[FIELDS_MOST];
    unsigned field_count;
    bool stores;            /* the loop stores to global memory: */
    AccessGroup groups[GROUPS_MOST];
    unsigned group_count;
    Apart aparts[APARTS_MOST]; /* that is tested before the first tile */
    unsigned apart_count;
    TileVec tiles;
    TileVec out_tiles;      /* of stores */
    unsigned votes;         /* on conditions of loads */
    unsigned rounds;        /* of a tile: a power of two */
    uint32_t bytes;         /* of all tiles of loads */
    uint32_t out_bytes;     /* of all tiles of stores, which follow the buffers of the others */
    unsigned buffers;       /* for each tile; 1: without asynchronous copies */
    Variable **array;       /* shared by all loops of the kernel; *array is NULL until one is staged */
    StagedLoop *report;
} Staging;

/* rows.c */
/* A body that is one of blocks of two dimensions for a while. */
typedef struct BlockRows {
    unsigned shift; /* the logarithm of the threads in a row */
    BlockSize launched;
    Tuning tuning;
    Inst *thread;   /* computes %tid.x */
} BlockRows;

struct PassContext;
/* Makes blocks whose threads the kernel arranges in rows those of the context: threads of a row along x, and rows along
 * y. False, with nothing changed, if it does not. */
bool rows_split(BlockRows *rows, struct PassContext *context);
/* Undoes it. */
void rows_join(const BlockRows *rows, struct PassContext *context);

/* gather.c */
/* Sets the loop's refusal, with the place of the instruction (NULL: none), and returns false. */
bool stage_refuse(Staging *s, const Inst *inst, RefusalReason reason);
/* The index that the instruction reads; INDEX_COUNT: none. */
Index stage_index(const Inst *inst);
/* Finds the guards of the loop and the place to vote on them. False, and refused, if it is not certain that all threads
 * of a block go round the loop together, or none. */
bool stage_find_guards(Staging *s);
/* When a thread executes the load, whose address depends on these indices, and which not every round comes to. NULL:
 * that differs between rounds, or other threads cannot tell. */
const Sometimes *sometimes_find(const Staging *s, const Inst *load, uint8_t depends);

/* patterns.c */
/* Computes the patterns of all registers that an address in the loop may depend on, and adds code for steps to the
 * preheader. */
void stage_find_patterns(Staging *s);
/* Whether the threads of a block probably go round the loop equally often, though the start of its counter differs
 * between them, or the bound, as those of a pointer do; and whether each can compute thread 0's number of rounds. */
bool stage_rounds_alike(const Staging *s);
/* Whether each thread can compute how often thread 0 goes round the loop, which nothing says is the most often. */
bool stage_rounds_grow(const Staging *s);

/* lines.c */
/* Sets the member's root, and its distance from that. */
void line_find_root(const Staging *s, Member *member);
/* The members, not taken yet, that make a line with members[first] as the lowest: their number, with their indices in
 * 'line', and the end of what they read, in bytes from the root. 0: there is none. */
unsigned line_find(const Staging *s, const MemberVec *members, const bool *taken, size_t first,
                   size_t line[MEMBERS_MOST], int64_t *end);
/* Makes one dimension of x and the round; chooses chunk and pad. */
void line_make(Tile *tile, int64_t end);
/* Elements between lines, so that the rows of a warp are in different banks. */
uint32_t line_padding(const Staging *s, const Tile *tile);

/* async.c */
/* Whether asynchronous copies can fill the tiles: the target has them, and each load moves 4, 8 or 16 bytes of global
 * memory as they are. */
bool async_can_fill(const Staging *s);

/* tiles.c */
/* Chooses the loads to stage, their tiles and the number of rounds. False, and refused, if there are none. */
bool stage_find_tiles(Staging *s);

/* stores.c */
/* Finds what a loop that stores to global memory loads and stores, and what has to be tested of that before. False, and
 * refused, if it is not certain that tiles then read and write what the loop does. */
bool stage_find_stores(Staging *s);

/* nests.c */
/* Finds the loop inside, what it reads, and the fields and rounds for that. False if it cannot be staged as a nest;
 * refuses nothing. */
bool nest_find(Staging *s);

/* slices.c */
/* The thread and the round that a value is computed for: a 32-bit register for each index, counted in rounds of the
 * tile; REG_NONE: this thread's, and round 0. */
typedef struct Elsewhere {
    RegId index[INDEX_COUNT];
} Elsewhere;

typedef struct Slices Slices;
/* Code goes to the end of 'setup', which is executed once, and of 'top', which is executed for each tile; phis of 'top'
 * advance at the end of 'tail'. 'strides' are registers with the inductions' steps for a tile, or REG_NONE where that
 * is a constant. A tile has 'rounds'. If 'tail' is NULL, the code is executed once, for the round that is asked for. */
Slices *slices_new(Staging *s, Block *setup, Block *top, Block *tail, const RegId *strides, unsigned rounds);
/* The value of the register there. */
RegId slices_value(Slices *slices, const Elsewhere *at, RegId reg);

/* unroll.c */
/* Whether rounds of the loop may be put one after the other: it is a single block, and all its values can be copied. */
bool loop_can_unroll(const Staging *s, const Loop *loop);
/* The most rounds of this many instructions each that may be one block, a power of two. */
unsigned unroll_factor(unsigned rounds, unsigned insts);

/* rewrite.c */
/* Makes the staged loop beside the original. Cannot fail. */
void stage_rewrite(Staging *s);

#endif
