/* The conditions under which -coarsen auto compares the forms of a kernel: its launch, or launches that a build can
 * assume. */
#ifndef PTXOPT_ENGINE_CHOOSE_BASES_H
#define PTXOPT_ENGINE_CHOOSE_BASES_H

#include "engine/choose/trials.h"
#include "engine/judge/judge.h"

/* The most threads of a block that is small, and those of one that may become a single warp. */
enum { MOST_SMALL_BLOCK = 32, TWO_WARPS = 64 };

/* Three usual block sizes, and launches that are less favourable to coarsening. */
enum { MOST_BASES = 3 + 6 };

typedef struct Basis {
    CostBasis basis;
    FormCost before;     /* of the input */
    Elsewhere elsewhere; /* if it is not ELSEWHERE_NONE, the form need not gain here, but must not lose */
} Basis;

/* A form that has been assembled. */
typedef struct MeasuredForm {
    FunctionForm form;
    const Figures *figures;
    LaunchChange change;
} MeasuredForm;

typedef struct Bases {
    Basis of[MOST_BASES]; /* those in which forms must gain come first */
    unsigned count;
    unsigned usual; /* the one with the size that is assumed most */
} Bases;

/* The facts by which each launch decides when it is made, if the original stays beside the form. */
typedef enum LaunchDecides {
    DECIDES_NOTHING,
    DECIDES_BY_GRID,
    DECIDES_BY_TRIPS, /* and by the parameter that sets the lengths of all loops */
} LaunchDecides;

/* The launches that a form is chosen for. */
typedef enum ForLaunches {
    FOR_LARGE,
    FOR_SMALL_BLOCKS, /* blocks of a warp or less, and grids in which an SM gets a few waves of them */
    FOR_FEW_BLOCKS,   /* less than one for each SM */
} ForLaunches;

/* With a launch: it alone, which is counted. Without one: launches of many blocks, of the given size or, if that is
 * unknown, of three sizes that are usual for as many dimensions as the kernel has, or of two that are small; and
 * launches of few blocks and with other lengths of loops, unless each launch decides by them which form it runs. */
Bases bases_new(Arena *arena, const SmLimits *sm, const Device *device, const Function *kernel, const Launch *launch,
                const BlockSize *block, uint64_t dynamic_shared, LaunchDecides decides, ForLaunches launches);
/* The blocks of a launch that has few: one for each FEW_SMS SMs. */
enum { FEW_SMS = 4 };
double few_blocks(const CostBasis *basis);
/* The facts of a launch in which loops that were unrolled are passed by, and all rounds left to the remainder, if this
 * parameter sets their length; none if they are not unrolled. In the arena. */
KnownParameters remainder_parameters(Arena *arena, const Function *kernel, const TripParameter *trips);
/* True if the kernel's threads have one dimension. */
bool bases_are_linear(const Function *kernel);
/* True if blocks of a warp or less are usual enough for the kernel's dimensions. */
bool bases_have_small(const Function *kernel);
/* Drops launches that differ only in the lengths of loops if the input has no loop of unknown length, which is known
 * once of[0].before is. */
void bases_drop_alike(Bases *bases);

/* True if the block, and the launch if there is one, meet the contract; else *unmet says what does not. */
bool basis_fits(const CostBasis *basis, const LaunchContract *contract, LaunchUnmet *unmet);

/* The instructions by which forms are compared. */
typedef enum CodeKind { CODE_PTX, CODE_MACHINE } CodeKind;
/* The costs of the input and of the form on the basis, made comparable. False if one of them is unknown. */
bool basis_compare(const Basis *basis, AssemblerJudge *judge, CodeKind code, const MeasuredForm *form,
                   FormCost *before, FormCost *after);

/* Runs the passes with a brief search for the number of registers at which the form is the fastest on the basis. Its
 * figures are then those of result->reduction.after; the caller discards the result. */
void form_search_registers(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                           AssemblerJudge *judge, const CostBasis *basis, KernelResult *result);

/* Sets the axes along which the kernel reads the special registers of the role (SREG_ROLE_CTAID ...). */
void kernel_axes(const Function *kernel, unsigned role, bool axes[3]);

#endif
