/* A line on the terminal while an assembler works, in a run that takes more than a second. */
#ifndef PTXOPT_CLI_PROGRESS_H
#define PTXOPT_CLI_PROGRESS_H

#include "assembler/assembler.h"

typedef struct Progress {
    FILE *terminal;
    double begin, last; /* seconds: of the run, and of the last change of the line; 0: the line is not shown */
    unsigned done;      /* runs of the assembler */
} Progress;

/* Shows the assembler's progress on 'messages' if that is a terminal.  *progress must remain while the assembler is
 * used.  The line is gone whenever the assembler is not running, so that it does not mix with messages. */
void progress_watch(Progress *progress, Assembler *assembler, FILE *messages);

#endif
