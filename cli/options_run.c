/* The command line of "ptxopt run". */
#include <string.h>

#include "cli/commands.h"
#include "cli/command_line.h"

typedef enum RunOptionId {
#define OPTION(id, ...) RUN_##id,
#include "cli/options_run.def"
} RunOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/options_run.def"
    {0},
};

const OptionRow *run_options_table(void)
{
    return rows;
}

static const char *read_checks(Arena *arena, const char *value, RunOptions *options)
{
    if (emulator_read_checks(value, &options->machine))
        return NULL;
    return arena_printf(arena, "-check %s: expected " EMULATOR_CHECKS, value);
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    RunOptions *options = result;
    switch ((RunOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case RUN_##id: { action; break; }
#include "cli/options_run.def"
    }
    return NULL;
}

OptionsOutcome run_options_parse(Arena *arena, int argc, char *const *argv, RunOptions *options, const char **error)
{
    const CommandLine line = {"run", rows, read_option, options};
    CommandFiles files;
    *options = (RunOptions){0};
    options->machine.count_memory = true;
    emulator_read_checks("all", &options->machine);
    OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, &files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (files.count != 2) {
        *error = options->template ? "-template: expected FILE.ptx KERNEL" : "expected two files, FILE.ptx LAUNCH.json "
                                     "(-template FILE.ptx KERNEL prints a launch file)";
        return OPTIONS_WRONG;
    }
    if (options->template) {
        const char *kernel_and_file[2] = {files.data[1], files.data[0]};
        order_files(kernel_and_file, ".ptx");
        options->template = kernel_and_file[0];
        options->input = kernel_and_file[1];
        return OPTIONS_RUN;
    }
    order_files(files.data, ".json");
    options->input = files.data[0];
    options->launch = files.data[1];
    return OPTIONS_RUN;
}
