/* The order of the passes, and what became of each kernel. */
#ifndef PTXOPT_OPT_PIPELINE_H
#define PTXOPT_OPT_PIPELINE_H

#include "machine/machine.h"
#include "opt/coarsen.h"
#include "opt/judge.h"
#include "opt/registers.h"

/* What the command line asks for one kernel. */
typedef struct KernelRequest {
    bool coarsen;
    bool coarsen_named; /* asked for by the kernel's name: a refusal then shows in the exit status */
    CoarsenRequest coarsening;
    bool registers;
    bool registers_named;
    bool registers_auto;
    unsigned target_registers;
    unsigned block[3]; /* 0: not given */
} KernelRequest;

typedef enum PassId { /* letters of -d and names of -p: opt/pipeline.c */
    PASS_SSA,
    PASS_COARSEN,
    PASS_CLEANUP,
    PASS_SCHEDULE,
    PASS_REMATERIALIZE,
    PASS_SINK,
    PASS_BOUNDS,
    PASS_COUNT
} PassId;

typedef struct PassInfo {
    PassId id;
    const char *name; /* -p NAME, -p -NAME */
    char letter;      /* -d */
    const char *what;
} PassInfo;
extern const PassInfo pass_infos[PASS_COUNT];

typedef struct PipelineOptions {
    const Machine *machine; /* may be NULL without register passes */
    const Judge *judge;     /* NULL: no assembler; register passes are then refused */
    unsigned level;         /* -O0..-O3 */
    bool enabled[PASS_COUNT];
    bool dump[PASS_COUNT];
    FILE *dump_out;
} PipelineOptions;

typedef enum Outcome { OUTCOME_NOT_ASKED, OUTCOME_DONE, OUTCOME_REFUSED, OUTCOME_UNCHANGED } Outcome;

typedef struct KernelResult {
    Function *kernel;
    Figures before, after; /* the judge's; known only with a judge */
    unsigned block_before[3], block_after[3]; /* threads of a block, where known; else 0 */
    Outcome coarsening;
    LaunchContract contract; /* coarsening done */
    Refusal refusal;         /* coarsening refused */
    Outcome registers;
    RegistersResult reduction;
    const char *registers_refusal; /* registers refused */
} KernelResult;

/* Runs the passes over one kernel; a function that no pass changed keeps its parsed form.  Text in 'arena'. */
void pipeline_run(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                  KernelResult *result);

#endif
