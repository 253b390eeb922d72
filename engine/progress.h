/* The display of a long run: a line on a terminal, or one every ten seconds elsewhere. It names the kernel, the phase
 * and the remaining work. */
#ifndef PTXOPT_ENGINE_PROGRESS_H
#define PTXOPT_ENGINE_PROGRESS_H

#include "assembler/assembler.h"

/* All zero: nothing is shown. */
typedef struct Progress {
    FILE *messages;     /* NULL: nothing is shown */
    bool is_terminal, is_shown;
    double begin, last; /* seconds: the start of the run, and the time of the last line; 0: there was none */
    unsigned done;      /* runs of the assembler */
    const char *kernel; /* NULL: the phase is about all of them */
    size_t index, count; /* of the kernel, from 1, and how many there are */
    const char *phase;
    const char *form;     /* the one being compared; NULL: unknown */
    bool is_counted;      /* the emulator executes it, ... */
    double counted;       /* ... and has begun this share of its blocks */
    unsigned step, steps; /* those done in this phase, and all of them; 0: not known */
    double end;         /* the latest end of the phase; 0: no limit */
} Progress;

/* Shows progress on 'messages', if that is a file, whenever the caller waits for the assembler, and at each step.
 * *progress must outlive the use of the assembler. On a terminal, the line is erased whenever the assembler is not
 * running, so that it does not mix with messages. */
void progress_watch(Progress *progress, Assembler *assembler, FILE *messages);
/* Sets the kernel that the following phases are about; NULL: all of them. The name is not copied. */
void progress_kernel(Progress *progress, const char *kernel, size_t index, size_t count);
/* Begins a phase, named by words that are not copied, which takes at most 'seconds'; infinity: no limit. 'progress' may
 * be NULL, here and below. */
void progress_phase(Progress *progress, const char *phase, double seconds);
/* The same within the time of the phase before. */
void progress_continue(Progress *progress, const char *phase);
/* Sets the form of the kernel that the next steps are about, by words that are not copied. */
void progress_form(Progress *progress, const char *form);
/* Records that the emulator has executed this share of the blocks of a form. */
void progress_counted(Progress *progress, double share);
/* Records that 'step' of the phase's 'steps' steps are done. */
void progress_step(Progress *progress, unsigned step, unsigned steps);

#endif
