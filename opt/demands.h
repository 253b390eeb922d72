/* The resources that a kernel's code asks for while it runs, so that another form may wait for them for ever: registers
 * that a block gets at its launch only, other blocks that must run meanwhile, and memory that the blocks of an SM
 * share. */
#ifndef PTXOPT_OPT_DEMANDS_H
#define PTXOPT_OPT_DEMANDS_H

#include "opt/residency.h"

/* The demands of the kernel and the functions that it may call; NULL: there is no such instruction. */
typedef struct Demands {
    const Module *module;
    /* A setmaxnreg, one that names the most registers of each thread. Registers that a warp asks for come from those
     * of its block, which are as many as at the launch (PTX ISA, setmaxnreg). */
    const Inst *pool;
    unsigned pool_most;
    bool pool_is_given; /* directives limit the registers at launch; else assemblers ignore setmaxnreg */
    const Inst *waits;  /* reads what another block may have written meanwhile, so a loop may wait for that */
    bool has_clusters;  /* blocks that run at the same time, or the launch fails */
    const Inst *tensor; /* tcgen05.alloc, which waits until the other blocks of the SM leave enough tensor memory */
} Demands;

Demands demands_find(const Function *kernel);
/* Whether a setmaxnreg is .inc; else it is .dec. */
bool setmaxnreg_increases(const Inst *inst);

/* The fewest registers that a form may have, given the input's; the input's own where all forms must have those. */
unsigned demands_fewest_registers(const Demands *demands, const Figures *input);

/* Why a form may wait for ever, or not be launched, where the input is not. */
typedef enum DemandKind {
    DEMAND_MET,
    DEMAND_POOL_IGNORED, /* setmaxnreg has no effect: no directive limits the registers, and with one it could wait */
    DEMAND_POOL_FIXED,   /* setmaxnreg names as many as the input has at launch, or more */
    DEMAND_POOL,         /* setmaxnreg, with other registers at launch */
    DEMAND_CLUSTERS,     /* need their blocks on SMs at the same time, of which an SM would hold fewer */
    DEMAND_BLOCKS,       /* an instruction may wait for another block, of which an SM would hold fewer */
    DEMAND_TENSOR,       /* an allocation may wait for other blocks, of which an SM would hold more */
    DEMAND_LOOP,         /* a loop may wait for another block through the read at 'read', as coarsening found */
} DemandKind;

typedef struct DemandObjection {
    DemandKind kind;
    const Module *module;
    const Inst *inst;           /* that waits; NULL for clusters, and for a loop: */
    Span read;
    bool is_coarse;             /* the change counts threads of the original */
    unsigned registers, before; /* at launch: the form's, and the input's */
    unsigned pool_most;
    ResidencyChange change;
} DemandObjection;

/* Why registers stay as they are: no form may have fewer than the input, or more. DEMAND_MET: some may. */
DemandObjection demands_fix_registers(const Demands *demands, const Figures *input);
DemandObjection demands_objection(const Demands *demands, const Residency *residency, const Figures *input,
                                  const Figures *form);
/* A copy in the arena. */
const DemandObjection *demand_copy(Arena *arena, const DemandObjection *objection);

#endif
