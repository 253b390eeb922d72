/* The command line of "ptxopt emulate". */
#ifndef PTXOPT_CLI_EMULATED_OPTIONS_H
#define PTXOPT_CLI_EMULATED_OPTIONS_H

#include "cli/commands.h"

typedef struct EmulateOptions {
    char *const *program; /* with its arguments; ends with NULL */
    const char *checks;   /* as emulator_read_checks() reads them */
    const char *log;      /* NULL: none is kept */
    uint64_t fault_status;
    bool quiet;
} EmulateOptions;

/* As options_parse(): argv[1] is "emulate". Words after the program's name are the program's. */
OptionsOutcome emulate_options_parse(Arena *arena, int argc, char *const *argv, EmulateOptions *options,
                                     const char **error);

#endif
