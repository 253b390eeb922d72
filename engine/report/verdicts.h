/* The words for what opt/ decides. They are made here only: opt/ says it in enums and figures. */
#ifndef PTXOPT_ENGINE_REPORT_VERDICTS_H
#define PTXOPT_ENGINE_REPORT_VERDICTS_H

#include "opt/opt.h"

/* All are appended to 'out'. */

/* moves.c: "schedule: depth first", "rematerialize 12 values", ".maxnreg 32". */
void move_print(const Move *move, Buf *out);
/* The same with the figures: the heading of a dump. */
void step_print(const RegistersStep *step, Buf *out);

#endif
