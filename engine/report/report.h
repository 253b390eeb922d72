/* The outcome for each kernel, in one structure that the text, the JSON and the launch contract are printed from. */
#ifndef PTXOPT_ENGINE_REPORT_REPORT_H
#define PTXOPT_ENGINE_REPORT_REPORT_H

#include "engine/choose/trials.h"
#include "engine/directive.h"
#include "engine/judge/form_cost.h"
#include "engine/verify.h"
#include "opt/opt.h"
#include "split/split.h"

/* A kernel's figures and occupancy, before or after. */
typedef struct Standing {
    double assembly_ms;    /* the assembler's time for the kernel; 0: unknown */
    Figures figures;       /* from the assembly of the whole file; known only with an assembler */
    BlockSize block;
    bool occupancy_known;  /* the figures and the block are known */
    uint64_t dynamic_shared; /* bytes of a block at launch, as far as known */
    Occupancy occupancy;
    unsigned free_up_to;   /* the most registers that cost no block */
    unsigned next_boundary; /* with this many registers more blocks fit; 0: fewer registers gain nothing */
    unsigned next_blocks;
    unsigned better_block; /* threads of a block with which more warps fit; 0: none do, or the kernel fixes its size */
    unsigned better_warps;
} Standing;

/* A form beside the kernel, for adapters that choose by measured time (-tune). */
typedef struct TunedForm {
    Name name;
    const char *words; /* what was done to make it: "x2,bx4 stride=unit" */
    double speedup;    /* predicted; 0: unknown */
    const char *text;  /* its PTX, with its contract */
    LaunchContract contract; /* if 'has_contract'; else it is launched like the kernel */
    bool has_contract;
    FormPays pays;     /* of several that -coarsen auto keeps: the launches that may run it */
} TunedForm;

/* The form of a kernel that was measured to be the fastest (-tune-from). */
typedef struct LearnedForm {
    const char *words; /* as those of a TunedForm; NULL: nothing is known */
    double share;      /* of the original's time, on average */
    unsigned launches; /* different ones that were measured */
    bool is_beside;    /* launches have different forms, which are beside the kernel; this is that of all others */
} LearnedForm;

/* How the warpgroups of a kernel, as it was written, pass on the registers of their block. */
typedef struct PoolReport {
    bool exists;     /* there is a setmaxnreg */
    bool is_ignored; /* by assemblers: no directive limits the registers at launch */
    Span span;       /* of the setmaxnreg to the most registers */
    Pool pool;
    unsigned launch; /* registers of each thread */
    PoolOutcome outcome; /* the pool is known, and not ignored */
} PoolReport;

/* A launch whose form was learned. */
typedef struct LearnedLaunch {
    unsigned grid[3], block[3];
    uint64_t shared;
    const char *words; /* "": the original */
    unsigned form;     /* the number of its form in the module; 0: the original */
} LearnedLaunch;

typedef struct KernelReport {
    KernelRequest request; /* the request that made the result, including all choices */
    KernelResult result;
    GridOrder order; /* of blocks, requested: forms are compared in the order of the input */
    const char *refusal; /* why something that was requested was not done, in words; NULL: all was */
    Tuning tuning; /* as it was written */
    Standing before, after;
    RegisterEstimate estimate_before, estimate_after; /* by the register model; for reports */
    bool is_auto; /* -coarsen auto */
    bool is_memory_auto; /* -memory auto */
    bool is_refine_auto; /* -refine auto, with which MemoryChoice deals as well */
    bool is_directed; /* a directive in the kernel says how it is coarsened */
    LearnedForm learned;
    LearnedLaunch *learned_launches; /* if forms are beside the kernel */
    unsigned learned_launch_count;
    unsigned learned_block[3]; /* of all launches that programs have noted, for forms beside the kernel; zeros: none */
    bool is_tuned; /* -tune: the kernel stays as it is, without what was chosen ... */
    TunedForm *forms; /* ... which is the first of these, if something was */
    bool is_several; /* -coarsen auto: the kernel stays as it is, and launches take the first of 'forms' that pays */
    unsigned form_count;
    bool is_first_chosen; /* launches run the first form until times are known */
    FactorChoice choice;
    MemoryChoice memory_choice;
    LoopDirective *loop_directives; /* -uj source */
    unsigned loop_directive_count;
    unsigned jams_named; /* how many of the request's, its first ones, options and directives name */
    bool is_jam_auto; /* -uj auto */
    LoopsChoice loops_choice;
    bool has_basis; /* 'basis' is known */
    bool has_cost; /* the two below are known: the kernel was changed, and the model can predict its time */
    CostBasis basis;
    FormCost cost_before, cost_after;
    PoolReport pool;
    const char *advice; /* a better request, going by the costs; NULL: none is known */
    LaunchCondition conditions[CONTRACT_CONDITIONS]; /* of the launch contract */
    unsigned condition_count;
} KernelReport;

