/* The command line of "ptxopt calibrate". */
#ifndef PTXOPT_CLI_CALIBRATE_OPTIONS_H
#define PTXOPT_CLI_CALIBRATE_OPTIONS_H

#include "calibrate/calibrate.h"
#include "cli/commands.h"

/* As options_parse(): argv[1] is the command. */
OptionsOutcome calibrate_options_parse(Arena *arena, int argc, char *const *argv, CalibrateRequest *options,
                                       const char **error);

#endif
