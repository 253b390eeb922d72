/* "ptxopt setup": fetches NVIDIA's assembler for this user. */
#ifndef PTXOPT_CLI_SETUP_H
#define PTXOPT_CLI_SETUP_H

#include "engine/engine.h"

typedef struct SetupOptions {
    bool yes; /* do not ask */
} SetupOptions;

/* As options_parse(), for a command line whose argv[1] is "setup". */
OptionsOutcome setup_options_parse(Arena *arena, int argc, char *const *argv, SetupOptions *options,
                                   const char **error);
/* The text of -help, in the arena. */
const char *setup_options_help(Arena *arena);
/* The options of the command, for completion; ends with a name of NULL. */
const struct option *setup_options_table(void);

/* Says what would be fetched, asks, and fetches it. EXIT_DONE if the assembler is there afterwards; EXIT_USAGE if there
 * is nobody to ask; else EXIT_INPUT. */
ExitStatus setup_run(const SetupOptions *options);

#endif
