/* The declarations that the files of private counters share. */
#ifndef PTXOPT_OPT_COUNTERS_COUNTING_H
#define PTXOPT_OPT_COUNTERS_COUNTING_H

#include "opt/block_size.h"
#include "opt/memory/atomics.h"
#include "opt/counters/counters.h"
#include "opt/common/early.h"
#include "opt/common/sums.h"

enum { PARTS_MOST = 4, LEAVES_MOST = 8 };

/* An update whose address is a sum of three kinds of terms: registers that are the same for all threads of the block
 * and can be computed at the beginning of the kernel, a constant, and the thread's own registers. */
typedef struct Counted {
    AtomicUpdate update;
    RegId parts[PARTS_MOST]; /* the common registers, 64 bits wide */
    unsigned part_count;
    RegId leaves[LEAVES_MOST]; /* the thread's own */
    unsigned leaf_count;
    int64_t constant;        /* bytes */
    bool is_bounded;         /* own registers sum up to low .. high bytes */
    int64_t low, high;
    size_t report;           /* index of its CountedUpdate */
} Counted;

typedef VEC(Counted) CountedVec;

/* An access that may read or replace what updates have left in counters: before it, the thread adds up the counters
 * that it touches. */
typedef struct Watched {
    Inst *inst;
    Access access;
    bool groups[16]; /* by counter group */
} Watched;

enum { GROUPS_MOST = 16, WATCHED_MOST = 16 };

/* The counters for updates of one array: 'count' of them, from 'start' bytes after the sum of the parts on. */
typedef struct CounterGroup {
    const Counted *like;
    VEC(Counted *) members;
    int64_t start;
    uint64_t count;
    unsigned copies;  /* of each counter, one after the other, which neighbouring threads use; a power of two */
    bool is_tested;   /* an update may have its address elsewhere, and is then executed in global memory */
    uint32_t offset;  /* in the shared array: bytes */
    uint64_t bytes;
} CounterGroup;

typedef struct Counting {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const Values *values;
    const Variance *variance; /* between the threads of a block */
    const BlockSize *block;
    BitSet *after; /* conflicts.c: by Block.id; without words: not asked for yet */
    CountedVec updates;
    CounterGroup groups[GROUPS_MOST];
    unsigned group_count;
    Watched watched[WATCHED_MOST];
    unsigned watched_count;
    uint64_t bytes; /* of all groups */
    const KnownExtents *extents; /* of arrays, in the launches that are given; NULL: nothing is known */
    bool reassociates; /* floating-point numbers may be added in another order */
    CountersResult *result;
} Counting;

/* conflicts.c */
/* Drops the updates that other accesses of the kernel might tell apart from sums at its end; lists the accesses to
 * watch, without their groups. */
void counting_find_conflicts(Counting *c);
/* Whether what the access reads or replaces may be among what the update changes, before it in the same thread. */
bool counting_may_follow(const Counting *c, const Inst *access, const Counted *update);
/* Refuses the update. */
void counting_refuse(Counting *c, Counted *update, const Inst *inst, RefusalReason reason);

/* apart.c */
/* Makes two versions of loops: one whose accesses are apart from counters, by a test before it, and need not be
 * watched. */
void counting_leave_watching(Counting *c);

/* rewrite.c */
/* Adds code: the address of the first counted element, aligned as elements are, wherever the pointer is. */
RegId counting_build_base(const Counting *c, const SumPlace *place, const CounterGroup *group);
void counters_rewrite(Counting *c);

#endif
