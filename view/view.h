/* view: a kernel's machine code, or its PTX, as a picture of its registers, after Nugteren et al., "Analyzing CUDA's
 * Compiler through the Visualization of Decoded GPU Binaries" (SCOPES 2010): for each instruction the state of each
 * register, the most registers that are live at once, the values that are live there without being used, and the
 * registers that must be saved until one more block fits. */
#ifndef PTXOPT_VIEW_H
#define PTXOPT_VIEW_H

#include "analysis/analysis.h"
#include "engine/engine.h"
#include "ir/ir.h"
#include "sass/sass.h"
#include "target/target.h"

/* The facts that a picture is made of. */
typedef struct ViewSource {
    const char *kernel, *arch;        /* "sm_90" */
    const char *file;                 /* that the user named */
    const SassCode *code;             /* with text and life ranges; NULL: the picture is that of the PTX */
    const SassMap *map;               /* NULL: the input was machine code, or 'code' is NULL */
    Function *function;               /* the kernel in 'module' */
    const char *missing;              /* PTX only: why the machine code is not shown; NULL: the PTX was asked for */
    const SassPlace *places;          /* of the source, by row, where there is no map; NULL: unknown */
    const SassExecutions *executions; /* of 'code'; NULL: there was no launch */
    const Profile *profile;           /* of the PTX; NULL: there was no launch */
    const Module *module;             /* NULL: the input was machine code */
    const Resources *resources; /* of 'code' */
    const SmLimits *sm;               /* NULL: unknown */
    unsigned block_threads;           /* 0: unknown */
    uint64_t dynamic_shared;          /* bytes for each block */
} ViewSource;

/* The cheapest way to do without a value from its last use before the peak to its first use after it. */
typedef enum ViewRemedy {
    REMEDY_RELOAD,    /* a constant or a special register is read again */
    REMEDY_RECOMPUTE, /* one instruction, whose operands are still there, computes it again */
    REMEDY_STORE,     /* it has to be kept in memory */
} ViewRemedy;

/* An instruction. */
typedef struct ViewRow {
    const char *text;
    uint32_t address;   /* of machine code: in bytes from the start of its section; of PTX: its line */
    uint32_t block;     /* index into ViewCode.blocks */
    uint32_t target;    /* the row that it jumps to; MACHINE_NONE */
    SassFlow flow;
    bool conditional;   /* it may do nothing */
    bool spills;        /* the assembler added it to keep a register in memory */
    ViewRemedy remedy;  /* the way to have its result again if its operands are there */
    uint32_t line;      /* of the PTX that it is or comes from; 0: unknown */
    const Loc *loc;     /* of that PTX; NULL: none */
    const char *name;   /* the PTX register that this one writes first; NULL: none, or unknown */
    double executions;  /* by warps; 0 if they are unknown */
} ViewRow;

/* The rows in which a PTX value has columns. */
typedef struct ViewLife {
    const char *name;     /* its register; NULL: it is an address that machine code loads for an access */
    SassFile file;
    uint32_t column, width;
    uint32_t first, last; /* rows */
} ViewLife;

/* The instructions of a picture, and the states of registers. In PTX, a column of the first file is 32 bits of values
 * that take a register in machine code (analysis/lowered/lowered.h), one after the other; predicates have columns of
 * their own. */
typedef struct ViewCode {
    ViewRow *rows;
    uint32_t count;
    const SassBlock *blocks;
    uint32_t block_count;
    const SassRanges *ranges;
    const ViewLife *lives; /* PTX only: of all values that have a column */
    uint32_t life_count;
    unsigned registers; /* that are allocated to a thread; of PTX: an estimate; 0: unknown */
    uint64_t shared;    /* bytes of each block, without dynamic ones */
} ViewCode;

/* A value that is live at the peak and not used there. */
typedef struct ViewValue {
    uint32_t reg, width;    /* its first register, or column, and their number */
    uint32_t written, read; /* rows: where it was written last, and is read next, as the text has them; MACHINE_NONE */
    ViewRemedy remedy;
    double cost;            /* executed instructions; without executions, one for each instruction */
} ViewValue;

/* A loop, as far as the order of instructions shows it: from the target of a branch to the branch. */
typedef struct ViewLoop {
    uint32_t first, last; /* rows */
    uint32_t depth;       /* 1: outermost */
} ViewLoop;

/* The registers that are allocated: live + free + reserved. The last two are 0 if the rows are PTX. */
typedef struct ViewGap {
    unsigned allocated; /* to a thread; of PTX: an estimate; 0: unknown */
    unsigned live;      /* at the peak */
    unsigned free;      /* at the peak, below the highest register that is used */
    unsigned reserved;  /* above it */
} ViewGap;

/* The kernel as the assembler makes it under a cap. */
typedef struct ViewTrial {
    unsigned cap;       /* .maxnreg; 0: there was no trial, or it failed */
    unsigned registers;
    uint64_t spilled;   /* bytes of loads and stores */
} ViewTrial;

