/* One run of the program: from the file to its outputs. */
#ifndef PTXOPT_CLI_RUN_H
#define PTXOPT_CLI_RUN_H

#include "cli/options.h"

typedef enum ExitStatus {
    EXIT_DONE = 0,
    EXIT_INPUT = 1,    /* the input is wrong, or a file cannot be read or written */
    EXIT_USAGE = 2,
    EXIT_REFUSED = 3,  /* what was asked for by kernel name; the PTX is written */
    EXIT_REJECTED = 4, /* by the assembler; nothing is written */
    EXIT_DIFFERENT = 5, /* -verify found a difference, and nothing is written; "run": the kernel did something wrong */
    EXIT_UNVERIFIED = 6, /* the emulator could not run it, so -verify can say nothing; nothing is written */
} ExitStatus;

ExitStatus run_file(const Options *options);

#endif
