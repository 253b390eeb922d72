/* The files of coarsening share this: the state of coarsening one body along one dimension. */
#ifndef PTXOPT_OPT_COARSEN_INTERNAL_H
#define PTXOPT_OPT_COARSEN_INTERNAL_H

#include "analysis/analysis.h"
#include "opt/coarsen/coarsen.h"

struct Versions;

/* Blocks under variant control, with one entry and one exit: cloned as a whole, one replica after the other. */
typedef struct Region {
    Block *head;          /* outside; every edge into the region comes from here */
    Block *join;          /* outside; every edge out of the region leads here */
    VEC(Block *) blocks;  /* in layout order */
} Region;

/* A warp-level instruction whose mask is to lose the threads that leave the kernel at a branch. */
typedef struct Exclusion {
    Inst *inst;
    Block *branch;
    bool taken;  /* those that take the branch execute the instruction; else those that do not */
    size_t after; /* the branch is executed by those that stay there: another of the instruction's; SIZE_MAX: by all */
    RegId lanes; /* who stays; REG_NONE until coarsening_exclude_exits() */
} Exclusion;

/* A branch at which threads leave the kernel before a barrier. */
typedef struct Leave {
    Block *branch;
    Block *leaves;        /* where leaving threads go */
    bool taken;           /* those that take the branch leave; else those that do not */
    VEC(Block *) blocks;  /* that they execute before they exit */
} Leave;

/* The request for one step and the launch that it requires: does not change during the step. */
typedef struct CoarsenStep {
    bool merges_blocks; /* else threads of a block */
    bool grows;         /* and the merged blocks become one with the threads of all (opt/grow/), instead of one whose
                         * threads do the work of several */
    unsigned dimension, factor;
    Shape shape, before; /* of all steps, and of those before this one */
    unsigned size; /* threads of the original block along it, which the contract requires; 0: unknown */
    Stride stride;
    bool shrinks_grid; /* if blocks are merged, the launch has fewer */
    bool beyond_joins; /* else, those beyond the grid do not exit */
    bool renumbers;    /* blocks are not merged, but do each other's work: renumber.c */
    GuardForm guards;
} CoarsenStep;

/* The findings about the body and what earlier steps did to it: outlives the step, and all steps share it. */
typedef struct CoarsenRecord {
    Refusal *refusal;
    Legality *legality;
    ReuseList *shared;    /* loads that are done once for all replicas; NULL: not wanted */
    PointerMap *sharers;  /* in which dimensions they were: Inst -> Sharing (shared.c) */
    size_t original_size; /* instructions, before the first step */
} CoarsenRecord;

/* The index that replicas differ in. 'read' and 'beyond' hold from coarsening_gather_index() on, the rest from
 * coarsening_make_indices() on. */
typedef struct ReplicaIndex {
    Inst *read;     /* "mov.u32 T, %tid.d" (or %ctaid.d) in the entry block, the only one; or NULL */
    Inst *beyond;   /* the comparison of that index with the size of the grid, or of the block; or NULL */
    RegId first;    /* replica 0's; REG_NONE: nothing reads it */
    RegId group;    /* with neighbours as replicas: the index after coarsening */
    RegId distance; /* from one replica's index to the next one's; REG_NONE: it is 'step' */
    int64_t step;
} ReplicaIndex;

/* Dynamic shared memory. 'is_split' holds from coarsening_check_dynamic() on, the reads from
 * coarsening_gather_dynamic() on. */
typedef struct DynamicParts {
    bool is_split;     /* replicas have parts of it */
    VEC(Inst *) reads; /* "mov.u32 T, ARRAY": the only reads of its arrays' addresses, in the entry block */
} DynamicParts;

/* The facts about the body as it is: analyze() in coarsen.c finds them again whenever a transformation has changed the
 * body. Cloning goes by the last ones, which are about the blocks there were before. */
typedef struct Facts {
    Analyses *analyses;
    const Dominance *dominance, *postdominance;
    const LoopForest *loops;
    PointerMap observations; /* by load: the Inst that forbids merging its replicas; none: may be merged */
    BitSet block_branches;   /* by Block.id: all threads of a block of the original kernel take them alike */
    BitSet uniform_branches; /* replicas take them alike: of threads the same, and where those that stay do: */
    BitSet passed_branches;  /* threads of a block that are still there take them alike: block_branches and leaves */
    BitSet agreed;           /* the agreements, by RegId, as variance was told; its size: */
    size_t agreed_count;
    const Variance *variance;
    size_t block_count; /* the size of bit sets by Block.id */
    BitSet in_region;
    VEC(Region) regions;
} Facts;

