/* The cost of one form of a kernel, as "ptxopt cost", -report and -coarsen auto use it. */
#ifndef PTXOPT_ENGINE_FORM_COST_H
#define PTXOPT_ENGINE_FORM_COST_H

#include <jansson.h>

#include "cost/cost.h"
#include "opt/opt.h"

/* The conditions for which costs are computed. */
typedef struct CostBasis {
    Arena *arena;
    const SmLimits *sm;
    Device device;
    const Launch *launch; /* of the original kernel, which is then counted; NULL: costs are estimated */
    unsigned block[3];    /* for estimates: the original block */
    double blocks;        /* for estimates: those of the grid; 0: as many as keep the device busy for several waves */
    double trips;         /* for estimates: those of loops of unknown length; 0: ESTIMATED_TRIPS */
    uint64_t dynamic_shared; /* bytes of each block of the original */
    unsigned jobs;        /* cores for the emulator */
    const volatile sig_atomic_t *stop; /* once it is not 0, counting ends, and costs are unknown; NULL: never */
} CostBasis;

/* The basis for a launch of the kernel or, without one (NULL), for a block size and bytes of dynamic shared memory;
 * block[0] is 0 if the block size is unknown too. */
CostBasis cost_basis(Arena *arena, const SmLimits *sm, const Device *device, const Launch *launch,
                     const unsigned block[3], uint64_t dynamic_shared);

typedef struct FormCost {
    bool known;
    const char *error; /* why it is unknown */
    Figures figures;
    LaunchChange change; /* of the original's launch */
    Profile *profile;
    Time time;
} FormCost;

/* The cost of a form for which the assembler gave 'figures', launched with this change (NULL: none); unknown figures do
 * not limit occupancy. */
FormCost form_cost(const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                   const LaunchChange *change);

/* The time predicted from the cost's profile and figures. */
Time form_time(const CostBasis *basis, const FormCost *cost);

/* "1.31x faster: 0.50 times the shared memory accesses", or "0.82x: 16 warps on an SM instead of 32"; in the arena. */
const char *cost_verdict(Arena *arena, const FormCost *before, const FormCost *after);
double cost_speedup(const FormCost *before, const FormCost *after);
/* The ratio of the global sectors after to those before; a value above THRESHOLD_SECTORS_WARNING is worth a warning. */
double cost_sectors(const FormCost *before, const FormCost *after);
/* A warning about the form after, such as lost warps, blocks below a warp or multiplied sectors; NULL if there is none.
 * 'index' counts from 0. */
const char *cost_warning(Arena *arena, const FormCost *before, const FormCost *after, unsigned index);

/* A table of the figures per original thread; 'before' may be NULL. Its words are explained if requested. */
void cost_print_text(const CostBasis *basis, const FormCost *before, const FormCost *after, bool explains,
                     Buf *out);
json_t *cost_json(const FormCost *cost);
/* The verdict and the warnings, a line each. */
void cost_print_verdict(Arena *arena, const FormCost *before, const FormCost *after, Buf *out);
/* Sets "speedup", "verdict" and "warnings". */
void cost_set_verdict(Arena *arena, const FormCost *before, const FormCost *after, json_t *object);

#endif
