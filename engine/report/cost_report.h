/* The costs of one form, or of two, as text and as JSON. */
#ifndef PTXOPT_ENGINE_REPORT_COST_REPORT_H
#define PTXOPT_ENGINE_REPORT_COST_REPORT_H

#include <jansson.h>

#include "engine/judge/form_cost.h"

/* Appends "1.31x faster: 0.50 times the shared memory accesses", or "0.82x: 16 warps on an SM instead of 32". */
void cost_verdict_print(const CostVerdict *verdict, Buf *out);
/* Appends "0.85x to 1.30x". */
void interval_print(const Interval *interval, Buf *out);
/* The verdict on two costs, in the arena. */
const char *cost_comparison_text(Arena *arena, const FormCost *before, const FormCost *after);
/* A warning about the form after, such as lost warps, blocks below a warp or multiplied sectors; NULL if there is none.
 * 'index' counts from 0. */
const char *cost_warning(Arena *arena, const FormCost *before, const FormCost *after, unsigned index);

/* A table of the figures per original thread; 'before' may be NULL. Its words are explained if requested. */
void cost_print_text(const CostBasis *basis, const FormCost *before, const FormCost *after, bool explains,
                     Buf *out);
json_t *cost_json(const FormCost *cost);
/* The verdict and the warnings, a line each. */
void cost_print_verdict(Arena *arena, const FormCost *before, const FormCost *after, Buf *out);
json_t *interval_json(const Interval *interval);
/* The range of the speedup, in a line. Measured forms that it is learned from are coarsened. */
void cost_print_interval(const FormCost *before, const FormCost *after, Buf *out);
/* Sets "speedup", "interval", "verdict" and "warnings". */
void cost_set_verdict(Arena *arena, const FormCost *before, const FormCost *after, json_t *object);

#endif
