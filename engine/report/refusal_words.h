/* The sentences for refusals, which are in opt/common/refusals.def. */
#ifndef PTXOPT_ENGINE_REPORT_REFUSAL_WORDS_H
#define PTXOPT_ENGINE_REPORT_REFUSAL_WORDS_H

#include "engine/report/report.h"

/* Appends the sentence, without its full stop; nothing where there is no refusal. */
void refusal_print(const Refusal *refusal, Buf *out);
/* The same, with the line that it is about: "it has a barrier (line 7)". */
void refusal_print_with_line(const Report *report, const Refusal *refusal, Buf *out);
/* The sentence, in the arena. */
const char *refusal_text(Arena *arena, const Refusal *refusal);
/* The first refusal of what was requested, in the arena; NULL if nothing was refused. */
const char *kernel_refusal_text(Arena *arena, const KernelResult *result);
/* The sentence with its words in braces. */
const char *refusal_sentence(RefusalReason reason);

#endif
