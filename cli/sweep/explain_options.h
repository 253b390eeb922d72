/* The command line of "ptxopt explain". */
#ifndef PTXOPT_CLI_SWEEP_EXPLAIN_OPTIONS_H
#define PTXOPT_CLI_SWEEP_EXPLAIN_OPTIONS_H

#include "options/options.h"

typedef struct ExplainOptions {
    const char *table, *folder; /* folder NULL: nothing is drawn */
    bool measured;              /* times on a GPU, not predicted ones */
    uint64_t leaves;            /* 0: the default */
} ExplainOptions;

/* As options_parse(): argv[1] is "explain". */
OptionsOutcome explain_options_parse(Arena *arena, int argc, char *const *argv, ExplainOptions *options,
                                     const char **error);

#endif
