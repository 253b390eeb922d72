/* The declarations that the files share which make the staged loop. */
#ifndef PTXOPT_OPT_MEMORY_REWRITE_H
#define PTXOPT_OPT_MEMORY_REWRITE_H

#include "opt/common/versions.h"
#include "opt/memory/internal.h"

/* A field of a nest with its registers. */
typedef struct FieldPlace {
    RegId base;    /* the address from which thread 0 counts in round 0 */
    RegId stride;  /* from row to row, 64 bits */
    RegId columns; /* those that threads read, 32 bits */
} FieldPlace;

/* See rewrite.c for the blocks. */
typedef struct Rewrite {
    Staging *s;
    Body *body;
    Versions versions;
    Block *setup, *top, *tail, *rest;
    Block *gate; /* leads to the top of the first tile; the setup, if nothing is tested in between */
    Block *flush; /* stores tiles to memory; NULL: there are none */
    Block *verify; /* nests: the loop that tests addresses */
    Block *reading, *reading_end, *reading_start; /* header and latch of the loop that reads, and the block before it */
    Block *once; /* for values of the thread alone: executed once, before the setup */
    RegId *strides;         /* by phi of the header: a register with its step for a tile; REG_NONE: it is a constant */
    RegId base;             /* the address of the shared array */
    RegId index[3];         /* of this thread; REG_NONE: not read yet */
    RegId zero;
    RegId number;           /* of this thread in its block */
    Slices *slices;
    RegId read_buffer, fill_buffer; /* async.c: in bytes after the first one; else REG_NONE */
    RoundGroups groups;     /* the tiles */
    RegId in_step;          /* whether the thread goes round the loop as often as is tested; REG_NONE: not tested */
    RegId enough;           /* whether the number of the thread's rounds is known, and fills a tile */
    RegId staged, staged_wide; /* of rounds in tiles, in 32 and 64 bits */
    FieldPlace *fields; /* nests: by field */
    RegId inner_last; /* nests: the number of the last round of the loop inside, 64 bits */
} Rewrite;

/* The address to which a tile's offset and constants are added where a thread reads. */
typedef struct ReadAddress {
    RegId first; /* of round 0 */
    RegId now;   /* of the round, in the body */
} ReadAddress;

/* windows.c */
/* Reads the members of a line, of which 'copies' are the loads in the body. */
void rewrite_line(Rewrite *w, const Tile *tile, Inst *const *copies, const ReadAddress *address);

/* enter.c */
/* Ends the preheader: to the setup if all threads of the block get there and there are enough rounds for a tile, else
 * to the original loop. Sets tiles, left and strides. */
void rewrite_test(Rewrite *w);
/* Adds to the setup: the votes on conditions of loads, and 'holds' (REG_NONE: true). */
RegId rewrite_vote_on_loads(Rewrite *w, Slices *slices, RegId holds);

/* build.c */
/* Adds an instruction that depends on the thread alone. */
void rewrite_once(Rewrite *w, Inst *inst);
RegId rewrite_reg(Rewrite *w, Type type, const char *base);
/* reg * factor + addend, of the thread alone. */
RegId rewrite_multiple(Rewrite *w, RegId reg, uint32_t factor, RegId addend);
RegId rewrite_thread_index(Rewrite *w, Index index);
/* A load or store of this many elements in shared memory. */
Inst *shared_access(Rewrite *w, bool is_store, Type type, const RegId *regs, unsigned count, RegId base,
                    int64_t offset);
/* "mov" for registers of the type; NULL: there is none. */
const char *rewrite_move(Type type);
/* The registers that the instruction writes; their number. */
unsigned rewrite_results(const Inst *inst, RegId *regs);
/* A load from shared memory in place of another one. */
Inst *rewrite_read(Rewrite *w, const Inst *like, Type type, const RegId *regs, unsigned count, RegId address,
                   int64_t offset);

/* A value of each round of a tile: 'first', and 'step' more in each round. */
RegId rewrite_counter(Rewrite *w, RegId first, uint32_t step);
/* The address from which this thread's elements of the tile are counted, in a buffer (REG_NONE: there are none). */
ReadAddress rewrite_own_place(Rewrite *w, const Tile *tile, RegId buffer);
/* Whether the thread of the place passes all parts of a condition, at the end of the block, and 'holds' (REG_NONE:
 * true). REG_NONE: there are no parts, and it is true. */
RegId rewrite_passes(Rewrite *w, Slices *slices, Block *block, const Elsewhere *at, const Guard *parts, unsigned count,
                     RegId holds);
/* The copy of an instruction of the loop. */
Inst *rewrite_copy_of(Rewrite *w, const Inst *inst);

/* unroll.c */
/* Puts rounds of the staged loop one after the other, if it is a single block; their number. */
unsigned rewrite_unroll(Rewrite *w);

/* prefetch.c */
/* Copies of the instructions that load a tile, for another one. */
typedef struct Ahead {
    Rewrite *w;
    Inst **insts; /* in their order */
    size_t count;
    RegId *now;   /* by RegId: the value for that tile */
} Ahead;

/* Executes the load or copy only if the predicate holds, besides what it is guarded by. */
void guard_also(Rewrite *w, Inst *load, RegId predicate);
/* For the tile with the values that the top's phis have for the predecessor. */
Ahead ahead_new(Rewrite *w, Inst **insts, size_t count, const Block *pred);
/* At the end of the block; 'predicate' (REG_NONE: always): whether there is such a tile. */
void ahead_copy(Ahead *ahead, Block *block, RegId predicate);
/* The phi of the top that counts the tiles that are left, this one included. */
RegId tiles_left(const Rewrite *w);

/* async.c */
/* Begins a tile: waits for its copies, then begins those of a later one. */
void async_begin_tile(Rewrite *w);
/* Copies the elements from the address to the tile's place. */
void async_copy(Rewrite *w, const Member *member, RegId from, RegId to, int64_t offset, RegId inside);
/* Ends the part that async_begin_tile began. */
void async_end_copies(Rewrite *w);
/* Fills the first buffers before the first tile. All blocks are complete. */
void rewrite_async(Rewrite *w);

/* prefetch.c */
/* Loads the next tile while the block works on this one. All blocks are complete; no tile is a line. */
void rewrite_prefetch(Rewrite *w);

/* nest_rewrite.c */
/* Lets the threads test the addresses of a nest and vote on them, before the first tile. */
void nest_test(Rewrite *w);
/* Lets the threads of the block load all fields together, in the top, between two barriers. */
void nest_fill(Rewrite *w);
/* Lets the loop inside read the fields. */
void nest_read(Rewrite *w);

/* fill.c */
/* The number of the thread in its block. */
RegId rewrite_thread_number(Rewrite *w);
/* Whether the elements of two tiles are at the same distances. */
bool tiles_match(const Tile *a, const Tile *b);
/* Lets the threads of the block load all tiles together, in the top, between two barriers. */
void rewrite_fill(Rewrite *w);
/* Lets the threads of the block store all tiles of stores together, after a barrier. */
void rewrite_flush(Rewrite *w);

/* flush.c */
/* Adds to the setup: whether, for this thread, stores are apart from loads, and 'holds' (REG_NONE: true). */
RegId rewrite_test_stores(Rewrite *w, Slices *slices, RegId holds);
/* Lets each round's stores write to their tiles; those of tile i are copies[MEMBERS_MOST * i], and so on. */
void rewrite_write(Rewrite *w, Inst *const *copies);

#endif
