/* -coarsen auto: choosing dimension, factor and stride by predicted time. */
#ifndef PTXOPT_ENGINE_CHOOSE_CHOOSE_H
#define PTXOPT_ENGINE_CHOOSE_CHOOSE_H

#include "engine/judge/form_cost.h"
#include "engine/choose/trials.h"

/* The context of a choice. */
typedef struct ChoiceContext {
    Device device;
    const Launch *const *launches; /* -launch; those of other kernels are ignored */
    size_t launch_count;
    struct Progress *progress;    /* NULL: not shown */
    struct AssemblerJudge *judge; /* for machine instructions; NULL: PTX instructions decide */
    Risk risk;
    bool launch_decides; /* the original stays beside the form, and each launch runs one of them */
    bool keeps_several;  /* then several forms may stay beside it */
    unsigned ranked;     /* how many forms are wanted in FactorChoice.ranked, at most */
    bool threads_only, blocks_only; /* nothing else is merged; neither: both are tried, and products of both */
    bool stride_given; /* only the request's stride is tried */
    bool guards_given; /* only the request's form of guards is tried */
    bool counts_all; /* all blocks of a launch are counted, not a sample of them */
} ChoiceContext;

/* The launch of the kernel, or NULL. */
const Launch *choice_launch(const ChoiceContext *context, const char *kernel);

/* Sets the block of all launches of the kernel; false if there is none, or their blocks differ. */
bool choice_launch_block(const ChoiceContext *context, const char *kernel, unsigned block[3]);

/* Sets how launches are counted for a choice. */
void basis_follow(CostBasis *basis, const ChoiceContext *context);

/* Predicts the time of every form that merging 2 to 16 threads, or as many blocks, along x, y, z or their products
 * gives, with the strides block and unit, with guards as GUARDS_AUTO makes them and, where these are fast paths, as
 * sequential copies and, if loops have guards, as GUARDS_INTERIOR makes them; then of those that merge blocks of the
 * best two with threads merged, by up to 16 in all. The choice is the fastest if it is predicted to be at least 3%
 * faster than the input (15% by an estimate where loops end differently for each thread) and spills no more; else
 * nothing. If none could even be tried, the choice's request says why coarsening is refused. 'request' is the kernel's,
 * which does not coarsen. If it shrinks the grid and the launch's
 * grid is not a multiple, blocks are merged with the grid kept.
 *
 * With a launch of the kernel, its counts decide; without, estimates for the known block size do, or, if that is
 * unknown, for three usual ones: the form must be faster for each, and it may lose nothing in other launches that a
 * build cannot rule out (engine/choose/bases.h). The choice is the one that merges the least among forms that are
 * about as fast. If each launch decides which form it runs, the choice may lose in small grids, and says from which
 * size on it pays. Then several forms may be kept (engine/choose/beside.c).
 *
 * Estimates also decide which forms are assembled and counted, if there are many, by PTX instructions. The first of
 * them are compared with the input once more, by the machine instructions that both execute, which decide. Nothing is
 * changed: trials have results of their own, and the choice is a value, in the arena. */
FactorChoice choose_factor(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                           const ChoiceContext *context);

#endif
