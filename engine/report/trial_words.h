/* The words for what -coarsen auto, -uj auto and -memory auto tried and chose. */
#ifndef PTXOPT_ENGINE_REPORT_TRIAL_WORDS_H
#define PTXOPT_ENGINE_REPORT_TRIAL_WORDS_H

#include "engine/choose/trials.h"

/* All are appended to 'out'. */
void trial_verdict_print(const TrialVerdict *verdict, Buf *out);
void factor_choice_print(const FactorChoice *choice, Buf *out);
void loops_choice_print(const LoopsChoice *choice, Buf *out);
void memory_choice_print(const MemoryChoice *choice, Buf *out);
/* "bx4,by4 with stride block, rows of 128 bytes staged and vectors". */
void memory_form_print(const MemoryTrial *trial, Buf *out);

/* The names of forms while they are compared, in the arena: "x2 with stride block", "$L__BB0_2 x4". */
const char *coarsen_trial_text(Arena *arena, const CoarsenTrial *trial);
const char *jam_trial_text(Arena *arena, const JamTrial *trial);
const char *memory_trial_text(Arena *arena, const MemoryTrial *trial);

#endif