/* Threads that leave the kernel while others go on: until coarsening_exclude_exits(). Leaves, parted and missing are
 * empty again once the body has been rewritten for them. */
typedef struct Exits {
    VEC(Leave) leaves;    /* branches that are left out of account */
    PointerMap parted;    /* warp-level instructions after them, of whose lanes replicas have left: Inst -> the Block
                             where these can be found out, or the Inst itself */
    BitSet missing;       /* by RegId: values that all replicas have alike, but only those that stay */
    const Inst *obstacle; /* the instruction because of which replicas cannot leave there; NULL: none */
    VEC(Exclusion) exclusions; /* that coarsening_exclude_exits() makes */
} Exits;

/* Predicates on which the replicas agree (agree.c): from the first rewriting of the body, by alive.c or fast.c, to
 * cloning. */
typedef struct Agreements {
    VEC(RegId) results; /* of the agreement instructions */
    size_t kept;        /* the first of them, which always count */
} Agreements;

/* Shared arrays that are one for all replicas (common.c). Proposed once the regions have their forms, and final when
 * coarsening_keep_common() says so. */
typedef struct CommonArrays {
    VEC(const Variable *) arrays;
    PointerMap users; /* these, and the instructions that access them: Variable, Inst */
} CommonArrays;

/* The replicas' registers and variables. Holds from coarsening_map() on. */
typedef struct Copies {
    size_t reg_count; /* registers before cloning */
    RegId **maps;     /* maps[k][reg]: replica k's register for reg; maps[0] is the identity */
    VEC(Variable *) private_variables; /* that each replica has its own copy of */
    Variable ***private_copies; /* private_copies[k][i]: replica k's copy of private_variables[i]; k > 0 */
} Copies;

/* One step of coarsening a body. */
typedef struct Coarsening {
    Body *body;
    Arena *scratch; /* of the step */
    CoarsenStep step;
    CoarsenRecord record;
    bool needs_whole_warps; /* so far; final once legality has been checked */
    ReplicaIndex index;
    DynamicParts dynamic;
    Facts facts;
    Exits exits;
    Agreements agreements;
    size_t growth; /* instructions that fast paths may still add; set by form_regions() */
    CommonArrays common;
    Copies copies;
} Coarsening;

/* The files in the order of their calls: each calls only those above it. */

/* together.c */
/* The values that differ between the threads of one block of the original kernel. */
const Variance *coarsening_within_block(const Facts *facts);
/* True if all threads of a merged block come to the block together for a replica, or none does: then the copy of a
 * region may have what all threads execute. coarsening_go_together: and take its branch alike. */
bool coarsening_come_together(const Coarsening *c, const Block *block);
bool coarsening_go_together(const Coarsening *c, const Block *block);

/* variables.c */
/* A variable that each replica has its own copy of. */
bool coarsening_is_private(const Coarsening *c, const Variable *variable);
/* True if the instruction mentions a variable of the body that each replica has its own copy of. */
bool coarsening_uses_private(const Coarsening *c, const Inst *inst);
/* Shared memory whose size the launch gives. */
bool coarsening_is_dynamic(const Variable *variable);

/* agree.c */
/* Adds to the block, before its branch, what the replicas agree on: whether the predicate is true in all of them, or in
 * any of them. */
RegId coarsening_agree(Coarsening *c, Block *block, RegId predicate, bool all);
/* The results of all agreements, by RegId. */
BitSet coarsening_agreed(const Coarsening *c);
bool coarsening_is_agreement(const Coarsening *c, const Inst *inst);

/* rules.c */
/* How coarsening treats an instruction that is not opaque. Never COARSEN_BY_REGISTER. */
CoarsenTreatment coarsening_treatment(const Inst *inst);
/* A barrier that makes one result of a predicate of each thread: its last operand. */
bool coarsening_combines(const Inst *inst);
/* Such a barrier that is done once, for replicas of one block. */
bool coarsening_joins(const CoarsenStep *step, const Inst *inst);
/* A barrier, fence or warp-level operation: what is before it in one replica must be before it in all. */
bool coarsening_orders(const Inst *inst);
/* A warp-level instruction that names its participants by a mask, its last operand, and may be executed by a part of
 * the warp. */
