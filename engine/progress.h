/* The display of a long run: a line on a terminal, or one every ten seconds elsewhere. It names the kernel, the phase
 * and what is left. */
#ifndef PTXOPT_ENGINE_PROGRESS_H
#define PTXOPT_ENGINE_PROGRESS_H

#include "assembler/assembler.h"

/* All zero: nothing is shown. */
typedef struct Progress {
    FILE *messages;     /* NULL: nothing is shown */
    bool is_terminal, is_shown;
    double begin, last; /* seconds: of the run, and of the last line; 0: there was none */
    unsigned done;      /* runs of the assembler */
    const char *kernel; /* NULL: it is about all of them */
    size_t index, count; /* of the kernel, from 1, and how many there are */
    const char *phase;
    unsigned step, steps; /* done in this phase, and all of them; 0: not known */
    double end;         /* of the phase, at the latest; 0: it is not limited */
} Progress;

/* Shows progress on 'messages', if that is a file, whenever the assembler has the caller wait and at each step.
 * *progress must remain while the assembler is used. On a terminal, the line is gone whenever the assembler is not
 * running, so that it does not mix with messages. */
void progress_watch(Progress *progress, Assembler *assembler, FILE *messages);
/* The phases that follow are about this kernel; NULL: about all of them. The name is not copied. */
void progress_kernel(Progress *progress, const char *kernel, size_t index, size_t count);
/* A phase begins, in words that are not copied, which takes at most 'seconds'; infinity: no limit.
 * 'progress' may be NULL, here and below. */
void progress_phase(Progress *progress, const char *phase, double seconds);
/* 'step' of 'steps' steps of the phase are done. */
void progress_step(Progress *progress, unsigned step, unsigned steps);

#endif
