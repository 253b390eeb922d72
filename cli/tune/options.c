/* The command line of "ptxopt tune". */
#include "cli/tune/tune.h"

#include "cli/command_line.h"
#include "cli/sweep/options.h"

typedef enum TuneOptionId {
#define OPTION(id, ...) TUNE_OPTION_##id,
#include "cli/tune/options.def"
} TuneOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/tune/options.def"
    {0},
};

const OptionRow *tune_options_table(void)
{
    return rows;
}

static const char *read_arch(Arena *arena, const char *value, TuneOptions *options)
{
    SweepRequest *request = &options->request;
    const char *arch, *error = arch_choice_read(arena, value, &arch);
    if (!error)
        VEC_PUSH(arena, request->archs, arch);
    return !error && request->archs.count > 1 ? "-arch: one architecture at a time is tuned for" : error;
}

static const char *read_assembler(Arena *arena, const char *value, TuneOptions *options)
{
    return sweep_request_assembler(arena, value, &options->request);
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    TuneOptions *options = result;
    switch ((TuneOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case TUNE_OPTION_##id: { action; break; }
#include "cli/tune/options.def"
    }
    return NULL;
}

/* The complaint about files beside the options about the store; NULL: they fit. */
static const char *store_complaint(const TuneOptions *options)
{
    if (options->lists + options->imports + (options->exports != NULL) != 1)
        return "-list, -export and -import exclude one another";
    if (options->imports)
        return options->files.count ? NULL : "-import: expected files that -export has written";
    return options->files.count ? "expected no files beside -list and -export" : NULL;
}

OptionsOutcome tune_options_parse(Arena *arena, int argc, char *const *argv, TuneOptions *options, const char **error)
{
    const CommandLine line = {"tune", rows, read_option, options};
    *options = (TuneOptions){0};
    const OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, &options->files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (is_about_store(options)) {
        *error = store_complaint(options);
    } else {
        *error = sweep_request_files(arena, &options->files, &options->request);
        if (!*error)
            *error = sweep_request_complete(arena, &options->request);
    }
    return *error ? OPTIONS_WRONG : OPTIONS_RUN;
}