bool coarsening_names_members(const Inst *inst);
/* To be executed by all threads of a block or warp, or exactly as often as before. Warp-level instructions that name
 * their participants are not among them: warps.c is about those. */
bool coarsening_is_collective(const Inst *inst);
/* True if each replica executes an instruction outside regions for itself. */
bool coarsening_clones(const Coarsening *c, const Inst *inst);

/* refuse.c */
/* Sets the refusal and returns false. 'inst' may be NULL. */
bool coarsening_refuse(Coarsening *c, const Inst *inst, RefusalReason reason);
bool coarsening_refuse_with(Coarsening *c, const Inst *inst, RefusalReason reason, const RefusalOperand *operands);
/* The instruction's source line; 0 if it has none. */
unsigned coarsening_line(const Coarsening *c, const Inst *inst);
/* Refuses an instruction in a block under variant control: names the condition, its line, and why it differs. */
bool coarsening_refuse_controlled(Coarsening *c, const Inst *inst);

/* block_rules.c */
/* How coarsening treats an instruction of merged blocks, and for special registers at either level. */
CoarsenTreatment coarsening_block_rule(const Coarsening *c, const Inst *inst);
/* True if the instruction has to do with other blocks of a cluster. */
bool coarsening_is_for_clusters(const Coarsening *c, const Inst *inst);
CoarsenTreatment coarsening_sreg_rule(const Coarsening *c, const Sreg *sreg);

/* private.c */
/* Refuses addresses of private memory that do not come from variables. */
bool coarsening_check_private(Coarsening *c);
/* Refuses more shared memory than a block can have, once it is known what replicas have in common. */
bool coarsening_check_shared(Coarsening *c);

/* exits.c */
/* True if a thread at the beginning of the block exits without doing anything else. */
bool coarsening_only_exits(const Body *body, const Block *block);
/* Gives the branches to the block that body_unify_exits() has made their own exits again, so that no thread waits there
 * for others: those may wait for it to exit, at a barrier or a warp-level instruction. */
void coarsening_restore_exits(Body *body);
/* Puts an empty block before an entry that ends in a branch table: a region that includes its several successors needs
 * a head. */
void coarsening_separate_entry(Body *body);
/* The block to which all exits have been led. */
Block *coarsening_exit(const Body *body);

/* index.c */
/* Replaces all reads of the index and the size. Sets index.read. Merged blocks beyond the grid's end exit. */
void coarsening_gather_index(Coarsening *c);
/* Lets the blocks exit whose work others do. */
void coarsening_stop_surplus(Body *body, unsigned dimension, unsigned factor);
/* Makes the register of index.read replica 0's index, and computes the others' after it. Requires coarsening_map(). */
void coarsening_make_indices(Coarsening *c);
/* Merged blocks that were neighbours are a group: if one's number is divided by the factor, a power of two, the
 * quotient is the number of the group, and the remainder the place in it. The original's blocks have numbers below
 * 2^31, so nothing wraps. Passes before coarsening divide like that (opt/order/unflatten.c). */
void coarsening_take_groups(const Coarsening *c);
/* The instruction, in no block, that computes the index of a replica from that of the one before it. */
Inst *coarsening_next_index(Body *body, const ReplicaIndex *indices, RegId next, RegId index);

/* dynamic.c */
/* Refuses it where it cannot be split; sets dynamic.is_split. */
bool coarsening_check_dynamic(Coarsening *c);
/* Replaces all reads of its address. Sets dynamic.reads. */
void coarsening_gather_dynamic(Coarsening *c);
/* Computes the replicas' addresses. Requires coarsening_map(). */
void coarsening_make_dynamic(Coarsening *c);

/* observations.c */
/* Reads a value that other threads may write in the same barrier interval, and uses it. */
bool coarsening_observes(const Values *values, const Inst *inst);
/* True if the region has an observation. Its copies then run one after the other, which progress.c counts
 * on. */
