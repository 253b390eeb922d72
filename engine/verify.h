/* -verify: input and output run in the emulator, and all memory is compared. */
#ifndef PTXOPT_ENGINE_VERIFY_H
#define PTXOPT_ENGINE_VERIFY_H

#include "emulator/emulator.h"
#include "opt/opt.h"

/* Sums of some thousand numbers of 32 bits in another order differ by less, unless they nearly cancel out. */
#define REORDERED_RELATIVE 1e-4
#define REORDERED_ABSOLUTE 1e-5

typedef enum VerifyOutcome {
    VERIFY_EQUAL,
    VERIFY_DIFFERENT, /* the output computes a different result, or has a fault that the input does not have */
    VERIFY_NOT_DONE,  /* the emulator cannot run it, or the launch does not fit */
} VerifyOutcome;

/* One launch file. */
typedef struct Verification {
    const char *path;
    const char *kernel; /* NULL: the file could not be read */
    VerifyOutcome outcome;
    const char *message; /* the difference or error, in one line; NULL if equal */
    unsigned grid[2][3], block[2][3]; /* of the input and of the output; all 0: not run */
    bool has_difference;
    EmulatorDifference difference;
    EmulatorWriter writers[2];    /* of that element, in the input and in the output */
    const char *written_lines[2]; /* the text of their lines; NULL: never written */
    const char *written_sources[2]; /* loc_place() of these; NULL: unknown */
    const EmulatorFault *fault;   /* of the run that failed; NULL: none */
    bool fault_in_output;
    const char *fault_line; /* the text of its line, if it is in the output; else NULL */
    const char *original_because; /* why this launch runs the original beside the coarsened kernel; NULL: it does not */
    Tolerance tolerance;    /* with which the results are compared */
    bool is_reordered;      /* which is not the launch file's, because sums are added in another order */
    const char *weakened;   /* faults of the input itself, for which the output was not checked; or NULL */
    EmulatorCounters counters[2];
} Verification;

/* A kernel whose output may leave something else in memory than the input. */
typedef struct Freedom {
    const char *kernel;
    bool reorders;                 /* it adds floating-point numbers in another order */
    const DeadBuffersResult *dead; /* buffers that nothing reads afterwards; NULL: none */
} Freedom;

typedef struct Freedoms {
    Freedom *of;
    size_t count;
} Freedoms;

/* Runs 'input' as the launch file says and 'output' by its launch contract and compares all buffers and variables. Both
 * are checked for races, reads of unwritten memory, undefined registers and divisions by zero, except for faults that
 * the input itself has. If the contract does not allow the launch, the original runs if the output has it. Results of
 * kernels that reorder ('freedoms', NULL: none) are compared with a tolerance, even if the launch file asks for exact
 * ones: that for reference programs, or else REORDERED_RELATIVE and REORDERED_ABSOLUTE, but at least one step of
 * numbers of 16 bits. Dead buffers are not compared. Texts live in 'arena'; both modules must outlive them. */
void verify_launch(Arena *arena, const Module *input, const Module *output, const char *path,
                   const Freedoms *freedoms, Verification *result);
/* The same for the form of this number beside the kernel (-tune). False if the output has none of it. */
bool verify_form(Arena *arena, const Module *input, const Module *output, const char *path, unsigned number,
                 const Freedoms *freedoms, Verification *result);

/* Prints the verification as a diagnostic of several lines; nothing if equal. */
void verification_print(const Verification *verification, const Module *input, FILE *out);

#endif