typedef struct Report {
    const Source *source;
    const char *arch;
    const char *assembler; /* "nvJitLink"; NULL: none */
    const char *assembler_version, *assembler_path;
    const char *assembler_missing; /* the reason why there is none */
    unsigned assemblies;           /* runs of it, for candidates and for whole files */
    double assembler_seconds;      /* wall time of those runs */
    const SplitReport *split;      /* how the output was assembled in parts, or with a limit; NULL: not asked for */
    unsigned late_level;           /* the optimization level of what took too long */
    KernelReport *kernels;         /* those that -entry selects, in the module's order */
    size_t kernel_count;
    bool device_is_assumed;        /* the user named none, so it is the architecture's usual product */
    bool is_full;                  /* the text has every detail, but of what was tried only the best */
    bool lists_all;                /* and everything that was tried */
    Verification *verifications; /* -verify, in command-line order */
    size_t verification_count;
} Report;

/* Appends the report to 'out'. */
void report_print_text(const Report *report, Buf *out);
void report_print_json(const Report *report, Buf *out);
/* The launch contract (docs/formats.md): the kernels that were coarsened. */
void launch_print_json(const Report *report, Buf *out);

/* Appends what -tune made of a kernel, or -tune-from, as a part of a sentence. */
void learned_print(const LearnedForm *learned, Buf *out);
void tuned_print(const KernelReport *kernel, Buf *out);

/* words.c */
/* The line of the input on which the span begins; 0 for an empty span, which is nowhere. */
unsigned report_line(const Report *report, Span span);
/* The line of the CUDA source where the kernel has the code, or calls what was inlined; 0: unknown. */
unsigned cuda_line(const Loc *loc);
/* " (CUDA line 12)"; nothing if it is unknown. */
void cuda_line_print(const Loc *loc, Buf *out);
/* "x2,y2"; "none" for 1, 1, 1. */
const char *factor_text(const unsigned factor[3], char text[32]);
/* "x2,y2", "x4 blocks of the grid", "x2,y2 and x4 blocks of the grid". */
enum { SHAPE_TEXT = 96 };
const char *shape_text(const Shape *shape, char text[SHAPE_TEXT]);
/* The first part of these: the threads that are merged, or else the blocks. */
const char *shape_first_text(const Shape *shape, char text[SHAPE_TEXT]);
/* The level of -coarsen-level that merges them: "thread", "block". */
const char *shape_level_text(const Shape *shape);
/* "block", "unit", "16". */
const char *stride_text(const Stride *stride, char text[16]);
/* "barriers" ... */
const char *legality_name(LegalityCondition condition);
/* The condition, as a sentence without its full stop. */
const char *legality_text(LegalityCondition condition);
/* "held", "failed", "not checked" */
const char *legality_state_text(LegalityState state);
/* Appends the effect on launches that are not adapted. */
void unadapted_print(const Unadapted *unadapted, Buf *out);
/* ", sequential guards", or "" if no form of guards was chosen. */
const char *guards_text(GuardForm guards);

#endif