bool coarsening_region_observes(const Facts *facts, const Region *region);
/* A barrier that the replicas pass together, with all other threads of the block that have not exited. */
bool coarsening_is_meeting(const CoarsenStep *step, const Inst *inst);
/* Sets observations. */
void coarsening_find_observations(Coarsening *c);

/* barriers.c */
/* A barrier of any kind, or a call; one of all threads of the block. */
bool coarsening_has_barrier(const Block *block);
bool coarsening_has_block_barrier(const Block *block);
/* Sets block_branches and uniform_branches. */
void coarsening_find_uniform_branches(Coarsening *c);

/* reach.c */
/* Divides parts of a body whose barriers are not always reached into versions with and without barriers, and marks the
 * branches in them that the threads of a block take alike. */
void coarsening_divide(Body *body, const LaunchContract *contract);

/* conditions.c */
/* Records whether the condition held; what failed it is in the refusal. Returns 'held'. */
bool coarsening_condition(Legality *legality, LegalityCondition condition, bool held);
/* Records the instructions that conditions are about: all of them, and once variance is known, those of the others. */
void coarsening_count_instructions(const Body *body, Legality *legality);
void coarsening_find_evidence(Coarsening *c);

/* exclusive.c */
/* True if no replica but the first executes the block. */
bool coarsening_is_exclusive(const Coarsening *c, const Block *block);

/* regions.c */
/* Sets in_region and regions. */
bool coarsening_find_regions(Coarsening *c);
/* The region that the block is in, or NULL. */
const Region *coarsening_region_of(const Facts *facts, const Block *block);
/* The instructions of the blocks. */
size_t coarsening_size_of(Block *const *blocks, size_t count);

/* progress.c */
/* True if each turn that the loop continues has failed because another thread got on. */
bool coarsening_is_lock_free(const Coarsening *c, const Loop *loop);
/* True if the loop, which may go on until another thread has done something, ends although its replicas are executed
 * one after the other. */
bool coarsening_needs_nobody(Coarsening *c, const Loop *loop);

/* counts.c */
/* True if the loop ends after a finite number of rounds whatever the memory that it reads holds, because it counts. */
bool coarsening_counts_to_end(Coarsening *c, const Loop *loop);

/* waiting.c */
/* Refuses loops that may wait for another thread. */
bool coarsening_check_waiting(Coarsening *c);

/* warps.c */
/* True if a vote of the whole warp can be cast in the block: all of its threads that have not left come there, or none,
 * since the whole block of threads agrees on it. */
bool coarsening_everyone_passes(const Facts *facts, const Block *block);
/* Makes the mask of a warp-level instruction name only those of its lanes that are among the given ones. */
void coarsening_narrow(Coarsening *c, Inst *inst, RegId lanes);
/* Refuses masks that may name threads which have left the kernel, where coarsening_exclude_exits() cannot help. */
bool coarsening_check_exits(Coarsening *c);
/* Takes threads that leave the kernel under variant control out of the masks of later instructions. True if the body
 * has changed, by instructions only: variance and regions must be computed again. */
bool coarsening_exclude_exits(Coarsening *c);

/* legality.c */
/* Refuses calls of functions that read what replicas differ in, or synchronize. */
bool coarsening_check_call(Coarsening *c, const Inst *inst);
bool coarsening_has_clusters(const Tuning *tuning);
/* Refuses what can be refused before variance is known; sets needs_whole_warps. */
bool coarsening_check_instructions(Coarsening *c);
/* Refuses what depends on variance and regions; may set needs_whole_warps. */
bool coarsening_check_regions(Coarsening *c);
/* Why the collective instruction cannot be executed once for all replicas, with '%s' for its name; NULL: it can. */
RefusalReason coarsening_why_not_once(const Coarsening *c, const Inst *inst);

/* leave.c */
/* Sets leaves: the branches to be left out of account so that no instruction of the kind is in a region. None of
 * those that all threads of a merged block take together, if there are no others: for them, fast paths do better. */
void coarsening_find_leaves(Coarsening *c, bool (*is)(const Inst *));

/* joint.c */
/* The region's loop, if the replicas can execute it together while all of them stay in it; else NULL. */
const Loop *coarsening_joint_loop(const Coarsening *c, const Region *region);
void coarsening_join_loop(Coarsening *c, struct Versions *v, const Region *region, const Loop *loop);

