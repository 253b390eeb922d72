/* The command line of "ptxopt sweep". */
#ifndef PTXOPT_CLI_SWEEP_OPTIONS_H
#define PTXOPT_CLI_SWEEP_OPTIONS_H

#include "sweep/sweep.h"

/* As options_parse(): argv[1] is "sweep". */
OptionsOutcome sweep_options_parse(Arena *arena, int argc, char *const *argv, SweepRequest *request,
                                   const char **error);

#endif
