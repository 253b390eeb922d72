/* The cost of one form of a kernel, as "ptxopt cost", -report and -coarsen auto use it. */
#ifndef PTXOPT_ENGINE_FORM_COST_H
#define PTXOPT_ENGINE_FORM_COST_H

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
    KnownParameters known; /* for estimates: the scalar arguments of a launch, if there is one */
    bool at_edge;         /* for estimates: the time of the blocks at the edge of the data, which end a small grid */
    bool splits_warps;    /* and that edge is within each warp, as in the last block, for which a launch of few waits */
    uint64_t dynamic_shared; /* bytes of each block of the original */
    unsigned jobs;        /* cores for the emulator */
    bool samples;         /* a part of the blocks of a large launch is counted */
    const EmulatorPoll *poll; /* may end the emulator's count; then costs are unknown. NULL: nothing does */
} CostBasis;

/* The basis for a launch of the kernel or, without one (NULL), for a block size and bytes of dynamic shared memory;
 * block[0] is 0 if the block size is unknown too. */
CostBasis cost_basis(Arena *arena, const SmLimits *sm, const Device *device, const Launch *launch,
                     const unsigned block[3], uint64_t dynamic_shared);

struct FormCost;
/* Sets the cores for further forms of a kernel whose cost is known. */
void basis_set_jobs(CostBasis *basis, const struct FormCost *input);

typedef struct FormCost {
    bool known;
    const char *error; /* why it is unknown */
    Figures figures;
    LaunchChange change; /* of the original's launch */
    Profile *profile;
    bool lacks_machine; /* executed machine instructions were wanted, and are unknown */
    Time time;
} FormCost;

/* The cost of a form for which the assembler gave 'figures', launched with this change (NULL: none); unknown figures do
 * not limit occupancy. */
FormCost form_cost(const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                   const LaunchChange *change);

/* The time predicted from the cost's profile and figures. */
Time form_time(const CostBasis *basis, const FormCost *cost);

/* The counts that predicted times rest on. */
typedef struct CountedPart {
    bool is_counted;    /* a launch ran in the emulator; else they are estimated */
    double ran, blocks; /* of a launch: the blocks that ran, of those of the grid */
    double error;       /* the standard error of the counts, relative; 0 if all blocks ran */
} CountedPart;

/* 'input': the cost of the input on the basis. */
CountedPart counted_part(const CostBasis *basis, const FormCost *input);

/* The cause that a verdict on two costs names for their difference. */
typedef enum CostCause {
    CAUSE_NONE,
    CAUSE_WARPS,    /* an SM holds fewer warps: before, after */
    CAUSE_CROWDING, /* the busiest SM has more of the work: its shares of it */
    CAUSE_RESOURCE, /* how much of a resource is used */
} CostCause;

typedef struct CostVerdict {
    double speedup; /* 0: nothing was compared */
    CostCause cause;
    Resource resource;
    double before, after; /* the figures of the cause */
    Interval interval;    /* of the speedup */
} CostVerdict;

/* Both costs are known. */
Interval cost_interval(const FormCost *before, const FormCost *after);
CostVerdict cost_verdict(const FormCost *before, const FormCost *after);
double cost_speedup(const FormCost *before, const FormCost *after);
/* The speedup to rely on at a risk. */
double sure_speedup(const CostVerdict *verdict, Risk risk);
/* The ratio of the global sectors after to those before; a value above THRESHOLD_SECTORS_WARNING is worth a warning. */
double cost_sectors(const FormCost *before, const FormCost *after);

#endif
