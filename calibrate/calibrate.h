/* calibrate: the figures of a device for the time model (cost/), fitted to the times of short kernels that it runs.
 *
 * Each microkernel (calibrate/kernels.def) isolates one parameter of the model. Their work is counted in the emulator,
 * their times are measured on a GPU, or elsewhere, and the parameters are those for which the predicted times are the
 * nearest. Kernels of mixed kinds, which the fit does not see, judge it. docs/calibrate.md explains all that. */
#ifndef PTXOPT_CALIBRATE_H
#define PTXOPT_CALIBRATE_H

#include "assembler/assembler.h"
#include "support/support.h"

typedef struct CalibrateRequest {
    const char *output;  /* the machine file to write; NULL: none */
    const char *machine; /* a machine file with the figures to begin with; NULL: those of target/devices.def */
    const char *arch;    /* NULL: the GPU's */
    const char *times;   /* a table of times measured elsewhere; NULL: they are measured here */
    const char *kernels; /* the folder that kernels and launch files are written into, instead; NULL: none */
    uint64_t runs;       /* of each kernel; the median counts */
    AssemblerKind assembler;
    bool assembler_given, assembler_none;
    bool forces; /* writes the machine file even if the other kernels are not predicted better */
    bool quiet;
} CalibrateRequest;

/* The exit status (ExitStatus). Prints the table to standard output, and errors. */
int calibrate_run(Arena *arena, const CalibrateRequest *request);

#endif