/* fast.c */
/* With GUARDS_AUTO, shorter regions are not worth a test. */
enum { LEAST_FAST = 4 };
/* True if the instruction reads memory that threads share. */
bool coarsening_reads_memory(const Inst *inst);
/* Gives regions fast paths. True if the body has changed: the analyses and the regions must be computed again. */
bool coarsening_form_fast_paths(Coarsening *c);

/* common.c */
/* Sets common.arrays to those that may be common by their uses: variance must be computed again. */
void coarsening_propose_common(Coarsening *c);
/* Drops those that are not common, given variance and regions that assume it. True if there are none: otherwise these
 * must be computed again. */
bool coarsening_keep_common(Coarsening *c);
/* True if the replicas' copies of the region use a common array in turn, with a barrier between them. */
bool coarsening_takes_turns(const Coarsening *c, const Region *region);

/* predicate.c */
/* Replaces short regions by guarded instructions. True if the body has changed: as above. */
bool coarsening_predicate(Coarsening *c);

/* shared.c */
/* The copy works for as many original threads as the instruction. */
void coarsening_inherit_sharing(const CoarsenRecord *record, const Inst *inst, const Inst *copy);
/* Adds the loads that are about to be kept once for all replicas to 'shared'. */
void coarsening_note_shared(Coarsening *c);

/* mapping.c */
/* The read of an index or address that is not copied, because the replicas' are computed after it. */
bool coarsening_is_computed(const Coarsening *c, const Inst *inst);
/* Sets the maps: adds the replicas' registers and variables to the body. */
void coarsening_map(Coarsening *c);
/* The replica's register for one of the original code. */
RegId coarsening_reg(const Copies *copies, unsigned replica, RegId reg);
/* The replica's copy of an instruction, in no block; targets are still the original's. */
Inst *coarsening_clone_inst(const Coarsening *c, const Inst *inst, unsigned replica);

/* combine.c */
/* Makes the barriers that combine predicates take those of all replicas. To be called after coarsening_clone(). */
void coarsening_combine(Coarsening *c);
/* Makes a thread that is not alive say nothing to a barrier that combines. */
void coarsening_silence(Body *body, Inst *inst, RegId alive);

/* alive_rules.c */
typedef enum Share {
    SHARE_PURE,    /* once for all replicas, at any time */
    SHARE_ORDERED, /* once for all replicas, in its place */
    SHARE_ANYWAY,  /* for each replica, but a dead one may do it, too */
    SHARE_ALIVE,   /* for each replica that is alive */
} Share;
/* True if there is a zero of the register's type. */
bool coarsening_has_zero(const Body *body, RegId reg);
/* Sets parted. */
void coarsening_find_parted(Coarsening *c);
/* True if coarsening_let_leave() can be called: variance and regions take no account of the leaves. Sets missing. Else
 * an obstacle may be set. */
bool coarsening_may_leave(Coarsening *c);
/* The blocks that are executed after threads may have left, by Block.id, except those in which they only exit. */
BitSet coarsening_after_leaves(const Coarsening *c);
/* Who is to execute an instruction outside regions that is after leaves. */
Share coarsening_share(const Coarsening *c, const Inst *inst);
/* True if the value becomes each replica's own by the rewriting, though variance says that it is not. */
bool coarsening_is_missing(const Coarsening *c, RegId reg);

/* alive.c */
/* A new register with a zero of the other's type, at the end of the block. */
RegId coarsening_append_zero(Coarsening *c, Block *block, RegId like);
/* Rewrites the body for merged threads some of whose replicas have left: the analyses and the regions must be computed
 * again, without leaves. */
void coarsening_let_leave(Coarsening *c);

/* slow.c */
typedef struct ReplicaLoop {
    Block *next, *end; /* before and after the region; the caller places them */
} ReplicaLoop;
/* Makes the region, whose head has no way past it but to the join, a loop over the replicas. False, with nothing
 * changed, if it is not on a slow path, if its code cannot be all replicas', or if that does not pay. */
bool coarsening_loop_over(Coarsening *c, const Region *region, Block *head, ReplicaLoop *loop);

/* clone.c */
/* Clones instructions and regions for all replicas. Cannot fail. */
void coarsening_clone(Coarsening *c);

#endif
