/* The command line of "ptxopt tune FILE.ptx". */
#include "cli/command_line.h"
#include "cli/sweep/options.h"

typedef enum TuneOptionId {
#define OPTION(id, ...) TUNE_OPTION_##id,
#include "cli/sweep/tune.def"
} TuneOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/sweep/tune.def"
    {0},
};

const OptionRow *tune_options_table(void)
{
    return rows;
}

static const char *read_arch(Arena *arena, const char *value, SweepRequest *options)
{
    const char *arch, *error = arch_choice_read(arena, value, &arch);
    if (!error)
        VEC_PUSH(arena, options->archs, arch);
    return !error && options->archs.count > 1 ? "-arch: one architecture at a time is tuned for" : error;
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    SweepRequest *options = result;
    switch ((TuneOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case TUNE_OPTION_##id: { action; break; }
#include "cli/sweep/tune.def"
    }
    return NULL;
}

OptionsOutcome tune_options_parse(Arena *arena, int argc, char *const *argv, SweepRequest *request, const char **error)
{
    const CommandLine line = {"tune", rows, read_option, request};
    CommandFiles files;
    *request = (SweepRequest){0};
    const OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, &files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    *error = sweep_request_files(arena, &files, request);
    if (!*error)
        *error = sweep_request_complete(arena, request);
    return *error ? OPTIONS_WRONG : OPTIONS_RUN;
}