typedef struct View {
    ViewSource source;
    ViewCode code;
    uint32_t peak;            /* row with the most live registers */
    uint32_t frame[2];        /* the first and the last row around it where too many are live for one more block */
    uint32_t frames;          /* such stretches in all */
    ViewGap gap;
    Occupancy occupancy;      /* blocks is 0: unknown */
    unsigned boundary;        /* registers at which one more block fits; 0: fewer registers gain no block */
    Occupancy beyond;         /* at the boundary */
    ViewTrial trial;          /* with a cap at the boundary */
    ViewValue *values;        /* by cost */
    uint32_t value_count;
    ViewLoop *loops;          /* an outer one before those inside it */
    uint32_t loop_count;
    const struct View *ptx;   /* the picture of the PTX of machine code; NULL: it is not known, or cannot be analysed */
} View;

/* Finds out everything; the picture is in the arena and refers to the source's objects. NULL, with *error, if the code
 * has no text or no life ranges, or if the PTX cannot be analysed. */
View *view_make(Arena *arena, const ViewSource *source, const char **error);

/* The place in the CUDA source, "k.cu:12", in the arena; NULL: unknown. */
const char *view_place(Arena *arena, const View *view, uint32_t row);
/* True if the numbers of executions are known. */
bool view_is_counted(const View *view);

/* One sentence about what to do, without a line end. */
void view_print_advice(const View *view, Buf *out);

/* The effect of a change of a kernel on an instruction of its machine code. */
typedef enum ViewChange {
    CHANGE_NONE,    /* it is in both, in the same order */
    CHANGE_MOVED,   /* it is in both, but elsewhere */
    CHANGE_AGAIN,   /* after only: one more of a kind that was there; a replica's, or computed again */
    CHANGE_NEW,     /* after only: there was none of its kind */
    CHANGE_MERGED,  /* before only: another of its kind is still there */
    CHANGE_REMOVED, /* before only: none of its kind is left */
    CHANGE_COUNT
} ViewChange;

/* [0]: before, [1]: after. */
typedef struct ViewChanges {
    uint8_t *kinds[2];     /* ViewChange, by row */
    uint32_t *partners[2]; /* by row: the row of the other side; MACHINE_NONE */
    uint32_t counts[CHANGE_COUNT];
} ViewChanges;

/* The changes from one form of a kernel to another; in the arena. */
const ViewChanges *view_compare(Arena *arena, const View *before, const View *after);
/* "104 instructions as before, 3 moved, 12 repeated", without a line end. */
void view_print_changes(const ViewChanges *changes, Buf *out);

typedef struct ViewStyle {
    unsigned width; /* columns of the terminal; 0: any */
    bool colored;
} ViewStyle;

/* The picture as text: advice, sums, values, and a row for each instruction; and, unless 'before' is NULL, the changes
 * since then. */
void view_print_text(const View *before, const View *view, const ViewStyle *style, Buf *out);
/* The picture as one HTML file, which needs no other; 'before' may be NULL. */
void view_print_page(const View *before, const View *view, Buf *out);

/* A kernel of a run, for a page about all of them. */
typedef struct ViewOutcome {
    const char *file, *kernel;
    const View *before, *after;   /* NULL: there is no picture */
    const struct json_t *report;  /* what the run's report says of it; docs/report.schema.json */
} ViewOutcome;

/* A page with an index of the kernels of a run, which has the pictures of all of them behind it, as one HTML file. */
void view_print_report(const ViewOutcome *outcomes, size_t count, const char *title, Buf *out);

/* The kernel that is to be shown, and its launch. */
typedef struct ViewRequest {
    const char *kernel;      /* NULL: the only one */
    const char *launch;      /* a file; NULL: nothing is counted */
    unsigned block[3];       /* zeros: as the module or the launch says */
    uint64_t dynamic_shared; /* bytes */
    bool ptx;                /* the PTX is shown, not its machine code */
    bool tries;              /* the PTX is also assembled with a cap at which one more block fits */
    RunSetting run;          /* its path is ignored */
} ViewRequest;

/* Zeroed before it is read; run_close() of 'run' ends its assembler, whether or not it could be read. */
typedef struct ViewSide {
    const ViewRequest *request; /* while it is read */
    Options options;
    Run run;
    ViewSource source;
    View *view;
} ViewSide;

/* Reads PTX, a cubin, or a file with device code in it, and makes the picture of the kernel that is asked
 * for. False after a message. */
bool view_side_read(ViewSide *side, Arena *arena, const ViewRequest *request, const char *path);
/* The same for a text in memory, which is assembled with more options of the assembler, a list that ends with NULL. */
bool view_side_read_text(ViewSide *side, Arena *arena, const ViewRequest *request, Source *source,
                         const char *const *assembler_options);

#endif
