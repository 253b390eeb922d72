/* The forms that a search tried, as lines of the report: all of them, the best ones if it has every detail, or else how
 * many there were. */
#ifndef PTXOPT_ENGINE_REPORT_REPORT_TRIALS_H
#define PTXOPT_ENGINE_REPORT_REPORT_TRIALS_H

#include "engine/report/report.h"

/* -coarsen auto; the best are the chosen one and the fastest others. */
void coarsen_trials_print(const FactorChoice *choice, const Report *report, Buf *out);
/* -uj auto; the best are the chosen ones, which are always there. */
void jam_trials_print(const LoopsChoice *choice, const Report *report, Buf *out);
/* -memory auto; as for -coarsen auto. */
void memory_trials_print(const MemoryChoice *choice, const Report *report, Buf *out);
/* The register search; the best are the steps that were kept, which are always there. */
void register_steps_print(const RegistersResult *reduction, const Report *report, Buf *out);
/* "24 registers, 0 bytes spilled, 118 instructions". */
void register_figures_print(const Figures *figures, Buf *out);

#endif
