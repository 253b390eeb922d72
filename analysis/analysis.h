/* analysis: facts about a Body that passes request. Nothing here changes the code.
 *
 * Every analysis is a function FACT_compute(arena, body, ...) whose result is read-only and belongs to that arena; it
 * is valid until the body changes. Passes request them through the cache at the end of this file.
 *
 * All of them index blocks by Block.id and registers by RegId: Block.id and Block.preds must be current (body_renumber,
 * body_update_preds). Costs are in B blocks, E edges, I instructions, R registers. */
#ifndef PTXOPT_ANALYSIS_H
#define PTXOPT_ANALYSIS_H

#include "ir/ir.h"
#include "support/support.h"

#include "analysis/affine/affine.h"
#include "analysis/callees.h"
#include "analysis/dependence.h"
#include "analysis/evaluate/evaluate.h"
#include "analysis/loops.h"
#include "analysis/liveness.h"
#include "analysis/locations.h"
#include "analysis/orders.h"
#include "analysis/patterns/patterns.h"
#include "analysis/pressure.h"
#include "analysis/significant.h"
#include "analysis/values.h"
#include "analysis/variance.h"

/* The analyses of one body, computed on the first request and kept until invalidated. */
typedef struct Analyses Analyses;

/* The change that a pass made. Changed edges or blocks imply changed instructions. A new order of the instructions
 * within a block changes nothing that is cached. */
typedef enum AnalysesChange {
    ANALYSES_NONE = 0,
    ANALYSES_INSTRUCTIONS = 1 << 0, /* instructions, registers or phis; the blocks and edges are as before */
    ANALYSES_FLOW = 1 << 1,         /* blocks or edges */
    ANALYSES_ALL = ANALYSES_INSTRUCTIONS | ANALYSES_FLOW,
} AnalysesChange;

Analyses *analyses_new(const Body *body);
void analyses_free(Analyses *analyses); /* NULL is allowed */
/* Frees the results that the change (AnalysesChange bits) made wrong, including those handed out before. The
 * dependences between results are defined here and nowhere else. */
void analyses_invalidate(Analyses *analyses, unsigned change);

const Dominance *analyses_dominance(Analyses *analyses);
const Dominance *analyses_postdominance(Analyses *analyses);
const LoopForest *analyses_loops(Analyses *analyses);
const Values *analyses_values(Analyses *analyses); /* SSA only */
const Liveness *analyses_liveness(Analyses *analyses);
const Affine *analyses_affine(Analyses *analyses);      /* SSA only */
const Patterns *analyses_patterns(Analyses *analyses); /* SSA only; the sums, for any launch, through selects */
const MemoryModel *analyses_memory(Analyses *analyses); /* with affine addresses if the body is in SSA form */
/* One result is kept for each dimension; it is computed again if the options differ from last time. */
const Variance *analyses_variance(Analyses *analyses, unsigned dimension, const VarianceOptions *options);

#endif
