/* The command line of "ptxopt cost". */
#include <string.h>

#include "cli/commands.h"
#include "cli/command_line.h"
#include "options/options.h"

typedef enum CostOptionId {
#define OPTION(id, ...) COST_##id,
#include "cli/options_cost.def"
} CostOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/options_cost.def"
    {0},
};

const OptionRow *cost_options_table(void)
{
    return rows;
}

static const char *read_arch(Arena *arena, const char *value, CostOptions *options)
{
    return arch_choice_read(arena, value, &options->arch);
}

static const char *read_assembler(Arena *arena, const char *value, CostOptions *options)
{
    options->assembler_given = true;
    return assembler_choice_read(arena, value, &options->assembler_none, &options->assembler);
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    CostOptions *options = result;
    switch ((CostOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case COST_##id: { action; break; }
#include "cli/options_cost.def"
    }
    return NULL;
}

OptionsOutcome cost_options_parse(Arena *arena, int argc, char *const *argv, CostOptions *options, const char **error)
{
    const CommandLine line = {"cost", rows, read_option, options};
    CommandFiles files;
    *options = (CostOptions){0};
    OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, &files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (files.count != 2) {
        *error = "expected two files, FILE.ptx LAUNCH.json ('ptxopt run -template FILE.ptx KERNEL' prints a "
                 "launch file)";
        return OPTIONS_WRONG;
    }
    order_files(files.data, ".json");
    options->input = files.data[0];
    options->launch = files.data[1];
    return OPTIONS_RUN;
}
