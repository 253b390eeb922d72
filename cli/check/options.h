/* The command line of "ptxopt check". */
#ifndef PTXOPT_CLI_CHECK_OPTIONS_H
#define PTXOPT_CLI_CHECK_OPTIONS_H

#include "cli/commands.h"

typedef struct CheckOptions {
    const char *input;
    PathList architectures; /* none: the PTX's own */
    bool levels[4];
    const char *kernel, *launch, *controls, *output;
    uint64_t inputs, seed;
    bool quiet;
} CheckOptions;

/* As options_parse(): argv[1] is the command. */
OptionsOutcome check_options_parse(Arena *arena, int argc, char *const *argv, CheckOptions *options,
                                   const char **error);

#endif
