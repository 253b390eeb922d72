/* The resources that a kernel's code asks for while it runs, so that another form may wait for them for ever: registers
 * that a block gets at its launch only, other blocks that must run meanwhile, and memory that the blocks of an SM
 * share. */
#ifndef PTXOPT_OPT_DEMANDS_H
#define PTXOPT_OPT_DEMANDS_H

#include "opt/residency.h"

/* The demands of the kernel and the functions that it may call; NULL: there is no such instruction. */
typedef struct Demands {
    const Module *module;
    /* A setmaxnreg, one that names the most registers of each thread.  Registers that a warp asks for come from those
     * of its block, which are as many as at the launch (PTX ISA, setmaxnreg). */
    const Inst *pool;
    unsigned pool_most;
    bool pool_is_given; /* directives limit the registers at launch; else assemblers ignore setmaxnreg */
    const Inst *waits;  /* reads what another block may have written meanwhile, so a loop may wait for that */
    bool has_clusters;  /* blocks that run at the same time, or the launch fails */
    const Inst *tensor; /* tcgen05.alloc, which waits until the other blocks of the SM leave enough tensor memory */
} Demands;

Demands demands_find(const Function *kernel);

/* The fewest registers that a form may have, given the input's; the input's own where all forms must have those. */
unsigned demands_fewest_registers(const Demands *demands, const Figures *input);
/* Why registers stay as they are, in the arena: no form may have fewer than the input, or more.  NULL: some may. */
const char *demands_fix_registers(Arena *arena, const Demands *demands, const Figures *input);
/* Why a form with these figures may wait for ever, or not be launched, where the input is not, in the arena; NULL if it
 * may not. */
const char *demands_objection(Arena *arena, const Demands *demands, const Residency *residency, const Figures *input,
                              const Figures *form);

#endif
