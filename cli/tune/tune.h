/* "ptxopt tune FILE.ptx LAUNCH.json...", which looks for the best form of a kernel, and "ptxopt tune -list", "-export"
 * and "-import", which are about what programs have learned. */
#ifndef PTXOPT_CLI_TUNE_H
#define PTXOPT_CLI_TUNE_H

#include "cli/commands.h"
#include "sweep/sweep.h"

typedef struct TuneOptions {
    bool lists, imports;
    const char *exports; /* a folder; or NULL */
    CommandFiles files;
    SweepRequest request; /* unless one of these is set */
} TuneOptions;

static inline bool is_about_store(const TuneOptions *options)
{
    return options->lists || options->imports || options->exports;
}

/* As options_parse(): argv[1] is the command. */
OptionsOutcome tune_options_parse(Arena *arena, int argc, char *const *argv, TuneOptions *options, const char **error);

/* store.c: -list, -export and -import. */
ExitStatus tune_store(Arena *arena, const TuneOptions *options);

#endif
