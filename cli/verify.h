/* -verify: input and output run in the emulator, and all memory is compared. */
#ifndef PTXOPT_CLI_VERIFY_H
#define PTXOPT_CLI_VERIFY_H

#include "emulator/emulator.h"

typedef enum VerifyOutcome {
    VERIFY_EQUAL,
    VERIFY_DIFFERENT, /* the output computes something else, or does what it must not */
    VERIFY_NOT_DONE,  /* it cannot be told: the emulator does not run it, or the launch does not fit */
} VerifyOutcome;

/* One launch file. */
typedef struct Verification {
    const char *path;
    const char *kernel; /* NULL: the file could not be read */
    VerifyOutcome outcome;
    const char *message; /* not equal: in one line what is the matter */
    unsigned grid[2][3], block[2][3]; /* of the input and of the output; all 0: it did not come to that */
    bool has_difference;
    EmulatorDifference difference;
    EmulatorWriter writers[2];    /* of that element, in the input and in the output */
    const char *written_lines[2]; /* the text of their lines; NULL: nobody wrote */
    const EmulatorFault *fault;   /* of the run that failed; NULL: none */
    bool fault_in_output;
    const char *fault_line; /* the text of its line, where it is in the output; else NULL */
    const char *weakened;   /* what the input itself does wrong, so that the output was not watched for it; or NULL */
    EmulatorCounters counters[2];
} Verification;

/* Runs 'input' as the file says and 'output' by its launch contract, watched for races, reads of what was never
 * written and undefined registers as far as the input itself is free of them, and compares all buffers and variables.
 * Results live in 'arena'; both modules have to outlive them. */
void verify_launch(Arena *arena, const Module *input, const Module *output, const char *path, Verification *result);

/* Tells of it in the way of a diagnostic, some lines; nothing if it is equal. */
void verification_print(const Verification *verification, const Module *input, FILE *out);

#endif
