/* The forms that a search tried, as lines of the report: all of them, or those that people want to see. */
#ifndef PTXOPT_ENGINE_REPORT_REPORT_TRIALS_H
#define PTXOPT_ENGINE_REPORT_REPORT_TRIALS_H

#include "engine/report/report.h"

/* Those of -coarsen auto, all or the chosen one and the fastest others. */
void coarsen_trials_print(const FactorChoice *choice, bool all, Buf *out);
/* Those of -uj auto, all or those that were chosen. */
void jam_trials_print(const LoopsChoice *choice, bool all, Buf *out);
/* Those of the register search, all or those that were kept. */
void register_steps_print(const RegistersResult *reduction, bool all, Buf *out);
/* "24 registers, 0 bytes spilled, 118 instructions". */
void register_figures_print(const Figures *figures, Buf *out);

#endif
