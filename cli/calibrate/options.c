/* The command line of "ptxopt calibrate". */
#include "cli/calibrate/options.h"

#include "cli/command_line.h"

typedef enum CalibrateOptionId {
#define OPTION(id, ...) CALIBRATE_##id,
#include "cli/calibrate/options.def"
} CalibrateOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/calibrate/options.def"
    {0},
};

const OptionRow *calibrate_options_table(void)
{
    return rows;
}

static const char *read_arch(Arena *arena, const char *value, CalibrateRequest *options)
{
    return arch_choice_read(arena, value, &options->arch);
}

static const char *read_assembler(Arena *arena, const char *value, CalibrateRequest *options)
{
    options->assembler_given = true;
    return assembler_choice_read(arena, value, &options->assembler_none, &options->assembler);
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    CalibrateRequest *options = result;
    switch ((CalibrateOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case CALIBRATE_##id: { action; break; }
#include "cli/calibrate/options.def"
    }
    return NULL;
}

static const char *complaint(const CalibrateRequest *options, size_t files)
{
    if (files)
        return "expected no files";
    if (options->times && options->kernels)
        return "-kernels and -times exclude one another";
    if (options->kernels && options->output)
        return "-o: with -kernels, nothing is fitted";
    if ((options->times || options->kernels) && !options->arch)
        return "-arch: expected the architecture that the kernels are timed on";
    return NULL;
}

OptionsOutcome calibrate_options_parse(Arena *arena, int argc, char *const *argv, CalibrateRequest *options,
                                       const char **error)
{
    const CommandLine line = {"calibrate", rows, read_option, options};
    CommandFiles files;
    *options = (CalibrateRequest){.runs = 9};
    const OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, &files, error);
    if (outcome == OPTIONS_RUN)
        *error = complaint(options, files.count);
    return outcome == OPTIONS_RUN && *error ? OPTIONS_WRONG : outcome;
}
