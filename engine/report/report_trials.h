/* The forms that a search tried, as lines of the report: all of them, or the interesting ones. */
#ifndef PTXOPT_ENGINE_REPORT_REPORT_TRIALS_H
#define PTXOPT_ENGINE_REPORT_REPORT_TRIALS_H

#include "engine/report/report.h"

/* The forms of -coarsen auto: all, or the chosen one and the fastest others. */
void coarsen_trials_print(const FactorChoice *choice, bool all, Buf *out);
/* The forms of -uj auto: all, or the chosen ones. */
void jam_trials_print(const LoopsChoice *choice, bool all, Buf *out);
/* The forms of -memory auto: all, or the chosen one and the fastest others. */
void memory_trials_print(const MemoryChoice *choice, bool all, Buf *out);
/* The forms of the register search: all, or those that were kept. */
void register_steps_print(const RegistersResult *reduction, bool all, Buf *out);
/* "24 registers, 0 bytes spilled, 118 instructions". */
void register_figures_print(const Figures *figures, Buf *out);

#endif
