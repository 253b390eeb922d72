/* The order of the passes, and their result for one kernel. */
#ifndef PTXOPT_OPT_PIPELINE_H
#define PTXOPT_OPT_PIPELINE_H

#include "opt/pass.h"
#include "opt/registers/registers.h"

/* The command line's request for one kernel. */
typedef struct KernelRequest {
    bool coarsen;
    bool coarsen_named; /* requested by the kernel's name: a refusal then shows in the exit status */
    Refusal refused;    /* coarsening is refused before a pass runs, as the result then says; REFUSAL_NONE: it is not */
    CoarsenRequest coarsening; /* without what the pass sets */
    RefineRequest refining;    /* without what the pass sets; threads 0: not asked for. Else 'coarsen' is not set */
    bool refining_named;       /* as coarsen_named */
    const UnrollJam *jams; /* loops whose iterations are put side by side, in this order */
    unsigned jam_count;
    bool edges;            /* threads beyond the edge of the data go along, for merged threads and staged loops */
    StageRequest staging;  /* without what the pipeline sets */
    bool counters;         /* of blocks, for what they update atomically; */
    bool reassociates;     /* these may add floating-point numbers in another order */
    DeadBuffers dead;      /* parameters whose buffers nothing reads afterwards */
    bool vectors;          /* accesses of one thread, those of the rounds of a loop included */
    bool vectors_first;    /* before loops are staged, so that tiles have the elements of several rounds in a unit */
    GridOrder order;      /* of blocks in the grid */
    bool order_named;      /* as coarsen_named */
    bool reduce;           /* the registers */
    bool registers_named;  /* as coarsen_named */
    RegistersRequest registers; /* without what the pipeline sets */
    unsigned block[3]; /* threads of a block at launch; 0: not given */
    uint64_t dynamic_shared; /* bytes of a block of the original at launch */
    KnownParameters known;    /* scalars that all launches that are given have in common */
    KnownExtents extents;     /* of small arrays, the greatest in these launches */
    unsigned launch_block[3]; /* its threads in the launch that is counted; zeros: none is */
    unsigned launch_blocks;   /* that an SM gets in any launch that is given, at most; 0: none is */
} KernelRequest;

typedef struct PipelineOptions {
    const SmLimits *sm; /* NULL: the architecture is unknown; the register search is then refused */
    const Judge *judge;     /* NULL: no assembler; the register search is then refused */
    bool no_figures;        /* the result's figures before and after are not wanted */
    unsigned level;         /* -O0..-O3 */
    DefectRequest defects;
    PassOptions passes;
} PipelineOptions;

typedef enum Outcome { OUTCOME_NOT_ASKED, OUTCOME_DONE, OUTCOME_REFUSED, OUTCOME_UNCHANGED } Outcome;

/* The result for one kernel. Nothing of it is in the module before kernel_install (opt/install.h). */
typedef struct KernelResult {
    Function *kernel;
    Body *body;                          /* owned; NULL: the statements stay as they were written */
    Tuning tuning;                       /* of the kernel, without a body */
    Variable *contract_symbol;           /* threads merged; not yet in the module */
    Figures before, after;               /* the judge's; known only with a judge */
    BlockSize block_before, block_after; /* at launch */
    Outcome coarsening;
    LaunchContract contract; /* coarsening done */
    Unadapted unadapted;     /* threads merged */
    bool has_interior;       /* loops have a version without guards (opt/edges/interior.c) */
    AssumedParameters assumed; /* a version has short loops with these as straight code (opt/loops/specialize.c) */
    bool has_fast_paths;     /* for conditions that replicas agree on (opt/coarsen/fast.c) */
    ReuseList reuse;         /* loads that took a known value; where code is made twice, in one version at least */
    Refusal refusal;         /* coarsening refused */
    Legality legality;       /* coarsening done or refused */
    RefineResult refined;    /* coarsening done, by refinement */
    UnrollJamResult *jams;   /* one for each that was requested */
    unsigned jam_count;
    Outcome edges;
    EdgesResult edges_result;
    Outcome staging;
    StageResult staged;
    Outcome counting;
    PartialSums summed;      /* counting done: before anything was counted */
    CountersResult counted;  /* also if nothing is */
    DeadBuffersResult dead;  /* one for each that was requested */
    Outcome vectors;
    VectorList vector_list;  /* the accesses and loops that this is about; also if it turned out not to pay */
    Refusal vectors_refusal; /* vectors refused */
    bool vectors_are_slower; /* the form with them is predicted to take longer, and was dropped */
    Outcome ordering;
    GridOrder order;        /* of blocks, done */
    Refusal order_refusal;   /* of blocks, refused */
    DefectList defects;      /* code that the assembler is known to get wrong, where the kernel has a body form */
    Outcome registers;
    RegistersResult reduction;
    Refusal registers_refusal; /* registers refused */
} KernelResult;

/* Why the coarsened form cannot be used, given the bytes of dynamic shared memory of an original block and the
 * assembler's figures for the input and for the form: where blocks wait for one another, or form clusters, an SM has to
 * hold as many of them as before. */
DemandObjection kernel_objection(const KernelResult *result, const SmLimits *sm, uint64_t dynamic_shared,
                                 const Figures *before, const Figures *after);
/* True if iterations of some loop were put side by side. */
bool kernel_is_jammed(const KernelResult *result);
/* True if code that the assembler gets wrong was rewritten. */
bool kernel_is_repaired(const KernelResult *result);
/* True if the kernel's code is changed: its result has a body until it is installed. */
bool kernel_is_changed(const KernelResult *result);
/* The form that a result with a body is printed as. */
FunctionForm kernel_form(const KernelResult *result);
/* How that changes the original's launch: as its contract says, and not at all where it was not coarsened. */
LaunchChange kernel_launch_change(const KernelResult *result);
/* The same options for forms that are only looked at: without a judge, and without dumps. */
PipelineOptions pipeline_quiet(const PipelineOptions *options);
/* Runs the passes over one kernel; changes neither it nor the module, whose arena may grow. Texts live in 'arena'. */
void pipeline_run(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                  KernelResult *result);
/* Frees a result that is not installed. */
void kernel_discard(KernelResult *result);

#endif
