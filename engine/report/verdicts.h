/* The words for what opt/ decides. They are made here only: opt/ says it in enums and figures. */
#ifndef PTXOPT_ENGINE_REPORT_VERDICTS_H
#define PTXOPT_ENGINE_REPORT_VERDICTS_H

#include "opt/opt.h"

/* All are appended to 'out'. */

/* moves.c: "schedule: depth first", "rematerialize 12 values", ".maxnreg 32". */
void move_print(const Move *move, Buf *out);
/* The same with the figures: the heading of a dump. */
void step_print(const RegistersStep *step, Buf *out);

/* verdicts.c: the result of the register search, and the obstacle to a better one; nothing if it was not asked for.
 * 'source' is the kernel's. */
void explanation_print(const RegistersResult *result, const Source *source, Buf *out);
bool has_explanation(const RegistersResult *result);
/* The search's answer for a boundary; 'before' are the input's figures. */
void boundary_print(const RegistersBoundary *boundary, const Figures *before, Buf *out);
/* Why a form may wait for ever. */
void demand_print(const DemandObjection *objection, Buf *out);
/* Why figures are not known. */
void unknown_figures_print(const Figures *figures, const char *without_reason, Buf *out);

#endif
