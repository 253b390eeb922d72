/* The access patterns of a kernel, and what staging could make of them. */
#ifndef PTXOPT_ENGINE_KERNEL_PATTERNS_H
#define PTXOPT_ENGINE_KERNEL_PATTERNS_H

#include "emulator/emulator.h"
#include "opt/opt.h"

typedef struct KernelPatterns {
    Body *body; /* owned; NULL: the kernel has no body form */
    Analyses *analyses;
    const Patterns *patterns;
    unsigned block[3];
    bool is_block_assumed;
    bool reads_block[2]; /* the kernel reads the index of its block along x, y */
    bool has_staging; /* 'staged' is what the pass would do */
    StageResult staged;
} KernelPatterns;

/* The patterns in the launch or, with NULL, in blocks of this size, which is assumed if it is unknown. 'sm' may be
 * NULL. Only with a launch, staging is tried. */
KernelPatterns kernel_patterns(Arena *arena, Function *kernel, const Launch *launch, const BlockSize *block,
                               const SmLimits *sm);
void kernel_patterns_free(KernelPatterns *patterns);

/* The decision of staging about a load; NULL: nothing. */
const StagedLoad *kernel_patterns_load(const KernelPatterns *patterns, const Inst *inst);
/* Its decision about the loop around the access; NULL: nothing. */
const StagedLoop *kernel_patterns_loop(const KernelPatterns *patterns, const AccessPattern *access);

#endif
