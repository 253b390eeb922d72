/* The words for what -coarsen auto and -uj auto tried and chose. */
#ifndef PTXOPT_ENGINE_REPORT_TRIAL_WORDS_H
#define PTXOPT_ENGINE_REPORT_TRIAL_WORDS_H

#include "engine/choose/trials.h"

/* All are appended to 'out'. */
void trial_verdict_print(const TrialVerdict *verdict, Buf *out);
void factor_choice_print(const FactorChoice *choice, Buf *out);
void loops_choice_print(const LoopsChoice *choice, Buf *out);

#endif
