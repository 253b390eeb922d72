/* Passes: one signature and one table, which is opt/passes.def. */
#ifndef PTXOPT_OPT_PASS_H
#define PTXOPT_OPT_PASS_H

#include <stdio.h>

#include "analysis/analysis.h"
#include "opt/block_size.h"
#include "opt/coarsen/coarsen.h"
#include "opt/defects/defects.h"
#include "opt/jam/unroll_jam.h"
#include "opt/judge.h"
#include "opt/counters/counters.h"
#include "opt/dead/dead_buffers.h"
#include "opt/edges/edges.h"
#include "opt/order/block_order.h"
#include "opt/memory/stage.h"
#include "opt/refine/refine.h"
#include "opt/common/reuse_list.h"
#include "opt/loops/rounds.h"
#include "opt/common/vector_list.h"
#include "target/target.h"

/* The passes' ids are in opt/passes.h, so that few files are compiled again where there is a new one. */
typedef enum PassId PassId;
enum { PASSES_MOST = 64 };

/* Properties of a body that a pass requires or preserves. */
typedef enum PassProperty {
    PROPERTY_SSA = 1 << 0,    /* SSA form */
    PROPERTY_FLOW = 1 << 1,   /* preserved: the blocks and the edges between them */
    PROPERTY_LAUNCH = 1 << 2, /* preserved: how the kernel is launched */
} PassProperty;

struct RegistersStep;

typedef struct PassOptions {
    bool enabled[PASSES_MOST]; /* -p */
    bool dumped[PASSES_MOST];  /* -d */
    FILE *dump_out;
    /* Appends the words for a step of the register search, which are in the heading of its dump. */
    void (*print_step)(const struct RegistersStep *step, Buf *out);
} PassOptions;

/* The state that passes work on and with. */
typedef enum ShortLoops {
    SHORT_LOOPS_ALL,
    SHORT_LOOPS_OF_CONDITIONS, /* that pass some of their code by */
    SHORT_LOOPS_OF_BITS,       /* that do so because of the lowest bits of a number, as where that is even */
} ShortLoops;

typedef struct PassContext {
    Arena *arena; /* for texts that outlive the passes */
    const PassOptions *options;
    Function *kernel;       /* the input; passes do not change it */
    const SmLimits *sm; /* NULL: the architecture is unknown */
    const Judge *judge;     /* NULL: no assembler */
    BlockSize block;        /* at a launch of 'body' */
    Body *body;             /* owned; replaced by pass_set_body only */
    Analyses *analyses;     /* of 'body' */
    const UnrollJam *jam;
    const CoarsenRequest *coarsening;
    const RefineRequest *refining; /* without the block */
    const StageRequest *staging;
    EdgesRequest edges_request;
    const KnownParameters *known; /* in the launches that are given; NULL: nothing is */
    const KnownExtents *extents;  /* as 'known' */
    unsigned launch_blocks;  /* that an SM gets in any launch that is given, at most; 0: none is */
    const GridOrder *order;
    bool joins_everywhere; /* the vectors pass is to run later */
    bool tests_by_thread;  /* vectors: threads of a block may disagree on where they begin, as no tiles follow */
    const DefectRequest *defect_request; /* NULL: nothing is looked for */
    LaunchContract contract; /* set by growing and by coarsening */
    Unadapted unadapted;     /* set by the check pass */
    AssumedParameters assumed; /* set by specialize */
    ReuseList reuse;         /* what load_reuse and forward did; in the arena */
    DefectList defects;      /* what fix_defects found; in the arena */
    VectorList vectors;      /* what row_vectors and vectors did; in the arena */
    Refusal refusal;         /* set by growing, coarsening and unroll-and-jam that were refused */
    Legality legality;       /* set by growing and by coarsening */
    RefineResult refined;    /* set by refinement */
    Span diagonal;           /* set by diagonals: as in EdgesResult */
    EdgesResult edges;       /* set by edges */
    Exchange exchange;       /* set by exchange */
    bool holds_rows;         /* rows that loops read are to stay in shared memory */
    ShortLoops short_loops;  /* which of them become straight code */
    unsigned unrolled_loops; /* how many have */
    unsigned held_bytes;     /* of shared memory, for these; 0: as many as it is for */
    HeldRows holds;          /* set by held_rows */
    unsigned flat_merged;    /* blocks along x that are to be merged to one; 0: unflatten is not wanted */
    Unflattened unflattened; /* set by unflatten */
    StageResult staged;      /* set by staging; in the module's arena */
    CountersResult counted;  /* set by private counters; in the module's arena */
    PartialSums summed;      /* set by partial sums; in the module's arena */
    bool reassociates;       /* these two may add floating-point numbers in another order */
    uint64_t counting_dynamic_shared; /* bytes of a block at launch */
    DeadBuffersResult dead;           /* with the parameters when dead_buffers runs, which sets the rest */
    uint64_t dead_dynamic_shared;     /* bytes of a block at launch */
    struct Search *search;   /* the register search in progress, which judges what passes propose; NULL: none */
} PassContext;

/* Changes context->body and returns true, or leaves it alone and returns false. Within the register search a pass
 * proposes changed copies to the search (search_consider), which replaces the body by a better one. */
typedef bool PassFunction(PassContext *context);

typedef struct Pass {
    const char *name;  /* -p NAME, -p -NAME, -d NAME */
    bool is_fixed;     /* cannot be switched off: the others build on it */
    bool is_of_search; /* proposes forms to the register search */
    bool on_copy;      /* works on a copy of the body, which is dropped if it fails */
    PassFunction *run;
    unsigned requires, preserves; /* PassProperty */
    unsigned invalidates;         /* AnalysesChange */
    const char *description;
} Pass;

extern const Pass pass_table[]; /* by PassId */
extern const unsigned pass_count;

bool pass_is_enabled(const PassOptions *options, PassId id);

/* Takes the body over. */
PassContext pass_context_new(Arena *arena, const PassOptions *options, Function *kernel, Body *body);
/* Frees the body that is still there. */
void pass_context_free(PassContext *context);
/* Replaces the body, which is freed, with another, which is taken over. */
void pass_set_body(PassContext *context, Body *body);
/* Takes the body out of the context. */
Body *pass_take_body(PassContext *context);

/* Runs a pass unless it is switched off, then forgets the analyses that it invalidates, verifies the body and dumps it.
 * False if it was switched off or left the body alone. */
bool pass_run(PassContext *context, PassId id);
/* Verifies that the body keeps what the pass promises. */
void pass_verify(PassId id, const Body *body);
/* Prints a form of the body after the pass, where -d asks for it; 'comment' (NULL: none) follows in the heading. */
void pass_dump(const PassContext *context, PassId id, const Body *body, const char *comment);
/* The blocks of the context's size that an SM holds at once, each launched with 'dynamic_shared' bytes of dynamic
 * shared memory. */
unsigned pass_blocks_on_sm(const PassContext *context, const Figures *figures, uint64_t dynamic_shared);
/* True if form 'a' is predicted to take longer than form 'b', both launched by the contract, or if times are not
 * predicted. */
bool pass_is_slower(const PassContext *context, const FunctionForm *a, const Figures *a_figures, const FunctionForm *b,
                    const Figures *b_figures);
/* The form of the kernel that has this body. */
FunctionForm pass_form(const PassContext *context, const Body *body);

#endif
